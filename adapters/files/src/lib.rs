#![forbid(unsafe_code)]
//! Files with sealed columns: one CSV or Parquet file is read, sealed or opened, and appears under
//! its name when it is whole, its manifest beside it. The command line and the workers of Spark
//! call the same functions, so what they write is the same.
//!
//! A manifest is renamed into place before its file is.
//!
//! Not here: the work on what is in a file (`sealstone-fields`, `sealstone-parquet`), which columns
//! and which keys, whether an existing file may be replaced, and what is shown while it runs.

mod error;
mod input;
mod output;
mod run_output;
mod sealed_file;

pub use error::FileError;
pub use input::{AtOnce, Reading, Target, check_parquet, file_layout, is_parquet};
pub use output::{beside, check_target};
pub use run_output::{Job, REJECTS_ENDING, Writing};
pub use sealed_file::SealedFile;
pub use sealstone_file::output::ENDING as PARTIAL_ENDING;
