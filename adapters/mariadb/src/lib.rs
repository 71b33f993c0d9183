#![deny(unsafe_code)]
//! Encryption at rest for MariaDB: a plug-in that enciphers pages of tablespaces, the redo log, the
//! binary log and temporary files with the cipher and the key that the server's options name.
//!
//! ```text
//! plugin_load_add=libsealstone_mariadb.so
//! sealstone_key=/etc/sealstone/orders.key
//! sealstone_cipher=aria-256
//! innodb_encrypt_tables=FORCE
//! innodb_encrypt_log=ON
//! innodb_default_encryption_key_id=100
//! ```
//!
//! - [`Settings`] are those that the server's variables hold; [`ServerOptions`] writes the whole
//!   configuration.
//! - [`check()`] reports what is encrypted in a data directory, and what is there in the clear.
//! - [`file_key_management`] is the encryption that the server brings itself, to compare with.
//! - [`Plugin`] is keys and cipher of one run of the server, and [`Context`] one call for a page or
//!   a record, by the rule which of them is enciphered how.
//!
//! In a cryptographic module (`sealstone_module`) pages are in a mode that modules have, CBC with
//! ciphertext stealing; each page records which it is in.
//!
//! The server leaves no room for a tag, so its files are unreadable and nothing more: a change is
//! not noticed here. What authenticates, and every other server, is a sealed volume.
//!
//! Keys are fetched when the server starts, and a thread of ours looks for newer versions of them;
//! nothing is requested while the server waits for a page. A new version counts from then on, and
//! the server's own threads rewrite what is under older ones.
//!
//! Not here: the bytes of a page (`sealstone_seal::tablespace`), keys (`sealstone-keys`), and what
//! stays in the clear whatever a plug-in does (SECURITY.md).

mod check;
mod context;
mod error;
#[allow(unsafe_code)]
mod ffi;
pub mod file_key_management;
mod fingerprints;
mod plugin;
mod server_options;
mod settings;

pub use check::{CheckError, check, is_data_directory, survey};
pub use context::Context;
pub use error::PluginError;
pub use plugin::{Level, Log, Occasion, Plugin};
pub use server_options::{
    ServerOptions, ServerOptionsError, VARIABLE as PLUGIN_VARIABLE, find_plugin,
};
pub use settings::{Settings, Texts};

/// Name of the plug-in, with which the names of its variables begin.
pub const NAME: &str = "sealstone";
