//! Rust source with comments and literals blanked out, so that a word can be looked for in code alone.
//!
//! Not a parser: it knows comments, strings, raw strings, characters and lifetimes, and nothing else.

/// Returns `source` with every comment and literal replaced by spaces; newlines stay, so line numbers hold.
pub(crate) fn code_only(source: &str) -> String {
    let text: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < text.len() {
        let end = match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => line_end(&text, at),
            '/' if text.get(at + 1) == Some(&'*') => block_comment_end(&text, at),
            '"' => string_end(&text, at),
            'r' if !continues_word(&text, at) => raw_string_end(&text, at).unwrap_or(at),
            '\'' => char_end(&text, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(text[at]);
            at += 1;
        } else {
            out.extend(text[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Numbers (from 1) of the lines of `source` in which `word` stands as a whole word.
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
    fn lines_stay_in_place() {
        let source = "a /* 1\n2 */ b \"x\ny\" c\n";
        assert_eq!(code_only(source).lines().count(), source.lines().count());
    }
}
