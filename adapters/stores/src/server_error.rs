//! Reasons why a server of any kind cannot be used, worded for the person reading them: server,
//! command, finding, next step; and the name of a server in messages.

use std::io;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
use std::path::Path;

use sealstone_message::{SettingName, printable};
use sealstone_store::StoreError;

/// Reason why a server cannot be used, whatever its kind. No message contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Not a valid address.
    #[error("cannot use the {server} address {shown}: {found}\n{forms}")]
    Address {
        /// Kind of server that the address should be of: `PostgreSQL`.
        server: &'static str,
        /// The address without user and password.
        shown: String,
        /// Description of the mistake in the address.
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
        source: io::Error,
    },
    /// A server of the user's own, for several variants.
    #[error(
        "{variant} needs a server of its own, and {} names one for all\nname one cipher: {}",
        SettingName(flag),
        SettingName("ciphers none")
    )]
    OneServer {
        /// Label of the variant.
        variant: String,
        /// The flag that named the server.
        flag: &'static str,
    },
    /// The server did not carry out a request.
    #[error("cannot {attempt} {server} at {shown}: {found}\n{step}")]
    Failed {
        /// Action that was attempted, with the command, such as `read a record of table usertable
        /// (SELECT) on`.
        attempt: String,
        /// Kind of server: `PostgreSQL`.
        server: &'static str,
        /// Its address without user and password.
        shown: String,
        /// Description of the finding.
        found: String,
        /// Advice on what to do next.
        step: &'static str,
    },
}

impl From<ServerError> for StoreError {
    fn from(error: ServerError) -> Self {
        Self::engine(error)
    }
}

impl ServerError {
    /// Makes the error of `file`, with `what` in it, from why it cannot be read.
    #[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
    pub(crate) fn unread(what: &'static str, file: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { what, file: file.display().to_string(), source }
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
    /// Makes the error of `attempt`, such as `connect to`, from `found`, which is put on one line,
    /// and the next step.
    pub(crate) fn failed(&self, attempt: &str, found: &str, step: &'static str) -> ServerError {
        let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = printable(&found).into_owned();
        ServerError::Failed {
            attempt: attempt.into(),
            server: self.server,
            shown: self.shown.clone(),
            found,
            step,
        }
    }
}

/// Returns an address as a setting gives it: itself, or `@FILE` with it in the file.
///
/// # Errors
/// [`ServerError::File`].
#[cfg(any(feature = "postgres", feature = "mysql", feature = "redis"))]
pub(crate) fn address(text: &str) -> Result<String, ServerError> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let file = Path::new(file);
    let read = sealstone_file::trust::read_given_to_string(file);
    let read = read.map_err(ServerError::unread("the address of a server from", file))?;
    Ok(read.trim().to_owned())
}
