#![deny(unsafe_code)]
//! The data stores that Sealstone measures, each in a folder and behind a feature of its own.
//!
//! - [`rocksdb`](crate::rocksdb) (feature `rocksdb`): RocksDB in this process.
//! - [`mongodb`](crate::mongodb) (feature `mongodb`): MongoDB, with servers started on this machine or the user's own.
//!
//! Not here: what a store is (`sealstone-store`), how files are sealed (`adapters/rocksdb`, `adapters/wiredtiger`), how
//! servers are started (`adapters/servers`), workloads (`sealstone-bench`).

#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
