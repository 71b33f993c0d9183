//! Tokens of Rust code in one row, groups and all, without comments; and the paths among them, for
//! code that is not parsed further, such as what a macro is given.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// A word, a literal or a sign, with its line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// As it is written: a literal with its quotes; `::` is one sign.
    pub(crate) text: String,
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Literal,
    Sign,
}

/// Returns the tokens of `stream` in the order of the text. Doc comments, which are attributes to a
/// lexer, are left out.
pub(crate) fn row(stream: TokenStream) -> Vec<Token> {
    let mut found = Vec::new();
    collect(stream, &mut found);
    found
}

fn collect(stream: TokenStream, found: &mut Vec<Token>) {
    let mut half_of_path = false;
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        let mut push = |kind, text: String| found.push(Token { kind, text, line });
        let completes_path = std::mem::take(&mut half_of_path);
        match tree {
            TokenTree::Ident(word) => push(Kind::Word, word.to_string()),
            TokenTree::Literal(literal) => push(Kind::Literal, literal.to_string()),
            TokenTree::Punct(sign) if sign.as_char() == ':' && completes_path => {
                found.last_mut().expect("the first half was pushed").text.push(':');
            }
            TokenTree::Punct(sign) => {
                half_of_path = sign.as_char() == ':' && sign.spacing() == Spacing::Joint;
                push(Kind::Sign, sign.as_char().to_string());
                if sign.as_char() == '#' {
                    leave_out_comment(&mut trees, found);
                }
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(Kind::Sign, open.into());
                collect(group.stream(), found);
                found.push(Token {
                    kind: Kind::Sign,
                    text: close.into(),
                    line: group.span_close().start().line,
                });
            }
        }
    }
}

/// Passes the rest of a doc comment whose `#` was the last token, and takes that out of `found`.
fn leave_out_comment(
    trees: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>,
    found: &mut Vec<Token>,
) {
    let mut ahead = trees.clone();
    if matches!(ahead.peek(), Some(TokenTree::Punct(sign)) if sign.as_char() == '!') {
        ahead.next();
    }
    let Some(TokenTree::Group(group)) = ahead.next() else { return };
    if matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc") {
        found.pop();
        *trees = ahead;
    }
}

/// A path in a row of tokens, or a single word that may be one: a keyword, too.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TokenPath {
    /// The first is `::` if the path begins so.
    pub(crate) names: Vec<String>,
    pub(crate) line: usize,
    /// Position of its first token.
    pub(crate) at: usize,
}

/// Returns the paths of `row`. A member after a dot is none, nor is a lifetime, a variable of a
/// macro, or a name that is being given: after `fn`, `let` and their like, before `:` and `=`.
pub(crate) fn paths(row: &[Token]) -> Vec<TokenPath> {
    let is_word = |at: usize| row.get(at).is_some_and(|token| token.kind == Kind::Word);
    let mut found = Vec::new();
    let mut next = 0;
    while next < row.len() {
        let at = next;
        let is_global = text(row, at) == "::" && !ends_type(row, at);
        let mut last = if is_global { at + 1 } else { at };
        next = last + 1;
        if !is_word(last) {
            continue;
        }
        let mut names = vec![text(row, last).to_owned()];
        while text(row, last + 1) == "::" && is_word(last + 2) {
            last += 2;
            names.push(text(row, last).to_owned());
        }
        next = last + 1;
        let counts = match before(row, at, 1) {
            "." => before(row, at, 2) == ".",
            "$" => names[0] == "crate",
            "'" | "::" => false,
            _ => is_global || names.len() > 1 || !is_being_given(row, at),
        };
        if counts {
            if is_global {
                names.insert(0, "::".into());
            }
            found.push(TokenPath { names, line: row[at].line, at });
        }
    }
    found
}

fn text(row: &[Token], at: usize) -> &str {
    row.get(at).map_or("", |token| token.text.as_str())
}

fn before(row: &[Token], at: usize, count: usize) -> &str {
    at.checked_sub(count).map_or("", |at| text(row, at))
}

/// Returns whether a type or an expression ends before `at`, so that `::` goes on from it.
fn ends_type(row: &[Token], at: usize) -> bool {
    match before(row, at, 1) {
        ">" => !matches!(before(row, at, 2), "-" | "="),
        sign => matches!(sign, ")" | "]"),
    }
}

/// Returns whether the word at `at` is a name for something new, or that of a field or an argument.
fn is_being_given(row: &[Token], at: usize) -> bool {
    let declared = match before(row, at, 1) {
        "const" => before(row, at, 2) != "*",
        word => {
            matches!(word, "enum" | "fn" | "let" | "mod" | "static" | "struct" | "trait" | "type")
        }
    };
    let assigned = text(row, at + 1) == "=" && !matches!(text(row, at + 2), "=" | ">");
    declared || assigned || text(row, at + 1) == ":"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(source: &str) -> Vec<Token> {
        row(source.parse().unwrap())
    }

    fn paths_of(source: &str) -> Vec<String> {
        paths(&row_of(source)).into_iter().map(|path| path.names.join(" ")).collect()
    }

    #[test]
    fn words_literals_and_signs_come_with_their_lines() {
        let row = row_of("use a::{b_1}; // c\n/* d */ let e = \"f\n\";\n'g'");
        let texts: Vec<&str> = row.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(
            texts,
            ["use", "a", "::", "{", "b_1", "}", ";", "let", "e", "=", "\"f\n\"", ";", "'g'"]
        );
        assert_eq!(row[4], Token { kind: Kind::Word, text: "b_1".into(), line: 1 });
        assert_eq!(row[10].kind, Kind::Literal);
        assert_eq!(row[12], Token { kind: Kind::Literal, text: "'g'".into(), line: 4 });
    }

    #[test]
    fn doc_comments_are_left_out_and_other_attributes_are_not() {
        let texts = |source: &str| {
            row_of(source).into_iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts("//! a\n/// b\n#[c] fn d() {}"), "# [ c ] fn d ( ) { }");
        assert_eq!(texts("/** a */ #![b] d"), "# ! [ b ] d");
    }

    #[test]
    fn paths_are_found_in_any_row() {
        for (source, want) in [
            ("\"{}\", crate::a::B::new(c)", vec!["crate a B new", "c"]),
            ("$crate::a::B $d::e $f", vec!["crate a B"]),
            ("x.y().z 0..a::B", vec!["x", "a B"]),
            ("::a::B -> ::c::D", vec![":: a B", ":: c D"]),
            ("A::<B>::c <[u8]>::d &'a E", vec!["A", "B", "u8", "E"]),
            ("*const a::B, *const C", vec!["const", "a B", "const", "C"]),
        ] {
            assert_eq!(paths_of(source), want, "{source}");
        }
    }

    #[test]
    fn names_that_are_being_given_are_no_paths() {
        assert_eq!(paths_of("fn a(b: C) { d = E }"), ["fn", "C", "E"]);
        assert_eq!(paths_of("A == b, C => d"), ["A", "b", "C", "d"]);
    }
}
