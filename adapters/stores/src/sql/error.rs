//! Reasons why an SQL server cannot be used, worded for the person reading them: server, command,
//! finding, next step. Not here: reasons common to all kinds of servers (`server_error`), the
//! errors of one server (`postgres`, `mysql`).

use sealstone_store::StoreError;

use crate::server_error::{Place, ServerError};

/// Reasons why servers cannot be used. No message contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files for TLS that cannot be used.
    #[error("cannot use {file} for TLS: {found}\nname a file in PEM form")]
    Tls {
        /// The file.
        file: String,
        /// Description of the mistake in the file.
        found: String,
    },
    /// Records that are not ours.
    #[error(
        "{server} at {shown} already holds records in table {table}, which are not ours to remove\n\
         name an empty database"
    )]
    NotEmpty {
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Address of the server, without user and password.
        shown: String,
        /// A table that is there.
        table: String,
    },
    /// A table of the name that one for a variant would have.
    #[error(
        "{server} at {shown} has a table {table} already, and {variant} is measured in one of this \
         name\n\
         remove it, if a comparison that was killed left it: DROP TABLE; or name another database"
    )]
    TableThere {
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Address of the server, without user and password.
        shown: String,
        /// The table.
        table: String,
        /// Label of the variant.
        variant: String,
    },
    /// Durable writes, on a server of the user's own that does not sync them.
    #[error(
        "writes cannot be synced on {server} at {shown}: {found}\nset it there, or name workloads \
         without -sync"
    )]
    NotSynced {
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Address of the server, without user and password.
        shown: String,
        /// Current setting on the server.
        found: String,
    },
    /// A reason that servers of other kinds have, too.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::engine(error)
    }
}

/// Failure of one exchange with a server, in words.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Description of the finding.
    pub found: String,
    /// Advice on what to do next.
    pub step: &'static str,
    /// True if the connection is of no more use.
    pub is_broken: bool,
    /// True if another transaction was in the way: the same operation may succeed if it is
    /// repeated.
    pub is_conflict: bool,
    /// True if a record with the same key already exists.
    pub is_duplicate: bool,
}

impl Failure {
    /// Returns a failure that the connection survives and that would happen again.
    #[must_use]
    pub fn new(found: impl Into<String>, step: &'static str) -> Self {
        Self {
            found: found.into(),
            step,
            is_broken: false,
            is_conflict: false,
            is_duplicate: false,
        }
    }

    /// Returns the same, after which the connection is of no more use.
    #[must_use]
    pub fn broken(found: impl Into<String>, step: &'static str) -> Self {
        Self { is_broken: true, ..Self::new(found, step) }
    }
}

impl Place {
    /// Makes the error of `attempt`, such as `connect to`, which ended in `failure`.
    pub(crate) fn failure(&self, attempt: &str, failure: Failure) -> ServerError {
        self.failed(attempt, &failure.found, failure.step)
    }
}
