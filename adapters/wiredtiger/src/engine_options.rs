//! The options under which a server loads the extension, written for its command line, for
//! `mongod.conf` and for a lab.
//!
//! Not here: the settings of the extension among them (`settings`).

use std::path::{Path, PathBuf};

use sealstone_message::SettingName;

use crate::NAME;
use crate::settings::notation::{quoted, quoted_path};
use crate::settings::{NotationError, Settings};

/// File name of the extension.
pub(crate) const EXTENSION_FILE: &str = "libsealstone_wiredtiger.so";

/// Variable of the environment that names the extension where no option does.
pub const VARIABLE: &str = "SEALSTONE_WT_EXTENSION";

/// Reason why there are no options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineOptionsError {
    /// A value that the engine's notation cannot hold.
    #[error(transparent)]
    Notation(#[from] NotationError),
    /// No extension was found.
    #[error(
        "no {EXTENSION_FILE} found: looked in {looked}\n\
         build it with: cargo build --release -p sealstone-wiredtiger; then name it with {} \
         or in {VARIABLE}",
        SettingName("extension")
    )]
    NoExtension {
        /// Places that were searched.
        looked: String,
    },
}

/// Extension that a server loads, with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The extension, an absolute path.
    pub extension: PathBuf,
    /// Id of the key, which the engine keeps with its data.
    pub key_id: String,
    /// The settings of the extension.
    pub settings: Settings,
}

impl EngineOptions {
    /// Returns the configuration of the storage engine: the value of
    /// `--wiredTigerEngineConfigString`.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn engine_config(&self) -> Result<String, EngineOptionsError> {
        let extension = quoted_path("the extension", &self.extension)?;
        let (config, key_id) = (self.settings.write()?, quoted("the key id", &self.key_id)?);
        Ok(format!(
            "extensions=[{extension}=(early_load=true,config=({config}))],encryption=(name={NAME},\
             keyid={key_id})"
        ))
    }

    /// Returns the options of the command line of a server with the data directory `data_dir`,
    /// quoted for a shell.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn command_line(&self, data_dir: &Path) -> Result<String, EngineOptionsError> {
        let (data_dir, config) = (data_dir.to_string_lossy(), self.engine_config()?);
        Ok(format!(
            "--dbpath {} --wiredTigerEngineConfigString {}",
            for_shell(&data_dir),
            for_shell(&config)
        ))
    }

    /// Returns the part of `mongod.conf` (YAML) for a server with the data directory `data_dir`.
    ///
    /// # Errors
    /// [`EngineOptionsError::Notation`].
    pub fn yaml(&self, data_dir: &Path) -> Result<String, EngineOptionsError> {
        let (data_dir, config) =
            (for_yaml(&data_dir.to_string_lossy()), for_yaml(&self.engine_config()?));
        Ok(format!(
            "storage:\n  dbPath: {data_dir}\n  wiredTiger:\n    engineConfig:\n      configString: \
             {config}\n"
        ))
    }
}

/// Finds the extension: `named`, else the file in the environment's `SEALSTONE_WT_EXTENSION`, else
/// next to the running program, else in `../lib/sealstone` from there.
///
/// # Errors
/// [`EngineOptionsError::NoExtension`]; a name that was given is not passed over if it leads to no
/// file.
pub fn find_extension(named: Option<&Path>) -> Result<PathBuf, EngineOptionsError> {
    sealstone_file::library::find(EXTENSION_FILE, VARIABLE, named)
        .map_err(|looked| EngineOptionsError::NoExtension { looked })
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
            key_id: "orders".into(),
            settings: Settings {
                cipher: Some("aria-256".into()),
                ..Settings::new("/keys/it's.key")
            },
        }
    }

    #[test]
    fn each_notation_has_its_quotes() {
        let config = "extensions=[\"/lib \
                      dir/libsealstone_wiredtiger.so\"=(early_load=true,\
                      config=(key=\"/keys/it's.key\",cipher=aria-256))],encryption=(name=sealstone,\
                      keyid=\"orders\")";
        assert_eq!(options().engine_config().unwrap(), config);
        assert_eq!(
            options().command_line(Path::new("/data")).unwrap(),
            format!(
                "--dbpath /data --wiredTigerEngineConfigString '{}'",
                config.replace('\'', "'\\''")
            )
        );
        assert_eq!(
            options().yaml(Path::new("/data")).unwrap(),
            format!(
                "storage:\n  dbPath: '/data'\n  wiredTiger:\n    engineConfig:\n      \
                 configString: '{}'\n",
                config.replace('\'', "''")
            )
        );
    }

    #[test]
    fn what_the_notation_cannot_hold_is_refused() {
        let config = |options: EngineOptions| options.engine_config().unwrap_err().to_string();
        let key_id = config(EngineOptions { key_id: "a\"b".into(), ..options() });
        assert!(
            key_id.starts_with("cannot write the key id \"a\\\"b\" for the storage engine"),
            "{key_id}"
        );
        let extension = config(EngineOptions { extension: "/a\\b".into(), ..options() });
        assert!(extension.starts_with("cannot write the extension"), "{extension}");
        let key = config(EngineOptions { settings: Settings::new("a\nb"), ..options() });
        assert!(key.starts_with("cannot write the key"), "{key}");
    }

    #[test]
    fn a_name_that_leads_nowhere_is_not_passed_over() {
        let error = find_extension(Some(Path::new("/nonexistent/x.so"))).unwrap_err().to_string();
        assert!(error.contains("looked in /nonexistent/x.so\n"), "{error}");
    }
}
