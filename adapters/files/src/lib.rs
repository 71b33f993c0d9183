#![forbid(unsafe_code)]
//! Files with sealed columns: one CSV or Parquet file is read, sealed or opened, and appears under
//! its name when it is whole, its manifest beside it. The command line and the workers of Spark
//! call the same functions, so what they write is the same.
//!
//! A manifest is renamed into place before its file is.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use sealstone_cipher::{Backend, cipher};
//! use sealstone_fields::csv::{Encoding, Layout};
//! use sealstone_fields::pass::{OnMisfit, Plan, Work};
//! use sealstone_fields::policy::{Column, ColumnOptions, Table};
//! use sealstone_fields::{ColumnCipher, Keyed};
//! use sealstone_files::{AtOnce, Job, Reading, SealedFile, Writing, file_layout};
//! use sealstone_keys::{EphemeralKey, KeySource};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let (clear, sealed) = (home.path().join("people.csv"), home.path().join("sealed.csv"));
//! std::fs::write(&clear, "id,phone\n1,010-1234-5678\n")?;
//! let keys: Arc<dyn KeySource> = Arc::new(EphemeralKey::new()?);
//! let keyed = Keyed::current(Arc::clone(&keys))?;
//! let phone = Column::parse("phone=ff1:phone", &ColumnOptions::default())?;
//! let table = Table::new("people", cipher("aria-256")?, vec![phone])?;
//! let phone = ColumnCipher::new(&table, &table.columns[0], &keyed, Backend::auto())?;
//! let plan = Plan { table, work: Work::Seal(vec![phone]) };
//! let job = Job {
//!     plan: &plan,
//!     on_misfit: OnMisfit::Fail,
//!     at_once: AtOnce::default(),
//!     stop: &AtomicBool::new(false),
//!     on_progress: &mut |_| {},
//! };
//! let csv = Layout { delimiter: b',', encoding: Encoding::Utf8 };
//! let reading = Reading::open(&clear, file_layout(&clear, csv)?)?;
//! let counts = Writing::new(&sealed, false).seal(&clear, reading, &keyed, None, job)?;
//! assert_eq!(counts.rows, 1);
//!
//! let sealed = SealedFile::read(&sealed, None, None)?;
//! assert!(sealed.verify(&sealed.keyed(keys)?)?.is_empty());
//! # Ok(())
//! # }
//! ```
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
