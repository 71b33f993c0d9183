//! Reasons why the extension does not continue.

mod journal;

use std::path::PathBuf;

use sealstone_cipher::BackendError;
use sealstone_keys::source::PASSPHRASE_VARIABLE;
use sealstone_keys::{KeyError, KeyRef};
use sealstone_seal::engine_page::EnginePageError;

pub use journal::JournalError;
pub(crate) use journal::io_error;

use crate::series::{SeriesError, Version};
use crate::settings::SettingsError;

/// Reason why the extension does not continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// This WiredTiger is not supported.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// Once called, WiredTiger reports another version.
    #[error(
        "this server's WiredTiger calls itself {now} now, and {found} before\n\
         two of them are loaded; say which series it is in the extension's config, or load only one"
    )]
    OtherVersion {
        /// Version that it reports when called.
        now: Version,
        /// Version that was found before.
        found: Version,
    },
    /// The keys cannot be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key file has a passphrase, and none was given.
    #[error(
        "key file {} is protected by a passphrase, and none was given: a server cannot ask\n\
         name a file that holds it: passphrase_file=\"/path\" in the extension's config, or \
         {PASSPHRASE_VARIABLE}",
        key_file.display()
    )]
    NoPassphrase {
        /// The key file.
        key_file: PathBuf,
    },
    /// No cipher is named, and the key source has none.
    #[error(
        "no cipher is named, and {place} knows none for its key\n\
         add one to the extension's config, such as cipher=aria-256"
    )]
    NoCipher {
        /// The key source.
        place: String,
    },
    /// No cipher has this name.
    #[error(transparent)]
    Cipher(#[from] sealstone_message::Unknown),
    /// The backend is not available.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The cryptographic module is not available.
    #[error(transparent)]
    Module(#[from] sealstone_modules::ModuleError),
    /// The key in `encryption=(keyid=…)` is not the key of the source.
    #[error(
        "encryption=(keyid=\"{wanted}\") names another key than {place}, which has key {held}\n\
         write keyid=\"{held}\", or give the source of key {wanted}"
    )]
    OtherKeyId {
        /// Key named in the configuration.
        wanted: String,
        /// Key that the source has.
        held: String,
        /// The key source.
        place: String,
    },
    /// `encryption=(keyid=…)` is missing.
    #[error(
        "encryption.keyid is missing\n\
         write encryption=(name={},keyid=\"{held}\")",
        crate::NAME
    )]
    NoKeyId {
        /// Key that the source has.
        held: String,
    },
    /// A secret in the configuration, which servers write to their log.
    #[error(
        "encryption.secretkey is never used: servers write their configuration to their log\n\
         leave it out, and consider it known to anyone who reads the log; the key comes from the \
         extension's config"
    )]
    SecretKey,
    /// WiredTiger passes lengths that it cannot mean.
    #[error(
        "WiredTiger asks to {call} {src_len} bytes into a buffer of {dst_len} under key {key}: a \
         length in a file was changed, or memory is damaged\n\
         nothing was read or written; restore the file from a backup, or resync this member"
    )]
    Lengths {
        /// Operation that it requests.
        call: &'static str,
        /// Length of the source, in bytes.
        src_len: usize,
        /// Length of the destination, in bytes.
        dst_len: usize,
        /// The key that seals.
        key: KeyRef,
    },
    /// Header before a block, as WiredTiger has it, that does not match the block.
    #[error(
        "the header of a {kind} was changed: {found}; its block has {bytes} bytes, and key {key} \
         seals here\n\
         restore the file from a backup, or resync this member"
    )]
    Header {
        /// Kind of data that the header belongs to.
        kind: &'static str,
        /// Problem that was found.
        found: String,
        /// Length of the block, in bytes.
        bytes: usize,
        /// The key that seals.
        key: KeyRef,
    },
    /// The journal was refused.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The system refused an operation of WiredTiger on a file.
    #[error("cannot {attempted} {}: {source}\n\
             check that the server may read and write its data directory", path.display())]
    File {
        /// Operation that was attempted.
        attempted: &'static str,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The extension is loaded too late.
    #[error(
        "WiredTiger refused our file system (error {code}): it has one already\n\
         load the extension before it: \
         extensions=[/path/libsealstone_wiredtiger.so=(early_load=true,config=(...))]"
    )]
    TooLate {
        /// Error code that it returned.
        code: i32,
    },
    /// Settings in the data directory.
    #[error(
        "{} exists: anyone who can write to it can make the server load any library\n\
         remove it, and give its settings to the server with the others", path.display()
    )]
    ConfigFile {
        /// The file.
        path: PathBuf,
    },
    /// A file was to be made in the clear.
    #[error(
        "{} was to be left in the clear, by encryption=(name={named}) in the options of its \
         collection or index: it was not made\n\
         create it without these options, or let such files be with clear_files=accept in the \
         extension's config",
        path.display()
    )]
    ClearFile {
        /// The file.
        path: PathBuf,
        /// The requested encryptor; `none` for no encryption.
        named: String,
    },
    /// An earlier sync failed.
    #[error(
        "a sync of this database failed, and what was written since may be lost: nothing more is \
         written\n\
         look at the disk, then start the server again"
    )]
    SyncFailed,
    /// A block or a page failed.
    #[error(transparent)]
    Page(#[from] EnginePageError),
    /// WiredTiger refused a request.
    #[error("WiredTiger refused to {attempted} (error {code})\nits own message says why")]
    Refused {
        /// Operation that was requested.
        attempted: &'static str,
        /// Error code that it returned.
        code: i32,
    },
    /// A bug of ours.
    #[error(
        "sealstone failed within {place}: {found}\nthis is a bug in sealstone; please report it"
    )]
    Panic {
        /// In which call.
        place: &'static str,
        /// Failure that was found.
        found: String,
    },
}
