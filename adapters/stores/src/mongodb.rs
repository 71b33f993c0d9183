//! MongoDB, the unmodified Community server and its relatives, reached by the official driver.
//!
//! - [`MongoDb`] is a connection, [`MongoDbStore`] the store that workloads run on.
//! - [`LabEngine`] and [`ClusterEngine`] give a comparison its stores, on servers of its own or of the user's.
//! - [`lab`] runs real servers and replica sets on this machine, for tests and experiments.
//! - [`engine_options`] words the options under which a server loads the extension that seals its files.
//! - [`check`] says what is sealed in a data directory, and what lies there in the clear.
//!
//! Not here: the extension itself (`adapters/wiredtiger`), the format of sealed blocks (`sealstone-seal`).

pub mod check;
mod connection;
mod document;
mod engine;
pub mod engine_options;
mod kind;
pub mod lab;
mod store;
mod transaction;

pub use connection::{Error, MongoDb, MongoDbOptions};
pub use engine::{CACHE_BYTES_MIN, ClusterEngine, LabEngine, LabOptions};
pub use kind::KIND;
pub use store::MongoDbStore;
