//! The settings of the plug-in, which the server's variables hold. Not here: these variables
//! (`ffi/variables`), and the effect of the settings (`plugin`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use sealstone_keys::source;

use crate::error::PluginError;

/// Time between two looks for newer versions of the key, unless another is set, in seconds.
pub(crate) const REFRESH_SECONDS: u32 = 60;

/// Settings of one run of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The key source: the absolute path of a key file, `kmip://…`, or `kmip:/absolute/FILE.toml`.
    pub key: String,
    /// Name of the cipher; absent where the key server records it.
    pub cipher: Option<String>,
    /// Name of the backend, `auto` where absent.
    pub accel: Option<String>,
    /// File with the passphrase of a key file that has one.
    pub passphrase_file: Option<PathBuf>,
    /// Time between two looks for newer versions of the key.
    pub refresh: Duration,
}

impl Settings {
    /// Checks the values of the variables; an empty one is absent.
    ///
    /// # Errors
    /// [`PluginError::NoKey`], [`PluginError::Relative`].
    pub fn new(
        key: &str,
        cipher: &str,
        accel: &str,
        passphrase_file: &str,
        refresh_seconds: u32,
    ) -> Result<Self, PluginError> {
        if key.is_empty() {
            return Err(PluginError::NoKey);
        }
        let some = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let passphrase_file = some(passphrase_file).map(PathBuf::from);
        let file = key.strip_prefix("kmip:").filter(|file| !file.starts_with("//"));
        let path = match file {
            Some(file) => Some(file),
            None => (!source::is_kmip(key)).then_some(key),
        };
        let relative = |variable, path: &Path| match path.is_absolute() {
            true => Ok(()),
            false => Err(PluginError::Relative { variable, found: path.display().to_string() }),
        };
        path.map_or(Ok(()), |path| relative("sealstone_key", Path::new(path)))?;
        let file = passphrase_file.as_deref();
        file.map_or(Ok(()), |file| relative("sealstone_passphrase_file", file))?;
        Ok(Self {
            key: key.to_owned(),
            cipher: some(cipher),
            accel: some(accel),
            passphrase_file,
            refresh: Duration::from_secs(refresh_seconds.max(1).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variables_are_absent_and_paths_are_whole() {
        let made = Settings::new("/k/a.key", "", "portable", "", 0).unwrap();
        assert_eq!((made.cipher, made.accel.as_deref()), (None, Some("portable")));
        assert_eq!((made.passphrase_file, made.refresh), (None, Duration::from_secs(1)));
        for key in ["/a", "kmip:/k.toml", "kmip://host:5696/orders?cert=/c"] {
            assert!(Settings::new(key, "aria-256", "", "/p", 60).is_ok(), "{key}");
        }
        assert!(matches!(Settings::new("", "aes-256", "", "", 60), Err(PluginError::NoKey)));
        for (key, file, variable) in [
            ("orders.key", "", "sealstone_key"),
            ("kmip:k.toml", "", "sealstone_key"),
            ("/k", "p", "sealstone_passphrase_file"),
        ] {
            let error = Settings::new(key, "", "", file, 60).unwrap_err();
            assert!(
                matches!(error, PluginError::Relative { variable: found, .. } if found == variable),
                "{key} {file}"
            );
        }
    }
}
