//! The keys and the cipher of one opening of a data directory, and what is said about them. Keys are fetched once,
//! here; nothing asks for one later. Not here: WiredTiger (`ffi`), and the bytes of a block
//! (`sealstone_seal::engine_page`).

use std::path::{Path, PathBuf};

use sealstone_cipher::backend::{Backend, BackendError};
use sealstone_cipher::registry::{self, Cipher};
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{KeyError, KeyRef, Passphrase};
use sealstone_seal::engine_page::{EnginePageError, EnginePages};

use crate::header::EXPANSION_BYTES;
use crate::journal::JournalError;
use crate::series::{SeriesError, Version};
use crate::settings::{Settings, SettingsError};

/// Reason why the extension does not continue.
#[derive(Debug, thiserror::Error)]
pub enum ExtensionError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// This WiredTiger is not one that we know.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// Once called, WiredTiger says that it is a different one.
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
         name a file that holds it: passphrase_file=\"/path\" in the extension's config, or {PASSPHRASE_VARIABLE}",
        key_file.display()
    )]
    NoPassphrase {
        /// The key file.
        key_file: PathBuf,
    },
    /// No cipher is named, and the key source knows none.
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
    /// The key in `encryption=(keyid=…)` is not the one that the source has.
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
         leave it out, and consider it known to anyone who reads the log; the key comes from the extension's config"
    )]
    SecretKey,
    /// WiredTiger passes lengths that it cannot mean.
    #[error(
        "WiredTiger asks to {call} {src_len} bytes into a buffer of {dst_len} under key {key}: a length in a file was \
         changed, or memory is damaged\n\
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
        "the header of a {kind} was changed: {found}; its block has {bytes} bytes, and key {key} seals here\n\
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
    /// The system refused what WiredTiger wants to do with a file.
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
         load the extension before it: extensions=[/path/libsealstone_wiredtiger.so=(early_load=true,config=(...))]"
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
        "{} was to be left in the clear, by encryption=(name={named}) in the options of its collection or index: it \
         was not made\n\
         create it without these options, or let such files be with clear_files=accept in the extension's config",
        path.display()
    )]
    ClearFile {
        /// The file.
        path: PathBuf,
        /// The encryptor that was asked for; `none` for no encryption.
        named: String,
    },
    /// An earlier sync failed.
    #[error(
        "a sync of this database failed, and what was written since may be lost: nothing more is written\n\
         look at the disk, then start the server again"
    )]
    SyncFailed,
    /// A block or a page failed.
    #[error(transparent)]
    Page(#[from] EnginePageError),
    /// WiredTiger refused what it was asked.
    #[error("WiredTiger refused to {attempted} (error {code})\nits own message says why")]
    Refused {
        /// Operation that was requested.
        attempted: &'static str,
        /// Error code that it returned.
        code: i32,
    },
    /// A bug of ours.
    #[error("sealstone failed within {place}: {found}\nthis is a bug in sealstone; please report it")]
    Panic {
        /// In which call.
        place: &'static str,
        /// Failure that was found.
        found: String,
    },
}

/// Seals and opens for one opening of one data directory. Serves many threads at once.
#[derive(Debug)]
pub struct Encryptor {
    pages: EnginePages,
    name: String,
    place: String,
}

impl Encryptor {
    /// Fetches every version of the key that `settings` name, and draws the salt of this opening.
    ///
    /// # Errors
    /// [`ExtensionError`] for anything that can be wrong with key, cipher and backend. There is no fallback.
    pub fn open(settings: &Settings) -> Result<Self, ExtensionError> {
        let from_file = |path: &Path| match source::passphrase_file(settings.passphrase_file.as_deref()) {
            Some(file) => Passphrase::from_file(file),
            None => Err(KeyError::NoPassphrase { path: path.to_owned() }),
        };
        let backend = Backend::by_name(settings.accel.as_deref().unwrap_or("auto"))?;
        let named = settings.cipher.as_deref().map(registry::cipher).transpose()?;
        let source = source::open(&settings.key, &from_file).map_err(|error| match error {
            KeyError::NoPassphrase { path } => ExtensionError::NoPassphrase { key_file: path },
            other => other.into(),
        })?;
        let place = source.describe();
        let cipher = match (named, source.cipher()) {
            (None, None) => return Err(ExtensionError::NoCipher { place }),
            // a cipher named explicitly takes precedence
            (Some(cipher), _) => cipher,
            (None, Some(attribute)) => registry::cipher(&attribute)?,
        };
        let (current, _) = source.current()?;
        let pages = EnginePages::new(source.all()?, &current, &place, cipher, backend)?;
        Ok(Self { pages, name: source.name()?, place })
    }

    /// Checks that `keyid`, from `encryption=(keyid=…)`, names the key that was fetched.
    ///
    /// # Errors
    /// [`ExtensionError::OtherKeyId`], [`ExtensionError::NoKeyId`].
    pub fn check_key_id(&self, keyid: &str) -> Result<(), ExtensionError> {
        match keyid {
            "" => Err(ExtensionError::NoKeyId { held: self.name.clone() }),
            _ if keyid == self.name => Ok(()),
            _ => Err(ExtensionError::OtherKeyId {
                wanted: keyid.to_owned(),
                held: self.name.clone(),
                place: self.place.clone(),
            }),
        }
    }

    /// The pages of this opening.
    #[must_use]
    pub fn pages(&self) -> &EnginePages {
        &self.pages
    }

    /// Returns the largest number of bytes by which a block may be longer than its content.
    #[must_use]
    pub fn expansion_bytes(&self) -> usize {
        EXPANSION_BYTES
    }

    /// Returns the line that the server's log shows once the server is ready.
    #[must_use]
    pub fn greeting(&self) -> String {
        let Self { pages, place, .. } = self;
        let cipher = pages.cipher();
        let others: Vec<String> =
            pages.keys().filter(|(key, _)| *key != pages.key()).map(|(key, _)| key.version.to_string()).collect();
        let also = match others.as_slice() {
            [] => String::new(),
            [one] => format!("; version {one} opens old data"),
            many => format!("; versions {} open old data", many.join(", ")),
        };
        let (mode, backend) = (cipher.mode.word(), pages.backend().name());
        format!("sealing with {} in {mode} ({backend}) under key {} from {place}{also}", cipher.name, pages.key())
    }

    /// Returns the objection to the cipher, if there is one.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let cipher: &Cipher = self.pages.cipher();
        let caveat = cipher.caveat?;
        Some(format!("warning: {} is {}: {caveat}", cipher.name, cipher.standing.word()))
    }
}

#[cfg(test)]
mod tests {
    use sealstone_keys::Cost;
    use sealstone_keys::file::KeyFile;

    use super::*;

    fn settings(key: &Path, cipher: &str) -> Settings {
        Settings::parse(&format!("key=\"{}\",cipher={cipher},accel=portable", key.display())).unwrap()
    }

    #[test]
    fn it_says_what_it_seals_with() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orders.key");
        let key = KeyFile::create(&path, "orders").unwrap();
        let encryptor = Encryptor::open(&settings(&path, "aria-256")).unwrap();
        let place = format!("key file {}", path.display());
        assert_eq!(
            encryptor.greeting(),
            format!("sealing with aria-256 in gcm (portable) under key orders version 1 from {place}")
        );
        assert_eq!(encryptor.warning(), None);
        key.rotate().unwrap();
        key.rotate().unwrap();
        let encryptor = Encryptor::open(&settings(&path, "3des")).unwrap();
        assert!(encryptor.greeting().ends_with(&format!("version 3 from {place}; versions 1, 2 open old data")));
        assert!(encryptor.warning().unwrap().starts_with("warning: 3des is legacy: "));
        encryptor.check_key_id("orders").unwrap();
        let error = encryptor.check_key_id("others").unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "encryption=(keyid=\"others\") names another key than {place}, which has key orders\n\
                 write keyid=\"orders\", or give the source of key others"
            )
        );
        assert!(matches!(encryptor.check_key_id(""), Err(ExtensionError::NoKeyId { .. })));
    }

    #[test]
    fn without_key_cipher_or_passphrase_nothing_opens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orders.key");
        assert!(matches!(
            Encryptor::open(&settings(&path, "aes-256")),
            Err(ExtensionError::Key(KeyError::NoFile { .. }))
        ));
        let passphrase = Passphrase::new("open sesame".into(), "the test").unwrap();
        let cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
        KeyFile::create_protected(&path, "orders", &passphrase, cost).unwrap();
        let with = |word: &str| {
            let file = dir.path().join(word);
            std::fs::write(&file, word).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&file, mode).unwrap();
            Encryptor::open(&Settings { passphrase_file: Some(file), ..settings(&path, "aes-256") })
        };
        with("open sesame").unwrap();
        assert!(matches!(with("open"), Err(ExtensionError::Key(KeyError::WrongPassphrase { .. }))));
        let plain = dir.path().join("plain.key");
        KeyFile::create(&plain, "orders").unwrap();
        assert!(matches!(Encryptor::open(&settings(&plain, "ares")), Err(ExtensionError::Cipher(_))));
        let no_cipher = Settings { cipher: None, ..settings(&plain, "aes-256") };
        assert!(matches!(Encryptor::open(&no_cipher), Err(ExtensionError::NoCipher { .. })));
        let no_backend = Settings { accel: Some("sse9".into()), ..settings(&plain, "aes-256") };
        assert!(matches!(Encryptor::open(&no_backend), Err(ExtensionError::Backend(_))));
    }
}
