#![deny(unsafe_code)]
//! Encryption at rest for WiredTiger, and so for an unmodified MongoDB: an extension that seals
//! every page and every journal record with the cipher and the key that its configuration names.
//!
//! `mongod --wiredTigerEngineConfigString` takes it (one line):
//!
//! ```text
//! extensions=[/path/libsealstone_wiredtiger.so=(early_load=true,
//!   config=(key="/path/orders.key",cipher=aria-256))],
//! encryption=(name=sealstone,keyid="orders")
//! ```
//!
//! - [`Settings`] are those in `config=(…)`, written and read; [`EngineOptions`] writes the whole
//!   line.
//! - [`check()`] reports what is sealed in a data directory, and what is there in the clear.
//! - [`SeriesError`] is what can be wrong with the release of WiredTiger that loads us, since the
//!   places of its functions differ.
//! - [`JournalError`] is what can be wrong with a journal, which is read through a file system of
//!   ours.
//! - [`Encryptor`] is the keys and the cipher of one opening; [`Callbacks`] calls it as WiredTiger
//!   does.
//!
//! ```
//! use sealstone_wiredtiger::{EngineOptions, Settings};
//!
//! let cipher = Some("aria-256".into());
//! let settings = Settings { cipher, ..Settings::new("/path/orders.key") };
//! let extension = "/path/libsealstone_wiredtiger.so".into();
//! let options = EngineOptions { extension, key_id: "orders".into(), settings: settings.clone() };
//! assert!(options.engine_config()?.starts_with("extensions=["));
//! assert_eq!(Settings::parse(&settings.write()?)?, settings);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! WiredTiger loads the library before it opens anything. Three things must agree before anything
//! of WiredTiger is called: the version of WiredTiger in the process, the symbols at the places of
//! its functions (or, without symbols, the series in the settings), and the settings. Then every
//! version of the key is fetched, once; nothing is requested later, because WiredTiger holds locks
//! while it calls. All state belongs to the object that WiredTiger gets, none to the process: a
//! server opens connections more than once.
//!
//! A call copies the page into WiredTiger's buffer and seals it there: one atomic addition for the
//! counter, one AEAD call (`--bench callback_cost`; figures are in `results/mongodb-at-rest.md`).
//!
//! Not here: the format of a block (`sealstone_seal::engine_page`), keys (`sealstone-keys`), and
//! what stays in the clear whatever an encryptor does (SECURITY.md).

mod check;
mod clear_files;
mod encryptor;
#[doc(hidden)]
pub mod engine_calls;
mod engine_options;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod files;
mod header;
mod image;
mod journal;
mod series;
mod settings;
mod writeback;

pub use check::{CheckError, check, look as survey};
pub use encryptor::Encryptor;
pub use engine_options::{
    EngineOptions, EngineOptionsError, VARIABLE as EXTENSION_VARIABLE, find_extension,
};
pub use error::{ExtensionError, JournalError};
pub use ffi::Callbacks;
pub use series::{SeriesError, Version};
pub use settings::{NotationError, Settings, SettingsError};

/// The name that `encryption=(name=…)` gives.
pub const NAME: &str = "sealstone";

/// Bytes of a page before the sealed block: WiredTiger's page header (28) and block header (12), in
/// the clear, and the length of what follows (4).
pub const PAGE_SKIP_BYTES: usize = 28 + 12 + 4;

/// Bytes of a journal record before the sealed block: its header (16), in the clear, and the length
/// of what follows (4).
pub const RECORD_SKIP_BYTES: usize = 16 + 4;
