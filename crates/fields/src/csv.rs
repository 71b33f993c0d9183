//! CSV files, sealed and opened as streams: everything unsealed is copied byte for byte, quotes and
//! line ends included. Not here: opening and renaming files (`sealstone-files`).
//!
//! One reader, a worker for each core and one writer pass pieces of whole records on; tokens bound
//! how many pieces there are. Records are split by our scanner (`scan`) and not by the crate `csv`,
//! whose fields have lost their quotes: unsealed data must stay unchanged, byte for byte.

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

pub use crate::pass::{ColumnCount, Counts, Listener, OnMisfit, Plan, Progress, Reject, Work};
