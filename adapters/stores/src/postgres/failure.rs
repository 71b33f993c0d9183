//! Meanings of the errors of PostgreSQL and of its driver, and the next steps.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use postgres::error::{DbError, SqlState};
use sealstone_message::{printable, without_addresses};

use super::guard::Refusal;
use crate::server_message::without_values;
use crate::sql::Failure;

const PASSWORD: &str =
    "give user and password in the address: postgres://USER:PASSWORD@HOST:PORT/DATABASE";
const CLEAR: &str = "write sslmode=require, or verify-full, behind the address; or have the server \
                     ask for scram-sha-256; require_auth=password behind the address gives it in \
                     the clear to anyone who listens";
const LOG: &str = "look at the server's log";
const RUNS: &str = "check whether the server still runs, and read its log";
const START: &str = "start the server, or correct host and port of the address";
const AUTHORITY: &str =
    "name the authority's certificate as tls-ca-file, or with sslrootcert= in the address";
const OWN: &str = "name certificate and key as tls-certificate-key-file, or with sslcert= and \
                   sslkey= in the address";

/// Words for `error`.
pub(super) fn failure(error: &postgres::Error) -> Failure {
    if let Some(told) = error.as_db_error() {
        return answered(told);
    }
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    let of_system = causes().find_map(|cause| cause.downcast_ref::<io::Error>());
    let words: Vec<String> = causes().map(ToString::to_string).collect();
    let words = if words.is_empty() { error.to_string() } else { words.join(": ") };
    let words = without_addresses(&words);
    let refusal = of_system.and_then(io::Error::get_ref).and_then(|inner| inner.downcast_ref());
    match refusal {
        Some(Refusal::ClearPassword) => {
            return Failure::broken(Refusal::ClearPassword.to_string(), CLEAR);
        }
        Some(refusal) => {
            return Failure::broken(refusal.to_string(), "check whether this is the right server");
        }
        None => {}
    }
    match of_system.map(io::Error::kind) {
        Some(ErrorKind::ConnectionRefused) => return Failure::broken("connection refused", START),
        Some(ErrorKind::TimedOut) => {
            let step = "check whether the server is overloaded or stopped, and whether a firewall \
                        drops what is sent";
            return Failure::broken("no answer in time", step);
        }
        _ => {}
    }
    let lower = words.to_lowercase();
    let has = |part: &str| lower.contains(part);
    if has("server does not support tls") {
        let step =
            "check whether the server takes TLS (ssl = on); without it write sslmode=disable";
        return Failure::broken("it takes no TLS", step);
    }
    if has("unknownissuer") || has("unknown issuer") {
        return Failure::broken(
            "its certificate is signed by an authority that is not trusted here",
            AUTHORITY,
        );
    }
    if has("certificaterequired") || has("certificate required") {
        return Failure::broken("it wants a certificate of the client", OWN);
    }
    if has("certificate") {
        let step = "check the server's certificate, and the host name in the address";
        return Failure::broken(words, step);
    }
    if has("password missing") {
        return Failure::broken("it wants a password", PASSWORD);
    }
    if has("failed to lookup address") || has("name or service not known") {
        return Failure::broken("there is no host of that name", "correct the host of the address");
    }
    let is_connecting =
        error.to_string().contains("connecting") || error.to_string().contains("TLS handshake");
    match (is_connecting, error.is_closed() || of_system.is_some()) {
        (true, _) => Failure::broken(
            format!("no connection ({words})"),
            "check host and port of the address",
        ),
        (false, true) => Failure::broken(format!("the connection broke ({words})"), RUNS),
        (false, false) => Failure::new(without_values(&words), LOG),
    }
}

/// Words an answer of the server. Its quotes are not shown, and neither are its detail, its hint
/// and its context: values of rows, and parts of the address.
fn answered(told: &DbError) -> Failure {
    let code = told.code();
    let message = without_values(told.message());
    let class = code.code().get(..2).unwrap_or_default();
    let failure = match *code {
        // in words that a function or a trigger chose, under a code of its choice
        _ if told.routine() == Some("exec_stmt_raise") => Failure::new(refused(told), LOG),
        SqlState::INVALID_PASSWORD => {
            Failure::broken("it refused the user name and password", PASSWORD)
        }
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => unauthorized(told.message()),
        SqlState::INVALID_CATALOG_NAME => {
            let step = "create it (CREATE DATABASE), or name another one at the end of the address";
            Failure::broken("it has no database of that name", step)
        }
        SqlState::DISK_FULL => Failure::new(
            "its disk is full",
            "free space on the server's disk, or load fewer records",
        ),
        SqlState::TOO_MANY_CONNECTIONS => {
            Failure::broken(message, "raise max_connections on the server, or use fewer clients")
        }
        SqlState::READ_ONLY_SQL_TRANSACTION => Failure::new(
            "it takes no writes: it is a standby, or default_transaction_read_only is on",
            "name its primary, or switch default_transaction_read_only off",
        ),
        SqlState::INSUFFICIENT_PRIVILEGE => {
            Failure::new(message, "give the user that right (GRANT)")
        }
        SqlState::UNDEFINED_COLUMN => Failure::new(
            "the table has other columns",
            "the table is another program's: name another database, or remove the table",
        ),
        SqlState::UNIQUE_VIOLATION => {
            let found = format!("a record with the same key is there already{}", named(told));
            Failure { is_duplicate: true, ..Failure::new(found, LOG) }
        }
        _ if class == "40" => {
            Failure { is_conflict: true, ..Failure::new(message, "use fewer clients") }
        }
        // it was requested to end, or ends, or is about to be ready
        _ if class == "57" => Failure::broken(message, RUNS),
        // a value that does not fit, a constraint, a routine: all of these quote the written value
        _ if ["22", "23", "2F", "38", "39", "44", "P0"].contains(&class) => {
            Failure::new(refused(told), LOG)
        }
        _ => Failure::new(format!("{message} (SQLSTATE {})", printable(code.code())), LOG),
    };
    // it ends the connection after that
    let is_fatal = matches!(told.severity(), "FATAL" | "PANIC");
    Failure { is_broken: failure.is_broken || is_fatal, ..failure }
}

/// Words the refusal of a value by the database: the kind of rule, and its name, as far as it is
/// reported apart from the value.
fn refused(told: &DbError) -> String {
    let code = told.code().code();
    let what = match code.get(..2).unwrap_or_default() {
        "22" => "a value does not fit",
        "23" | "44" => "a constraint of the table refused a row",
        _ => "a trigger or function of the database refused it",
    };
    format!("{what} (SQLSTATE {}){}", printable(code), named(told))
}

/// Returns the parts of the database that an error is about, where it names them apart from its
/// text.
fn named(told: &DbError) -> String {
    const CHARS_MAX: usize = 63;
    let parts =
        [("constraint", told.constraint()), ("column", told.column()), ("table", told.table())];
    let short = |name: &str| printable(name).chars().take(CHARS_MAX).collect::<String>();
    let named: Vec<String> = parts
        .iter()
        .filter_map(|(what, name)| name.map(|name| format!("{what} {}", short(name))))
        .collect();
    if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) }
}

/// Returns the failure of a server whose rules (`pg_hba.conf`) refuse such connections; its message
/// names the user.
fn unauthorized(message: &str) -> Failure {
    if message.contains("valid client certificate") {
        return Failure::broken("it wants a certificate of the client", OWN);
    }
    if message.contains("no encryption") {
        let found = "it takes no connection like this one without TLS";
        return Failure::broken(found, "write sslmode=require, or verify-full, behind the address");
    }
    if message.contains("pg_hba.conf") {
        let found = "its pg_hba.conf lets nobody in with this user, database and address";
        return Failure::broken(
            found,
            "allow it in pg_hba.conf of the server, or ask from another machine",
        );
    }
    Failure::broken("it refused the user", PASSWORD)
}
