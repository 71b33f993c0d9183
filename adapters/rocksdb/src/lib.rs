#![deny(unsafe_code)]
//! RocksDB with every file sealed: an environment for RocksDB that encrypts and authenticates what it stores, and the
//! embedded store that Sealstone measures.
//!
//! - [`SealedEnv`] is the environment, for a database opened here or (feature `rust-rocksdb`) with the crate `rocksdb`.
//! - [`RocksDb`] is the engine for `sealstone_bench`: sealed and unsealed stores, measured alike.
//! - [`rest`] says what is sealed in a directory, and checks all of it.
//! - `simulated` (feature `simulator`) puts databases on files that a test keeps.
//! - [`reseal`] rewrites an open database under another cipher or key, or seals a plain one.
//!
//! Not here: the sealed formats (`sealstone-seal`), keys (`sealstone-keys`), workloads (`sealstone-bench`).
//!
//! Links the system's RocksDB (`apt-get install librocksdb-dev`), or builds one from source with feature `bundled`.

// links the library that librocksdb-sys builds
#[cfg(feature = "bundled")]
use librocksdb_sys as _;

pub mod anchor;
mod catalogue;
mod directory;
mod engine;
mod env;
#[allow(unsafe_code)]
mod ffi;
mod file_system;
mod library;
mod manifest;
mod meter;
mod opening;
mod pace;
mod record;
pub mod reseal;
pub mod rest;
#[cfg(feature = "simulator")]
pub mod simulated;
mod store;
mod transaction;

pub use engine::RocksDb;
pub use env::{DbOptions, PAGE_BYTES, SealedEnv, Sealing};
pub use ffi::{
    Backups, Bottommost, Code, Db, Error, IoCounts, Iterator, Range, TableWriter, Transaction, WriteBatch, version,
};
pub use store::RocksStore;
