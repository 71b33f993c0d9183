//! RocksDB
