//! Reasons why a Parquet file cannot be sealed or opened; the caller adds the file's name. Not
//! here: rows that do not fit ([`sealstone_fields::Misfit`]).

use sealstone_fields::{FieldsError, Misfit};
use sealstone_message::Unknown;

/// Reason why the work on a file ended. Displays without the file's name, and never with a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
    /// The result cannot be written.
    #[error("{0}")]
    Write(std::io::Error),
    /// It does not begin and end as a Parquet file does.
    #[error(
        "{0}\nis it cut short, or still being written? restore it from a backup, or write it again"
    )]
    NoFooter(&'static str),
    /// It is not what the format allows.
    #[error("{what} is damaged{}\nrestore it from a backup, or write it again", after(.found))]
    Damaged {
        /// Part of the file that is damaged.
        what: String,
        /// Message of the reader, if any.
        found: String,
    },
    /// A footer longer than any that is read.
    #[error(
        "its footer has {bytes} bytes, more than {limit}\nwrite it again, as several files or in \
         larger row groups"
    )]
    FooterTooLong {
        /// Its length.
        bytes: u64,
        /// Limit on the length of a footer.
        limit: u64,
    },
    /// It is encrypted by Parquet's own means.
    #[error(
        "it is encrypted by Parquet's own encryption, under a key that sealstone does not have\n\
         decrypt it with the program that wrote it, and seal the result"
    )]
    Encrypted,
    /// Its columns are in other files.
    #[error("column {column} is stored in another file\nwrite both as one file, and seal that")]
    OtherFile {
        /// The column.
        column: String,
    },
    /// A column that is not there.
    #[error(transparent)]
    NoColumn(Unknown),
    /// Two columns of one name, and it matters which.
    #[error("columns {first} and {second} are both called {name:?}\nrename one of them")]
    Twice {
        /// The name.
        name: String,
        /// Column, from 1.
        first: usize,
        /// Column, from 1.
        second: usize,
    },
    /// A column that is no text.
    #[error(
        "column {column} is {found}, and a sealed value is text\n\
         write the column as text (a string type) before it is sealed"
    )]
    NoText {
        /// The column.
        column: String,
        /// Description of the column's type.
        found: String,
    },
    /// A column that cannot name rows.
    #[error(
        "column {column} is {found}, and cannot name rows\nbind values to a column of text or of \
         whole numbers"
    )]
    NoRowName {
        /// The column.
        column: String,
        /// Description of the column's type.
        found: String,
    },
    /// The name of an index column is taken.
    #[error(
        "there is a column {name:?} already\ngive the index another name, in a policy: index = \
         {{ name = … }}"
    )]
    IndexThere {
        /// The name.
        name: String,
    },
    /// Metadata that would have to change with the columns, and cannot be read.
    #[error(
        "{key} in its metadata cannot be read: {found}\nit would have to name the index column; \
         seal without an index"
    )]
    Metadata {
        /// The key.
        key: &'static str,
        /// Description of the fault.
        found: String,
    },
    /// A column that cannot be decompressed here.
    #[error(
        "column {column} is compressed by {codec}, which sealstone cannot read\n\
         write it again with another compression, such as zstd or snappy"
    )]
    Codec {
        /// The column.
        column: String,
        /// The compression.
        codec: &'static str,
    },
    /// A value that does not fit.
    #[error("row {row}, column {column}: {misfit}")]
    Misfit {
        /// Number of the row, from 1.
        row: u64,
        /// The column.
        column: String,
        /// Reason why the value does not fit.
        misfit: Misfit,
    },
    /// Somebody wrote to it.
    #[error(
        "it was changed while it was read\nrun the same command again when nothing writes to it"
    )]
    Changed,
    /// The column as a whole cannot be sealed or opened.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// The result cannot be encoded: a bug of ours.
    #[error(
        "writing column {column} failed: {found}\nthis is a bug in sealstone; please report it"
    )]
    Encode {
        /// The column.
        column: String,
        /// Message of the writer.
        found: String,
    },
    /// The user requested an end.
    #[error("stopped")]
    Stopped,
}

fn after(found: &str) -> String {
    if found.is_empty() { String::new() } else { format!(": {found}") }
}

impl ParquetError {
    /// Returns the error that the part `what` violates the format.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into(), found: String::new() }
    }

    /// Returns the error that reading `what` failed with `error`.
    pub(crate) fn of(what: impl Into<String>, error: parquet::errors::ParquetError) -> Self {
        match error {
            parquet::errors::ParquetError::External(source) => {
                match source.downcast::<std::io::Error>() {
                    // errors of system calls; the others are decompressors'
                    Ok(error) if error.raw_os_error().is_some() => Self::Read(*error),
                    Ok(error) => Self::Damaged { what: what.into(), found: error.to_string() },
                    Err(source) => Self::Damaged { what: what.into(), found: source.to_string() },
                }
            }
            error => {
                let found = error.to_string();
                let found = found
                    .trim_start_matches("Parquet error: ")
                    .trim_start_matches("EOF: ")
                    .to_owned();
                Self::Damaged { what: what.into(), found }
            }
        }
    }
}
