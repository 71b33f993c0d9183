//! Words that an engineer who grew up with English does not write in a comment or on a page.

/// The words, and what is written instead.
const WORDS: [(&str, &str); 3] = [
    ("anew", "again, or a verb with re-"),
    ("meanwhile", "by then, in the meantime, or nothing"),
    ("whoever", "anyone who, or the one meant"),
];

/// Returns one line for each of them in a comment of `sources` or in the prose of `pages`: pairs of
/// a path and a text.
pub(crate) fn findings(sources: &[(String, String)], pages: &[(String, String)]) -> Vec<String> {
    let comments = sources.iter().flat_map(|(path, text)| {
        let lines = text.lines().enumerate();
        lines.filter_map(move |(at, line)| Some((path, at + 1, comment(line)?.to_owned())))
    });
    let prose = pages.iter().flat_map(|(path, text)| {
        prose(text).into_iter().map(move |(number, line)| (path, number, line))
    });
    let found = comments.chain(prose).flat_map(|(path, number, line)| {
        let words: Vec<String> =
            line.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase).collect();
        let found = WORDS.iter().filter(move |(word, _)| words.iter().any(|found| found == word));
        found.map(move |(word, instead)| format!("{path}:{number}: {word}: write {instead}"))
    });
    found.collect()
}

/// Returns the text of `line` if it is a comment.
fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")
}

/// Returns the lines of a page with their numbers, without what it shows of programs: blocks, and
/// texts in grave accents.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut is_shown = false;
    let mut prose = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_shown = !is_shown;
        } else if !is_shown {
            prose.push((at + 1, line.split('`').step_by(2).collect::<Vec<_>>().join(" ")));
        }
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_a_comment_or_in_prose_fails() {
        let source = "/// Reads it anew.\nfn anew() {}\n// renewed\n    // Whoever\n";
        let page = "Read anew.\n```sh\nmeanwhile\n```\nThe word `anew` is\nmeanwhile gone.\n";
        let of = |path: &str, text: &str| [(path.to_owned(), text.to_owned())];
        let found = findings(&of("a.rs", source), &of("b.md", page));
        let begins =
            ["a.rs:1: anew: ", "a.rs:4: whoever: ", "b.md:1: anew: ", "b.md:6: meanwhile: "];
        assert_eq!(found.len(), begins.len(), "{found:?}");
        assert!(
            found.iter().zip(begins).all(|(found, begin)| found.starts_with(begin)),
            "{found:?}"
        );
    }
}
