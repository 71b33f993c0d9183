//! MongoDB as a server whose files are sealed: by an extension that mongod loads
//! (`adapters/wiredtiger`).

use std::path::{Path, PathBuf};

use sealstone_cipher::Backend;
use sealstone_keys::KeyError;
use sealstone_seal::Fingerprint;
use sealstone_seal::account::Account;
use sealstone_servers::MONGOD_SERVER;
use sealstone_store::EngineError;
use sealstone_wiredtiger::{EXTENSION_VARIABLE, EngineOptions, Settings, find_extension, survey};

use crate::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer, Sealing, Wanted};

/// MongoDB in the table of engines.
pub(crate) static AT_REST: MongoDbAtRest = MongoDbAtRest;

/// MongoDB's files.
#[derive(Debug)]
pub(crate) struct MongoDbAtRest;

/// Formats of options.
const COMMAND_LINE: &str = "options";
const YAML: &str = "yaml";

impl MongoDbAtRest {
    /// Returns the configuration of the storage engine of a server that seals with `sealing`.
    pub(super) fn engine_config(sealing: &Sealing) -> Result<String, EngineError> {
        Ok(engine_options(sealing).engine_config()?)
    }
}

fn engine_options(sealing: &Sealing) -> EngineOptions {
    let Sealing { library, key, key_id, cipher, accel, module, passphrase_file } = sealing.clone();
    let cipher = cipher.map(|cipher| cipher.name.to_owned());
    let settings = Settings { cipher, accel, module, passphrase_file, ..Settings::new(key) };
    EngineOptions { extension: library, key_id, settings }
}

impl AtRest for MongoDbAtRest {
    fn name(&self) -> &'static str {
        "mongo"
    }

    fn product(&self) -> &'static str {
        "MongoDB"
    }

    fn owns(&self, dir: &Path) -> bool {
        ["WiredTiger", "WiredTiger.turtle"].iter().any(|name| dir.join(name).exists())
    }

    /// A block has only the fingerprint of its key.
    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError> {
        let account = survey(dir).map_err(|error| AtRestError::Unread(error.into()))?;
        let under = match account.sealed.is_empty() {
            true => None,
            false => {
                let provider = wanted.keys.provider(Backend::auto());
                let fingerprint = Fingerprint::of(wanted.key, &(wanted.secret)()?, provider);
                let fingerprint = fingerprint.map_err(KeyError::from)?;
                let protected = account.under(&fingerprint.to_string());
                protected.example.map(|example| Found::Under {
                    count: protected.blocks,
                    unit: "block",
                    example,
                })
            }
        };
        let unknown = || {
            let (example, why) = account.unknown()?;
            let (example, why) = (example.into(), why.into());
            Some(Found::UnknownKey { count: account.other_blocks, unit: "block", example, why })
        };
        let found = under.or_else(unknown).or_else(|| Found::unread(&account));
        let found = found.unwrap_or(Found::Nothing);
        Ok(Need { sealed_files: account.sealed_files(), found })
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrite(
            "resync that member with the newest version first, which rewrites all of it \
             (docs/guide/mongodb.md)",
        )
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        Some(self)
    }
}

impl SealedServer for MongoDbAtRest {
    fn server_name(&self) -> &'static str {
        MONGOD_SERVER.name
    }

    fn data_dir_option(&self) -> (&'static str, &'static str) {
        ("dbpath", "/var/lib/mongodb")
    }

    fn notices_changes(&self) -> bool {
        true
    }

    fn data_dir_help(&self) -> &'static str {
        "The data directory; it must be empty"
    }

    fn find_library(&self, named: Option<&Path>) -> Result<PathBuf, EngineError> {
        Ok(find_extension(named)?)
    }

    fn library_variable(&self) -> &'static str {
        EXTENSION_VARIABLE
    }

    fn settings(&self, sealing: &Sealing) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(vec![("engine-config", Self::engine_config(sealing)?)])
    }

    fn formats(&self) -> &'static [(&'static str, &'static str)] {
        &[(COMMAND_LINE, "For the command line"), (YAML, "For mongod.conf")]
    }

    fn options(
        &self,
        sealing: &Sealing,
        data_dir: &Path,
        format: &str,
    ) -> Result<String, EngineError> {
        let options = engine_options(sealing);
        Ok(match format {
            YAML => options.yaml(data_dir)?,
            _ => format!("{}\n", options.command_line(data_dir)?),
        })
    }

    fn account(&self, dir: &Path) -> Result<Account, EngineError> {
        Ok(sealstone_wiredtiger::check(dir)?)
    }

    fn conversion(&self) -> &'static str {
        "with these options mongod accepts only an empty directory\n\
         to convert a member of a replica set, empty its directory and resync it \
         (docs/guide/mongodb.md)"
    }
}
