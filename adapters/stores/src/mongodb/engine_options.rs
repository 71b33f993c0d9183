//! The options under which a server loads the extension that seals its files, worded for the command line, for
//! `mongod.conf` and for a lab.
//!
//! Not here: what the extension does with them (`adapters/wiredtiger`).

use std::path::{Path, PathBuf};

/// Name under which the extension registers its encryptor.
pub const ENCRYPTOR: &str = "sealstone";

/// File name of the extension.
pub const EXTENSION_FILE: &str = "libsealstone_wiredtiger.so";

/// Names the extension where no option does.
const VARIABLE: &str = "SEALSTONE_WT_EXTENSION";

/// Why options cannot be worded.
#[derive(Debug, thiserror::Error)]
pub enum EngineOptionsError {
    /// A value that the engine's notation cannot hold.
    #[error(
        "cannot write {what} {value:?} for the storage engine: {found:?} has no place in its notation\n\
         use a name without quotes, backslashes and control characters"
    )]
    Notation {
        /// What the value is.
        what: &'static str,
        /// The value.
        value: String,
        /// The character.
        found: char,
    },
    /// No extension was found.
    #[error(
        "no {EXTENSION_FILE} found: looked in {looked}\n\
         build it with: cargo build --release -p sealstone-wiredtiger; then name it with --extension or in {VARIABLE}"
    )]
    NoExtension {
        /// Where it was looked for.
        looked: String,
    },
}

/// What the extension is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The extension, an absolute path.
    pub extension: PathBuf,
    /// Where its key comes from: the absolute path of a key file, or `kmip:…`.
    pub key: String,
    /// Id of that key, which the engine keeps with its data.
    pub key_id: String,
    /// Name of the cipher; without it the one that the key server knows for the key.
    pub cipher: Option<String>,
    /// File with the passphrase of the key file, an absolute path.
    pub passphrase_file: Option<PathBuf>,
    /// Backend of the cipher; without it the fastest.
    pub accel: Option<String>,
}

impl EngineOptions {
    /// What the storage engine is told: the value of `--wiredTigerEngineConfigString`.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn engine_config(&self) -> Result<String, EngineOptionsError> {
        let extension = quoted("the extension", &self.extension.to_string_lossy())?;
        let mut config = vec![format!("key={}", quoted("the key", &self.key)?)];
        if let Some(cipher) = &self.cipher {
            config.push(format!("cipher={}", plain("the cipher", cipher)?));
        }
        if let Some(file) = &self.passphrase_file {
            config.push(format!("passphrase_file={}", quoted("the passphrase file", &file.to_string_lossy())?));
        }
        if let Some(accel) = &self.accel {
            config.push(format!("accel={}", plain("the backend", accel)?));
        }
        let (config, key_id) = (config.join(","), quoted("the key id", &self.key_id)?);
        Ok(format!(
            "extensions=[{extension}=(early_load=true,config=({config}))],encryption=(name={ENCRYPTOR},keyid={key_id})"
        ))
    }

    /// The options of the command line of a server with the data directory `data_dir`, quoted for a shell.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn command_line(&self, data_dir: &Path) -> Result<String, EngineOptionsError> {
        let (data_dir, config) = (data_dir.to_string_lossy(), self.engine_config()?);
        Ok(format!("--dbpath {} --wiredTigerEngineConfigString {}", for_shell(&data_dir), for_shell(&config)))
    }

    /// The part of `mongod.conf` (YAML) for a server with the data directory `data_dir`.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn yaml(&self, data_dir: &Path) -> Result<String, EngineOptionsError> {
        let (data_dir, config) = (for_yaml(&data_dir.to_string_lossy()), for_yaml(&self.engine_config()?));
        Ok(format!("storage:\n  dbPath: {data_dir}\n  wiredTiger:\n    engineConfig:\n      configString: {config}\n"))
    }
}

/// Finds the extension: `named`, else what the environment names in `SEALSTONE_WT_EXTENSION`, else the one beside the
/// program that runs, else the one in `../lib/sealstone` from there.
///
/// # Errors
/// [`EngineOptionsError::NoExtension`]; a name that was given and leads to no file is not passed over.
pub fn find_extension(named: Option<&Path>) -> Result<PathBuf, EngineOptionsError> {
    let variable = || std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named.map(Path::to_owned).or_else(variable) {
        return match path.canonicalize() {
            Ok(path) if path.is_file() => Ok(path),
            _ => Err(EngineOptionsError::NoExtension { looked: path.display().to_string() }),
        };
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("/")).to_owned();
    let places = [beside.clone(), beside.parent().unwrap_or(&beside).join("lib/sealstone")];
    let found = places.iter().map(|place| place.join(EXTENSION_FILE)).find(|path| path.is_file());
    found.ok_or_else(|| EngineOptionsError::NoExtension {
        looked: places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and "),
    })
}

/// `value` in the quotes of the engine's notation.
fn quoted(what: &'static str, value: &str) -> Result<String, EngineOptionsError> {
    match value.chars().find(|c| matches!(c, '"' | '\\') || c.is_control()) {
        Some(found) => Err(EngineOptionsError::Notation { what, value: value.into(), found }),
        None => Ok(format!("\"{value}\"")),
    }
}

/// `value` as it is: a name.
fn plain(what: &'static str, value: &str) -> Result<String, EngineOptionsError> {
    match value.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')) {
        Some(found) => Err(EngineOptionsError::Notation { what, value: value.into(), found }),
        None => Ok(value.into()),
    }
}

fn for_shell(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(harmless) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn for_yaml(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> EngineOptions {
        EngineOptions {
            extension: "/lib dir/libsealstone_wiredtiger.so".into(),
            key: "/keys/it's.key".into(),
            key_id: "orders".into(),
            cipher: Some("aria-256".into()),
            passphrase_file: None,
            accel: None,
        }
    }

    #[test]
    fn each_notation_has_its_quotes() {
        let config = "extensions=[\"/lib dir/libsealstone_wiredtiger.so\"=(early_load=true,\
                      config=(key=\"/keys/it's.key\",cipher=aria-256))],encryption=(name=sealstone,keyid=\"orders\")";
        assert_eq!(options().engine_config().unwrap(), config);
        assert_eq!(
            options().command_line(Path::new("/data")).unwrap(),
            format!("--dbpath /data --wiredTigerEngineConfigString '{}'", config.replace('\'', "'\\''"))
        );
        assert_eq!(
            options().yaml(Path::new("/data")).unwrap(),
            format!(
                "storage:\n  dbPath: '/data'\n  wiredTiger:\n    engineConfig:\n      configString: '{}'\n",
                config.replace('\'', "''")
            )
        );
    }

    #[test]
    fn what_the_notation_cannot_hold_is_refused() {
        for key in ["a\"b", "a\\b", "a\nb"] {
            let error = EngineOptions { key: key.into(), ..options() }.engine_config().unwrap_err();
            assert!(matches!(error, EngineOptionsError::Notation { what: "the key", .. }), "{error}");
        }
        assert!(EngineOptions { cipher: Some("a,b".into()), ..options() }.engine_config().is_err());
    }

    #[test]
    fn a_name_that_leads_nowhere_is_not_passed_over() {
        let error = find_extension(Some(Path::new("/nonexistent/x.so"))).unwrap_err().to_string();
        assert!(error.contains("looked in /nonexistent/x.so\n"), "{error}");
    }
}
