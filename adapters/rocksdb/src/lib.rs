#![deny(unsafe_code)]
//! RocksDB with every file sealed: an environment for RocksDB that encrypts and authenticates what
//! it stores, and the database to open in it.
//!
//! - [`SealedEnv`] is the environment, for a database opened here or (feature `rust-rocksdb`) with
//!   the crate `rocksdb`.
//! - [`PlainEnv`] only counts: what a sealed database is compared with.
//! - [`rest`] reports what is sealed in a directory, and checks all of it.
//! - [`reseal`] rewrites an open database under another cipher or key, or seals a plain one.
//! - [`Anchor`] remembers outside the store how new it is, so that an older copy is an error.
//! - [`check_directory`] and [`explain_failure`] report why a directory cannot be opened,
//!   [`library`] which RocksDB is linked.
//!
//! Not here: the sealed formats (`sealstone-seal`), keys (`sealstone-keys`), stores of records
//! (`sealstone-stores`).
//!
//! Links the system's RocksDB (`apt-get install librocksdb-dev`), or builds one from source with
//! feature `bundled`.
#![doc = include_str!("../README.md")]

// links the library that librocksdb-sys builds
#[cfg(feature = "bundled")]
use librocksdb_sys as _;

mod catalogue;
mod directory;
mod env;
#[allow(unsafe_code)]
mod ffi;
mod file_keys;
mod file_system;
pub mod library;
mod manifest;
mod meter;
mod pace;
mod place;
pub mod reseal;
pub mod rest;
mod sealing_options;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;

pub use directory::{DirectoryError, check as check_directory, explain as explain_failure};
pub use env::{DbOptions, PlainEnv, SealedEnv};
pub use ffi::{
    Backups, Bottommost, Code, Db, Error, IoCounts, Iterator, Range, TableWriter, Transaction,
    WriteBatch,
};
#[cfg(feature = "plugin")]
pub use ffi::{Opener, register};
pub use meter::CipherWork;
pub use sealing_options::{PAGE_BYTES, Sealing, TABLE_PAGE_BYTES};
#[cfg(feature = "kmip")]
pub use sealstone_anchor::KmipAnchor;
pub use sealstone_anchor::{Anchor, AnchorError, FileAnchor, Mark as AnchorMark};
