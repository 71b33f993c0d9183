#![deny(unsafe_code)]
//! The sealed environment of `sealstone-rocksdb` for programs in other languages: a shared library
//! that RocksDB's own tools, and any program that has the same `librocksdb.so`, open sealed stores
//! with.
//!
//! - Once it is loaded, `sealstone://?key=…&cipher=…` is a file system (`--fs_uri`), and an
//!   environment (`--env_uri=id=…`).
//! - `include/sealstone_rocksdb.h` has the functions for users of `rocksdb/c.h`.
//!
//! It is a crate of its own because it is another artefact: nothing in it is visible but the
//! functions of that header, and there is no second RocksDB inside. When it is loaded it registers
//! the scheme `sealstone` in RocksDB's registry of objects (`shim/registry.cc` of
//! `sealstone-rocksdb`), and RocksDB hands every URI with that scheme to `environment`.
//!
//! Before anything of RocksDB's is called, the version of its headers is compared with that of the
//! library that is loaded (`sealstone_rocksdb::library::check`): objects of C++ are laid out
//! differently from release to release. A process that was started with the plug-in preloaded ends
//! there if they differ, since RocksDB takes an environment of an unknown scheme for the default
//! one and would continue in the clear.
//!
//! RocksDB keeps pointers to our code in its registry until the process ends, so the library is
//! never unloaded (`-z nodelete`). A file system from a URI has one owner; an environment from a
//! URI has none and lasts as long as the process.
//!
//! Not here: the sealed file system and how RocksDB calls it (`sealstone-rocksdb`).

mod environment;
#[allow(unsafe_code)]
mod ffi;
mod settings;
