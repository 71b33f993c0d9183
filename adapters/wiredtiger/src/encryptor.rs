//! The keys and the cipher of one opening of a data directory, and the messages about them. Keys
//! are fetched only once, here. Not here: WiredTiger (`ffi`), and the bytes of a block
//! (`sealstone_seal::engine_page`).

use std::path::Path;
use std::sync::{Arc, OnceLock};

use sealstone_cipher::{Backend, Cipher};
use sealstone_file::counts::{Keeper, Tally};
use sealstone_keys::{KeyError, source};
use sealstone_seal::engine_page::EnginePages;

use crate::error::ExtensionError;
use crate::header::EXPANSION_BYTES;
use crate::settings::Settings;

/// Seals and opens for one opening of one data directory. Serves many threads at once.
#[derive(Debug)]
pub struct Encryptor {
    pages: EnginePages,
    name: String,
    place: String,
    tally: Arc<Tally>,
    keeper: OnceLock<Option<Keeper>>,
}

impl Encryptor {
    /// Fetches every version of the key that `settings` name, and draws the salt of this opening.
    ///
    /// # Errors
    /// [`ExtensionError`] for anything that can be wrong with key, cipher and backend. There is no
    /// fallback.
    pub fn open(settings: &Settings) -> Result<Self, ExtensionError> {
        let backend = Backend::by_name(settings.accel.as_deref().unwrap_or("auto"))?;
        let named = settings.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
        let module = settings.module.as_deref().map(sealstone_modules::load).transpose()?;
        let passphrase_file = settings.passphrase_file.as_deref();
        let source =
            source::open_unattended(&settings.key, passphrase_file, module).map_err(|error| {
                match error {
                    KeyError::NoPassphrase { path } => {
                        ExtensionError::NoPassphrase { key_file: path }
                    }
                    other => other.into(),
                }
            })?;
        let place = source.describe();
        let cipher = match (named, source.cipher()) {
            (None, None) => return Err(ExtensionError::NoCipher { place }),
            // a cipher named explicitly takes precedence
            (Some(cipher), _) => cipher,
            (None, Some(attribute)) => attribute,
        };
        let (current, _) = source.current()?;
        let pages =
            EnginePages::new(source.all()?, &current, &place, cipher, source.provider(backend))?;
        let (tally, keeper) = (Arc::default(), OnceLock::new());
        Ok(Self { pages, name: source.name()?, place, tally, keeper })
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

    /// Returns the pages of this opening.
    #[must_use]
    pub fn pages(&self) -> &EnginePages {
        &self.pages
    }

    /// Returns the counts of blocks sealed and opened.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Counts a call that failed, and has that written at once: after a page that was tampered with
    /// a server ends itself.
    pub(crate) fn failed(&self) {
        self.tally.failed();
        if let Some(Some(keeper)) = self.keeper.get() {
            keeper.write_now();
        }
    }

    /// Begins to write the counts into the data directory `home`, once. The server works without
    /// them: what keeps them from being written shows by their age.
    pub(crate) fn keep_counts(&self, home: &Path) {
        self.keeper.get_or_init(|| {
            Keeper::of(home, self.name.clone(), Arc::clone(&self.tally), |_| {}).ok()
        });
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
        let others: Vec<String> = pages
            .keys()
            .filter(|(key, _)| *key != pages.key())
            .map(|(key, _)| key.version.to_string())
            .collect();
        let also = match others.as_slice() {
            [] => String::new(),
            [one] => format!("; version {one} opens old data"),
            many => format!("; versions {} open old data", many.join(", ")),
        };
        let (mode, backend) = (cipher.mode.word(), pages.provider().name());
        format!(
            "sealing with {} in {mode} ({backend}) under key {} from {place}{also}",
            cipher.name,
            pages.key()
        )
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
    use sealstone_keys::{Cost, KeyFile, Passphrase};

    use super::*;

    fn settings(key: &Path, cipher: &str) -> Settings {
        Settings::parse(&format!("key=\"{}\",cipher={cipher},accel=portable", key.display()))
            .unwrap()
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
            format!(
                "sealing with aria-256 in gcm (portable) under key orders version 1 from {place}"
            )
        );
        assert_eq!(encryptor.warning(), None);
        key.rotate().unwrap();
        key.rotate().unwrap();
        let encryptor = Encryptor::open(&settings(&path, "3des")).unwrap();
        assert!(
            encryptor
                .greeting()
                .ends_with(&format!("version 3 from {place}; versions 1, 2 open old data"))
        );
        assert!(encryptor.warning().unwrap().starts_with("warning: 3des is legacy: "));
        encryptor.check_key_id("orders").unwrap();
        let error = encryptor.check_key_id("others").unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "encryption=(keyid=\"others\") names another key than {place}, which has key \
                 orders\n\
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
        assert!(matches!(
            Encryptor::open(&settings(&plain, "ares")),
            Err(ExtensionError::Cipher(_))
        ));
        let no_cipher = Settings { cipher: None, ..settings(&plain, "aes-256") };
        assert!(matches!(Encryptor::open(&no_cipher), Err(ExtensionError::NoCipher { .. })));
        let no_backend = Settings { accel: Some("sse9".into()), ..settings(&plain, "aes-256") };
        assert!(matches!(Encryptor::open(&no_backend), Err(ExtensionError::Backend(_))));
    }
}
