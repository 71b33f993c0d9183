//! Content of a directory before a database is opened in it, and causes of a failed opening, in
//! words for the person who has to act. Not here: checking sealed files (`rest`).

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sealstone_cipher::Cipher;
use sealstone_file::counts;
use sealstone_seal::{HEADER_BYTES, inspect, is_sealed};

use crate::ffi::{Code, Error};
use crate::place;

/// Reason why the database in a directory cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// A file is where the directory should be.
    #[error("{} is a file, not a directory\ngive an empty or new directory", dir.display())]
    File {
        /// The path.
        dir: PathBuf,
    },
    /// The directory, or a file in it, cannot be made, listed or read.
    #[error("cannot {attempt} {}: {source}\n{}", path.display(), next_step(source))]
    Io {
        /// Attempted operation, such as `read directory`.
        attempt: &'static str,
        /// The directory or file.
        path: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// The directory holds other files.
    #[error(
        "{} is not a RocksDB store: it holds {holds} and has no file CURRENT\ngive an empty or new \
         directory",
        dir.display()
    )]
    Foreign {
        /// The directory.
        dir: PathBuf,
        /// One of the files.
        holds: String,
    },
    /// It is sealed, and was to be opened without encryption.
    #[error(
        "the store in {0} is sealed, but was to be opened without encryption\n\
         name its cipher and give its key, or choose another directory; `sealstone rest status \
         {0}` says more",
        dir.display()
    )]
    Sealed {
        /// The directory.
        dir: PathBuf,
    },
    /// It is not sealed, and was to be opened with a cipher.
    #[error(
        "the store in {} is not sealed, but was to be opened with {cipher}\n\
         open it without encryption, or choose another directory; nothing was written",
        dir.display()
    )]
    NotSealed {
        /// The directory.
        dir: PathBuf,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// It is sealed with another cipher.
    #[error(
        "the store in {} is sealed with {found}, but was to be opened with {wanted}\n\
         name the cipher it has, or choose another directory",
        dir.display()
    )]
    OtherCipher {
        /// The directory.
        dir: PathBuf,
        /// Name of its cipher.
        found: &'static str,
        /// Name of the requested cipher.
        wanted: &'static str,
    },
    /// Another process has it.
    #[error(
        "the store in {} is in use by another process\nend that process first, or choose another \
         directory",
        dir.display()
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// The device is full.
    #[error(
        "cannot {attempt} the store in {}: no space left on the device ({source})\n\
         make room, or take a directory on another device; nothing that was acknowledged is lost",
        dir.display()
    )]
    NoSpace {
        /// Attempted operation: `open`, `read from`, `write to`.
        attempt: String,
        /// The directory.
        dir: PathBuf,
        /// Error reported by RocksDB.
        source: Error,
    },
    /// This user lacks permission.
    #[error(
        "cannot {attempt} the store in {}: {source}\ngive this user access, or choose another \
         directory", dir.display()
    )]
    Denied {
        /// Attempted operation.
        attempt: String,
        /// The directory.
        dir: PathBuf,
        /// Error reported by RocksDB.
        source: Error,
    },
    /// It was written by a newer RocksDB than this program has.
    #[error(
        "cannot {attempt} the store in {}: it was written by a newer RocksDB ({found}), and this \
         program has RocksDB {have}: {source}\n\
         use a sealstone built with that RocksDB or a newer one; `sealstone rest status` and \
         `rotate` work with this one", dir.display()
    )]
    Newer {
        /// Attempted operation.
        attempt: String,
        /// The directory.
        dir: PathBuf,
        /// Evidence that the store is newer.
        found: Box<str>,
        /// Version of this program's RocksDB.
        have: Box<str>,
        /// Error reported by RocksDB.
        source: Error,
    },
    /// It needs a part of the program that made it.
    #[error(
        "cannot {attempt} the store in {}: column family {family} needs the {what} {name}, which \
         is part of the program that made the store\n{remedy}", dir.display()
    )]
    Lacks {
        /// Attempted operation.
        attempt: String,
        /// The directory.
        dir: PathBuf,
        /// Kind of part that is missing, such as `comparator`.
        what: &'static str,
        /// Its name.
        name: Box<str>,
        /// The column family that needs it.
        family: Box<str>,
        /// Remedy to suggest.
        remedy: &'static str,
    },
    /// RocksDB refused, or stored data is damaged.
    #[error("cannot {attempt} the store in {}: {source}", dir.display())]
    Engine {
        /// Attempted operation.
        attempt: String,
        /// The directory.
        dir: PathBuf,
        /// Error reported by RocksDB.
        source: Error,
    },
}

/// Checks that a database sealed with `cipher` (none: not sealed) may be opened or made in `dir`.
///
/// # Errors
/// A directory that is not a database, or whose database is sealed otherwise.
pub fn check(dir: &Path, cipher: Option<&'static Cipher>) -> Result<(), DirectoryError> {
    let at = || dir.to_owned();
    let cannot = |source| DirectoryError::Io { attempt: "read directory", path: at(), source };
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(DirectoryError::File { dir: at() });
        }
        Err(error) => return Err(cannot(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned());
    }
    if !names.iter().any(|name| name == "CURRENT") {
        return match names.into_iter().find(|name| !is_ours(name)) {
            Some(holds) => Err(DirectoryError::Foreign { dir: at(), holds }),
            None => Ok(()),
        };
    }
    let current = dir.join("CURRENT");
    let mut header = Vec::new();
    place::open(&current)
        .and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut header))
        .map_err(|source| DirectoryError::Io { attempt: "read", path: current, source })?;
    match (cipher, is_sealed(&header)) {
        (None, true) => Err(DirectoryError::Sealed { dir: at() }),
        (Some(cipher), false) => Err(DirectoryError::NotSealed { dir: at(), cipher: cipher.name }),
        (Some(cipher), true) => match inspect(&header) {
            Ok(info) if info.cipher.id != cipher.id => Err(DirectoryError::OtherCipher {
                dir: at(),
                found: info.cipher.name,
                wanted: cipher.name,
            }),
            // opening the file reports the fault of its header best
            _ => Ok(()),
        },
        (None, false) => Ok(()),
    }
}

/// Returns whether RocksDB creates files of this name before `CURRENT` exists, so that a directory
/// with nothing else is a store whose creation was interrupted.
fn is_ours(name: &str) -> bool {
    const MADE_EARLY: [&str; 5] = ["LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"];
    MADE_EARLY.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with(".dbtmp")
        || name.ends_with(".log")
        || counts::is_ours(name)
}

/// Converts RocksDB's error about the database in `dir` into an error with the next step. `attempt`
/// is the failed operation: `open`, `read from`, `write to`.
#[must_use]
pub fn explain(attempt: &str, dir: &Path, error: &Error) -> DirectoryError {
    let (attempt, dir, source) = (attempt.to_owned(), dir.to_owned(), error.clone());
    let text = error.text.as_str();
    if text.contains("LOCK: ") && (text.contains("lock") || text.contains("Resource temporarily")) {
        DirectoryError::InUse { dir }
    } else if error.code == Code::NoSpace || text.contains("No space left") {
        DirectoryError::NoSpace { attempt, dir, source }
    } else if text.contains("Permission denied") {
        DirectoryError::Denied { attempt, dir, source }
    } else {
        DirectoryError::Engine { attempt, dir, source }
    }
}

fn next_step(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "give this user access, or choose another directory",
        _ => "check the device, or choose another directory",
    }
}
