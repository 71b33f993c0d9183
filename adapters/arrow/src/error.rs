//! Errors that concern an array as a whole. Not here: single values ([`sealstone_fields::Misfit`]).

use arrow_schema::DataType;
use sealstone_fields::FieldsError;

/// Reason why an array cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Values that are no text.
    #[error(
        "values of type {0} cannot be sealed or opened: text alone can (utf8, large_utf8, \
         utf8_view, and dictionaries of these)\n\
         cast them to text first"
    )]
    Type(DataType),
    /// Row names that are neither text nor numbers.
    #[error(
        "column {column} is of type {found}, and cannot name rows: text and integers can, since \
         they are written in one way only\n\
         cast it to text first"
    )]
    RowType {
        /// The column that names rows.
        column: String,
        /// Its type.
        found: DataType,
    },
    /// The values are bound to rows, which are not there.
    #[error("the values are bound to column {0}, which was not given\ngive it as rows")]
    NoRows(String),
    /// As many rows as values are needed.
    #[error("{rows} rows for {values} values\ngive the rows of the same part of the table")]
    RowsLength {
        /// Number of values.
        values: usize,
        /// Number of rows.
        rows: usize,
    },
    /// Offsets of 32 bits do not reach so far.
    #[error(
        "the results take {bytes} bytes, and an array of type {found} holds 2 GiB at most\n\
         take fewer values at a time, or cast them to large_utf8"
    )]
    TooLong {
        /// Number of bytes that the results take.
        bytes: usize,
        /// The type of the array.
        found: DataType,
    },
    /// Keys or randomness are not to be had.
    #[error(transparent)]
    Fields(#[from] FieldsError),
}
