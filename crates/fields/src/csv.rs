//! CSV files, sealed and opened as streams: everything unsealed is copied byte for byte, quotes and
//! line ends included. Not here: opening and renaming files (`sealstone-files`).
//!
//! One reader, a worker for each core and one writer pass pieces of whole records on; tokens bound
//! how many pieces there are. Records are split by `sealstone-csv` and not by the crate `csv`,
//! whose fields have lost their quotes: what is not sealed must stay as it is, byte for byte.

mod chunks;
mod edit;
mod error;
mod pass;
mod plan;

pub use chunks::CHUNK_BYTES;
pub use error::CsvError;
pub use pass::Pass;
pub use plan::Header;

pub use sealstone_csv::{Encoding, Layout};

pub use crate::pass::{ColumnCount, Counts, Listener, OnMisfit, Plan, Progress, Reject, Work};
