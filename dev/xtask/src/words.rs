//! Words that an engineer who grew up with English does not write in a comment, in a text or on a
//! page.

use crate::tokens::{self, Kind};

/// The words, and what is written instead.
const WORDS: [(&str, &str); 3] = [
    ("anew", "again, or a verb with re-"),
    ("meanwhile", "by then, in the meantime, or nothing"),
    ("whoever", "anyone who, or the one meant"),
];

/// A sentence with one of them that recorded runs hold, which is never reworded.
const RECORDED: &str = "whoever can guess a value can check";

/// Ends of the names of other files that are read as a whole: comments, texts and code.
const OTHERS: [&str; 12] = [
    ".java",
    ".scala",
    ".h",
    ".cc",
    ".py",
    ".pyi",
    ".sh",
    ".toml",
    ".xml",
    ".yml",
    "Makefile",
    "Containerfile",
];

/// Returns whether `path` is a file that is read as a whole, apart from Rust and pages.
pub(crate) fn reads(path: &str) -> bool {
    OTHERS.iter().any(|end| path.ends_with(end))
}

/// Returns one line for each of them in a comment or a text of `sources`, in the prose of `pages`,
/// or anywhere in `others`: pairs of a path and a text.
pub(crate) fn findings(
    sources: &[(String, String)],
    pages: &[(String, String)],
    others: &[(String, String)],
) -> Vec<String> {
    let rust = sources.iter().map(|(path, text)| {
        // those of dev/ are no texts for users, and name the words
        let is_shipped = ["crates/", "adapters/"].iter().any(|folder| path.starts_with(folder));
        (path, if is_shipped { comments_and_texts(text) } else { comments(text).collect() })
    });
    let prose = pages.iter().map(|(path, text)| (path, prose(text)));
    let whole = others.iter().map(|(path, text)| (path, lines(text).collect()));
    let mut found = Vec::new();
    for (path, lines) in rust.chain(prose).chain(whole) {
        for (number, line) in lines {
            let line = line.to_lowercase().replace(RECORDED, "");
            let words: Vec<&str> = line.split(|c: char| !c.is_alphabetic()).collect();
            let found_here = WORDS.iter().filter(|(word, _)| words.contains(word));
            found.extend(
                found_here
                    .map(|(word, instead)| format!("{path}:{number}: {word}: write {instead}")),
            );
        }
    }
    found
}

/// Returns the lines of `text` with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, String)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned()))
}

/// Returns the comments of Rust code, by line, and its literals, each with the line it begins in.
/// Code that does not parse has comments only.
fn comments_and_texts(text: &str) -> Vec<(usize, String)> {
    let row = text.parse().map(tokens::row).unwrap_or_default();
    let literals = row.into_iter().filter(|token| token.kind == Kind::Literal);
    comments(text).chain(literals.map(|token| (token.line, token.text))).collect()
}

/// Returns the comments of Rust code with their lines.
fn comments(text: &str) -> impl Iterator<Item = (usize, String)> {
    lines(text).filter_map(|(at, line)| Some((at, comment(&line)?.to_owned())))
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

    fn check(path: &str, text: &str) -> Vec<String> {
        let file = [(path.to_owned(), text.to_owned())];
        let none = &[][..];
        let (sources, pages, others) = match path.rsplit('.').next() {
            Some("rs") => (&file[..], none, none),
            Some("md") => (none, &file[..], none),
            _ => (none, none, &file[..]),
        };
        findings(sources, pages, others)
    }

    #[test]
    fn a_word_in_a_comment_in_a_text_or_in_prose_fails() {
        for (path, text, begins) in [
            (
                "crates/a.rs",
                "/// Reads it anew.\nfn anew() {}\n// renewed\n    // Whoever\nconst A: &str = \
                 \"is\n meanwhile gone\";\n",
                &[
                    "crates/a.rs:1: anew: ",
                    "crates/a.rs:4: whoever: ",
                    "crates/a.rs:5: meanwhile: ",
                ][..],
            ),
            (
                "b.md",
                "Read anew.\n```sh\nmeanwhile\n```\nThe word `anew` is\nmeanwhile gone.\n",
                &["b.md:1: anew: ", "b.md:6: meanwhile: "],
            ),
            ("c.toml", "# a\nb = \"Whoever asks\"\n", &["c.toml:2: whoever: "]),
        ] {
            let found = check(path, text);
            assert_eq!(found.len(), begins.len(), "{found:?}");
            let pairs = found.iter().zip(begins);
            assert!(pairs.clone().all(|(found, begin)| found.starts_with(begin)), "{found:?}");
        }
    }

    #[test]
    fn what_recorded_runs_hold_stays() {
        let text = "fn_sha2 = \"and whoever can guess a value can check the guess\"\n";
        assert_eq!(check("crates/bench/texts/en.toml", text), [""; 0]);
    }

    #[test]
    fn other_files_are_those_with_comments() {
        assert!(reads("adapters/java/pom.xml") && reads("Makefile") && reads("a/b.cc"));
        assert!(!reads("vectors/aria.txt") && !reads("crates/a/src/lib.rs"));
    }
}
