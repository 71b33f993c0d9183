#![forbid(unsafe_code)]
//! Columns of Arrow arrays, sealed and opened: for programs with tables in memory as Arrow lays
//! them out, such as pandas, Polars, DuckDB, Spark and readers of Parquet files.
//!
//! [`seal_array`] and [`open_array`] take the texts of an array where they lie, and hand the memory
//! that the results were written to on to Arrow as it is: no value is copied by itself. Nulls stay
//! null, and the type of the array stays, but for dictionaries (categories, enums), which become
//! plain texts.
//!
//! `sealstone-fields` takes values through its trait `Values`, some thousand at a time, as slices
//! of the array, nulls left out. What it writes, one text after the other with their ends, is what
//! Arrow keeps, so the memory is handed on. Of a dictionary the entries that some row has are
//! sealed, each once if equal values come out equal.
//!
//! Not here: how a value is sealed (`sealstone-fields`), tables of several columns, files, other
//! languages.
#![doc = include_str!("../README.md")]

mod crypt;
mod dictionary;
mod error;
mod rows;
mod texts;

pub use crypt::{Crypted, index_array, open_array, seal_array};
pub use error::ArrayError;
pub use texts::plain_type;
