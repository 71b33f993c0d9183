//! Reasons why a CSV file cannot be sealed or opened; the caller adds the file's name. Not here:
//! rows that do not fit ([`crate::Misfit`]).

use sealstone_message::SettingName;

use crate::error::FieldsError;
use crate::misfit::Misfit;

/// Reason why the work on a file ended. Displays without the file's name, and never with a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(std::io::Error),
    /// The result cannot be written.
    #[error("{0}")]
    Write(std::io::Error),
    /// Nothing in it.
    #[error("it is empty\na CSV file begins with a header line that names the columns")]
    Empty,
    /// The header is not text.
    #[error(
        "line 1: not {0} text\nsay how the file is encoded, with {utf} or {cp}",
        utf = SettingName("encoding UTF-8"), cp = SettingName("encoding CP949")
    )]
    HeaderEncoding(&'static str),
    /// A column that is not there.
    #[error("line 1: no column {name:?}{told}")]
    NoColumn {
        /// The name.
        name: String,
        /// Remark about the names that exist.
        told: String,
    },
    /// Two columns of one name, and it matters which.
    #[error("line 1: columns {first} and {second} are both called {name:?}\nrename one of them")]
    Twice {
        /// The name.
        name: String,
        /// Column, from 1.
        first: usize,
        /// Column, from 1.
        second: usize,
    },
    /// The name of an index column is taken.
    #[error(
        "line 1: there is a column {name:?} already\ngive the index another name, in a policy: \
         index = {{ name = … }}"
    )]
    IndexThere {
        /// The name.
        name: String,
    },
    /// A record with too few or too many fields.
    #[error(
        "line {line}: {found} fields, the header has {wanted}\nadd or remove fields there, or \
         quote a field that holds the delimiter"
    )]
    Ragged {
        /// Line the record begins on, from 1.
        line: u64,
        /// Fields found.
        found: usize,
        /// Fields of the header.
        wanted: usize,
    },
    /// A quote without its end.
    #[error(
        "line {line}: the quote that opens here is never closed\nclose it, or write a quote within \
         a value twice: \"\""
    )]
    OpenQuote {
        /// The line, from 1.
        line: u64,
    },
    /// Something after a closing quote.
    #[error(
        "line {line}: something after a closing quote\nquote the whole field, and write a quote \
         within it twice: \"\""
    )]
    InnerQuote {
        /// The line, from 1.
        line: u64,
    },
    /// A control character that no text has.
    #[error("line {line}: {what}\nis this a text file?")]
    NoText {
        /// The line, from 1.
        line: u64,
        /// Description of the finding.
        what: &'static str,
    },
    /// A record of more than a mebibyte.
    #[error(
        "line {line}: a record of more than 1 MiB begins here\nis a quote left open, or is this \
         not a CSV file?"
    )]
    TooLong {
        /// Line it begins on, from 1.
        line: u64,
    },
    /// A value that does not fit.
    #[error("line {line}, column {column}: {misfit}")]
    Misfit {
        /// Line of the row, from 1.
        line: u64,
        /// The column.
        column: String,
        /// Reason why the value does not fit.
        misfit: Misfit,
    },
    /// The column as a whole cannot be sealed or opened.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// The user requested an end.
    #[error("stopped")]
    Stopped,
}
