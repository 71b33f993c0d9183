//! Reasons why the plug-in does not seal, worded for those who read the server's log.

use std::path::PathBuf;

use sealstone_cipher::BackendError;
use sealstone_keys::KeyError;
use sealstone_keys::source::PASSPHRASE_VARIABLE;
use sealstone_message::Unknown;
use sealstone_modules::ModuleError;
use sealstone_seal::Fingerprint;
use sealstone_seal::tablespace::TablespaceError;

use crate::fingerprints::NAME;

/// Reason why the plug-in does not start, or refuses a page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// No key source is named.
    #[error(
        "no key is named: nothing is encrypted without one\nset sealstone_key=/path/of.key or \
         sealstone_key=kmip:/path/FILE.toml"
    )]
    NoKey,
    /// A path that depends on where the server was started.
    #[error(
        "{variable} is {found:?}, not an absolute path: a server changes its directory\nwrite the \
         whole path, from / on"
    )]
    Relative {
        /// Name of the variable.
        variable: &'static str,
        /// The path.
        found: String,
    },
    /// The key file has a passphrase, and none was given.
    #[error(
        "key file {} is protected by a passphrase, and a server cannot ask for it\nname a file \
         that holds it: sealstone_passphrase_file=/path, or {PASSPHRASE_VARIABLE} in its \
         environment",
        key_file.display()
    )]
    NoPassphrase {
        /// The key file.
        key_file: PathBuf,
    },
    /// No cipher is named, and the key source has none.
    #[error(
        "no cipher is named, and {place} knows none for its key\nset one, such as \
         sealstone_cipher=aria-256"
    )]
    NoCipher {
        /// The key source.
        place: String,
    },
    /// No cipher, or no mode of pages, has this name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The cryptographic module is not available.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A mode of pages that no module has.
    #[error(
        "sealstone_pages is {mode}, which module {module} does not have\nleave it out, or the \
         module"
    )]
    PagesOfModule {
        /// The mode.
        mode: &'static str,
        /// Name of the module.
        module: String,
    },
    /// Data of this server is in a mode that the module does not have.
    #[error(
        "the data in {} is in {found}, which module {module} does not have\nmove it first: without \
         the module, with sealstone_pages={wanted} and a newer version of the key \
         (docs/guide/mariadb.md)",
        dir.display()
    )]
    DataOfOurs {
        /// The data directory.
        dir: PathBuf,
        /// Mode of what is there.
        found: &'static str,
        /// Mode that modules have.
        wanted: &'static str,
        /// Name of the module.
        module: &'static str,
    },
    /// Data of this server was last written in another mode than that of our own code.
    #[error(
        "the data in {} is in {found}, as a module writes it\nset sealstone_module again, or \
         sealstone_pages={found} to go on without the module; to have it in {wanted}, rotate the \
         key first, then set sealstone_pages={wanted} (docs/guide/mariadb.md)",
        dir.display()
    )]
    DataOfModule {
        /// The data directory.
        dir: PathBuf,
        /// Mode of what is there.
        found: &'static str,
        /// Mode of our own code.
        wanted: &'static str,
    },
    /// Another key than that of what the server wrote, with the same version.
    #[error(
        "wrong key: {} was encrypted under version {version} of a key with the fingerprint \
         {found}, and version {version} of the key from {place} has {own}\nname the right key in \
         sealstone_key; nothing was changed. If nothing there is under the other key any more, \
         remove {}",
        dir.display(),
        dir.join(NAME).display()
    )]
    OtherKey {
        /// The data directory.
        dir: PathBuf,
        /// Version of the key.
        version: u32,
        /// Fingerprint of what encrypted there.
        found: Fingerprint,
        /// Fingerprint of what is named now.
        own: Fingerprint,
        /// The key source.
        place: String,
    },
    /// Pages that the key does not open, in a directory that has no record of its keys.
    #[error(
        "wrong key: version {version} of the key from {place} does not open {}, nor any other \
         table there that was tried\nname the right key in sealstone_key; nothing was changed",
        file.display()
    )]
    OtherKeyOfPages {
        /// The first tablespace that was tried.
        file: PathBuf,
        /// Version of the key.
        version: u32,
        /// The key source.
        place: String,
    },
    /// The backend is not available.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The keys cannot be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The thread that looks for newer keys cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
    /// A page or a record was refused.
    #[error(transparent)]
    Unit(#[from] TablespaceError),
    /// The server passed what does not fit together.
    #[error("the server passed {found}, which this plug-in does not know")]
    Unexpected {
        /// Description of it.
        found: &'static str,
    },
}
