//! Reasons why a database could not be resealed.

use std::io;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use sealstone_keys::KeyError;
use sealstone_message::SettingName;

use crate::directory::DirectoryError;
use crate::rest::RestError;

/// Reason why a database could not be resealed. Resealed files stay so, and nothing is lost:
/// resealing again continues from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResealError {
    /// The database was opened without sealing.
    #[error("the database in {} was not opened through a sealed environment\nopen it through \
             SealedEnv", dir.display())]
    NotSealed {
        /// The directory of the database.
        dir: PathBuf,
    },
    /// Another thread is resealing it.
    #[error("the database in {} is already being resealed\nwait for that to end, or stop it",
        dir.display())]
    Busy {
        /// The directory of the database.
        dir: PathBuf,
    },
    /// The current key cannot be obtained; nothing was written.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The next file would not fit on the device; none of it was written.
    #[error(
        "cannot reseal {}: it needs {} of space, and {} are free\n\
         free some space and reseal again: it resumes with this \
         file", file.display(), ByteSize(*needed_bytes).display().si(),
         ByteSize(*free_bytes).display().si()
    )]
    NoRoom {
        /// The file.
        file: PathBuf,
        /// Space needed for rewriting it, in bytes.
        needed_bytes: u64,
        /// Free space, in bytes.
        free_bytes: u64,
    },
    /// RocksDB refused, or the database cannot be opened.
    #[error(transparent)]
    Database(#[from] DirectoryError),
    /// Its files cannot be looked at.
    #[error(transparent)]
    Rest(#[from] RestError),
    /// A directory of the database cannot be listed.
    #[error(
        "cannot read directory {}: {source}\nonly a store in its own directory can be resealed",
        dir.display()
    )]
    Spread {
        /// The directory.
        dir: PathBuf,
        /// Error reported by the operating system.
        source: io::Error,
    },
    /// It is not sealed, and was not to be.
    #[error(
        "the store in {} is not sealed\nto seal it, add {}",
        dir.display(), SettingName("from-plain")
    )]
    Plain {
        /// The directory.
        dir: PathBuf,
    },
    /// Some of its files are in the clear, and were not to be read.
    #[error("{}", plain_files(dir, *files, first))]
    PlainFiles {
        /// The directory.
        dir: PathBuf,
        /// Number of remaining files.
        files: usize,
        /// Name of one of them.
        first: String,
    },
    /// A control file could not be rewritten; it is as it was.
    #[error("cannot reseal {}: {text}", file.display())]
    Control {
        /// The file.
        file: PathBuf,
        /// Description of the finding, and the next step.
        text: String,
    },
}

fn plain_files(dir: &Path, files: usize, first: &str) -> String {
    let shown = dir.display();
    let (found, them) = match files {
        1 => (format!("1 file of the store in {shown} is not sealed"), "it"),
        files => {
            (format!("{files} files of the store in {shown} are not sealed, among them"), "them")
        }
    };
    format!(
        "{found}: {first}\nif sealing it was interrupted, add {}; if not, somebody put {them} \
         there: restore a backup",
        SettingName("from-plain")
    )
}
