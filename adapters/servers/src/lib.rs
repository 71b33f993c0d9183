#![forbid(unsafe_code)]
//! Real servers on this machine, for tests, experiments and comparisons: each in its own directory,
//! only on 127.0.0.1, on a port that the system chose.
//!
//! - [`servers`] is the table of the servers that a [`Lab`] can run, [`Server`] a row of it.
//! - [`Lab`] is a directory with servers in it, which one process may start and another stop.
//! - [`Instance`] is one process with its record, its port and its log, whatever the server:
//!   [`Mongod`], [`Redis`], [`Postgres`], [`MariaDb`], [`Ssdb`], [`PyKmip`] and [`Tgt`] are theirs.
//! - [`Single`] is a server that runs alone in a lab.
//! - [`Authority`] signs certificates for servers, and [`state`] keeps the files of a lab.
//! - `testing` (a feature) is what tests with them share.
//!
//! ```
//! use std::path::Path;
//!
//! use sealstone_servers::{LabError, POSTGRES_PROGRAM, PostgresOptions, server, start_postgres};
//!
//! /// Starts a PostgreSQL in `dir` and returns its address for clients; it ends with the value.
//! fn address(dir: &Path) -> Result<String, LabError> {
//!     let server = start_postgres(dir, PostgresOptions::default())?;
//!     Ok(server.uri())
//! }
//!
//! assert!(server("postgres").is_ok());
//! let missing = POSTGRES_PROGRAM.find(Some(Path::new("/nowhere/postgres"))).unwrap_err();
//! assert!(matches!(missing, LabError::NoProgram { .. }));
//! ```
//!
//! A server is recorded with its port, its process and its options, so one process can start a lab
//! and another stop it. A process is signalled only after its command line was seen to name its
//! directory. A port is chosen again if another process takes it; a start ends when the log reports
//! that the server answers, or with an error that quotes the log. The servers of a lab are stopped
//! in the order of the table and started in reverse, since members need their key server.
//!
//! A server that must not outlive its command ends with it even if the command is killed
//! (`watchdog`).
//!
//! Not here: what a server is asked (`adapters/stores`, `sealstone-keys`), servers that others run.

mod certificate;
mod directory;
mod error;
mod instance;
mod lab;
mod log;
mod maker;
mod mariadb;
mod mongod;
mod output_file;
mod pages;
mod postgres;
mod privilege;
mod process;
mod program;
mod pykmip;
mod readiness;
mod redis;
mod registry;
mod secret;
mod server;
mod single;
mod ssdb;
pub mod state;
#[cfg(feature = "testing")]
pub mod testing;
mod tgt;
mod volume;
mod watchdog;

pub use certificate::{Authority, CertificateUse, join as join_certificate};
pub use error::LabError;
pub use instance::{Instance, ServerKind};
pub use lab::{Lab, LabStanding, Listed, list};
pub use log::tail as log_tail;
pub use mariadb::{
    CACHE_BYTES_MIN as MARIADB_CACHE_BYTES_MIN, DATABASE as MARIADB_DATABASE, MariaDb,
    MariaDbOptions, MariaDbServer, PROGRAM as MARIADB_PROGRAM, SERVER as MARIADB_SERVER,
    USER as MARIADB_USER, start as start_mariadb,
};
pub use mongod::{
    Mongod, MongodOptions, PROGRAM as MONGOD_PROGRAM, REQUIRE_TLS as MONGOD_REQUIRE_TLS,
    SUITES as MONGOD_SUITES,
};
#[cfg(feature = "mongodb")]
pub use mongod::{ReplicaSet, SERVER as MONGOD_SERVER, number as bson_number};
pub use pages::forget as forget_pages;
pub use postgres::{
    PROGRAM as POSTGRES_PROGRAM, Postgres, PostgresOptions, PostgresServer,
    SERVER as POSTGRES_SERVER, USER as POSTGRES_USER, start as start_postgres,
};
pub use process::{Process, family as process_family};
pub use program::{Place, Program, cache_directory};
pub use pykmip::{PROGRAM as PYKMIP_PROGRAM, PyKmip, PyKmipOptions, SERVER as PYKMIP_SERVER};
pub use readiness::{free_port, port_answers};
pub use redis::{PROGRAM as REDIS_PROGRAM, Persistence, Redis, RedisOptions, start as start_redis};
#[cfg(feature = "redis")]
pub use redis::{RedisServers, SERVER as REDIS_SERVER, check_nodes as check_redis_nodes};
pub use registry::{server, servers};
pub use server::{
    MemberStatus, Running, Server, ServerOption, Settings, Standing, Started, TakenOver,
};
pub use single::{Single, SingleKind};
pub use ssdb::{
    PROGRAM as SSDB_PROGRAM, SERVER as SSDB_SERVER, Ssdb, SsdbOptions, SsdbServer,
    start as start_ssdb,
};
pub use tgt::{
    PROGRAM as TGT_PROGRAM, SERVER as TGT_SERVER, Tgt, TgtOptions, TgtServer, start as start_tgt,
    version as tgt_version,
};
pub use volume::VOLUME;
