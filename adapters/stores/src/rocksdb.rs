//! RocksDB as a store: records in an embedded database, its files sealed or not. Not here: how files are sealed
//! (`sealstone-rocksdb`).

mod engine;
mod kind;
mod record;
mod store;
mod transaction;

pub use engine::RocksDb;
pub use kind::KIND;
pub use store::RocksStore;
