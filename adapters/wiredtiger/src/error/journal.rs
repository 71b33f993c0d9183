//! Defects of the journal.

use std::io;
use std::path::{Path, PathBuf};

use sealstone_seal::engine_page::EnginePageError;

/// Defect of the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The system refused.
    #[error("cannot {attempted} {}: {source}\n\
             check that the server may read and write its data directory", path.display())]
    File {
        /// Operation that was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The account or the key of a file cannot be sealed or opened, or the module that computes
    /// failed.
    #[error("{}: {error}", path.display())]
    Page {
        /// The file.
        path: PathBuf,
        /// Reason of the failure.
        error: EnginePageError,
    },
    /// Neither copy of the account is genuine.
    #[error("the account of the journal, {}, is not genuine: {error}", path.display())]
    Account {
        /// The account.
        path: PathBuf,
        /// Reason why the first copy is not genuine.
        error: EnginePageError,
    },
    /// More files than the account has room for.
    #[error(
        "{} has no room for {files} journal files\n\
         make checkpoints more frequent, so that old journal files are removed", path.display()
    )]
    TooMany {
        /// The account.
        path: PathBuf,
        /// Number of files that there are.
        files: usize,
    },
    /// A whole record that no crash leaves.
    #[error(
        "journal file {}, byte {at}: {found}: somebody changed the file\n\
         restore the database from a backup, or resync this member", path.display()
    )]
    Record {
        /// The file.
        path: PathBuf,
        /// Position in the file, in bytes.
        at: u64,
        /// Problem that was found there.
        found: String,
    },
    /// Records that were synced are missing.
    #[error(
        "journal file {} ends at byte {end}, with {behind}, and was synced up to byte {synced}: \
         records are missing\n\
         restore the database from a backup, or resync this member", path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Position at which its records end, in bytes.
        end: u64,
        /// Description of what follows there.
        behind: &'static str,
        /// Length that was synced, in bytes.
        synced: u64,
    },
    /// A file is not there.
    #[error(
        "journal file {} is missing, and was synced up to byte {synced}\n\
         bring it back, restore the database from a backup, or resync this member", path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// Length that was synced, in bytes.
        synced: u64,
    },
    /// A file differs from the file in the account.
    #[error(
        "journal file {} is not the one that this database wrote under this name\n\
         bring the right one back, restore the database from a backup, or resync this member",
         path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// A file that the account does not name.
    #[error(
        "journal file {} was not written by this database\nfind out where it comes from, and \
         remove it", path.display()
    )]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
    /// There is no account, and there must be one.
    #[error(
        "the account of the journal, {}, is missing\n\
         restore it with the journal files that it belongs to; a backup that left it out opens \
         once with missing_account=accept in the extension's config, which takes the journal to be \
         complete", path.display()
    )]
    NoAccount {
        /// Path at which it must be.
        path: PathBuf,
    },
    /// Write by WiredTiger that is not understood.
    #[error(
        "WiredTiger writes {bytes} bytes at byte {at} of journal file {}: {found}\n\
         this is a bug in sealstone, or this WiredTiger is not supported; nothing was written",
         path.display()
    )]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// Position of the write, in bytes.
        at: u64,
        /// Length of the write, in bytes.
        bytes: usize,
        /// Problem that was found.
        found: String,
    },
    /// WiredTiger would remove synced data.
    #[error(
        "WiredTiger would cut journal file {} to {bytes} bytes, and {synced} were synced; nothing \
         was cut\n\
         restore the database from a backup, or resync this member", path.display()
    )]
    WouldCut {
        /// The file.
        path: PathBuf,
        /// The new length, in bytes.
        bytes: u64,
        /// Length that was synced, in bytes.
        synced: u64,
    },
    /// The journal was refused before.
    #[error("the journal was refused, see above; nothing of it is read or written")]
    Refused,
}

pub(crate) fn io_error<'a>(
    attempted: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> JournalError + 'a {
    move |source| JournalError::File { attempted, path: path.to_owned(), source }
}
