//! Licences and notices in the package of a crate: files, wherever they lie in it, and comments of
//! a few sources.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::linked::Crate;

/// Texts of one package.
#[derive(Debug)]
pub(crate) struct Notices {
    pub(crate) texts: Vec<String>,
    /// True if one of them is a licence of the whole package.
    pub(crate) has_licence: bool,
}

/// Folders of packages whose code is built with a feature alone: package, folder, feature.
const BUILT_WITH: &[(&str, &str, &str)] = &[("librocksdb-sys", "snappy", "snappy")];

/// Code that was taken over with its licence at the head of a source and in no file of its own:
/// package, source, and a word of the comment.
const IN_SOURCES: &[(&str, &str, &str)] = &[
    ("futures-channel", "src/mpsc/queue.rs", "Dmitry Vyukov"),
    ("librocksdb-sys", "rocksdb/util/crc32c.cc", "Ferry Toth"),
    ("librocksdb-sys", "rocksdb/util/xxhash.h", "Yann Collet"),
];

/// Folders of what is never linked.
const NOT_LINKED: &[&str] = &["bench", "benches", "examples", "fuzz", "test", "tests"];

/// Endings of what only has the name of a licence.
const NO_TEXT: &[&str] = &["c", "cc", "h", "html", "json", "py", "rs", "sh", "toml", "yml"];

/// Returns the texts of `it`.
pub(crate) fn of(it: &Crate) -> Result<Notices> {
    let mut found = Notices { texts: Vec::new(), has_licence: false };
    collect(it, "", &mut found)?;
    if let Some(file) = &it.licence_file {
        found.texts.push(read(&it.folder.join(file))?);
        found.has_licence = true;
    }
    for (_, file, word) in IN_SOURCES.iter().filter(|(name, ..)| *name == it.name) {
        let source = read(&it.folder.join(file))?;
        let comment = comment_with(&source, word).with_context(|| {
            format!("{} {}: no licence of {word} in {file}", it.name, it.version)
                + "\nlook where it went, and change `IN_SOURCES` of dev/xtask/src/licences"
        })?;
        found.texts.push(comment);
    }
    Ok(found)
}

/// Adds what the folder `inner` of `it`, and those in it, have.
fn collect(it: &Crate, inner: &str, found: &mut Notices) -> Result<()> {
    let folder = it.folder.join(inner);
    let what = || format!("list {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(what)? {
        let entry = entry.with_context(what)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if inner.is_empty() { name.clone() } else { format!("{inner}/{name}") };
        files.push((path, name, entry.file_type().with_context(what)?.is_dir()));
    }
    files.sort();
    let is_of_licences = is_licence(inner.rsplit('/').next().unwrap_or_default());
    let mut gnu = None;
    let mut others = 0;
    for (path, name, is_folder) in &files {
        if *is_folder {
            if !is_left_out(it, path, name) {
                collect(it, path, found)?;
            }
            continue;
        }
        let is_licence = is_licence(name) || is_of_licences;
        if !has_text(name) || !(is_licence || is_notice(name)) {
            continue;
        }
        let text = read(&it.folder.join(path))?;
        if is_of_gnu(&text) {
            gnu = Some(path);
            continue;
        }
        others += usize::from(is_licence);
        found.has_licence |= is_licence && (inner.is_empty() || is_of_licences);
        found.texts.push(text);
    }
    // offered beside another one, it is the one that nobody here chose
    match gnu {
        Some(path) if others == 0 => bail!(
            "{} {}: {path} is a licence of GNU's, and no other is beside it\nuse another crate",
            it.name,
            it.version
        ),
        _ => Ok(()),
    }
}

/// Returns whether the folder `path` of `it` holds nothing that is linked.
fn is_left_out(it: &Crate, path: &str, name: &str) -> bool {
    let is_built = |feature: &str| it.features.iter().any(|on| on == feature);
    NOT_LINKED.contains(&name)
        || name.starts_with('.')
        || BUILT_WITH
            .iter()
            .any(|(of, folder, feature)| *of == it.name && *folder == path && !is_built(feature))
}

/// Returns whether a file or folder called `name` has a licence.
fn is_licence(name: &str) -> bool {
    let name = name.to_uppercase();
    name.contains("LICENSE") || name.contains("LICENCE") || name.starts_with("COPYING")
}

/// Returns whether a file called `name` has what is to be kept with a licence.
fn is_notice(name: &str) -> bool {
    let name = name.to_uppercase();
    let begins = ["NOTICE", "COPYRIGHT", "AUTHORS", "PATENTS", "THIRD-PARTY", "THIRD_PARTY"];
    begins.iter().any(|word| name.starts_with(word))
}

fn has_text(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    !NO_TEXT.contains(&ending)
}

/// Returns whether `text` is one of the licences that this repository uses nothing under.
fn is_of_gnu(text: &str) -> bool {
    let head = text.split_whitespace().take(5).collect::<Vec<_>>().join(" ").to_uppercase();
    head.contains("GNU") && head.contains("GENERAL PUBLIC LICENSE")
}

/// Returns the comment between `/*` and `*/` in `source` that has `word`, without what is in front
/// of its lines.
fn comment_with(source: &str, word: &str) -> Option<String> {
    let mut comments = source.split("/*").skip(1).filter_map(|rest| Some(rest.split_once("*/")?.0));
    let comment = comments.find(|comment| comment.contains(word))?;
    let line = |line: &str| {
        let line = line.trim();
        line.strip_prefix("* ").or(line.strip_prefix('*')).unwrap_or(line).to_owned()
    };
    Some(tidied(&comment.lines().map(line).collect::<Vec<_>>().join("\n")))
}

/// Reads a text, whatever its encoding.
pub(crate) fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
    Ok(tidied(&String::from_utf8_lossy(&bytes)))
}

/// Returns `text` without blanks at the ends of its lines and empty lines around it.
fn tidied(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').replace('\u{c}', "");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GNU: &str = "   GNU GENERAL PUBLIC LICENSE\n   Version 2, June 1991\n";

    /// Returns the texts of the crate `name` with `files` and `features`.
    fn found(name: &str, files: &[(&str, &str)], features: &[&str]) -> Result<Notices> {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        of(&Crate {
            name: name.into(),
            folder: dir.path().into(),
            features: features.iter().map(|&it| it.to_owned()).collect(),
            ..Crate::default()
        })
    }

    #[test]
    fn names_of_licences_are_known() {
        let names = [
            "LICENSE",
            "LICENSE-MIT",
            "license-apache-2.0",
            "LICENCE.md",
            "MIT-LICENSE",
            "COPYING.APACHEv2",
            "UNLICENSE",
            "LICENSE-Apache-2.0_WITH_LLVM-exception",
            "LICENSES/MIT.txt",
        ];
        for name in names {
            let notices = found("a", &[(name, "Permission")], &[]).unwrap();
            assert!(notices.has_licence, "{name}");
        }
        for name in ["license.rs", "LICENSE.toml", "README.md", "tests/LICENSE"] {
            assert!(found("a", &[(name, "Permission")], &[]).unwrap().texts.is_empty(), "{name}");
        }
    }

    #[test]
    fn code_taken_over_in_a_folder_is_kept_and_no_licence_of_the_package() {
        let files = [("third_party/fiat/LICENSE", "Theirs\r\n\r\n"), ("NOTICE", "Ours")];
        let notices = found("a", &files, &[]).unwrap();
        assert_eq!(notices.texts, ["Ours", "Theirs"]);
        assert!(!notices.has_licence);
    }

    #[test]
    fn what_a_feature_alone_builds_counts_with_it() {
        let files = [
            ("snappy/COPYING", "Snappy"),
            ("rocksdb/util/crc32c.cc", "/* Ferry Toth */"),
            ("rocksdb/util/xxhash.h", "/* ours */\n\n/*\n * xxHash\n * Yann Collet\n */ int a;"),
        ];
        let without = found("librocksdb-sys", &files, &[]).unwrap();
        assert_eq!(without.texts, ["Ferry Toth", "xxHash\nYann Collet"]);
        let with = found("librocksdb-sys", &files, &["snappy"]).unwrap();
        assert_eq!(with.texts[0], "Snappy");
        let said = format!("{:#}", found("librocksdb-sys", &files[..1], &[]).unwrap_err());
        assert!(said.contains("crc32c.cc"), "{said}");
    }

    #[test]
    fn a_choice_is_made_and_a_licence_of_gnu_alone_fails() {
        let both = found("a", &[("COPYING", GNU), ("LICENSE", "Permission")], &[]).unwrap();
        assert_eq!(both.texts, ["Permission"]);
        let said = format!("{:#}", found("a", &[("b/COPYING", GNU)], &[]).unwrap_err());
        assert!(said.contains("b/COPYING"), "{said}");
    }
}
