#![forbid(unsafe_code)]
//! Columns of Parquet files, sealed and opened: the pages of all other columns are moved as they are, with their
//! encodings, statistics and indexes, and so is what the footer says of them. Only sealed columns are decoded, and
//! encoded anew.
//!
//! [`Pass`] does to a Parquet file what `sealstone_fields::csv::Pass` does to a CSV file, so the same table has the
//! same sealed values in both. Not here: how a value is sealed (`sealstone-fields`), Arrow arrays (`sealstone-arrow`),
//! names of files (`sealstone-files`).

mod alone;
mod column_work;
mod columns;
mod error;
mod field_types;
mod filter;
mod footer;
mod guard;
mod key_values;
mod out;
mod pass;
mod row_names;
mod schema;
mod source;
mod splice;
mod thrift;
mod typed;
mod writer;

pub use column_work::BATCH_ROWS;
pub use error::ParquetError;
pub use pass::Pass;
pub use source::Input;
