//! MongoDB, the unmodified Community server and its relatives, reached by the official driver.
//!
//! - [`MongoDb`] is a connection, [`MongoDbStore`] the store that workloads run on.
//! - [`LabEngine`] and [`ClusterEngine`] provide a comparison with its stores, on its own servers
//!   or the user's.
//!
//! A record is a document whose values come back byte for byte (`document`). Opening a store of
//! [`LabEngine`] starts a replica set, and dropping the store stops the set. A comparison has no
//! part in either: a store only reports the ids of its server processes, so that their CPU time is
//! counted.
//!
//! Not here: starting servers (`adapters/servers`), the extension that seals a server's files, its
//! options and the check of a data directory (`adapters/wiredtiger`), the format of sealed blocks
//! (`sealstone-seal`).

mod at_rest;
mod connection;
mod document;
mod engine;
mod error;
mod kind;
mod store;
mod transaction;

pub(crate) use at_rest::AT_REST;
pub use connection::{MongoDb, MongoDbOptions};
pub(crate) use engine::{CACHE_BYTES_MIN, ClusterEngine};
pub use engine::{LabEngine, LabOptions};
pub use error::Error;
pub(crate) use kind::KIND;
pub use store::MongoDbStore;
