//! From settings to a sealed environment: opens the key source, chooses cipher and backend.

use std::path::PathBuf;
use std::sync::Arc;

use sealstone_anchor::AnchorError;
use sealstone_cipher::{Backend, BackendError};
use sealstone_keys::source::{self, PASSPHRASE_VARIABLE};
use sealstone_keys::{AbsoluteError, KeyError, absolute_path, absolute_source};
use sealstone_rocksdb::Sealing;

use crate::settings::{Settings, SettingsError};

/// Reason why there is no environment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpeningError {
    /// The settings are wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The keys cannot be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The key file has a passphrase, and none was given.
    #[error(
        "key file {} is protected by a passphrase, and none was given: a library cannot ask\n\
         name a file that holds it: passphrase_file=/path among the settings, or \
         {PASSPHRASE_VARIABLE}",
        key_file.display()
    )]
    NoPassphrase {
        /// The key file.
        key_file: PathBuf,
    },
    /// No cipher is named, and the key source has none.
    #[error(
        "no cipher is named, and {place} knows none for its key\nadd one to the settings, such as \
         cipher=aria-256"
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
    /// A path cannot be made absolute.
    #[error(transparent)]
    Path(#[from] AbsoluteError),
    /// The address of the anchor is wrong.
    #[error(transparent)]
    Anchor(#[from] AnchorError),
}

/// Builds the sealing of files from the settings in `text`, a URI or the part after its question
/// mark. The current key has been fetched once when this returns, so a program learns of a missing
/// key before it looks at any file. A cipher that should no longer be used is reported on stderr.
///
/// # Errors
/// [`OpeningError`] for anything that can be wrong with settings, key, cipher, backend and module.
/// There is no fallback.
pub(crate) fn sealing(text: &str) -> Result<Sealing, OpeningError> {
    let settings = Settings::parse(text)?;
    let backend = Backend::by_name(settings.accel.as_deref().unwrap_or("auto"))?;
    let named = settings.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    // the key file is read again later, when the program may be in another directory
    let passphrase_file = settings.passphrase_file.as_deref().map(absolute_path).transpose()?;
    source::check_path(&settings.key)?;
    let module = settings.module.as_deref().map(sealstone_modules::load).transpose()?;
    let key = absolute_source(&settings.key)?;
    let keys =
        source::open_unattended(&key, passphrase_file.as_deref(), module).map_err(|error| {
            match error {
                KeyError::NoPassphrase { path } => OpeningError::NoPassphrase { key_file: path },
                other => other.into(),
            }
        })?;
    let cipher = match named {
        Some(cipher) => cipher,
        None => keys.cipher().ok_or_else(|| OpeningError::NoCipher { place: keys.describe() })?,
    };
    keys.current()?;
    if let Some(caveat) = cipher.caveat {
        eprintln!("sealstone: warning: {} is {}: {caveat}", cipher.name, cipher.standing.word());
    }
    let anchor =
        settings.anchor.map(|spec| match spec.to_str().filter(|spec| source::is_kmip(spec)) {
            Some(_) => Ok(sealstone_anchor::open(&spec)?),
            None => Ok::<_, OpeningError>(sealstone_anchor::open(&absolute_path(&spec)?)?),
        });
    let anchor = anchor.transpose()?.map(Arc::from);
    let counts_dir = settings.counts_dir.as_deref().map(absolute_path).transpose()?;
    let page_bytes = settings.page_bytes;
    Ok(Sealing { anchor, page_bytes, counts_dir, ..Sealing::new(keys, cipher, backend) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use sealstone_keys::{Cost, KeyFile, Passphrase};

    use super::*;

    #[test]
    fn settings_lead_to_a_sealing() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("a b&c.key");
        KeyFile::create(&key, "orders").unwrap();
        let uri = format!(
            "sealstone://?key={}&cipher=ARIA-256&accel=portable",
            dir.path().join("a b%26c.key").display()
        );
        let made = sealing(&uri).unwrap();
        assert_eq!(
            (made.cipher.name, made.page_bytes, made.anchor.is_none()),
            ("aria-256", None, true)
        );
        assert_eq!(made.keys.name().unwrap(), "orders");
        let made = sealing(&format!(
            "{uri}&page_bytes=65536&anchor={}",
            dir.path().join("mark").display()
        ))
        .unwrap();
        assert_eq!(made.page_bytes, Some(65536));
        assert!(made.anchor.unwrap().describe().contains("mark"));
    }

    #[test]
    fn without_key_cipher_or_passphrase_nothing_opens() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        let error = |text: &str| sealing(text).err().unwrap_or_else(|| panic!("{text} opens"));
        let key = format!("key={}", at("orders.key"));
        assert!(matches!(
            error(&format!("{key}&cipher=aes-256")),
            OpeningError::Key(KeyError::NoFile { .. })
        ));
        KeyFile::create(at("orders.key"), "orders").unwrap();
        assert!(matches!(error(&key), OpeningError::NoCipher { .. }));
        assert!(matches!(
            error("key=kmpi:kms.toml"),
            OpeningError::Key(KeyError::UnknownSource { .. })
        ));
        assert!(matches!(error(&format!("{key}&cipher=ares")), OpeningError::Cipher(_)));
        assert!(matches!(
            error(&format!("{key}&cipher=aes-256&accel=sse9")),
            OpeningError::Backend(_)
        ));

        let passphrase = Passphrase::new("open sesame".into(), "the test").unwrap();
        let cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };
        KeyFile::create_protected(at("safe.key"), "orders", &passphrase, cost).unwrap();
        let with = |words: &str| {
            fs::write(at("words"), words).unwrap();
            fs::set_permissions(at("words"), fs::Permissions::from_mode(0o600)).unwrap();
            sealing(&format!(
                "key={}&cipher=aes-256&passphrase_file={}",
                at("safe.key"),
                at("words")
            ))
        };
        with("open sesame").unwrap();
        assert!(matches!(with("open"), Err(OpeningError::Key(KeyError::WrongPassphrase { .. }))));
    }
}
