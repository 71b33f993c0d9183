//! Requirements of a store that the RocksDB of this program does not meet: a newer format, or a
//! part such as a comparator that only the program that made the store can provide. Read from
//! MANIFEST and OPTIONS once RocksDB has refused, for an error that names the finding.
//!
//! Source: the names of settings in RocksDB's `options/cf_options.cc` and `options/db_options.cc`.

use std::path::Path;

use super::content::{Contents, Unread};
use super::live_set::{named_by_current, newest_options};
use crate::directory::{self, DirectoryError};
use crate::ffi::{Code, Error};
use crate::library;

/// Settings whose value names a part of the program, and what it is called.
const PARTS: [(&str, &str); 11] = [
    ("comparator", "comparator"),
    ("merge_operator", "merge operator"),
    ("compaction_filter", "compaction filter"),
    ("compaction_filter_factory", "compaction filter"),
    ("prefix_extractor", "prefix extractor"),
    ("memtable_insert_with_hint_prefix_extractor", "prefix extractor"),
    ("table_factory", "table format"),
    ("memtable_factory", "memtable"),
    ("sst_partitioner_factory", "table partitioner"),
    ("file_checksum_gen_factory", "file checksum"),
    ("wal_filter", "log filter"),
];

/// Requirement that is not met.
enum Lack {
    /// A RocksDB as new as the one that wrote the store.
    Newer { found: String },
    /// A part of the program that made it.
    Part { what: &'static str, name: String, family: String },
}

/// Explains RocksDB's error about the store in `dir`, in the words of [`directory::explain`], or
/// names the part that the store needs and this program lacks. `remedy`: the next step if a part is
/// missing.
pub(crate) fn explain(
    attempt: &str,
    dir: &Path,
    error: &Error,
    contents: Contents<'_>,
    remedy: &'static str,
) -> DirectoryError {
    let (attempt, dir) = (attempt.to_owned(), dir.to_owned());
    match lack(&dir, error, contents) {
        Some(Lack::Newer { found }) => DirectoryError::Newer {
            attempt,
            dir,
            found: found.into(),
            have: library::version().into(),
            source: error.clone(),
        },
        Some(Lack::Part { what, name, family }) => DirectoryError::Lacks {
            attempt,
            dir,
            what,
            name: name.into(),
            family: family.into(),
            remedy,
        },
        None => directory::explain(&attempt, &dir, error),
    }
}

fn lack(dir: &Path, error: &Error, contents: Contents<'_>) -> Option<Lack> {
    if !matches!(
        error.code,
        Code::InvalidArgument | Code::NotSupported | Code::Corruption | Code::Other
    ) {
        return None;
    }
    match named_by_current(dir, contents) {
        Err((name, Unread::Newer(what))) => {
            return Some(Lack::Newer { found: newer_field(&name, &what) });
        }
        Err(_) => {}
        Ok((_, live)) => {
            // RocksDB's error is `A: does not match existing comparator B`
            let refused = |name: &str| error.text.ends_with(&format!("comparator {name}"));
            if let Some(family) = live.families.values().find(|family| refused(&family.comparator))
            {
                let (name, family) = (family.comparator.clone(), family.name.clone());
                return Some(Lack::Part { what: "comparator", name, family });
            }
        }
    }
    let options = newest_options(dir, contents).ok().flatten()?;
    part(&options, error).or_else(|| written_by_newer(&options))
}

/// Returns the first line of the MANIFEST reader's error, in brackets.
fn newer_field(manifest: &str, what: &str) -> String {
    let first = what.lines().next().unwrap_or_default();
    let found = first.split_once("it holds ").map_or(first, |(_, found)| found);
    format!("{manifest} holds {}", found.trim_end_matches(", which this program does not know"))
}

/// Returns the part that `error` is about, by the names in the text of an OPTIONS file.
fn part(options: &str, error: &Error) -> Option<Lack> {
    let mut family = String::new();
    for line in options.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            // [CFOptions "name"]
            family = section.split('"').nth(1).unwrap_or_default().to_owned();
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let Some((_, what)) = PARTS.iter().find(|(known, _)| *known == key) else { continue };
        let name = part_name(value);
        if name != "nullptr" && error.text.ends_with(&format!(": {name}")) {
            return Some(Lack::Part { what, name: name.to_owned(), family });
        }
    }
    None
}

/// Returns the name of a part: the value itself, or its `id` where it has its own settings.
fn part_name(value: &str) -> &str {
    let inner = value.strip_prefix('{').unwrap_or(value);
    inner.split(';').find_map(|field| field.strip_prefix("id=")).unwrap_or(value)
}

/// Checks whether an OPTIONS file was written by a newer RocksDB than this program's.
fn written_by_newer(options: &str) -> Option<Lack> {
    let line = options.lines().find_map(|line| line.trim().strip_prefix("rocksdb_version="))?;
    let numbers = |version: &str| -> Option<Vec<u32>> {
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let (found, have) = (numbers(line)?, numbers(&library::version())?);
    (found > have).then(|| Lack::Newer { found: format!("RocksDB {line}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &str = "[Version]\n  rocksdb_version=99.1.0\n[DBOptions]\n  wal_filter=nullptr\n\
                           [CFOptions \"default\"]\n  \
                           merge_operator={id=StringAppendOperator;delimiter=\\:;}\n\
                           [CFOptions \"items\"]\n  comparator=my.Order\n  \
                           merge_operator=my.Append\n";

    fn said(text: &str) -> Error {
        Error { code: Code::InvalidArgument, text: text.into() }
    }

    #[test]
    fn the_part_and_its_column_family_are_found() {
        let found = |text: &str| match part(OPTIONS, &said(text)) {
            Some(Lack::Part { what, name, family }) => format!("{what} {name} of {family}"),
            _ => "nothing".into(),
        };
        assert_eq!(
            found("Invalid argument: Could not load Comparator: my.Order"),
            "comparator my.Order of items"
        );
        assert_eq!(
            found("Could not load MergeOperator: my.Append"),
            "merge operator my.Append of items"
        );
        assert_eq!(
            found("Could not load X: StringAppendOperator"),
            "merge operator StringAppendOperator of default"
        );
        assert_eq!(found("Corruption: block checksum mismatch"), "nothing");
    }

    #[test]
    fn a_newer_version_is_recognised() {
        let Some(Lack::Newer { found }) = written_by_newer(OPTIONS) else { panic!("none") };
        assert_eq!(found, "RocksDB 99.1.0");
        for same in [library::version(), "1.2.3".into(), "unknown".into()] {
            assert!(
                written_by_newer(&format!("[Version]\n  rocksdb_version={same}\n")).is_none(),
                "{same}"
            );
        }
    }
}
