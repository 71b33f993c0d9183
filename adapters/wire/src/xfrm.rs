//! Associations in the form of iproute2: what `ip xfrm state` prints, and lines of `ip xfrm state add`. Not here: the
//! kernel's own ESP.

use std::iter::Peekable;

use crate::manual::{ManualAssociation, Parts, Unreadable, key_of, shown};

const FORM: &str = "the output of ip xfrm state";
const NEXT: &str = "give what ip xfrm state prints as root, or lines of ip xfrm state add; see ip-xfrm(8)";

/// The words that follow `sel`, each with a value: which packets it is for, and nothing that we need.
const SELECTOR: [&str; 8] = ["src", "dst", "proto", "sport", "dport", "type", "code", "dev"];
/// Words with one value that does not matter here.
const WITH_VALUE: [&str; 8] = ["reqid", "replay-window", "bitmap", "output-mark", "if_id", "mark", "mask", "dir"];
/// Words with a number that says how far it has gone: what came and what was sealed, in two halves each.
const NUMBERS: [&str; 4] = ["seq", "seq-hi", "oseq", "oseq-hi"];
/// Words without one.
const ALONE: [&str; 8] = ["ip", "xfrm", "state", "add", "update", "anti-replay", "context:", "esn"];

/// A word and its line.
type Word<'a> = (usize, &'a str);

/// Reads all associations of `text`.
///
/// # Errors
/// [`Unreadable`]: an association of another kind than ESP in tunnel mode, unknown words, ciphers that no suite has.
pub fn read(text: &str) -> Result<Vec<ManualAssociation>, Unreadable> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|(at, line)| {
        let between = |character: char| character.is_whitespace() || matches!(character, ',' | '"' | '\'');
        line.split(between).filter(|word| !word.is_empty() && *word != "\\").map(move |word| (at + 1, word))
    });
    Reader { words: words.peekable(), line: 1, parts: None, read: Vec::new() }.all()
}

struct Reader<'a, I: Iterator<Item = Word<'a>>> {
    words: Peekable<I>,
    /// Of the last word.
    line: usize,
    /// Those of the association that is being read, and the line on which it begins.
    parts: Option<(usize, Parts)>,
    read: Vec<ManualAssociation>,
}

impl<'a, I: Iterator<Item = Word<'a>>> Reader<'a, I> {
    fn all(mut self) -> Result<Vec<ManualAssociation>, Unreadable> {
        while let Some((line, word)) = self.words.next() {
            self.line = line;
            self.word(word)?;
        }
        self.end()?;
        match self.read.is_empty() {
            true => Err(self.unreadable("there is no association")),
            false => Ok(self.read),
        }
    }

    fn unreadable(&self, found: impl Into<String>) -> Unreadable {
        Unreadable { form: FORM, line: self.line, found: found.into(), next: NEXT }
    }

    fn end(&mut self) -> Result<(), Unreadable> {
        if let Some((line, parts)) = self.parts.take() {
            let whole = parts.whole().map_err(|found| Unreadable { form: FORM, line, found, next: NEXT })?;
            self.read.push(whole);
        }
        Ok(())
    }

    fn value(&mut self, of: &str) -> Result<&'a str, Unreadable> {
        match self.words.next() {
            Some((line, word)) => {
                self.line = line;
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
        key.ok_or_else(|| self.unreadable(format!("the key after {of:?} is no hexadecimal number that begins with 0x")))
    }

    fn word(&mut self, word: &str) -> Result<(), Unreadable> {
        if word == "src" {
            self.end()?;
            let source = self.number(word, |word| word.parse().ok())?;
            self.parts = Some((self.line, Parts { source: Some(source), ..Parts::default() }));
            return Ok(());
        }
        if ALONE.contains(&word) && self.parts.is_none() {
            return Ok(());
        }
        let Some((begin, mut parts)) = self.parts.take() else {
            return Err(self.unreadable(format!("{} where an association should begin with src", shown(word))));
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
            "mode" => self.only(word, "tunnel")?,
            "flag" => {
                // one word, or several; what they say beside esn concerns the kernel
                while self
                    .words
                    .next_if(|(_, flag)| !is_known(flag) || *flag == "esn")
                    .inspect(|(_, flag)| {
                        parts.extended |= *flag == "esn";
                    })
                    .is_some()
                {}
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
                let here = self.line;
                while self.words.next_if(|(line, word)| *line == here && SELECTOR.contains(word)).is_some() {
                    self.value(word)?;
                }
            }
            _ if NUMBERS.contains(&word) => {
                let half = u64::from(self.number(word, index)?);
                let number = if word.starts_with('o') { &mut parts.sealed_before } else { &mut parts.came_before };
                *number |= if word.ends_with("-hi") { half << 32 } else { half };
            }
            _ if WITH_VALUE.contains(&word) => drop(self.value(word)?.len()),
            _ if ALONE.contains(&word) => {}
            _ => return Err(self.unreadable(format!("{}, which is not known here", shown(word)))),
        }
        Ok(())
    }

    fn only(&mut self, of: &str, want: &str) -> Result<(), Unreadable> {
        let found = self.value(of)?;
        match found == want {
            true => Ok(()),
            false => Err(self.unreadable(format!("{} after {of:?}, where only {want} can be used", shown(found)))),
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

    /// The bits to which the kernel truncates where nothing is said are 96 for all of them.
    fn integrity(&mut self, word: &str, parts: &mut Parts) -> Result<(), Unreadable> {
        let name = self.value(word)?;
        parts.integrity_key = self.key(word)?;
        let bits = if word == "auth" { 96 } else { self.number(word, |word| word.parse().ok())? };
        parts.mac = Some(match (name, bits) {
            ("hmac(md5)" | "md5", 96) => "hmac-md5-96",
            ("hmac(sha1)" | "sha1", 96) => "hmac-sha1-96",
            ("hmac(sha256)" | "sha256", 128) => "hmac-sha-256-128",
            _ => {
                let found =
                    format!("{} of {bits} bits after {word:?}, where hmac(md5) and hmac(sha1) of 96 bits", shown(name));
                return Err(self.unreadable(format!("{found} and hmac(sha256) of 128 (auth-trunc) can be used")));
            }
        });
        Ok(())
    }
}

fn is_known(word: &str) -> bool {
    let others = ["src", "dst", "spi", "proto", "mode", "flag", "enc", "aead", "auth", "auth-trunc", "encap", "sel"];
    [&others[..], &WITH_VALUE, &NUMBERS, &ALONE].iter().any(|known| known.contains(&word))
}

/// An index, as a decimal number or with 0x; the other form may follow in parentheses.
fn index(word: &str) -> Option<u32> {
    let word = word.split('(').next()?;
    match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}
