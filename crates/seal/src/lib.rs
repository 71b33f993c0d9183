#![forbid(unsafe_code)]
//! Sealed files: authenticated encryption for whole files, as pages or as append-only frames.
//!
//! Pure: byte slices in, byte slices out. Both formats are described byte by byte in
//! `docs/formats.md`.
//!
//! A sealed file begins with a header of [`HEADER_BYTES`] that names cipher, key and layout, states
//! what the file is within its store ([`Identity`]), and carries the file's own data key, wrapped.
//! Then come pages ([`paged`]: tables, small control files) or frames ([`frame`]: logs). Which
//! files a directory has is recorded in its [`catalogue`]. Engines that seal single blocks without
//! giving their place have their own format, [`engine_page`]; a block device that is written again
//! and again is a [`volume`]; what a server keeps in files of a form of its own, without room for a
//! tag, is made unreadable by [`tablespace`]; single values of tables are records that a
//! [`FieldSealer`] makes. Packets on the wire are sealed by `esp` (a feature).
//!
//! A file is written once, front to back, by the one writer that [`SealedFile::create`] allows; so
//! no counter is ever used twice under one key.
//!
//! Not here: files, offsets on disk, retries (`adapters/*` read and write), ciphers
//! (`sealstone-cipher`), keys (`sealstone-keys`).
#![doc = include_str!("../README.md")]

pub mod account;
pub mod catalogue;
pub mod engine_page;
mod error;
#[cfg(feature = "esp")]
pub mod esp;
mod field;
mod file;
mod fingerprint;
pub mod frame;
mod header;
mod identity;
mod limits;
pub mod paged;
mod probe;
mod random;
mod rewrap;
mod segment;
pub mod tablespace;
pub mod volume;

pub use error::SealError;
pub use field::{
    FieldError, FieldOpener, FieldPlace, FieldSealer, inspect_field,
    record_bytes as field_record_bytes,
};
pub use file::{SealedFile, SyncedMark};
pub use fingerprint::Fingerprint;
pub use header::{
    FILE_ID_BYTES, FORMAT_VERSION, HEADER_BYTES, HeaderInfo, Layout, MAGIC, copies_agree, inspect,
    is_sealed, keys_named,
};
pub use identity::{CATALOGUE_NAMES, Identity, Kind as FileKind, STORE_ID_BYTES, rocksdb_name};
pub use probe::{Probe, probe};
pub use rewrap::{Rewrapped, rewrap};

/// Length of an authentication tag, in bytes.
pub const TAG_BYTES: usize = 16;
