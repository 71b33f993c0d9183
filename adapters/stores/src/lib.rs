#![deny(unsafe_code)]
//! The data stores that Sealstone measures: the table of them, and each in its own folder and
//! behind its own feature.
//!
//! - [`stores`] lists them, each a [`StoreKind`](sealstone_store::kind::StoreKind); [`Built`] is
//!   what a study is resolved with.
//! - `RocksDb` (feature `rocksdb`): RocksDB in this process.
//! - `MongoDb` (feature `mongodb`): MongoDB, with servers started on this machine or the user's
//!   own.
//! - `Redis` (feature `redis`): Redis, a server or a cluster started on this machine or the user's
//!   own.
//! - `Postgres` (feature `postgres`): PostgreSQL, a server started on this machine or the user's
//!   own.
//! - `Mysql` (feature `mysql`): MySQL and MariaDB, a MariaDB started on this machine or the user's
//!   own.
//! - `block` (feature `block`): block devices: a file, a disk, one behind iSCSI.
//! - Feature `ssdb`: SSDB, on servers of the user's own or of a program of theirs.
//! - Feature `volume`: any of them that is made here, with its files on a sealed volume.
//!
//! [`at_rest`] is the seam to engines whose files are sealed, and [`engines`] the table of those.
//! `connect_table` opens a table of a store that speaks SQL, whose columns are sealed in place.
//!
//! ```
//! use sealstone_stores::{UnknownStore, store, stores};
//!
//! for kind in stores() {
//!     assert_eq!(store(kind.name)?.about, kind.about);
//! }
//! assert!(matches!(store("rockdb"), Err(UnknownStore::Unknown(_))));
//! # Ok::<(), UnknownStore>(())
//! ```
//!
//! Not here: what a store is (`sealstone-store`), how files are sealed (`adapters/rocksdb`,
//! `adapters/wiredtiger`), how servers are started (`adapters/servers`), workloads
//! (`sealstone-bench`).

#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
mod address;
pub mod at_rest;
#[cfg(feature = "block")]
pub mod block;
#[cfg(any(feature = "mysql", feature = "redis", feature = "mongodb"))]
mod deadline;
mod engines;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
mod lab_server;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
mod lab_tls;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
mod lent;
#[cfg(feature = "mongodb")]
mod mongodb;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "ssdb"))]
mod own_server;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(
    feature = "rocksdb",
    feature = "mongodb",
    feature = "postgres",
    feature = "mysql",
    feature = "redis"
))]
mod retry;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod run_key;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
mod server_error;
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
mod server_facts;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "mongodb"))]
mod server_message;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod sql;
#[cfg(feature = "ssdb")]
mod ssdb;
mod table;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod tables;
mod tables_of_build;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "mongodb"))]
mod time_limits;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
mod user_tls;
#[cfg(feature = "volume")]
mod volume;

pub use engines::{
    engines, of_server as sealed_server, owner as engine_of, servers as sealed_servers,
};
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
pub use lab_tls::tunnel as lab_tunnel;
#[cfg(feature = "mongodb")]
pub use mongodb::{
    Error as MongoDbError, LabEngine as MongoDbLabEngine, LabOptions as MongoDbLabOptions, MongoDb,
    MongoDbOptions, MongoDbStore,
};
#[cfg(feature = "mysql")]
pub use mysql::{Mysql, MysqlOptions, MysqlStore};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresOptions, PostgresStore};
#[cfg(feature = "redis")]
pub use redis::{
    Dialect as RedisDialect, Error as RedisError, Keys as RedisKeys, Redis, RedisOptions,
    RedisStore, Topology as RedisTopology,
};
#[cfg(feature = "rocksdb")]
pub use rocksdb::{AT_REST as ROCKSDB_AT_REST, RocksDb, RocksStore};
#[cfg(any(feature = "mongodb", feature = "postgres", feature = "mysql", feature = "redis"))]
pub use server_error::{Place as ServerPlace, ServerError};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use sql::Error as SqlError;
pub use table::{UnknownStore, store, stores};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use tables::{TableOptions, connect as connect_table, is_address as is_table_address};
pub use tables_of_build::{Built, engine as open_engine};
