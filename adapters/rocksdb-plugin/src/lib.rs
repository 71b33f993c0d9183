#![deny(unsafe_code)]
//! The sealed environment of `sealstone-rocksdb` for programs in other languages: a shared library that RocksDB's own
//! tools, and any program that has the same `librocksdb.so`, open sealed stores with.
//!
//! - Once it is loaded, `sealstone://?key=…&cipher=…` is a file system (`--fs_uri`), and an environment
//!   (`--env_uri=id=…`).
//! - `include/sealstone_rocksdb.h` has the functions for users of `rocksdb/c.h`.
//!
//! Not here: the sealed file system and how RocksDB calls it (`sealstone-rocksdb`).

#[allow(unsafe_code)]
mod ffi;
mod opening;
mod settings;
