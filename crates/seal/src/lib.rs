#![forbid(unsafe_code)]
//! Sealed files: authenticated encryption for whole files, as pages or as append-only frames.
//!
//! Pure: byte slices in, byte slices out. Both formats are described byte by byte in
//! `docs/formats.md`. Not here: files, offsets on disk, retries (`adapters/*` read and write),
//! ciphers (`sealstone-cipher`), keys (`sealstone-keys`).
//!
//! A sealed file begins with a header of [`HEADER_BYTES`] that names cipher, key and layout, says
//! what the file is within its store ([`identity`]), and carries the file's own data key, wrapped.
//! Then come pages ([`paged`]: tables, small control files) or frames ([`frame`]: logs). Which
//! files a directory has is recorded in its [`catalogue`]. Engines that seal single blocks without
//! giving their place have their own format, [`engine_page`]; single values of tables are [`field`]
//! records. Packets on the wire are sealed by `esp` (a feature).
//!
//! A file is written once, front to back, by the one writer that [`SealedFile::create`] allows; so
//! no counter is ever used twice under one key.

pub mod account;
pub mod catalogue;
pub mod engine_page;
mod error;
#[cfg(feature = "esp")]
pub mod esp;
pub mod field;
mod file;
pub mod frame;
mod header;
pub mod identity;
mod limits;
pub mod paged;
mod probe;
mod random;
mod rewrap;
mod segment;

pub use error::SealError;
pub use file::{SealedFile, SyncedMark};
pub use header::{
    FILE_ID_BYTES, FORMAT_VERSION, HEADER_BYTES, HeaderInfo, Layout, MAGIC, copies_agree, inspect,
    is_sealed, keys_named,
};
pub use probe::{Probe, probe};
pub use rewrap::{Rewrapped, rewrap};

/// Length of an authentication tag, in bytes.
pub const TAG_BYTES: usize = 16;
