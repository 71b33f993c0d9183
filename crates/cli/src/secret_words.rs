//! Words of the command line that hold an address, and so perhaps a password: no output of this
//! program about such a word, including the parser's own errors, shows more of it than is allowed.

use std::ffi::OsString;
use std::sync::OnceLock;

use sealstone_message::{may_hold_secret, shown_address};

/// Separators of the pieces of an address: a piece with one of these next to it was cut out of an
/// address.
const BETWEEN: &str = "@/?#&=:;,'\"";
/// Quotation marks that messages put around a word from another source.
const QUOTES: [char; 3] = ['"', '\'', '`'];
/// Shorter pieces are in many a word.
const PIECE_CHARS_MIN: usize = 3;

/// A secret text, and its replacement.
type Hidden = (String, String);

static HIDDEN: OnceLock<Vec<Hidden>> = OnceLock::new();

/// Remembers the words of `arguments` that hold addresses; the first time counts.
pub(crate) fn remember(arguments: &[OsString]) {
    let mut hidden: Vec<Hidden> = Vec::new();
    for word in arguments.iter().skip(1).map(|word| word.to_string_lossy()) {
        add(&word, &mut hidden);
    }
    // whole words before their pieces
    hidden.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    hidden.dedup();
    // a second command line within one process is a test's
    let _ = HIDDEN.set(hidden);
}

/// Returns `text` with what may be shown of each word that was remembered in the place of the word.
pub(crate) fn hide(text: &str) -> String {
    hide_of(text, HIDDEN.get().map_or(&[], Vec::as_slice))
}

/// Returns `json` with [`hide`] done in each text of it. Names of members and numbers stay, and so
/// does a text that only happens to be a piece of an address, such as the name of a user.
pub(crate) fn hide_json(json: &str) -> String {
    hide_json_of(json, HIDDEN.get().map_or(&[], Vec::as_slice))
}

fn hide_json_of(json: &str, hidden: &[Hidden]) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        let (literal, after) = from.split_at(literal_bytes(from));
        let is_name = after.trim_start().starts_with(':');
        shown.push_str(before);
        match serde_json::from_str::<String>(literal) {
            Ok(text) if !is_name => {
                let said = hide_of(&text, hidden);
                if said == text {
                    shown.push_str(literal);
                } else {
                    shown.push_str(&serde_json::Value::from(said).to_string());
                }
            }
            _ => shown.push_str(literal),
        }
        rest = after;
    }
    shown + rest
}

/// Returns the length of the JSON text at the beginning of `json`, in bytes, with its quotation
/// marks.
fn literal_bytes(json: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

fn hide_of(text: &str, hidden: &[Hidden]) -> String {
    let mut shown = text.to_owned();
    for (word, instead) in hidden {
        if shown.contains(word.as_str()) {
            shown = shown.replace(word.as_str(), instead);
        }
    }
    shown
}

fn add(word: &str, hidden: &mut Vec<Hidden>) {
    let value = match word.strip_prefix('-').and_then(|flag| flag.split_once('=')) {
        // an address that somebody took for a flag
        Some((name, _)) if may_hold_secret(name) => word.trim_start_matches('-'),
        Some((_, value)) => value,
        None => word,
    };
    if !may_hold_secret(value) {
        return;
    }
    let shown = shown_address(value);
    hidden.extend(spellings(value).map(|spelling| (spelling, shown.clone())));
    // a list is quoted entry by entry
    for entry in
        value.split(',').filter(|entry| *entry != value && entry.chars().count() >= PIECE_CHARS_MIN)
    {
        let is_shown = shown.contains(entry);
        hidden.extend(
            spellings(entry).filter(|_| !is_shown).map(|spelling| (spelling, "…".to_owned())),
        );
    }
    // words cut at commas, colons and equal signs are quoted in pieces
    let mut begin = 0;
    for cut in value.split_inclusive(is_between) {
        let piece = cut.trim_end_matches(is_between);
        let end = begin + piece.len();
        let before = value[..begin].chars().next_back();
        let after = value[end..].chars().next();
        begin += cut.len();
        if piece.chars().count() < PIECE_CHARS_MIN || shown.contains(piece) {
            continue;
        }
        for spelling in spellings(piece) {
            // behind a slash it can be a part of any path
            hidden.extend(
                before.filter(|c| *c != '/').map(|c| (format!("{c}{spelling}"), format!("{c}…"))),
            );
            hidden.extend(
                after.filter(|c| *c == '@').map(|c| (format!("{spelling}{c}"), format!("…{c}"))),
            );
            // a word taken for a name is quoted alone
            // or with the piece behind it
            hidden.extend(after.into_iter().flat_map(|c| {
                QUOTES.map(|quote| (format!("{quote}{spelling}{c}"), format!("{quote}…{c}")))
            }));
            hidden
                .extend(QUOTES.map(|quote| {
                    (format!("{quote}{spelling}{quote}"), format!("{quote}…{quote}"))
                }));
        }
    }
}

fn is_between(c: char) -> bool {
    BETWEEN.contains(c)
}

/// Returns the forms of `text` in messages: unchanged, quoted, in JSON, for a shell.
fn spellings(text: &str) -> impl Iterator<Item = String> {
    let quoted =
        |text: String| text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let json = serde_json::to_string(text).map(quoted).unwrap_or_default();
    let mut all =
        vec![text.to_owned(), quoted(format!("{text:?}")), json, text.replace('\'', "'\\''")];
    all.dedup();
    all.into_iter().filter(|spelling| !spelling.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(word: &str, text: &str) -> String {
        let mut hidden = Vec::new();
        add(word, &mut hidden);
        hidden.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        hide_of(text, &hidden)
    }

    #[test]
    fn a_word_with_an_address_is_said_without_its_secrets() {
        let word = "postgres://me:ge'heim@h/d";
        assert_eq!(
            said(word, &format!("cannot read {word}: no")),
            "cannot read postgres://h/d: no"
        );
        assert_eq!(
            said(word, &format!("unknown cipher {word:?}")),
            "unknown cipher \"postgres://h/d\""
        );
        assert_eq!(
            said(&format!("--records={word}"), &format!("invalid value '{word}'")),
            "invalid value 'postgres://h/d'"
        );
        assert_eq!(said("a:me:geheim@h", "unknown \"me:geheim@h\""), "unknown \"me:…@h\"");
    }

    #[test]
    fn its_pieces_are_not_said_either() {
        let word = "host=h password=geheim,auch user=me";
        for text in [
            "unknown method \"h password=geheim,auch user=me\"",
            "unknown cipher \"auch user=me\"",
            "x=geheim,",
            "'geheim'",
        ] {
            let said = said(word, text);
            assert!(!said.contains("geheim") && !said.contains("auch"), "{said}");
        }
    }

    #[test]
    fn an_address_that_was_taken_for_a_flag_is_one() {
        let word = "--mongodb://u:geheim@h/?authSource=x";
        for text in [
            format!("unexpected argument '{word}' found"),
            "unexpected argument '--mongodb://u:geheim@h/?authSource' found".into(),
        ] {
            let said = said(word, &text);
            assert!(!said.contains("geheim"), "{said}");
        }
        let said =
            said("postgres://h/d?password=geheim=aead", "unknown method \"geheim=aead\"; no");
        assert!(!said.contains("geheim"), "{said}");
    }

    #[test]
    fn json_stays_json_and_says_who_did_it() {
        let word = "mysql://orders:1000@db/shop?host=event";
        let mut hidden = Vec::new();
        add(word, &mut hidden);
        hidden.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let plain =
            "{\"event\":\"end\",\"host\": \"orders\",\"uid\":1000,\"list\":[\"orders\",\"\\\\\"]}";
        assert_eq!(hide_json_of(plain, &hidden), plain);
        let said = format!("{{\"at\": \"{word}\", \"why\": \"no \\\"1000\\\" here\"}}");
        let hidden = hide_json_of(&said, &hidden);
        assert_eq!(hidden, "{\"at\": \"mysql://db/shop\", \"why\": \"no \\\"…\\\" here\"}");
        // what is no JSON is left as it is, and ends
        assert_eq!(hide_json_of("\"a\\", &[]), "\"a\\");
    }

    #[test]
    fn other_words_are_said_as_they_are() {
        for word in ["people.csv", "--records=5", "phone=ff1:phone", "kmip:kms.toml"] {
            assert_eq!(said(word, &format!("cannot use {word}")), format!("cannot use {word}"));
        }
        assert_eq!(
            said("postgres://address:host@h/d", "the address of a host"),
            "the address of a host"
        );
    }
}
