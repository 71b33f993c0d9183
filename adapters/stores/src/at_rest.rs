//! Sealing of engines' files, behind one interface: starting a server with its files sealed, the
//! account of a directory, and the search for data that still needs a key. Labs, comparisons,
//! checks and the retirement of keys use it and name no engine.
//!
//! Not here: the table of engines (`engines`), the ways of sealing (the adapter of each), stores
//! that a comparison opens (`table`).

use std::path::{Path, PathBuf};

use sealstone_cipher::Cipher;
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_seal::account::Account;
#[cfg(any(feature = "mongodb", feature = "mysql"))]
use sealstone_store::kind::{Form, Setting};
use sealstone_store::{Choice, EngineError};

/// The setting of a comparison that names what its servers load; one flag for all of them.
#[cfg(any(feature = "mongodb", feature = "mysql"))]
pub(crate) const EXTENSION: Setting = Setting::new(
    "extension",
    "FILE",
    Form::File,
    "Our extension or plug-in that seals the server's files [default: SEALSTONE_WT_EXTENSION or \
     SEALSTONE_MARIADB_PLUGIN, or the one next to this program]",
);

/// An engine whose files can be sealed.
pub trait AtRest: Sync {
    /// Returns the word for the engine in commands and metrics, such as `mongo`.
    fn name(&self) -> &'static str;

    /// Returns the name of the product, such as `MongoDB`.
    fn product(&self) -> &'static str;

    /// Returns whether `dir` is a directory of the engine, by the names in it.
    fn owns(&self, dir: &Path) -> bool;

    /// Looks for data under exactly the key `wanted` in all of the engine's files below `dir`.
    ///
    /// # Errors
    /// Unreadable data: it is then unknown whether the key is needed.
    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError>;

    /// Returns how data of the engine comes under the newest version of its key.
    fn renewal(&self) -> Renewal;

    /// Returns the engine as a server; absent for an engine that is part of another program.
    fn server(&self) -> Option<&dyn SealedServer>;
}

/// A server that seals its files with something of ours that it loads.
pub trait SealedServer: AtRest {
    /// Returns the name of the server in the table of servers (`sealstone_servers::servers`).
    fn server_name(&self) -> &'static str;

    /// Returns the server's own option for its data directory, without dashes, and an example of
    /// such a directory.
    fn data_dir_option(&self) -> (&'static str, &'static str);

    /// Returns whether the server notices a changed page when it reads it.
    fn notices_changes(&self) -> bool;

    /// Returns the help of that option where options are made for a server.
    fn data_dir_help(&self) -> &'static str;

    /// Finds the library that the server loads: `named`, or the library in its usual place.
    ///
    /// # Errors
    /// None is there.
    fn find_library(&self, named: Option<&Path>) -> Result<PathBuf, EngineError>;

    /// Returns the variable of the environment that names the library.
    fn library_variable(&self) -> &'static str;

    /// Returns the settings, names and values of the table of servers, with which a server on this
    /// machine is started sealed.
    ///
    /// # Errors
    /// A value that the server's notation cannot hold.
    fn settings(&self, sealing: &Sealing) -> Result<Vec<(&'static str, String)>, EngineError>;

    /// Returns the formats in which [`options`](Self::options) are written, with what each is for;
    /// the first is the default.
    fn formats(&self) -> &'static [(&'static str, &'static str)];

    /// Returns the options with which an administrator starts a server with the data directory
    /// `data_dir` sealed.
    ///
    /// - `format`: one of [`formats`](Self::formats)
    ///
    /// # Errors
    /// A value that the server's notation cannot hold.
    fn options(
        &self,
        sealing: &Sealing,
        data_dir: &Path,
        format: &str,
    ) -> Result<String, EngineError>;

    /// Looks at every file in the data directory `dir`. Needs no key, and the server may be
    /// running.
    ///
    /// # Errors
    /// A directory that is none of the server's or cannot be listed.
    fn account(&self, dir: &Path) -> Result<Account, EngineError>;

    /// Returns the obstacle to starting a server sealed on data in the clear, and the remedy.
    fn conversion(&self) -> &'static str;
}

/// Settings with which a server seals its files.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// The library that it loads, an absolute path.
    pub library: PathBuf,
    /// The key source: the absolute path of a key file, `kmip://…`, or `kmip:/absolute/FILE.toml`.
    pub key: String,
    /// Id of the key.
    pub key_id: String,
    /// The cipher; absent where the key server records it.
    pub cipher: Option<&'static Cipher>,
    /// Name of the backend; absent: the fastest.
    pub accel: Option<String>,
    /// Cryptographic module that computes, as every process loads it, such as `openssl:fips` or the
    /// absolute path of a library; absent for our own code.
    pub module: Option<String>,
    /// File with the passphrase of a key file that has one, an absolute path.
    pub passphrase_file: Option<PathBuf>,
}

impl Sealing {
    /// Returns the same with the cipher of `choice`, and who computes it.
    #[must_use]
    pub fn with(&self, choice: &Choice) -> Self {
        Self {
            cipher: Some(choice.cipher),
            accel: choice.forced_backend().map(str::to_owned),
            module: choice.module().map(str::to_owned),
            ..self.clone()
        }
    }
}

/// Key that data is searched for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Its name and version.
    pub key: &'a KeyRef,
    /// Gives its secret, which is needed where files name a key by its fingerprint alone.
    pub secret: &'a dyn Fn() -> Result<Secret, KeyError>,
    /// The source that it is in, with its other versions: the list of an engine's files may be
    /// under another.
    pub keys: &'a dyn KeySource,
}

/// Findings of a search for data under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// Number of files that are sealed, under whatever key.
    pub sealed_files: u64,
    /// Data for which the key is needed, or may be.
    pub found: Found,
}

/// Data that needs a key, or may need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing needs the key.
    Nothing,
    /// Data is under it.
    Under {
        /// Amount of it, in `unit`s.
        count: u64,
        /// `file`, `block`.
        unit: &'static str,
        /// A file that is or contains some of it, by name within the directory.
        example: String,
    },
    /// Data is under a key that cannot be determined.
    UnknownKey {
        /// Amount of it, in `unit`s.
        count: u64,
        /// `block`.
        unit: &'static str,
        /// A file that contains some of it.
        example: String,
        /// Reason why the key is unknown.
        why: String,
    },
    /// A file that belongs there is missing, so its key is unknown.
    Missing {
        /// Its name within the directory.
        file: String,
    },
    /// A file could not be looked at.
    Unread {
        /// Its name within the directory.
        file: String,
        /// Reason.
        why: String,
    },
}

#[cfg(any(feature = "mongodb", feature = "mysql"))]
impl Found {
    /// Returns the first file of `account` that could not be looked at, if there is one.
    pub(crate) fn unread(account: &Account) -> Option<Self> {
        account.unread().map(|(file, why)| Self::Unread { file: file.into(), why: why.into() })
    }
}

/// Way in which data comes under the newest version of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// Headers are wrapped again; data stays. The command of `sealstone` for it.
    Rewrap(&'static str),
    /// The server rewrites its data; the step for its administrator.
    Rewrite(&'static str),
}

/// Reason why a search found no answer.
#[derive(Debug, thiserror::Error)]
pub enum AtRestError {
    /// The secret of the key cannot be had.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Something cannot be read.
    #[error("{0}")]
    Unread(EngineError),
}
