//! RocksDB as a store: records in an embedded database, its files sealed or not. Not here: sealing
//! files (`sealstone-rocksdb`).

mod at_rest;
mod engine;
mod kind;
mod record;
mod store;
mod transaction;

pub use at_rest::AT_REST;
pub use engine::RocksDb;
pub(crate) use kind::KIND;
pub use store::RocksStore;
