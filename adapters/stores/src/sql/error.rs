//! Reasons why an SQL server cannot be used, worded for the person reading them: server, command,
//! what was found, what to do next. Not here: what the errors of one server mean (`postgres`,
//! `mysql`).

use std::path::Path;

use sealstone_message::printable::printable;
use sealstone_store::StoreError;

/// Reasons why servers cannot be used. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a valid address.
    #[error("cannot use the {server} address {shown}: {found}\n{forms}")]
    Address {
        /// Kind of server that the address should be of: `PostgreSQL`.
        server: &'static str,
        /// The address without user and password.
        shown: String,
        /// Description of what is wrong with the address.
        found: String,
        /// Description of how addresses are written.
        forms: &'static str,
    },
    /// A file that cannot be read.
    #[error("cannot read {what} {file}: {source}\nname a file that this user may read")]
    File {
        /// Content of the file.
        what: &'static str,
        /// The file.
        file: String,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// Files for TLS that cannot be used.
    #[error("cannot use {file} for TLS: {found}\nname a file in PEM form")]
    Tls {
        /// The file.
        file: String,
        /// Description of what is wrong with the file.
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
        "{server} at {shown} has a table {table} already, and {variant} is measured in one of this name\n\
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
    /// A server of the user's own, for several variants.
    #[error("{variant} needs a server of its own, and --{flag} names one for all\nname one cipher: --ciphers none")]
    OneServer {
        /// Label of the variant.
        variant: String,
        /// The flag that named the server.
        flag: &'static str,
    },
    /// Durable writes, on a server of the user's own that does not sync them.
    #[error("writes cannot be synced on {server} at {shown}: {found}\nset it there, or name workloads without -sync")]
    NotSynced {
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Address of the server, without user and password.
        shown: String,
        /// Current setting on the server.
        found: String,
    },
    /// The server did not do what was asked.
    #[error("cannot {attempt} {server} at {shown}: {found}\n{step}")]
    Server {
        /// Action that was attempted, with the command, such as `read a record of table usertable
        /// (SELECT) on`.
        attempt: String,
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Its address without user and password.
        shown: String,
        /// Description of what was found.
        found: String,
        /// Advice on what to do next.
        step: &'static str,
    },
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::engine(error)
    }
}

/// Failure of one exchange with a server, in words.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Description of what was found.
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
    /// One that the same connection survives and that would happen again.
    #[must_use]
    pub fn new(found: impl Into<String>, step: &'static str) -> Self {
        Self { found: found.into(), step, is_broken: false, is_conflict: false, is_duplicate: false }
    }

    /// The same, after which the connection is of no more use.
    #[must_use]
    pub fn broken(found: impl Into<String>, step: &'static str) -> Self {
        Self { is_broken: true, ..Self::new(found, step) }
    }
}

/// Location of a server, for messages.
#[derive(Clone, Debug)]
pub struct Place {
    /// Kind of server: `PostgreSQL`.
    pub server: &'static str,
    /// Its address without user and password.
    pub shown: String,
}

impl Place {
    /// The error of `attempt`, such as `connect to`, which ended in `failure`.
    #[must_use]
    pub fn failure(&self, attempt: &str, failure: Failure) -> Error {
        let found = failure.found.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = printable(&found).into_owned();
        let (server, shown) = (self.server, self.shown.clone());
        Error::Server { attempt: attempt.into(), server, shown, found, step: failure.step }
    }
}

/// An address as a setting gives it: itself, or `@FILE` with it in the file.
pub(crate) fn address(text: &str) -> Result<String, Error> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let read = sealstone_file::input::read_given_to_string(Path::new(file));
    let read = read.map_err(|source| Error::File { what: "the address of a server from", file: file.into(), source });
    Ok(read?.trim().to_owned())
}
