//! What is wrong with the journal. Not here: finding it out (`walk`, `account`).

use std::io;
use std::path::{Path, PathBuf};

use sealstone_seal::engine_page::EnginePageError;

/// What is wrong with the journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The system refused.
    #[error("cannot {attempted} {}: {source}\n\
             check that the server may read and write its data directory", path.display())]
    File {
        /// What was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The account or the key of a file cannot be sealed or opened.
    #[error("{}: {error}", path.display())]
    Page {
        /// The file.
        path: PathBuf,
        /// Why.
        error: EnginePageError,
    },
    /// Neither copy of the account is genuine.
    #[error("the account of the journal, {}, is not genuine: {error}", path.display())]
    Account {
        /// The account.
        path: PathBuf,
        /// Why the first copy is not.
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
        /// How many there are.
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
        /// Where in it, in bytes.
        at: u64,
        /// What was found there.
        found: String,
    },
    /// Records that were synced are missing.
    #[error(
        "journal file {} ends at byte {end}, with {behind}, and was synced up to byte {synced}: records are missing\n\
         restore the database from a backup, or resync this member", path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Where its records end, in bytes.
        end: u64,
        /// What is there.
        behind: &'static str,
        /// How much was synced, in bytes.
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
        /// How much was synced, in bytes.
        synced: u64,
    },
    /// A file is not the one that the account names.
    #[error(
        "journal file {} is not the one that this database wrote under this name\n\
         bring the right one back, restore the database from a backup, or resync this member", path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
    },
    /// A file that the account does not name.
    #[error(
        "journal file {} was not written by this database\nfind out where it comes from, and remove it", path.display()
    )]
    Unlisted {
        /// The file.
        path: PathBuf,
    },
    /// There is no account, and there must be one.
    #[error(
        "the account of the journal, {}, is missing\n\
         restore it with the journal files that it belongs to; a backup that left it out opens once with \
         missing_account=accept in the extension's config, which takes the journal to be complete", path.display()
    )]
    NoAccount {
        /// Where it must be.
        path: PathBuf,
    },
    /// What WiredTiger wants to write is not understood.
    #[error(
        "WiredTiger writes {bytes} bytes at byte {at} of journal file {}: {found}\n\
         this is a bug in sealstone, or this WiredTiger is not supported; nothing was written", path.display()
    )]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// Where, in bytes.
        at: u64,
        /// How many, in bytes.
        bytes: usize,
        /// What was found.
        found: String,
    },
    /// WiredTiger wants to take away what was synced.
    #[error(
        "WiredTiger would cut journal file {} to {bytes} bytes, and {synced} were synced; nothing was cut\n\
         restore the database from a backup, or resync this member", path.display()
    )]
    WouldCut {
        /// The file.
        path: PathBuf,
        /// The new length, in bytes.
        bytes: u64,
        /// How much was synced, in bytes.
        synced: u64,
    },
    /// The journal was refused before.
    #[error("the journal was refused, see above; nothing of it is read or written")]
    Refused,
}

pub(crate) fn io_error<'a>(attempted: &'static str, path: &'a Path) -> impl Fn(io::Error) -> JournalError + 'a {
    move |source| JournalError::File { attempted, path: path.to_owned(), source }
}
