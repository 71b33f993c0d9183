//! MariaDB as a server whose files are sealed: by a plug-in that mariadbd loads
//! (`adapters/mariadb`).

use std::path::{Path, PathBuf};

use sealstone_mariadb::{
    PLUGIN_VARIABLE, ServerOptions, ServerOptionsError, check, find_plugin, is_data_directory,
    survey,
};
use sealstone_seal::account::Account;
use sealstone_servers::MARIADB_SERVER;
use sealstone_store::EngineError;

use crate::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer, Sealing, Wanted};

/// MariaDB in the table of engines.
pub(crate) static AT_REST: MariaDbAtRest = MariaDbAtRest;

/// MariaDB's files.
#[derive(Debug)]
pub(crate) struct MariaDbAtRest;

/// Formats of options.
const FILE: &str = "cnf";
const COMMAND_LINE: &str = "options";

fn server_options(sealing: &Sealing) -> Result<ServerOptions, ServerOptionsError> {
    let Sealing { library, key, cipher, accel, module, passphrase_file, .. } = sealing.clone();
    let cipher = cipher.map(|cipher| cipher.name.to_owned());
    let options = ServerOptions { plugin: library, key, cipher, accel, module, passphrase_file };
    options.check()?;
    Ok(options)
}

impl MariaDbAtRest {
    /// Returns the arguments of a server that seals its files with `sealing`.
    ///
    /// # Errors
    /// A value that the server's notation cannot hold.
    pub(crate) fn arguments(sealing: &Sealing) -> Result<Vec<String>, ServerOptionsError> {
        server_options(sealing)?.arguments()
    }
}

impl AtRest for MariaDbAtRest {
    fn name(&self) -> &'static str {
        "mysql"
    }

    fn product(&self) -> &'static str {
        "MariaDB"
    }

    fn owns(&self, dir: &Path) -> bool {
        is_data_directory(dir)
    }

    /// A page has the version of its key, and not its name: pages under the same version of another
    /// key count, too. Copies in the doublewrite buffer do not ([`survey`]).
    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError> {
        let account = survey(dir).map_err(|error| AtRestError::Unread(error.into()))?;
        let under =
            |share: &&sealstone_seal::account::Share| share.key_version == wanted.key.version;
        let count: u64 = account.sealed.iter().filter(under).map(|share| share.blocks).sum();
        let example = account.files.iter().find(|file| file.sealed.iter().any(|one| under(&one)));
        let found = match example {
            Some(file) => Some(Found::Under { count, unit: "page", example: file.name.clone() }),
            None => Found::unread(&account),
        };
        Ok(Need { sealed_files: account.sealed_files(), found: found.unwrap_or(Found::Nothing) })
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrite(
            "let the running server rewrite its tables under the newest version, rebuild Aria \
             tables, remove binary logs that are older, and restart it with another \
             innodb_log_file_size (docs/guide/mariadb.md)",
        )
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        Some(self)
    }
}

impl SealedServer for MariaDbAtRest {
    fn server_name(&self) -> &'static str {
        MARIADB_SERVER.name
    }

    fn data_dir_option(&self) -> (&'static str, &'static str) {
        ("datadir", "/var/lib/mysql")
    }

    /// Pages have no room for a tag.
    fn notices_changes(&self) -> bool {
        false
    }

    fn data_dir_help(&self) -> &'static str {
        "The data directory; tables in it are encrypted in the background"
    }

    fn find_library(&self, named: Option<&Path>) -> Result<PathBuf, EngineError> {
        Ok(find_plugin(named)?)
    }

    fn library_variable(&self) -> &'static str {
        PLUGIN_VARIABLE
    }

    fn settings(&self, sealing: &Sealing) -> Result<Vec<(&'static str, String)>, EngineError> {
        Ok(vec![("arguments", Self::arguments(sealing)?.join("\n"))])
    }

    fn formats(&self) -> &'static [(&'static str, &'static str)] {
        &[(FILE, "For my.cnf"), (COMMAND_LINE, "For the command line")]
    }

    fn options(
        &self,
        sealing: &Sealing,
        data_dir: &Path,
        format: &str,
    ) -> Result<String, EngineError> {
        let options = server_options(sealing)?;
        Ok(match format {
            COMMAND_LINE => format!("{}\n", options.command_line(data_dir)?),
            _ => options.file(data_dir)?,
        })
    }

    fn account(&self, dir: &Path) -> Result<Account, EngineError> {
        Ok(check(dir)?)
    }

    fn conversion(&self) -> &'static str {
        "the server encrypts tables that are there in the background (innodb_encryption_threads); \
         Aria tables and older binary logs stay as they are (docs/guide/mariadb.md)"
    }
}
