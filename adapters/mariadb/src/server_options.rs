//! The options under which a server loads the plug-in and encrypts everything that it can, written
//! for its command line, for a file of options, and for a lab.
//!
//! Not here: the settings among them (`settings`).

use std::path::{Path, PathBuf};

use sealstone_cipher::Provider;
use sealstone_message::{SettingName, Unknown};
use sealstone_modules::{ModuleError, plain_name};
use sealstone_seal::tablespace::{TablespaceError, probe};

/// File name of the plug-in.
const PLUGIN_FILE: &str = "libsealstone_mariadb.so";

/// Directories of plug-ins that a server of a package loads from by itself.
const SERVERS_OWN: [&str; 3] =
    ["/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin", "/usr/lib64/mariadb/plugin"];

/// Variable of the environment that names the plug-in where no option does.
pub const VARIABLE: &str = "SEALSTONE_MARIADB_PLUGIN";

/// Number of the key of tables, unless they name another: those from 3 on have pages alone.
pub(crate) const TABLE_KEY_ID: u32 = 100;

/// Options with which a server encrypts all that it can.
///
/// A page that is freed before the server's threads come to it is passed over by them, with the
/// records in it, unless freed pages are scrubbed. One thread is enough: the pace is limited by
/// `innodb_encryption_rotation_iops`, and on older servers several threads keep waking each other
/// when there is nothing to encrypt (MDEV-34358).
pub(crate) const ENCRYPTING: [(&str, &str); 9] = [
    ("innodb_encrypt_tables", "FORCE"),
    ("innodb_encrypt_log", "ON"),
    ("innodb_encrypt_temporary_tables", "ON"),
    ("innodb_encryption_threads", "1"),
    ("innodb_immediate_scrub_data_uncompressed", "ON"),
    ("encrypt_binlog", "ON"),
    ("aria_encrypt_tables", "ON"),
    ("encrypt_tmp_files", "ON"),
    ("encrypt_tmp_disk_tables", "ON"),
];

/// Reason why there are no options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerOptionsError {
    /// A value that a file of options cannot hold.
    #[error(
        "cannot write {what} {value:?} for the server: it has a line end or a quote\nrename it"
    )]
    Notation {
        /// Thing whose value it is.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// No cipher has this name.
    #[error(transparent)]
    Cipher(#[from] Unknown),
    /// The cryptographic module is not available.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The module lacks what pages or logs need.
    #[error(transparent)]
    Lacks(#[from] TablespaceError),
    /// No plug-in was found.
    #[error(
        "no {PLUGIN_FILE} found: looked in {looked}\nbuild it with: cargo build --release -p \
         sealstone-mariadb; then name it with {} or in {VARIABLE}",
        SettingName("extension")
    )]
    NoPlugin {
        /// Places that were searched.
        looked: String,
    },
}

/// Plug-in that a server loads, with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// The plug-in, an absolute path.
    pub plugin: PathBuf,
    /// The key source: the absolute path of a key file, `kmip://…`, or `kmip:/absolute/FILE.toml`.
    pub key: String,
    /// Name of the cipher; absent where the key server records it.
    pub cipher: Option<String>,
    /// Name of the backend; absent: the fastest.
    pub accel: Option<String>,
    /// Cryptographic module that computes, as every process loads it; absent for our own code.
    pub module: Option<String>,
    /// File with the passphrase of a key file that has one, an absolute path.
    pub passphrase_file: Option<PathBuf>,
}

impl ServerOptions {
    /// Loads the module, and checks that it has all that the cipher's pages and logs need. Without
    /// a cipher nothing is tried. That the server can load it, too, shows when it starts.
    ///
    /// # Errors
    /// [`ServerOptionsError::Module`], [`ServerOptionsError::Lacks`];
    /// [`ServerOptionsError::Cipher`].
    pub fn check(&self) -> Result<(), ServerOptionsError> {
        let (Some(module), Some(cipher)) = (&self.module, &self.cipher) else { return Ok(()) };
        let module = Provider::Module(sealstone_modules::load(module)?);
        Ok(probe(sealstone_cipher::cipher(cipher)?, module)?)
    }

    /// Returns the options, names and values, in the order in which they are written.
    ///
    /// # Errors
    /// [`ServerOptionsError::Notation`].
    pub fn all(&self) -> Result<Vec<(String, String)>, ServerOptionsError> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let plugins = self.plugin.parent().unwrap_or(Path::new("/"));
        let file = self.plugin.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let passphrase_file = self.passphrase_file.as_deref().map(path);
        let settings = [
            ("plugin_dir", "the directory of the plug-in", Some(path(plugins))),
            ("plugin_load_add", "the plug-in", Some(file)),
            ("sealstone_key", "the key", Some(self.key.clone())),
            ("sealstone_cipher", "the cipher", self.cipher.clone()),
            ("sealstone_accel", "the backend", self.accel.clone()),
            ("sealstone_module", "the module", self.module.as_deref().map(plain_name)),
            ("sealstone_passphrase_file", "the passphrase file", passphrase_file),
        ];
        let mut all = Vec::new();
        for (name, what, value) in settings {
            let Some(value) = value else { continue };
            if value.contains(['\n', '\r', '"', '\'', '\\', '#']) {
                return Err(ServerOptionsError::Notation { what, value });
            }
            all.push((name.to_owned(), value));
        }
        let key_id = ("innodb_default_encryption_key_id", TABLE_KEY_ID.to_string());
        all.extend(ENCRYPTING.map(|(name, value)| (name.to_owned(), value.to_owned())));
        all.push((key_id.0.to_owned(), key_id.1));
        Ok(all)
    }

    /// Returns the arguments of a command line, one for each option.
    ///
    /// # Errors
    /// [`ServerOptionsError::Notation`].
    pub fn arguments(&self) -> Result<Vec<String>, ServerOptionsError> {
        let all = self.all()?.into_iter();
        Ok(all.map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))).collect())
    }

    /// Returns the options of the command line of a server with the data directory `data_dir`,
    /// quoted for a shell.
    ///
    /// # Errors
    /// [`ServerOptionsError::Notation`].
    pub fn command_line(&self, data_dir: &Path) -> Result<String, ServerOptionsError> {
        let data_dir = format!("--datadir={}", data_dir.display());
        let all = [data_dir].into_iter().chain(self.arguments()?);
        Ok(all.map(|argument| for_shell(&argument)).collect::<Vec<_>>().join(" "))
    }

    /// Returns the part of a file of options (`my.cnf`) for a server with the data directory
    /// `data_dir`. Where the plug-in is in a server's own directory of plug-ins, that stays as it
    /// is: with another one the server finds none of its other plug-ins.
    ///
    /// # Errors
    /// [`ServerOptionsError::Notation`].
    pub fn file(&self, data_dir: &Path) -> Result<String, ServerOptionsError> {
        let is_there = |dir: &&str| Path::new(dir).join(PLUGIN_FILE).is_file();
        self.file_where(data_dir, SERVERS_OWN.iter().any(is_there))
    }

    fn file_where(
        &self,
        data_dir: &Path,
        is_at_server: bool,
    ) -> Result<String, ServerOptionsError> {
        let mut text = format!("[mariadbd]\ndatadir=\"{}\"\n", data_dir.display());
        for (name, value) in self.all()? {
            if name == "plugin_dir" {
                if is_at_server {
                    continue;
                }
                text.push_str(
                    "# copy the plug-in to the server's own directory of plug-ins, and leave this \
                     out: with it the server finds none of its others\n",
                );
            }
            let quote = if value.contains([' ', ';']) { "\"" } else { "" };
            text.push_str(&format!("{name}={quote}{value}{quote}\n"));
        }
        Ok(text)
    }
}

/// Finds the plug-in: `named`, else the file in the environment's `SEALSTONE_MARIADB_PLUGIN`, else
/// next to the running program, else in `../lib/sealstone` from there.
///
/// # Errors
/// [`ServerOptionsError::NoPlugin`].
pub fn find_plugin(named: Option<&Path>) -> Result<PathBuf, ServerOptionsError> {
    sealstone_file::library::find(PLUGIN_FILE, VARIABLE, named)
        .map_err(|looked| ServerOptionsError::NoPlugin { looked })
}

fn for_shell(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-=:".contains(c);
    match text.chars().all(harmless) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> ServerOptions {
        ServerOptions {
            plugin: "/lib dir/libsealstone_mariadb.so".into(),
            key: "/keys/orders.key".into(),
            cipher: Some("aria-256".into()),
            accel: None,
            module: None,
            passphrase_file: None,
        }
    }

    #[test]
    fn both_notations_have_the_same_options() {
        let file = options().file_where(Path::new("/data"), false).unwrap();
        let begin = "[mariadbd]\ndatadir=\"/data\"\n# copy the plug-in to the server's own \
                     directory of plug-ins, and leave this out: with it the server finds none of \
                     its others\nplugin_dir=\"/lib dir\"\nplugin_load_add=libsealstone_mariadb.so\n\
                     sealstone_key=/keys/orders.key\nsealstone_cipher=aria-256\n\
                     innodb_encrypt_tables=FORCE\n";
        let at_server = options().file_where(Path::new("/data"), true).unwrap();
        let begins = "[mariadbd]\ndatadir=\"/data\"\nplugin_load_add=libsealstone_mariadb.so\n";
        assert!(at_server.starts_with(begins), "{at_server}");
        assert!(file.starts_with(begin), "{file}");
        assert!(file.ends_with("innodb_default_encryption_key_id=100\n"), "{file}");
        let arguments = options().arguments().unwrap();
        assert_eq!(arguments[0], "--plugin-dir=/lib dir");
        let line = options().command_line(Path::new("/data")).unwrap();
        assert!(
            line.starts_with("--datadir=/data '--plugin-dir=/lib dir' --plugin-load-"),
            "{line}"
        );
        assert_eq!(arguments.len(), file.lines().filter(|line| line.contains('=')).count() - 1);
    }

    #[test]
    fn a_module_that_lacks_something_is_refused() {
        let with = |cipher: &str, module: &str| {
            let (cipher, module) = (Some(cipher.into()), Some(module.into()));
            ServerOptions { cipher, module, ..options() }.check()
        };
        with("aria-256", "openssl:default").unwrap();
        let error = with("lea-256", "openssl:default").unwrap_err().to_string();
        assert!(error.starts_with("module openssl:default has no cbc with lea-256\n"), "{error}");
        let error = with("aes-256", "openssl:absent").unwrap_err().to_string();
        assert!(error.starts_with("OpenSSL cannot load its provider absent: "), "{error}");
    }

    #[test]
    fn what_a_file_of_options_cannot_hold_is_refused() {
        for key in ["/a\nb", "/a\"b", "/it's", "/a\\b", "/a#b"] {
            let error = ServerOptions { key: key.into(), ..options() }.arguments().unwrap_err();
            assert!(error.to_string().starts_with("cannot write the key "), "{error}");
        }
        let module = Some("openssl:fips?certificate=FIPS 140-3 #4282".into());
        let file = ServerOptions { module, ..options() }.file(Path::new("/data")).unwrap();
        let line = "sealstone_module=\"openssl:fips?certificate=FIPS 140-3 %234282\"\n";
        assert!(file.contains(line), "{file}");
        let missing = find_plugin(Some(Path::new("/nonexistent/x.so"))).unwrap_err().to_string();
        assert!(missing.contains("looked in /nonexistent/x.so\n"), "{missing}");
    }
}
