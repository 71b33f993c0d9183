//! Errors of workloads that could not be made.

use sealstone_message::Unknown;

use super::csv_records;
use super::definition_check::Fault;
use super::stop::Stopped;

/// Error of workloads that could not be made from a plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is not in the table.
    #[error("{0}; most also run as NAME-cold and NAME-sync")]
    Unknown(Unknown),
    /// A CSV file that cannot serve as source of records.
    #[error(transparent)]
    Records(csv_records::Error),
    /// A workload of the user's own with a value that makes no sense.
    #[error("workload {name}: {fault}")]
    Own {
        /// Its name.
        name: String,
        /// The value.
        fault: Fault,
    },
    /// A workload of the user's own whose name is taken by one of the table.
    #[error(
        "{name:?} is a name of sealstone's own, and this workload is another one\ngive it another \
         name"
    )]
    Taken {
        /// The name.
        name: String,
    },
    /// Two workloads of the user's own with one name.
    #[error("two workloads are called {name:?}\ngive one of them another name")]
    Twice {
        /// The name.
        name: String,
    },
    /// A workload of the table that is no mix of operations.
    #[error(
        "workload {name} cannot be written as a file: it is no mix of operations on one table\n\
         those that can: {can}"
    )]
    NoFile {
        /// Its name.
        name: String,
        /// The stores that can.
        can: String,
    },
    /// A setting with which a workload cannot run.
    #[error("{0}")]
    Plan(String),
    /// The user requested an end while they were being made.
    #[error("stopped before the data were computed")]
    Stopped,
}

impl From<csv_records::Error> for Error {
    fn from(error: csv_records::Error) -> Self {
        match error {
            csv_records::Error::Stopped { .. } => Self::Stopped,
            error => Self::Records(error),
        }
    }
}

impl From<Stopped> for Error {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}
