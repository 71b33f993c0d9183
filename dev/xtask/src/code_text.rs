//! Rust source taken apart into code, comments and literals, so that a word can be searched for in only one of them.
//!
//! Not a parser: it knows comments, strings, raw strings, characters and lifetimes, and nothing else.

/// Returns `source` with every comment and literal replaced by spaces; newlines stay, so line numbers hold.
pub(crate) fn code_only(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for piece in pieces(source) {
        match piece {
            Piece::Code(text) => out.push_str(&text),
            Piece::Comment(text) | Piece::Literal(text) => {
                out.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            }
        }
    }
    out
}

/// Every literal of `source` as it is written, quotes and all, with the number of the line (from 1) on which it begins.
pub(crate) fn literals(source: &str) -> Vec<(usize, String)> {
    let (mut line, mut found) = (1, Vec::new());
    for piece in pieces(source) {
        let (Piece::Code(text) | Piece::Comment(text) | Piece::Literal(text)) = &piece;
        let begun = line;
        line += text.matches('\n').count();
        if let Piece::Literal(text) = piece {
            found.push((begun, text));
        }
    }
    found
}

/// A stretch of source.
enum Piece {
    Code(String),
    Comment(String),
    Literal(String),
}

/// All of `source`, in order.
fn pieces(source: &str) -> Vec<Piece> {
    let text: Vec<char> = source.chars().collect();
    let mut pieces = Vec::new();
    let mut code = String::new();
    let mut at = 0;
    while at < text.len() {
        let comment = match (text[at], text.get(at + 1)) {
            ('/', Some('/')) => line_end(&text, at),
            ('/', Some('*')) => block_comment_end(&text, at),
            _ => at,
        };
        let literal = match text[at] {
            '"' => string_end(&text, at),
            'r' if !continues_word(&text, at) => raw_string_end(&text, at).unwrap_or(at),
            '\'' => char_end(&text, at).unwrap_or(at),
            _ => at,
        };
        let end = comment.max(literal);
        if end == at {
            code.push(text[at]);
            at += 1;
            continue;
        }
        pieces.push(Piece::Code(std::mem::take(&mut code)));
        let piece = text[at..end].iter().collect();
        pieces.push(if comment > at { Piece::Comment(piece) } else { Piece::Literal(piece) });
        at = end;
    }
    pieces.push(Piece::Code(code));
    pieces
}

/// Numbers (from 1) of the lines of `source` that contain `word` as a whole word.
pub(crate) fn lines_with_word(source: &str, word: &str) -> Vec<usize> {
    let has = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    };
    source.lines().enumerate().filter(|(_, line)| has(line)).map(|(index, _)| index + 1).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn continues_word(text: &[char], at: usize) -> bool {
    at > 0 && is_word(text[at - 1]) && !(text[at - 1] == 'b' && (at < 2 || !is_word(text[at - 2])))
}

fn line_end(text: &[char], at: usize) -> usize {
    text[at..].iter().position(|c| *c == '\n').map_or(text.len(), |length| at + length)
}

fn block_comment_end(text: &[char], at: usize) -> usize {
    let (mut depth, mut here) = (0, at);
    while here + 1 < text.len() {
        match (text[here], text[here + 1]) {
            ('/', '*') => (depth, here) = (depth + 1, here + 2),
            ('*', '/') => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            return here;
        }
    }
    text.len()
}

fn string_end(text: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while here < text.len() {
        match text[here] {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    text.len()
}

fn raw_string_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
    let open = at + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let close = |here: &usize| {
        text[*here] == '"' && text[here + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes
    };
    Some((open + 1..text.len()).find(close).map_or(text.len(), |here| here + 1 + hashes))
}

/// End of a character literal, or `None` where the quote begins a lifetime.
fn char_end(text: &[char], at: usize) -> Option<usize> {
    if text.get(at + 1) == Some(&'\\') {
        let close = text[at + 3..].iter().position(|c| *c == '\'')?;
        return Some(at + 3 + close + 1);
    }
    (text.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_literals_do_not_count() {
        let source = "// danger\n/* danger /* danger */ danger */\nlet a = \"danger \\\" danger\";\n\
                      let b = r#\"danger \" danger\"#;\nlet c = 'd'; fn f<'danger_zone>() {}\n";
        assert_eq!(lines_with_word(&code_only(source), "danger"), Vec::<usize>::new());
    }

    #[test]
    fn words_in_code_count_with_their_line() {
        let source =
            "let quote = '\"';\nlet escaped = '\\'';\ndanger { }\nlet r = br\"x\"; danger\nlet danger_code = 1;\n";
        assert_eq!(lines_with_word(&code_only(source), "danger"), [3, 4]);
    }

    #[test]
    fn literals_come_with_their_line() {
        let source = "// \"no\"\nlet a = \"b\n c\";\nlet d = r#\"e\"#;\n";
        assert_eq!(literals(source), [(2, "\"b\n c\"".to_owned()), (4, "r#\"e\"#".to_owned())]);
    }

    #[test]
    fn lines_stay_in_place() {
        let source = "a /* 1\n2 */ b \"x\ny\" c\n";
        assert_eq!(code_only(source).lines().count(), source.lines().count());
    }
}
