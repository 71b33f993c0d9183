//! Why workloads could not be made. Not here: when.

use super::records;
use super::stopped::Stopped;

/// Why workloads could not be made from a plan.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is not in the table.
    #[error(
        "unknown workload `{name}`; did you mean `{nearest}`?\nworkloads are {known}; most also run as NAME-cold \
             and NAME-sync"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name in the table that resembles it most.
        nearest: &'static str,
        /// All names in the table.
        known: String,
    },
    /// A CSV file that cannot serve as source of records.
    #[error(transparent)]
    Records(records::Error),
    /// A setting with which a workload cannot run.
    #[error("{0}")]
    Plan(String),
    /// The user asked for an end while they were being made.
    #[error("stopped before the data were computed")]
    Stopped,
}

impl From<records::Error> for Error {
    fn from(error: records::Error) -> Self {
        match error {
            records::Error::Stopped { .. } => Self::Stopped,
            error => Self::Records(error),
        }
    }
}

impl From<Stopped> for Error {
    fn from(Stopped: Stopped) -> Self {
        Self::Stopped
    }
}
