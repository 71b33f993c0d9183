#![forbid(unsafe_code)]
//! CSV files as they really are: their delimiter, their encoding, and their records with every byte
//! in its place.
//!
//! [`record()`] splits a record into fields that keep their quotes, so that a file can be copied
//! byte for byte; [`whole_records`] cuts a file between records; [`detect`] finds the
//! [`Delimiter`]; [`Encoding`] is that of the text. The reader is stricter than one that guesses:
//! anything that could be read in two ways is a [`Flaw`], since a field read wrongly would be left
//! in the clear.
//!
//! Not here: opening files (`sealstone-file`), sealing fields (`sealstone-fields`), records of
//! workloads (`sealstone-bench`).
#![doc = include_str!("../README.md")]

mod delimiter;
mod encoding;
mod record;

pub use delimiter::{Ambiguous, Delimiter, detect};
pub use encoding::{BYTE_ORDER_MARK, Encoding, Layout, named_delimiter};
pub use record::{Flaw, RECORD_BYTES_MAX, Record, Span, line_of, record, whole_records};
