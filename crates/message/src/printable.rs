//! Foreign text in a form safe for a terminal or a page: answers of servers, names of columns and
//! files, results from others. Such text can move the cursor, recolour or retitle a terminal, or
//! reverse the reading order, so that a reader sees other text than is there. Not here: secrets in
//! a text ([`crate::shown_address`](mod@crate::shown_address)).

use std::borrow::Cow;

/// Returns `text` on one line: each character that would not be seen as itself is shown by its
/// number, such as `\u{1b}`; line breaks and tabs too.
///
/// The unsafe characters are controls (C0, DEL, C1), changes of the reading order (U+061C, U+200E,
/// U+200F, U+202A to U+202E, U+2066 to U+2069), zero-width and invisible characters (U+00AD,
/// U+180E, U+200B to U+200D, U+2060 to U+2064, U+206A to U+206F, U+FEFF, U+FFF9 to U+FFFB, U+E0000
/// to U+E007F), and separators of lines and paragraphs (U+2028, U+2029). A joiner between letters
/// of a script that is written with it (U+200C, U+200D behind U+0600 to U+0DFF) stays.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// As [`printable`] of text with several lines: line feeds and tabs stay.
#[must_use]
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let joins = matches!(c, '\u{200c}' | '\u{200d}') && matches!(before, '\u{600}'..='\u{dff}');
        if stays(c) || joins || !is_hidden(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
        before = c;
    }
    Cow::Owned(shown)
}

/// Returns whether `c` is a control character or invisible.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_something_is_shown_by_its_number() {
        for (text, want) in [
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("a\rb\x08c\0\x7f", "a\\u{d}b\\u{8}c\\u{0}\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("user\u{202e}gpj.exe\u{2066}", "user\\u{202e}gpj.exe\\u{2066}"),
            ("na\u{200b}me\u{feff}", "na\\u{200b}me\\u{feff}"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("a\tb\nc", "a\\u{9}b\\u{a}c"),
        ] {
            assert_eq!(printable(text), want);
        }
        assert_eq!(printable_lines("a\n\tb\x1b\r"), "a\n\tb\\u{1b}\\u{d}");
    }

    #[test]
    fn text_of_all_languages_stays() {
        for text in [
            "plain",
            "주민등록번호",
            "\u{1112}\u{1161}\u{11ab}",
            "ß é 漢字 – … ×",
            "می\u{200c}خواهم",
        ] {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn no_control_is_left_of_any_character() {
        for number in 0..=0xffff_u32 {
            let Some(c) = char::from_u32(number) else { continue };
            let shown = printable_lines(&format!("x{c}")).into_owned();
            assert!(!shown.chars().any(|c| c.is_control() && !"\n\t".contains(c)), "{number:x}");
        }
    }
}
