//! The search for plaintext in files: data directories, logs, temporary files, core dumps. A
//! [`Search`] looks for [`Marker`]s, texts that must not be in the clear anywhere, and for
//! [`Form`]s, such as payment cards; it reports where and how often, never the text itself.
//!
//! - **Encodings.** Markers: UTF-8, UTF-16 of both byte orders, hexadecimal digits of one case, and
//!   base64 (standard and URL-safe) at every place within a longer text. Forms: ASCII and UTF-16 of
//!   both byte orders. If neighbouring zeros allow both byte orders, the one that begins at an even
//!   offset counts.
//! - **Compressed data**, wherever it begins: gzip, zlib, frames of zstd and of lz4, also cut or
//!   damaged ones as far as they go; the snappy blocks of WiredTiger's files and of its journal;
//!   the blocks of RocksDB's and LevelDB's tables and RocksDB's blobs (snappy, zlib, lz4, zstd),
//!   with the keys in them whole, also where blocks are not compressed. Each is searched as far as
//!   [`STREAM_BYTES_MAX`] bytes of output, and blocks of 16 MiB.
//! - **Limits.** Memory is some MiB; for zstd its window, 128 MiB at most; for a table as much as
//!   that. The work for compressed data is at most 1 GiB and 32 bytes for each byte of the file,
//!   and as much each for the blocks of a table and for its index, so that a file made to be slow
//!   is not; [`Findings::cut`] counts what was left out because of a limit, or could not be read.
//!
//! Not found: a marker in another letter case, Unicode normalisation or code page, across a line
//! break of base64, split over pages or blocks of an engine, or in two encodings at once
//! (hexadecimal digits in UTF-16); other compressed data without a header, such as raw deflate, or
//! blocks of lz4 as PostgreSQL writes them; `pglz`, brotli, LZMA, bzip2; compressed data within
//! compressed data; a log of RocksDB that is compressed in pieces; data that needs a dictionary;
//! anything encrypted.
//! Not taken for a value of a form: digits directly beside others, in hexadecimal digits or behind
//! a decimal point; cards in uncommon groups; addresses of fewer than 11 characters; any in less
//! than 1 KiB of zlib that has no end. Of these, random data and logs have too many.
//!
//! ```
//! use sealstone_audit::leak::{Marker, Search};
//!
//! # let home = tempfile::tempdir()?;
//! let log = home.path().join("slow.log");
//! std::fs::write(&log, "SELECT * FROM orders WHERE name = 'Hong Gildong'")?;
//! let search = Search::new(&[Marker::new("marker 1", "Hong Gildong")?], Vec::new())?;
//! let found = search.file(&log, &mut |_| {})?;
//! assert_eq!((found.hits[0].what.as_str(), found.hits[0].first_offset), ("marker 1", 35));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod email;
mod error;
mod form;
mod header;
mod hit;
mod lz4;
mod marker;
mod number;
mod pattern;
mod rocksdb;
mod search;
mod sieve;
mod source;
mod stream;
mod tally;
mod unit;
mod window;
mod wiredtiger;
mod work;

pub use error::LeakError;
pub use form::Form;
pub use hit::{Compression, Encoding, Findings, Hit, Kind};
pub use marker::{Marker, markers};
pub use search::Search;
pub use stream::STREAM_BYTES_MAX;
