//! The settings of the plug-in, which the server's variables hold. Not here: these variables
//! (`ffi/variables`), and the effect of the settings (`plugin`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use sealstone_keys::source;
use sealstone_modules::is_relative_name;
use sealstone_seal::tablespace::PageMode;

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
    /// Cryptographic module that computes, such as `openssl:fips`; absent for our own code.
    pub module: Option<String>,
    /// Mode of the pages that are written; absent: that of who computes, if it was the last one
    /// here, too.
    pub pages: Option<PageMode>,
    /// File with the passphrase of a key file that has one.
    pub passphrase_file: Option<PathBuf>,
    /// Time between two looks for newer versions of the key.
    pub refresh: Duration,
}

/// Texts of the server's variables, by their names; an empty one is absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Texts<'a> {
    /// `sealstone_key`.
    pub key: &'a str,
    /// `sealstone_cipher`.
    pub cipher: &'a str,
    /// `sealstone_accel`.
    pub accel: &'a str,
    /// `sealstone_module`.
    pub module: &'a str,
    /// `sealstone_pages`.
    pub pages: &'a str,
    /// `sealstone_passphrase_file`.
    pub passphrase_file: &'a str,
}

impl Settings {
    /// Checks the values of the variables.
    ///
    /// # Errors
    /// [`PluginError::NoKey`], [`PluginError::Relative`], [`PluginError::Unknown`],
    /// [`PluginError::PagesOfModule`].
    pub fn new(texts: Texts<'_>, refresh_seconds: u32) -> Result<Self, PluginError> {
        let Texts { key, cipher, accel, module, pages, passphrase_file } = texts;
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
        if is_relative_name(module) {
            return Err(PluginError::Relative {
                variable: "sealstone_module",
                found: module.to_owned(),
            });
        }
        let pages = some(pages).map(|name| PageMode::by_name(&name)).transpose()?;
        if let (false, Some(pages @ PageMode::Hctr2)) = (module.is_empty(), pages) {
            let mode = pages.mode().word();
            return Err(PluginError::PagesOfModule { mode, module: module.to_owned() });
        }
        let file = passphrase_file.as_deref();
        file.map_or(Ok(()), |file| relative("sealstone_passphrase_file", file))?;
        Ok(Self {
            key: key.to_owned(),
            cipher: some(cipher),
            accel: some(accel),
            module: some(module),
            pages,
            passphrase_file,
            refresh: Duration::from_secs(refresh_seconds.max(1).into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(key: &str, cipher: &str, passphrase_file: &str) -> Result<Settings, PluginError> {
        Settings::new(Texts { key, cipher, passphrase_file, ..Texts::default() }, 60)
    }

    #[test]
    fn empty_variables_are_absent_and_paths_are_whole() {
        let texts = Texts { key: "/k/a.key", accel: "portable", ..Texts::default() };
        let made = Settings::new(texts, 0).unwrap();
        assert_eq!((made.cipher, made.accel.as_deref()), (None, Some("portable")));
        assert_eq!((made.passphrase_file, made.refresh), (None, Duration::from_secs(1)));
        assert_eq!((made.module, made.pages), (None, None));
        for key in ["/a", "kmip:/k.toml", "kmip://host:5696/orders?cert=/c"] {
            assert!(new(key, "aria-256", "/p").is_ok(), "{key}");
        }
        assert!(matches!(new("", "aes-256", ""), Err(PluginError::NoKey)));
        for (key, file, variable) in [
            ("orders.key", "", "sealstone_key"),
            ("kmip:k.toml", "", "sealstone_key"),
            ("/k", "p", "sealstone_passphrase_file"),
        ] {
            let error = new(key, "", file).unwrap_err();
            assert!(
                matches!(error, PluginError::Relative { variable: found, .. } if found == variable),
                "{key} {file}"
            );
        }
    }

    #[test]
    fn a_module_is_found_anywhere_and_has_its_mode() {
        let with = |module: &str, pages: &str| {
            Settings::new(Texts { key: "/k", module, pages, ..Texts::default() }, 60)
        };
        for (module, pages) in [
            ("openssl:fips?certificate=4985/2025", ""),
            ("/opt/lib.so", "cbc-cs1"),
            ("", "hctr2"),
            ("", "cbc-cs1"),
        ] {
            let made = with(module, pages).unwrap();
            assert_eq!(made.module.as_deref().unwrap_or_default(), module);
            assert_eq!(made.pages.map_or("", |pages| pages.mode().word()), pages);
        }
        let error = with("lib/m.so", "").unwrap_err();
        assert!(matches!(error, PluginError::Relative { variable: "sealstone_module", .. }));
        let error = with("openssl:default", "hctr2").unwrap_err().to_string();
        assert!(error.starts_with("sealstone_pages is hctr2, which module openssl:def"), "{error}");
        let error = with("", "cbc").unwrap_err().to_string();
        assert!(error.starts_with("unknown mode of pages \"cbc\""), "{error}");
    }
}
