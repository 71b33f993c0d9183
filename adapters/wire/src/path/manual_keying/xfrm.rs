//! Associations in the form of iproute2: the output of `ip xfrm state`, and lines of `ip xfrm state
//! add`.

use std::iter::Peekable;

use sealstone_cipher::suites::{HMAC_MD5, HMAC_SHA1, HMAC_SHA256};

use super::association::{ManualAssociation, Parts, Unreadable, key_of, shown};

const FORM: &str = "the output of ip xfrm state";
const NEXT: &str =
    "give what ip xfrm state prints as root, or lines of ip xfrm state add; see ip-xfrm(8)";

/// The words that follow `sel`, each with a value: which packets it is for, and nothing that we
/// need.
const SELECTOR: [&str; 10] =
    ["src", "dst", "proto", "sport", "dport", "type", "code", "key", "dev", "uid"];
/// Words with one value that does not matter here. `seq` is the number of the request to a key
/// daemon, unless it is printed after `context:`.
const WITH_VALUE: [&str; 13] = [
    "reqid",
    "replay-window",
    "replay_window",
    "bitmap",
    "output-mark",
    "if_id",
    "mark",
    "mask",
    "dir",
    "seq",
    "tfcpad",
    "coa",
    "pcpu-num",
];
/// Words with a counter of received or sealed packets, in two halves each: in their printed form,
/// and as arguments of `ip xfrm state add`.
const COUNTERS: [&str; 7] =
    ["seq-hi", "oseq", "oseq-hi", "replay-seq", "replay-seq-hi", "replay-oseq", "replay-oseq-hi"];
/// Words without one.
const ALONE: [&str; 7] = ["ip", "xfrm", "add", "update", "anti-replay", "context:", "esn"];
/// Words that a part of an association begins with.
const PARTS: [&str; 18] = [
    "src",
    "dst",
    "spi",
    "proto",
    "mode",
    "flag",
    "extra-flag",
    "extra_flag",
    "enc",
    "aead",
    "auth",
    "auth-trunc",
    "comp",
    "encap",
    "sel",
    "bitmap-length",
    "lifetime",
    "state",
];

/// Position of a word: its line, from 1, and the piece of that line, where -oneline puts a
/// backslash between lines.
#[derive(Clone, Copy, Default, PartialEq)]
struct Place {
    line: usize,
    piece: usize,
}

/// A word and its place.
type Word<'a> = (Place, &'a str);

/// Reads all associations of `text`.
///
/// # Errors
/// [`Unreadable`]: an association of another kind than ESP in tunnel mode, unknown words, ciphers
/// that no suite has.
pub fn read(text: &str) -> Result<Vec<ManualAssociation>, Unreadable> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|(at, line)| {
        line.split('\\').enumerate().flat_map(move |(piece, text)| {
            let between = |character: char| {
                character.is_whitespace() || matches!(character, ',' | '"' | '\'')
            };
            let words = text.split(between).filter(|word| !word.is_empty());
            words.map(move |word| (Place { line: at + 1, piece }, word))
        })
    });
    let words = words.peekable();
    Reader {
        words,
        at: Place { line: 1, piece: 0 },
        is_command: false,
        parts: None,
        seen: Seen::default(),
        read: Vec::new(),
    }
    .all()
}

struct Reader<'a, I: Iterator<Item = Word<'a>>> {
    words: Peekable<I>,
    /// Place of the last word.
    at: Place,
    /// True if the text is input for `ip xfrm state`, not its output.
    is_command: bool,
    /// The parts of the current association, and the line on which it begins.
    parts: Option<(usize, Parts)>,
    seen: Seen,
    read: Vec<ManualAssociation>,
}

/// Parts seen so far of the association that is being read.
#[derive(Default)]
struct Seen {
    /// True after `context:`, which precedes the counters.
    context: bool,
    /// Its mode: without one, `ip xfrm state add` takes another one than tunnel.
    mode: bool,
    /// Number of packets it has carried, counted separately from its sequence numbers.
    packets: u64,
}

impl<'a, I: Iterator<Item = Word<'a>>> Reader<'a, I> {
    fn all(mut self) -> Result<Vec<ManualAssociation>, Unreadable> {
        while let Some((at, word)) = self.words.next() {
            self.at = at;
            self.word(word)?;
        }
        self.end()?;
        match self.read.is_empty() {
            true => Err(self.unreadable("there is no association")),
            false => Ok(self.read),
        }
    }

    fn unreadable(&self, found: impl Into<String>) -> Unreadable {
        Unreadable { form: FORM, line: self.at.line, found: found.into(), next: NEXT }
    }

    fn end(&mut self) -> Result<(), Unreadable> {
        let seen = std::mem::take(&mut self.seen);
        if let Some((line, mut parts)) = self.parts.take() {
            let at = |found| Unreadable { form: FORM, line, found, next: NEXT };
            if !seen.mode {
                return Err(at(
                    "an association without mode tunnel; without a mode, ip takes transport".into(),
                ));
            }
            parts.sealed_before = parts.sealed_before.max(seen.packets);
            let whole = parts.whole(line).map_err(at)?;
            self.read.push(whole);
        }
        Ok(())
    }

    fn value(&mut self, of: &str) -> Result<&'a str, Unreadable> {
        match self.words.next() {
            Some((at, word)) => {
                self.at = at;
                Ok(word)
            }
            None => Err(self.unreadable(format!("the text ends after {of:?}"))),
        }
    }

    fn number<T>(&mut self, of: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Unreadable> {
        let word = self.value(of)?;
        parse(word).ok_or_else(|| self.unreadable(format!("{} after {of:?}", shown(word))))
    }

    fn key(&mut self, of: &str) -> Result<zeroize::Zeroizing<Vec<u8>>, Unreadable> {
        let word = self.value(of)?;
        let key = word.strip_prefix("0x").and_then(key_of);
        let key = key.ok_or_else(|| {
            self.unreadable(format!(
                "the key after {of:?} is no hexadecimal number that begins with 0x"
            ))
        })?;
        // what -statistics adds, such as (128 bits)
        let mut is_inside = false;
        while let Some((_, word)) =
            self.words.next_if(|(_, word)| is_inside || word.starts_with('('))
        {
            is_inside = !word.ends_with(')');
        }
        Ok(key)
    }

    fn word(&mut self, word: &str) -> Result<(), Unreadable> {
        if word == "src" {
            self.end()?;
            let source = self.number(word, |word| word.parse().ok())?;
            self.parts = Some((self.at.line, Parts { source: Some(source), ..Parts::default() }));
            return Ok(());
        }
        if word == "state" {
            // an association follows, and whatever was before it ends
            self.is_command =
                self.words.next_if(|(_, word)| matches!(*word, "add" | "update")).is_some();
            return Ok(());
        }
        if self.parts.is_none() && (ALONE.contains(&word) || word.starts_with('-')) {
            return Ok(());
        }
        let Some((begin, mut parts)) = self.parts.take() else {
            return Err(self.unreadable(format!(
                "{} where an association should begin with src",
                shown(word)
            )));
        };
        let done = self.part(word, &mut parts);
        self.parts = Some((begin, parts));
        done
    }

    fn part(&mut self, word: &str, parts: &mut Parts) -> Result<(), Unreadable> {
        match word {
            "dst" => parts.destination = Some(self.number(word, |word| word.parse().ok())?),
            "spi" => parts.spi = Some(self.number(word, index)?),
            "proto" => self.only(word, "esp")?,
            "mode" => {
                self.only(word, "tunnel")?;
                self.seen.mode = true;
            }
            "flag" | "extra-flag" | "extra_flag" => {
                // one word, or several; apart from esn they concern the kernel
                let here = self.at;
                let is_flag =
                    |(at, flag): &Word<'a>| *at == here && (!is_known(flag) || *flag == "esn");
                while let Some((_, flag)) = self.words.next_if(is_flag) {
                    parts.extended |= flag == "esn";
                }
            }
            "comp" => {
                return Err(
                    self.unreadable("\"comp\": packets are compressed, which nothing here does")
                );
            }
            "enc" => {
                let name = self.value(word)?;
                parts.encryption = Some((self.cipher(name)?, false));
                parts.key = self.key(word)?;
            }
            "aead" => {
                self.only(word, "rfc4106(gcm(aes))")?;
                parts.encryption = Some(("aes", true));
                parts.key = self.key(word)?;
                self.only("the key of aead", "128")?;
            }
            "auth" | "auth-trunc" => self.integrity(word, parts)?,
            "encap" => {
                let _ = self.words.next_if(|(_, word)| *word == "type");
                self.only(word, "espinudp")?;
                let source = self.port("sport")?;
                parts.ports = Some((source, self.port("dport")?));
                let _ = self.words.next_if(|(_, word)| *word == "addr");
                self.value("encap")?;
            }
            "sel" => {
                // to the end of its line: the next association begins with src, too
                let here = self.at;
                while self
                    .words
                    .next_if(|(at, word)| *at == here && SELECTOR.contains(word))
                    .is_some()
                {
                    self.value(word)?;
                }
            }
            "bitmap-length" => {
                // as many words follow, on lines of their own
                for _ in 0..self.number(word, index)? {
                    self.value(word)?;
                }
            }
            "context:" => self.seen.context = true,
            "lifetime" => {
                if self.words.next_if(|(_, word)| *word == "current:").is_some() {
                    let _bytes = self.value(word)?;
                    let packets = self
                        .value(word)?
                        .strip_suffix("(packets)")
                        .and_then(|number| number.parse().ok());
                    self.seen.packets = packets.unwrap_or(0);
                }
                self.pass_over();
            }
            _ if COUNTERS.contains(&word) || self.seen.context && word == "seq" => {
                let half = u64::from(self.number(word, index)?);
                let number = if word.contains("oseq") {
                    &mut parts.sealed_before
                } else {
                    &mut parts.came_before
                };
                *number |= if word.ends_with("-hi") { half << 32 } else { half };
            }
            _ if WITH_VALUE.contains(&word) => drop(self.value(word)?.len()),
            _ if ALONE.contains(&word) => {}
            _ => self.pass_over(),
        }
        Ok(())
    }

    /// Skips text that is irrelevant to sealing: the rest of a printed line, or the words of a
    /// command up to the next known word. All needed words are known, and their absence is noticed.
    fn pass_over(&mut self) {
        let (here, is_command) = (self.at, self.is_command);
        let is_of_it = |(at, word): &Word<'a>| *at == here && !(is_command && is_known(word));
        while self.words.next_if(is_of_it).is_some() {}
    }

    fn only(&mut self, of: &str, want: &str) -> Result<(), Unreadable> {
        let found = self.value(of)?;
        match found == want {
            true => Ok(()),
            false => Err(self.unreadable(format!(
                "{} after {of:?}, where only {want} can be used",
                shown(found)
            ))),
        }
    }

    fn port(&mut self, name: &str) -> Result<u16, Unreadable> {
        let _ = self.words.next_if(|(_, word)| *word == name);
        self.number(name, |word| word.parse().ok())
    }

    fn cipher(&self, name: &str) -> Result<&'static str, Unreadable> {
        match name {
            "cbc(des3_ede)" | "des3_ede" => Ok("3des"),
            "cbc(blowfish)" | "blowfish" => Ok("blowfish"),
            "cbc(aes)" | "aes" => Ok("aes"),
            _ => Err(self.unreadable(format!(
                "{} after \"enc\", where cbc(aes), cbc(des3_ede) and cbc(blowfish) can be used",
                shown(name)
            ))),
        }
    }

    /// Reads an integrity algorithm. The kernel truncates to 96 bits by default for all of them.
    fn integrity(&mut self, word: &str, parts: &mut Parts) -> Result<(), Unreadable> {
        let name = self.value(word)?;
        parts.integrity_key = self.key(word)?;
        let bits = if word == "auth" { 96 } else { self.number(word, |word| word.parse().ok())? };
        parts.mac = Some(match (name, bits) {
            ("hmac(md5)" | "md5", 96) => HMAC_MD5,
            ("hmac(sha1)" | "sha1", 96) => HMAC_SHA1,
            ("hmac(sha256)" | "sha256", 128) => HMAC_SHA256,
            _ => {
                let found = format!(
                    "{} of {bits} bits after {word:?}, where hmac(md5) and hmac(sha1) of 96 bits",
                    shown(name)
                );
                return Err(self.unreadable(format!(
                    "{found} and hmac(sha256) of 128 (auth-trunc) can be used"
                )));
            }
        });
        Ok(())
    }
}

fn is_known(word: &str) -> bool {
    [&PARTS[..], &WITH_VALUE, &COUNTERS, &ALONE].iter().any(|known| known.contains(&word))
}

/// Returns an index, as a decimal number or with 0x; the other form may follow in parentheses.
fn index(word: &str) -> Option<u32> {
    let word = word.split('(').next()?;
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}
