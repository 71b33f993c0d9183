//! No message to users names a folder of `dev/`, which is never shipped.
//!
//! Not here: how messages are otherwise worded.

use crate::code_text::literals;
use crate::tokens::test_lines;

/// Commands that messages still name, and why; wherever they are. The list only becomes shorter.
const ALLOWED: &[(&str, &str)] = &[
    ("sh dev/setup.sh kmip", "a lab finds what was installed from a checkout, and nothing else installs it"),
    ("sh dev/setup.sh mongod", "a lab finds what was installed from a checkout, and nothing else installs it"),
];

/// One line for each literal of a shipped file that does, and for each permission that nothing needs any more.
pub(crate) fn findings(sources: &[(String, String)]) -> Vec<String> {
    against(sources, ALLOWED)
}

fn against(sources: &[(String, String)], allowed: &[(&str, &str)]) -> Vec<String> {
    let (mut found, mut needed) = (Vec::new(), Vec::new());
    for (path, source) in sources {
        for (line, message) in messages(path, source) {
            match allowed.iter().find(|(command, _)| message.contains(command)) {
                Some(permission) => needed.push(permission),
                None => found.push(format!("{path}:{line}: a message names a folder of dev/, which users do not have")),
            }
        }
    }
    for permission in allowed.iter().filter(|permission| !needed.contains(permission)) {
        let command = permission.0;
        found.push(format!("no message names {command:?}: take it out of ALLOWED in dev/xtask/src/messages.rs"));
    }
    found
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

/// Whether a path in `text` begins with our folder, which `/dev/null` does not.
fn names_dev(text: &str) -> bool {
    text.match_indices("dev/").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/_-.".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, source: &str, allowed: &[(&str, &str)]) -> Vec<String> {
        against(&[(path.to_owned(), source.to_owned())], allowed)
    }

    #[test]
    fn a_message_with_a_folder_of_ours_fails() {
        let source = "fn f() {\n    say(\"run sh dev/setup.sh kmip\");\n}\n";
        let found = check("adapters/a/src/b.rs", source, &[]);
        assert_eq!(found, ["adapters/a/src/b.rs:2: a message names a folder of dev/, which users do not have"]);
        assert_eq!(check("crates/a/src/b.rs", "const A: &str = \"first\\n\n  dev/e2e\";", &[]).len(), 1);
    }

    #[test]
    fn what_is_allowed_must_be_needed() {
        let source = "const A: &str = \"dev/e2e now\";";
        assert_eq!(check("crates/a/src/b.rs", source, &[("dev/e2e", "why")]), [""; 0]);
        let stale = check("crates/a/src/b.rs", "", &[("dev/e2e", "why")]);
        assert_eq!(stale, ["no message names \"dev/e2e\": take it out of ALLOWED in dev/xtask/src/messages.rs"]);
    }

    #[test]
    fn other_places_do_not() {
        for (path, source) in [
            ("adapters/a/src/b.rs", "open(\"/dev/null\"); // see dev/e2e\n"),
            ("adapters/a/src/b.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"dev/e2e\";\n}\n"),
            ("adapters/a/tests/b.rs", "const A: &str = \"dev/e2e\";"),
            ("dev/e2e/src/b.rs", "const A: &str = \"dev/e2e\";"),
        ] {
            assert_eq!(check(path, source, &[]), [""; 0], "{path}: {source}");
        }
    }
}
