#![forbid(unsafe_code)]
//! Columns of Parquet files, sealed and opened: the pages of all other columns are moved as they
//! are, with their encodings, statistics and indexes, and so is what the footer says of them. Only
//! sealed columns are decoded and encoded again.
//!
//! The footer is read as a tree of Thrift values, in which only what concerns sealed columns, and
//! places in the file, change. There is no conversion to Arrow and back, which would lose types,
//! encodings, or what a newer writer added. A sealed column is encoded by the crate `parquet` as a
//! file of its own in memory (`alone`), from which its pages are moved like all others.
//!
//! [`Pass`] does to a Parquet file what `sealstone_fields::csv::Pass` does to a CSV file, so the
//! same table has the same sealed values in both. Not here: how a value is sealed
//! (`sealstone-fields`), Arrow arrays (`sealstone-arrow`), names of files (`sealstone-files`).

mod alone;
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
mod source;
mod splice;
mod thrift;
mod writer;

pub use column_work::BATCH_ROWS;
pub use error::ParquetError;
pub use pass::Pass;
pub use source::Input;
