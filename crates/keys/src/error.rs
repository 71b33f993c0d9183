//! What can go wrong with keys, each told with the place, the key, and the next step. Never holds key bytes.

use std::io;
use std::path::PathBuf;

use crate::KeyRef;
use crate::kmip::KmipError;

/// Why a key could not be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is no key file at this path.
    #[error(
        "no key file at {}\n\
         make one with: sealstone keys new {}", path.display(), path.display()
    )]
    NoFile {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A key file was to be created where something exists already.
    #[error(
        "{} exists already and was left as it is: overwriting a key file would lose every file sealed under it\n\
         choose another path, or move the old key file to safety first", path.display()
    )]
    Exists {
        /// The path that is taken.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("cannot {action} key file {}: {source}", path.display())]
    Io {
        /// What was attempted: `read`, `create`.
        action: &'static str,
        /// The key file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the owner may read or write the key file.
    #[error(
        "key file {} is open to others than its owner (mode {mode:04o})\n\
         close it with: chmod 600 {}; if others may have read it, rotate the key", path.display(), path.display()
    )]
    Permissions {
        /// The key file.
        path: PathBuf,
        /// Permission bits found.
        mode: u32,
    },
    /// The key file does not hold what a key file holds.
    #[error(
        "key file {}{}: {found}\n\
         restore it from a copy; a key file cannot be repaired by hand", path.display(), at_line(*line)
    )]
    Garbled {
        /// The key file.
        path: PathBuf,
        /// Line where it went wrong, from 1, where known.
        line: Option<usize>,
        /// What was found, without quoting the file.
        found: String,
    },
    /// The key file was written by a newer program.
    #[error(
        "key file {} has format {found}, this program knows format {known}\n\
         use the version of sealstone that wrote it, or a newer one", path.display()
    )]
    NewerFormat {
        /// The key file.
        path: PathBuf,
        /// Format found.
        found: i64,
        /// Newest format known.
        known: i64,
    },
    /// The source holds a key of another name.
    #[error(
        "key {wanted} not found in {place} (it holds key {id})\n\
         give the key file or server that holds key {}", wanted.id
    )]
    OtherKey {
        /// The key asked for.
        wanted: KeyRef,
        /// The source, as [`crate::KeySource::describe`] tells it.
        place: String,
        /// Id of the key that is there.
        id: String,
    },
    /// The source holds the key, not in this version.
    #[error(
        "key {wanted} not found in {place} (it has {})\n\
         {}",
        versions(available),
        missing_hint(wanted, available)
    )]
    MissingVersion {
        /// The key asked for.
        wanted: KeyRef,
        /// The source, as [`crate::KeySource::describe`] tells it.
        place: String,
        /// The versions that are there, ascending.
        available: Vec<u32>,
    },
    /// Not a name for a key.
    #[error("not a key id: {found}")]
    BadId {
        /// What is wrong with it.
        found: String,
    },
    /// The operating system gave no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(String),
    /// A key server gave no key.
    #[error(transparent)]
    Kmip(#[from] KmipError),
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn versions(available: &[u32]) -> String {
    match available {
        [one] => format!("version {one}"),
        many => {
            let list: Vec<String> = many.iter().map(u32::to_string).collect();
            format!("versions {}", list.join(", "))
        }
    }
}

fn missing_hint(wanted: &KeyRef, available: &[u32]) -> &'static str {
    if available.iter().all(|version| *version < wanted.version) {
        "this key file is older than the data; take the one made by the latest rotation"
    } else {
        "this version was removed; restore the key file that still holds it"
    }
}
