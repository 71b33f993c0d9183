//! No message to users names a folder of `dev/`, which is never shipped.

use quote::ToTokens;

use crate::source::Source;
use crate::tokens::{self, Kind};

/// Returns one line for each literal of `source`, if it is shipped, that does.
pub(crate) fn findings(source: &Source) -> Vec<String> {
    let path = &source.path;
    let shipped = path.starts_with("crates/") || path.starts_with("adapters/");
    if !shipped
        || !path.contains("/src/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
    {
        return Vec::new();
    }
    let row = tokens::row(source.shipped.to_token_stream());
    let named = row.iter().filter(|token| token.kind == Kind::Literal && names_dev(&token.text));
    named
        .map(|token| {
            format!(
                "{path}:{}: a message names a folder of dev/, which users do not have",
                token.line
            )
        })
        .collect()
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
        findings(&Source::parse(path, source).unwrap())
    }

    #[test]
    fn a_message_with_a_folder_of_ours_fails() {
        let source = "fn f() {\n    say(\"run sh dev/setup.sh kmip\");\n}\n";
        let found = check("adapters/a/src/b.rs", source);
        assert_eq!(
            found,
            ["adapters/a/src/b.rs:2: a message names a folder of dev/, which users do not have"]
        );
        assert_eq!(check("crates/a/src/b.rs", "const A: &str = \"first\\n\n  dev/e2e\";").len(), 1);
    }

    #[test]
    fn other_places_do_not() {
        for (path, source) in [
            (
                "adapters/a/src/b.rs",
                "/// As dev/e2e.\nfn f() { open(\"/dev/null\"); } // see dev/e2e\n",
            ),
            (
                "adapters/a/src/b.rs",
                "#[cfg(test)]\nmod tests {\n    const A: &str = \"dev/e2e\";\n}\n",
            ),
            ("adapters/a/tests/b.rs", "const A: &str = \"dev/e2e\";"),
            ("dev/e2e/src/b.rs", "const A: &str = \"dev/e2e\";"),
        ] {
            assert_eq!(check(path, source), [""; 0], "{path}: {source}");
        }
    }
}
