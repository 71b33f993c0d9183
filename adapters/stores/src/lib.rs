#![deny(unsafe_code)]
//! The data stores that Sealstone measures: the table of them, and each in its own folder and
//! behind its own feature.
//!
//! - [`built`] is what a study is resolved with.
//! - [`table`] lists them, each a [`StoreKind`](sealstone_store::kind::StoreKind).
//! - [`rocksdb`](crate::rocksdb) (feature `rocksdb`): RocksDB in this process.
//! - [`mongodb`](crate::mongodb) (feature `mongodb`): MongoDB, with servers started on this machine
//!   or the user's own.
//! - [`redis`](crate::redis) (feature `redis`): Redis, a server or a cluster started on this
//!   machine or the user's own.
//! - [`postgres`](crate::postgres) (feature `postgres`): PostgreSQL, a server started on this
//!   machine or the user's own.
//! - [`mysql`](crate::mysql) (feature `mysql`): MySQL and MariaDB, a MariaDB started on this
//!   machine or the user's own.
//! - [`block`](crate::block) (feature `block`): block devices: a file, a disk, one behind iSCSI.
//! - [`ssdb`](crate::ssdb) (feature `ssdb`): SSDB, on servers of the user's own.
//!
//! [`at_rest`] is the seam to engines whose files are sealed, and [`engines`] the table of those.
//! [`sql`](crate::sql) is what the stores that speak SQL share; [`tables`](crate::tables) are
//! tables of theirs whose columns are sealed in place.
//!
//! Not here: what a store is (`sealstone-store`), how files are sealed (`adapters/rocksdb`,
//! `adapters/wiredtiger`), how servers are started (`adapters/servers`), workloads
//! (`sealstone-bench`).

#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
mod address;
pub mod at_rest;
#[cfg(feature = "block")]
pub mod block;
pub mod built;
pub mod engines;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
pub mod lab_tls;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod run_key;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
pub mod server_error;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod sql;
#[cfg(feature = "ssdb")]
pub mod ssdb;
pub mod table;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod tables;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "mongodb"))]
mod told;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "mongodb"))]
mod waiting;
#[cfg(any(feature = "mysql", feature = "redis", feature = "mongodb"))]
mod within;
