//! First words of doc comments: a function's is a verb, a type's the head of a noun phrase, and
//! none is a question word, which makes a reader wait for the definition.
//!
//! Comments of reasons (`//`) are exempt: they are sentences of any kind.

/// Words that no doc comment begins with.
const WORDS: [&str; 6] = ["How", "What", "Where", "Whether", "Which", "Why"];

/// Returns one line for each doc comment that does.
pub(crate) fn findings(sources: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, source) in sources {
        let mut within = false;
        for (number, line) in source.lines().enumerate() {
            let comment = doc_comment(line);
            let text = comment.map(str::trim).filter(|text| !within && !text.is_empty());
            let word = text.and_then(|text| text.split(|c: char| !c.is_alphanumeric()).next());
            if let Some(word) = word.filter(|word| WORDS.contains(word)) {
                let line = number + 1;
                found.push(format!(
                    "{path}:{line}: a doc comment begins with {word}: begin with a verb, or a noun"
                ));
            }
            within = comment.is_some();
        }
    }
    found
}

/// Returns the text of `line` if it is one of a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let outer = line.strip_prefix("///").filter(|text| !text.starts_with('/'));
    outer.or_else(|| line.strip_prefix("//!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str) -> Vec<String> {
        findings(&[("a.rs".into(), source.into())])
    }

    #[test]
    fn a_question_word_at_the_beginning_fails() {
        let source = "//! Why it is.\n\nstruct A \
                      {\n    /// Whether it is\n    /// set.\n    is_set: bool,\n}\n";
        let found = check(source);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0], "a.rs:1: a doc comment begins with Why: begin with a verb, or a noun");
        assert!(found[1].starts_with("a.rs:4: "), "{found:?}");
    }

    #[test]
    fn one_further_on_or_in_another_comment_does_not() {
        let text = [
            "/// Returns the place",
            "/// Where it is.",
            "// Why: it is quicker.",
            "//// What",
            "/// Whatever.",
        ];
        assert_eq!(check(&text.join("\n")), [""; 0]);
    }
}
