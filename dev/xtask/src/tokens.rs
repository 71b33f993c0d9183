//! Rust source as a row of words and signs, without comments, literals, and what is compiled for tests alone.
//!
//! Not a parser: what the tokens mean is for those who read them (`module_graph`).

use std::ops::{Range, RangeInclusive};

use crate::code_text::code_only;

/// A word, `::`, or a single sign, with its line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The tokens of `source`. Items under `#[cfg(test)]` are left out; a file under `#![cfg(test)]` has none.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let all = all_tokens(&code_only(source));
    let tests = test_items(&all);
    let kept = all.into_iter().enumerate().filter(|(at, _)| !tests.iter().any(|item| item.contains(at)));
    kept.map(|(_, token)| token).collect()
}

/// The lines (from 1) of `source` that are compiled for tests alone, by item.
pub(crate) fn test_lines(source: &str) -> Vec<RangeInclusive<usize>> {
    let all = all_tokens(&code_only(source));
    let lines = |item: Range<usize>| all[item.start].line..=all[item.end - 1].line;
    test_items(&all).into_iter().map(lines).collect()
}

fn all_tokens(code: &str) -> Vec<Token> {
    let mut found = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let bytes = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.push(Token { text: rest[..bytes].to_owned(), line: index + 1 });
            rest = rest[bytes..].trim_start();
        }
    }
    found
}

/// Returns whether `c` may be part of a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns whether `token` is a word and not a number.
pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| is_word(c) && !c.is_ascii_digit())
}

/// The items under `#[cfg(test)]`, attributes and all, as ranges of tokens.
fn test_items(tokens: &[Token]) -> Vec<Range<usize>> {
    let starts = |at: usize, words: &[&str]| {
        words.iter().enumerate().all(|(offset, word)| tokens.get(at + offset).is_some_and(|token| token.text == *word))
    };
    let is_test =
        |at: usize| starts(at, &["cfg", "(", "test", ")", "]"]) || starts(at, &["cfg", "(", "all", "(", "test", ","]);
    let mut items = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if starts(at, &["#", "!", "["]) && is_test(at + 3) {
            items.push(0..tokens.len());
        }
        let end = if starts(at, &["#", "["]) && is_test(at + 2) { item_end(tokens, at) } else { at };
        if end > at {
            items.push(at..end);
        }
        at = end.max(at + 1);
    }
    items
}

/// Returns the end of the item whose attributes begin at `at`.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    const ITEMS: [&str; 14] = [
        "fn",
        "mod",
        "struct",
        "enum",
        "union",
        "trait",
        "impl",
        "const",
        "static",
        "type",
        "use",
        "extern",
        "unsafe",
        "macro_rules",
    ];
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    while text(at) == "#" {
        at = group_end(tokens, at + 1);
    }
    if text(at) == "pub" {
        at += 1;
        if text(at) == "(" {
            at = group_end(tokens, at);
        }
    }
    let (is_item, is_use) = (ITEMS.contains(&text(at)), text(at) == "use");
    while at < tokens.len() {
        match text(at) {
            "{" if is_item && !is_use => return group_end(tokens, at),
            "(" | "[" | "{" => at = group_end(tokens, at),
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            // the end of what the item is in
            ")" | "]" | "}" => return at,
            _ => at += 1,
        }
    }
    at
}

/// Returns the end of the group that opens at `at`.
fn group_end(tokens: &[Token], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(source: &str) -> String {
        tokens(source).into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_signs() {
        assert_eq!(joined("use a::{b_1, self}; // c\nlet d = \"e\";"), "use a :: { b_1 , self } ; let d = ;");
        assert_eq!(tokens("a\n\nb")[1], Token { text: "b".into(), line: 3 });
    }

    #[test]
    fn what_is_for_tests_is_left_out() {
        for (source, want) in [
            ("fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {}", "fn a ( ) { } fn c ( ) { }"),
            ("#[cfg(test)] mod tests; mod a;", "mod a ;"),
            ("#[cfg(test)]\n#[allow(x)]\npub(crate) fn b() -> [u8; 2] { [1, 2] } mod a;", "mod a ;"),
            ("#[cfg(test)] use a::{b, c}; mod a;", "mod a ;"),
            ("struct S { #[cfg(test)] a: u8, b: u8 }", "struct S { b : u8 }"),
            ("enum S { B, #[cfg(test)] A }", "enum S { B , }"),
            ("#[cfg(all(test, unix))] mod tests {} mod a;", "mod a ;"),
            ("#[cfg(not(test))] mod a;", "# [ cfg ( not ( test ) ) ] mod a ;"),
            ("#![cfg(test)] mod a;", ""),
        ] {
            assert_eq!(joined(source), want, "{source}");
        }
    }
}
