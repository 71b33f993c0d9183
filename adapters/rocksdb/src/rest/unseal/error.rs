//! Reasons why a store could not be unsealed.

use std::io;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;

use crate::rest::source::SourceError;

/// Reason for which a store could not be unsealed. The sealed store is unchanged. The part of the
/// copy that was written is kept, so that the same call resumes, and RocksDB refuses to open it
/// until it is whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnsealError {
    /// The sealed store cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Part of it is in directories that no file names.
    #[error(
        "cannot unseal {}: {found}\nhave its own program gather it in one directory first (a \
         checkpoint does)",
        dir.display()
    )]
    Spread {
        /// Its directory.
        dir: PathBuf,
        /// Parts of the store that are elsewhere.
        found: String,
    },
    /// It was changed in the meantime.
    #[error("the store in {} was changed while it was copied\nend what changes it, then run this \
             again", dir.display())]
    Changed {
        /// Its directory.
        dir: PathBuf,
    },
    /// The copy would be in the sealed store.
    #[error("cannot unseal {} into {}, which is inside it\ngive a directory elsewhere",
        dir.display(), out.display())]
    Inside {
        /// The sealed store.
        dir: PathBuf,
        /// The directory for the copy.
        out: PathBuf,
    },
    /// The directory for the copy holds something else.
    #[error(
        "{} is not empty: it holds {holds}\n\
         give a new or an empty directory; only an unfinished copy of the same store is resumed",
         out.display()
    )]
    NotEmpty {
        /// The directory.
        out: PathBuf,
        /// Content that is already in it.
        holds: String,
    },
    /// It holds an unfinished copy of another store.
    #[error("{} is an unfinished copy of another store, from {from}\ngive another directory",
        out.display())]
    OtherStore {
        /// The directory.
        out: PathBuf,
        /// Location of that store.
        from: String,
    },
    /// Another process is writing the copy.
    #[error("another process is unsealing into {}\nwait for it to end", out.display())]
    Busy {
        /// The directory.
        out: PathBuf,
    },
    /// There is too little space for the copy; none of it was written.
    #[error(
        "cannot unseal into {}: it needs {} of space, and {} are free\ngive a directory on another \
         device",
        out.display(), ByteSize(*needed_bytes).display().si(), ByteSize(*free_bytes).display().si()
    )]
    NoRoom {
        /// The directory.
        out: PathBuf,
        /// Number of bytes left to write.
        needed_bytes: u64,
        /// Free space, in bytes.
        free_bytes: u64,
    },
    /// The directory for the copy cannot be made.
    #[error("cannot make directory {}: {source}\n{}", out.display(), parent(out, source))]
    Make {
        /// The directory.
        out: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// A file of the copy cannot be written or read.
    #[error(
        "cannot {attempt} {}: {source}\n\
         the copy is unfinished, and RocksDB refuses to open it; once the cause is gone, run this \
         again: it resumes",
        path.display()
    )]
    Copy {
        /// Operation that was attempted, such as `write`.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: io::Error,
    },
    /// A file of the copy differs from the data written.
    #[error(
        "{} is not what was written there\n\
         the copy is unfinished, and RocksDB refuses to open it; check the device, then run this \
         again", path.display()
    )]
    ReadBack {
        /// The file, which was removed.
        path: PathBuf,
    },
}

fn parent(out: &Path, source: &io::Error) -> String {
    match (source.kind(), out.parent()) {
        (io::ErrorKind::NotFound, Some(parent)) => format!("first make {}", parent.display()),
        _ => "give another directory, or this user access".into(),
    }
}
