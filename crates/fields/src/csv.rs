//! CSV files, sealed and opened as streams: what is not sealed is copied byte for byte, quotes and line ends included.
//! Not here: opening and renaming files (`sealstone-files`).

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
