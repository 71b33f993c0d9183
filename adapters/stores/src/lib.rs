#![deny(unsafe_code)]
//! The data stores that Sealstone measures, each in a folder and behind a feature of its own.
//!
//! - [`rocksdb`](crate::rocksdb) (feature `rocksdb`): RocksDB in this process.
//! - [`mongodb`](crate::mongodb) (feature `mongodb`): MongoDB, with real servers for tests and experiments.
//!
//! Not here: what a store is (`sealstone-store`), how files are sealed (`adapters/rocksdb`, `adapters/wiredtiger`), workloads
//! (`sealstone-bench`).

#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
