//! Errors concerning a sealed file. The messages name page, frame and key; the adapter puts the
//! file's name before them, since a seal does not have it. Never holds key bytes or data.

use sealstone_cipher::memory::Forked;
use sealstone_cipher::module::TITLE_BYTES_MAX;
use sealstone_keys::{KeyError, KeyRef};
use sealstone_message::SettingName;

/// Reason why an operation on a sealed file, or a piece of it, failed. Displays without the file's
/// name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The file does not begin as a sealed file does.
    #[error(
        "not a sealed file\n\
         it holds plain data or something else; nothing in the clear is read where sealed files \
         are expected"
    )]
    NotSealed,
    /// The header cannot be one that this program wrote.
    #[error("damaged header: {found}\nrestore the file from a backup")]
    Damaged {
        /// Description of the finding.
        found: String,
    },
    /// The file was written by a newer program.
    #[error(
        "sealed in format version {found}, this program knows version {known}\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnsupportedVersion {
        /// Version found.
        found: u16,
        /// The newest supported version.
        known: u16,
    },
    /// The header names a cipher that this build lacks.
    #[error(
        "sealed with cipher number {id}, which this program does not know\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnknownCipher {
        /// The number in the header.
        id: u16,
    },
    /// The file has the other layout.
    #[error("sealed as {found}, expected {want}\nthe file is not the one that belongs here")]
    WrongLayout {
        /// Layout found.
        found: &'static str,
        /// The expected layout.
        want: &'static str,
    },
    /// The key named in the header does not open it.
    #[error(
        "key {key} from {place} does not open the header: another key bears the same name, or the \
         header was changed\n\
         give the key source that sealed this file; if it is the right one, restore the file from \
         a backup"
    )]
    WrongKey {
        /// The key that the header names.
        key: KeyRef,
        /// Source of the key.
        place: String,
    },
    /// A page differs from the page sealed there.
    #[error(
        "page {page} at byte {offset} failed authentication: changed, moved, or from another file\n\
         restore the file from a backup"
    )]
    Page {
        /// Page number, from 0.
        page: u64,
        /// Position where the page starts, in stored bytes from the beginning of the file.
        offset: u64,
    },
    /// A frame differs from the frame sealed there.
    #[error(
        "frame {index} at byte {offset} failed authentication: changed, moved, or from another \
         file\n\
         restore the file from a backup"
    )]
    Frame {
        /// Frame number, from 0.
        index: u64,
        /// Position where the frame starts, in stored bytes from the beginning of the file.
        offset: u64,
    },
    /// The end of the file is missing.
    #[error(
        "incomplete: {found}\nits writer was stopped, or the file was cut; restore it from a backup"
    )]
    Unfinished {
        /// Evidence that the end is missing.
        found: String,
    },
    /// A file of frames ends before the end that its writer recorded as synced.
    #[error(
        "cut short: it ends at byte {end}, and {synced} bytes of it were synced\n\
         no crash does that; restore the file from a backup"
    )]
    CutShort {
        /// Position where the last whole frame ends, in stored bytes from the beginning of the
        /// file.
        end: u64,
        /// Amount that was synced, in stored bytes.
        synced: u64,
    },
    /// The directory has files of a store, and no catalogue of them.
    #[error(
        "the catalogue of its directory is missing: SEALSTONE-CATALOGUE-1 and \
         SEALSTONE-CATALOGUE-2\n\
         restore the whole directory from a backup; without its catalogue there is no telling \
         which files belong to it"
    )]
    NoCatalogue,
    /// The catalogue does not list a file of this name.
    #[error(
        "not listed in the catalogue of its directory: added, renamed, or put back after it was \
         removed\n\
         restore the whole directory from a backup, or remove this file if you know who put it \
         there"
    )]
    NotListed,
    /// The catalogue lists another file of this name.
    #[error(
        "another file than the catalogue of its directory lists under this name: an older one, or \
         one from elsewhere\n\
         restore the whole directory from a backup"
    )]
    OtherFile,
    /// The catalogue lists a file that is not there.
    #[error(
        "missing: the catalogue of its directory lists it, and {synced} bytes of it were synced\n\
         restore the whole directory from a backup"
    )]
    Missing {
        /// Amount of it that was synced, in stored bytes; 0 where it is not counted.
        synced: u64,
    },
    /// The directory in which a database keeps its logs has changed.
    #[error(
        "{found}, where the database in {database} has its logs, as its catalogue says\n\
         restore the directory of its logs from a backup; to go on without what was written since \
         its last flush, open the database with another wal_dir"
    )]
    OtherLogs {
        /// Directory of the database.
        database: String,
        /// Description of the content, in words.
        found: &'static str,
    },
    /// Something else has the name of a file.
    #[error(
        "{found}, where a regular file belongs\n\
         restore the whole directory from a backup, or remove this if you know who put it there"
    )]
    NotAFile {
        /// Description of the content, in words.
        found: String,
    },
    /// An anchor outside the store records a newer state of it.
    #[error(
        "older than its anchor {anchor} remembers: {found}, and the anchor saw {newest}\n\
         restore the newest files; to go back on purpose, remove the anchor first"
    )]
    Older {
        /// Location of the anchor.
        anchor: String,
        /// The newest state that it saw.
        newest: String,
        /// The state found.
        found: String,
    },
    /// A read reaches beyond the end of the file.
    #[error("read of {bytes} bytes at {offset}, the file holds {available}")]
    PastEnd {
        /// The first requested byte, in bytes of data.
        offset: u64,
        /// The number of requested bytes.
        bytes: u64,
        /// Bytes of data in the file.
        available: u64,
    },
    /// A page length that the format does not allow.
    #[error("pages of {found} bytes; a page has a power of two from {min} to {max} bytes")]
    PageBytes {
        /// The requested length, in bytes.
        found: u32,
        /// Shortest, in bytes.
        min: u32,
        /// Longest, in bytes.
        max: u32,
    },
    /// A second writer, or a writer for a file that was opened for reading.
    #[error(
        "a sealed file is written once, from the beginning, by one writer\n\
         create a new file instead; writing on under the same key would repeat a nonce"
    )]
    WrittenOnce,
    /// The format has no room for more data in one file under this cipher.
    #[error(
        "cipher {cipher} allows no more data in one file: {limit}\nstart a new file, or use \
         another cipher"
    )]
    LimitReached {
        /// Name of the cipher.
        cipher: &'static str,
        /// Limit that was reached.
        limit: String,
    },
    /// The key could not be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The file was opened before this process was forked.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The operating system returned no randomness.
    #[error("no randomness from the operating system: {0}")]
    Random(String),
    /// The module has a title that no header holds.
    #[error(
        "the module calls itself {title:?}, which no header of a sealed file holds: name and \
         version are at most {TITLE_BYTES_MAX} bytes of printable ASCII, the name without a space\n\
         nothing was sealed; correct what the module states about itself"
    )]
    ModuleTitle {
        /// Name and version that it states.
        title: String,
    },
    /// The file was made by another module than the one at hand.
    #[error(
        "it was made by module {made_by}, and the module at hand is {by}; nothing was written\n\
         name the same module with {}, or move the data: a file that a module made is written and \
         rewrapped by that module alone",
        SettingName("module")
    )]
    OtherModule {
        /// Name and version of the module that made it.
        made_by: String,
        /// Name of the module at hand.
        by: &'static str,
    },
    /// The module that computes lacks what is needed, or failed.
    #[error(transparent)]
    Module(sealstone_cipher::Error),
    /// The cipher refused its key or input: a bug of ours.
    #[error("cipher call failed: {0}\nthis is a bug in sealstone; please report it")]
    Cipher(sealstone_cipher::Error),
}

impl From<sealstone_cipher::Error> for SealError {
    fn from(error: sealstone_cipher::Error) -> Self {
        match error {
            sealstone_cipher::Error::Lacks { .. } | sealstone_cipher::Error::Module { .. } => {
                Self::Module(error)
            }
            _ => Self::Cipher(error),
        }
    }
}
