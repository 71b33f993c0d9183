//! Paths in the pages: each that names a file or a folder of this repository names one that is
//! there.

use std::collections::BTreeSet;

/// Beginnings of the paths that are checked: the folders at the root with tracked files.
const FOLDERS: [&str; 6] = ["crates/", "adapters/", "dev/", "docs/", "vectors/", "results/"];

/// One line for each path in backticks in a page of `pages` that is no file and no folder of
/// `tracked`. A page is its path and its text.
pub(crate) fn findings(pages: &[(String, String)], tracked: &[String]) -> Vec<String> {
    let there = places(tracked);
    let mut found = Vec::new();
    for (page, text) in pages {
        for (line, path) in paths(text) {
            if !there.contains(path.trim_end_matches('/')) {
                found.push(format!("{page}:{line}: names {path}, which is not there"));
            }
        }
    }
    found
}

/// Returns every tracked file, and every folder that one of them is in.
fn places(tracked: &[String]) -> BTreeSet<&str> {
    let mut places = BTreeSet::new();
    for path in tracked {
        places.insert(path.as_str());
        places.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    places
}

/// Returns the paths in backticks in `text` that begin with one of [`FOLDERS`] and have no
/// placeholder, with their lines. A block of code is none of them: its lines are commands and
/// differences.
fn paths(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_block = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        let named = quoted.filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)));
        found.extend(named.filter(|path| !has_placeholder(path)).map(|path| (number + 1, path)));
    }
    found
}

/// Returns whether a reader has to fill something in: `*`, `{`, `…`, or a part that has no small
/// letter, such as `NAME.rs`, but for the files that are spelled so.
fn has_placeholder(path: &str) -> bool {
    let stem = |part: &str| part.split_once('.').map_or(part.len(), |(stem, _)| stem.len());
    let in_capitals = |part: &str| {
        let name = &part[..stem(part)];
        name.len() > 1
            && name != "README"
            && name.chars().all(|c| c.is_ascii_uppercase() || "_-".contains(c))
    };
    path.contains(['*', '{', '…']) || path.split('/').any(in_capitals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let tracked = ["crates/a/src/lib.rs", "vectors/README.md"].map(String::from);
        findings(&[("docs/a.md".into(), text.into())], &tracked)
    }

    #[test]
    fn a_path_that_is_not_there_fails() {
        let found = check("Text.\n\n`crates/a` and `crates/a/src/gone.rs`, `dev/gone/`\n");
        assert_eq!(
            found,
            [
                "docs/a.md:3: names crates/a/src/gone.rs, which is not there",
                "docs/a.md:3: names dev/gone/, which is not there"
            ]
        );
        assert_eq!(check("| `vectors/gone.txt` | a cell |").len(), 1);
        // the beginning of a name is none
        assert_eq!(check("`crates/a/src/lib`").len(), 1);
    }

    #[test]
    fn files_folders_and_placeholders_do_not() {
        for text in [
            "`crates/a/src/lib.rs`, `crates/a/src`, `crates/a/`, `crates/`, `vectors/README.md`",
            "`crates/a/src/NAME.rs`, `results/*.csv`, `adapters/{a,b}`, `vectors/…`, \
             `docs/TOPIC/a.md`",
            "not quoted: crates/gone; of no folder of ours: `src/gone.rs`, `/dev/null`",
            "```diff\n+++ `crates/gone.rs`\n```\n",
        ] {
            assert_eq!(check(text), [""; 0], "{text}");
        }
    }
}
