//! Addresses of servers of SQL: `SCHEME://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE`. Not here:
//! the parameters of each server (`mysql`, `postgres`).

use sealstone_message::{Password, scheme_words, shown_address};

use crate::address::{check_clear, check_user, credentials, decoded, host_and_port};
use crate::server_error::ServerError;

/// Syntax of the addresses of one server.
pub(crate) struct AddressForm {
    /// Kind of server: `PostgreSQL`.
    pub(crate) server: &'static str,
    /// Schemes with which an address begins, before `://`.
    pub(crate) schemes: [&'static str; 2],
    /// Port where an address names none.
    pub(crate) port: u16,
    /// The form in words, for errors.
    pub(crate) words: &'static str,
}

/// The parts of an address.
pub(crate) struct Parts<'a> {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    pub(crate) database: Option<String>,
    /// Parameters after the question mark: names with values.
    pub(crate) parameters: Vec<(&'a str, String)>,
}

impl AddressForm {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// [`ServerError::Address`], which does not quote a password.
    pub(crate) fn parts<'a>(&self, text: &'a str) -> Result<Parts<'a>, ServerError> {
        let wrong = |found: String| self.wrong(text, found);
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| wrong("it has no scheme".into()))?;
        if !self.schemes.contains(&scheme) {
            return Err(wrong(scheme_words(scheme)));
        }
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (who, place) =
            rest.rsplit_once('@').map_or((None, rest), |(who, place)| (Some(who), place));
        // a password with a question mark in it
        check_user(if parameters.contains('@') { "?" } else { who.unwrap_or_default() })
            .map_err(wrong)?;
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = host_and_port(host, self.port).map_err(wrong)?;
        check_clear(text).map_err(wrong)?;
        let (user, password) = who.map_or((None, None), credentials);
        let pairs = parameters.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Ok(Parts {
            host,
            port,
            user,
            password,
            database: (!database.is_empty()).then(|| decoded(database)),
            parameters: pairs.map(|(name, value)| (name, decoded(value))).collect(),
        })
    }

    /// Returns the error that `found` is wrong with the address `text`.
    pub(crate) fn wrong(&self, text: &str, found: String) -> ServerError {
        ServerError::Address {
            server: self.server,
            shown: shown_address(text),
            found,
            forms: self.words,
        }
    }
}

/// Returns `host` and `port` for messages.
pub(crate) fn shown(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
