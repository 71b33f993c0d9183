//! Errors of files that do not describe a workload.

use std::path::PathBuf;

use sealstone_message::Unknown;

use super::definition_check::Fault;
use super::error::Error;

/// Error of a file that does not describe a workload.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read the workload {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// Not TOML, or a value of the wrong type.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Description of the finding.
        message: String,
    },
    /// A key that a workload does not have.
    #[error("{}:{line}{place}: {unknown}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Words for the table of the file that it is in; nothing at the top.
        place: Box<str>,
        /// The key found.
        unknown: Box<Unknown>,
    },
    /// A value that makes no sense.
    #[error("{place}: {fault}")]
    Value {
        /// The file, and the line if it is there.
        place: String,
        /// The value.
        fault: Fault,
    },
    /// Not in the format of Java's properties.
    #[error(
        "{}: {message}\na workload is a file in TOML that ends with .toml, or one of YCSB's \
         properties",
        path.display()
    )]
    Properties {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        message: String,
    },
    /// A property that means nothing here.
    #[error(
        "{place}: property {} means nothing to sealstone{}\nproperties: {}",
        shown_property(&unknown.name),
        unknown.hint(),
        unknown.known.join(", ")
    )]
    UnknownProperty {
        /// The file, or the flag.
        place: String,
        /// The property found.
        unknown: Box<Unknown>,
    },
    /// A CSV file that it names cannot be used.
    #[error("{}: {source}", path.display())]
    Csv {
        /// The file of the workload.
        path: PathBuf,
        /// Cause of the failure.
        source: Box<Error>,
    },
}

/// Returns the name of a property, if it can be one: in a file that holds something else, the name
/// is a line of that.
fn shown_property(name: &str) -> String {
    let is_name =
        name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphabetic() || "._-".contains(c));
    if is_name { format!("{name:?}") } else { "of a name that no property has".into() }
}
