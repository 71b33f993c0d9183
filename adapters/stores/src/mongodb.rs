//! MongoDB, the unmodified Community server and its relatives, reached by the official driver.
//!
//! - [`MongoDb`] is a connection, [`MongoDbStore`] the store that workloads run on.
//! - [`LabEngine`] and [`ClusterEngine`] give a comparison its stores, on servers of its own or of the user's.
//! - [`engine_options`] words the options under which a server loads the extension that seals its files.
//! - [`check`] says what is sealed in a data directory, and what lies there in the clear.
//!
//! Not here: how servers are started (`adapters/servers`), the extension itself (`adapters/wiredtiger`), the format of
//! sealed blocks (`sealstone-seal`).

pub mod check;
mod connection;
mod document;
mod engine;
pub mod engine_options;
mod store;
mod transaction;

pub use connection::{Error, MongoDb, MongoDbOptions};
pub use engine::{CACHE_BYTES_MIN, ClusterEngine, LabEngine, LabOptions};
pub use store::MongoDbStore;
