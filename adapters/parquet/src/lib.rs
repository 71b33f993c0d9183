#![forbid(unsafe_code)]
//! Columns of Parquet files, sealed and opened: the pages of all other columns are moved as they
//! are, with their encodings, statistics and indexes, and so is what the footer records of them.
//! Only sealed columns are decoded and encoded again.
//!
//! The footer is read as a tree of Thrift values, in which only what concerns sealed columns, and
//! places in the file, change. There is no conversion to Arrow and back, which would lose types,
//! encodings, or what a newer writer added. A sealed column is encoded by the crate `parquet` as a
//! file of its own in memory (`single_column`), from which its pages are moved like all others.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use sealstone_cipher::{Backend, cipher};
//! use sealstone_fields::pass::{Listener, OnMisfit, Plan, Work};
//! use sealstone_fields::policy::{Column, ColumnOptions, Table};
//! use sealstone_fields::{ColumnCipher, Keyed};
//! use sealstone_keys::EphemeralKey;
//! use sealstone_parquet::{BATCH_ROWS, Input, Pass};
//! # use parquet::data_type::{ByteArray, ByteArrayType};
//! # use parquet::file::writer::SerializedFileWriter;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let schema = "message people { required binary phone (UTF8); }";
//! # let schema = Arc::new(parquet::schema::parser::parse_message_type(schema)?);
//! # let mut file = tempfile::tempfile()?;
//! # let mut writer = SerializedFileWriter::new(file.try_clone()?, schema, Arc::default())?;
//! # let mut group = writer.next_row_group()?;
//! # let mut column = group.next_column()?.expect("a column");
//! # column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("010-1234-5678")], None, None)?;
//! # column.close()?;
//! # group.close()?;
//! # writer.close()?;
//! let keyed = Keyed::current(Arc::new(EphemeralKey::new()?))?;
//! let phone = Column::parse("phone=ff1:phone", &ColumnOptions::default())?;
//! let table = Table::new("people", cipher("aria-256")?, vec![phone])?;
//! let phone = ColumnCipher::new(&table, &table.columns[0], &keyed, Backend::auto())?;
//! let plan = Plan { table, work: Work::Seal(vec![phone]) };
//! let pass = Pass {
//!     plan: &plan,
//!     on_misfit: OnMisfit::Fail,
//!     threads: None,
//!     batch_rows: BATCH_ROWS,
//!     stop: &AtomicBool::new(false),
//! };
//! let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
//! let mut sealed = Vec::new();
//! let counts = pass.run(&Input::new(file)?, &mut sealed, None, &mut listener)?;
//! assert_eq!(counts.rows, 1);
//! assert!(!sealed.windows(13).any(|bytes| bytes == b"010-1234-5678"));
//! # Ok(())
//! # }
//! ```
//!
//! [`Pass`] does to a Parquet file what `sealstone_fields::csv::Pass` does to a CSV file, so the
//! same table has the same sealed values in both. Not here: how a value is sealed
//! (`sealstone-fields`), Arrow arrays (`sealstone-arrow`), names of files (`sealstone-files`).

mod column_values;
mod column_work;
mod columns;
mod error;
mod field_types;
mod filter;
mod footer;
mod guard;
mod key_values;
mod output;
mod pass;
mod row_names;
mod schema;
mod single_column;
mod source;
mod splice;
mod thrift;
mod writer;

pub use column_work::BATCH_ROWS;
pub use error::ParquetError;
pub use pass::Pass;
pub use source::Input;
