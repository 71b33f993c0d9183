#![deny(unsafe_code)]
//! Clients for the servers that Sealstone measures, each behind a feature of its own.
//!
//! - [`mongodb`](crate::mongodb) (feature `mongodb`): MongoDB, with real servers for tests and experiments.
//!
//! Not here: embedded engines (`adapters/rocksdb`), what is loaded into a server (`adapters/wiredtiger`), workloads
//! (`sealstone-bench`).

#[cfg(feature = "mongodb")]
pub mod mongodb;
