//! CSV files, sealed and opened as streams: what is not sealed is copied byte for byte, quotes and
//! line ends included. Not here: opening and renaming files (`sealstone-files`).
//!
//! One reader, a worker for each core and one writer pass pieces of whole records on; tokens bound
//! how many pieces there are. Records are split by a scanner of ours (`scan`) and not by the crate
//! `csv`, whose fields have lost their quotes: what is not sealed must stay as it is, byte for
//! byte.

mod chunks;
mod edit;
mod error;
mod pass;
mod plan;
mod scan;

pub use crate::encoding::{Encoding, Layout, named_delimiter};
pub use chunks::CHUNK_BYTES;
pub use error::CsvError;
pub use pass::Pass;
pub use plan::Header;
