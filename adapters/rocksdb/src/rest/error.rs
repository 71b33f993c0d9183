//! Reasons why a directory cannot be inspected, checked or rotated. Faults of single files are not
//! errors but are listed in reports.

use std::io;
use std::path::PathBuf;

use sealstone_anchor::AnchorError;
use sealstone_keys::{KeyError, KeyRef};

/// Reason why a directory cannot be inspected, checked or rotated. In each case its files are as
/// they were, or open under the version of the key that their headers name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestError {
    /// A directory cannot be listed.
    #[error("cannot read directory {}: {source}\ngive the directory of a store", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// The path of a directory is not UTF-8.
    #[error("cannot work in {}: its path is not UTF-8\nrename it, or name it by a link that is",
        dir.display())]
    NotText {
        /// The directory.
        dir: PathBuf,
    },
    /// There is no store.
    #[error("no RocksDB store in {}: it has no file CURRENT\ngive the directory of a store",
        dir.display())]
    NoStore {
        /// The directory.
        dir: PathBuf,
    },
    /// A key that files are under, or the current one, cannot be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The anchor cannot be read or written.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
    /// A catalogue cannot be read; the text names it and the reason.
    #[error("{0}")]
    Catalogue(String),
    /// A file cannot be read, so its key is unknown.
    #[error("cannot read {}: {source}\n\
             without it the key it is under is not known; give this user access", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// A file is sealed, and its header cannot be read.
    #[error("cannot tell which key {} is under: {found}\n{next}", file.display())]
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// Description of the finding.
        found: String,
        /// Advice on what to do next.
        next: &'static str,
    },
    /// A header cannot be written.
    #[error("cannot {attempt} {}: {source}\ncheck the device, then run this again", file.display())]
    Write {
        /// Attempted operation: `write the header of`, `sync`.
        attempt: &'static str,
        /// The file.
        file: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// Another rotation is running.
    #[error("another rotation is running in {}\nwait for it to end", dir.display())]
    Busy {
        /// The directory.
        dir: PathBuf,
    },
    /// A process that writes in the directory keeps using an older version of the key.
    #[error(
        "files under older versions of key {} keep appearing in {}\n\
         a process that writes there does not see version {}: restart it with the new key, then \
         run this again",
        key.id, dir.display(), key.version
    )]
    OldVersions {
        /// The directory.
        dir: PathBuf,
        /// The current key.
        key: KeyRef,
    },
}
