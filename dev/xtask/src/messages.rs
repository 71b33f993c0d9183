//! No message to users names a folder of `dev/`, which is never shipped.
//!
//! Not here: how messages are otherwise worded.

use crate::code_text::literals;
use crate::tokens::test_lines;

/// One line for each literal of a shipped file that does.
pub(crate) fn findings(sources: &[(String, String)]) -> Vec<String> {
    let found = sources.iter().flat_map(|(path, source)| {
        messages(path, source)
            .into_iter()
            .map(move |(line, _)| format!("{path}:{line}: a message names a folder of dev/, which users do not have"))
    });
    found.collect()
}

/// The literals of `path` that name a folder of `dev/`, with their lines; none if nothing of it is shipped.
fn messages(path: &str, source: &str) -> Vec<(usize, String)> {
    let shipped = path.starts_with("crates/") || path.starts_with("adapters/");
    if !shipped || !path.contains("/src/") || path.contains("/tests/") || path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let of_tests = test_lines(source);
    let named = |(line, literal): &(usize, String)| names_dev(literal) && !of_tests.iter().any(|of| of.contains(line));
    literals(source).into_iter().filter(named).collect()
}

/// Returns whether a path in `text` begins with our folder, which `/dev/null` does not.
fn names_dev(text: &str) -> bool {
    text.match_indices("dev/").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/_-.".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, source: &str) -> Vec<String> {
        findings(&[(path.to_owned(), source.to_owned())])
    }

    #[test]
    fn a_message_with_a_folder_of_ours_fails() {
        let source = "fn f() {\n    say(\"run sh dev/setup.sh kmip\");\n}\n";
        let found = check("adapters/a/src/b.rs", source);
        assert_eq!(found, ["adapters/a/src/b.rs:2: a message names a folder of dev/, which users do not have"]);
        assert_eq!(check("crates/a/src/b.rs", "const A: &str = \"first\\n\n  dev/e2e\";").len(), 1);
    }

    #[test]
    fn other_places_do_not() {
        for (path, source) in [
            ("adapters/a/src/b.rs", "open(\"/dev/null\"); // see dev/e2e\n"),
            ("adapters/a/src/b.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"dev/e2e\";\n}\n"),
            ("adapters/a/tests/b.rs", "const A: &str = \"dev/e2e\";"),
            ("dev/e2e/src/b.rs", "const A: &str = \"dev/e2e\";"),
        ] {
            assert_eq!(check(path, source), [""; 0], "{path}: {source}");
        }
    }
}
