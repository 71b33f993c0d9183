//! Meanings of the errors of MySQL, MariaDB and their driver, and the next steps.

use std::io::ErrorKind;

use mysql::{DriverError, Error, MySqlError};
use sealstone_message::printable;

use crate::server_message::without_values;
use crate::sql::Failure;

const PASSWORD: &str = "give user and password in the address: \
                        mysql://USER:PASSWORD@HOST:PORT/DATABASE, and ?ssl-mode=REQUIRED behind it \
                        if the server wants TLS";
const KEY: &str = "write ssl-mode=REQUIRED, or VERIFY_IDENTITY, behind the address; \
                   get-server-public-key=true behind it gives the password to anyone who answers";
const LOG: &str = "look at the server's log";
const RUNS: &str = "check whether the server still runs, and read its log";
const SILENT: &str =
    "check whether the server is overloaded or stopped, and whether a firewall drops what is sent";
const START: &str = "start the server, or correct host and port of the address";
const AUTHORITY: &str =
    "name the authority's certificate as tls-ca-file, or with ssl-ca= in the address";

/// Advice for a server whose TLS has nothing in common with ours.
const SUITES: &str = "have the server take TLS 1.3, or TLS 1.2 with ECDHE and AES-GCM \
                      (tls_version, ssl_cipher; a newer MySQL); on this machine itself \
                      get-server-public-key=true does without TLS";
/// Advice on how an account must log in, for an account that does so in another way.
const ACCOUNT: &str = "use an account with a password that is checked by the server itself: \
                       ed25519, parsec, caching_sha2_password or mysql_native_password";
/// The same for a password that must go over the wire in the clear.
const IN_THE_CLEAR: &str = "write ssl-mode=VERIFY_IDENTITY, and where the certificate's authority \
                            is (ssl-ca), behind the address; or use an account with a password \
                            that is checked by the server itself";

/// Words for `error` of a connection that was there.
pub(super) fn failure(error: &Error) -> Failure {
    match error {
        Error::MySqlError(told) => answered(told),
        Error::IoError(error) if is_silence(error.kind()) => late(),
        error => Failure::broken(format!("the connection broke ({})", words(error)), RUNS),
    }
}

/// Words for a server that took too long.
pub(super) fn late() -> Failure {
    Failure::broken("no answer in time", SILENT)
}

/// Returns the driver's text for `error`, without the values that it may quote.
fn words(error: &Error) -> String {
    match error {
        Error::IoError(error) => without_values(&error.to_string()),
        Error::DriverError(error) => without_values(&error.to_string()),
        Error::TlsError(error) => printable(&error.to_string()).into_owned(),
        _ => "what came is no answer of this protocol".into(),
    }
}

fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// Returns the same of the attempt to connect.
pub(super) fn unconnected(error: &Error) -> Failure {
    if let Error::MySqlError(told) = error {
        return Failure { is_broken: true, ..answered(told) };
    }
    match error {
        // PAM, Kerberos and others have their own protocols
        Error::DriverError(DriverError::UnknownAuthPlugin(name)) => {
            return Failure::broken(
                format!("its account logs in by {name}, which this program cannot"),
                ACCOUNT,
            );
        }
        Error::DriverError(DriverError::OldMysqlPasswordDisabled) => {
            return Failure::broken("its account has a password of before MySQL 4.1", ACCOUNT);
        }
        Error::DriverError(DriverError::CleartextPluginDisabled) => {
            let found = "its account wants the password in the clear, which only a server gets \
                         whose certificate and name are checked";
            return Failure::broken(found, IN_THE_CLEAR);
        }
        _ => {}
    }
    let of_system = match error {
        Error::IoError(error) => Some(error.kind()),
        _ => None,
    };
    if of_system == Some(ErrorKind::NotFound) {
        // the key that it would have sent itself, see `connection`
        return Failure::broken(
            "it wants the password under a key that it sends itself, without TLS",
            KEY,
        );
    }
    let words = error.to_string();
    let lower = words.to_lowercase();
    let has = |part: &str| lower.contains(part);
    if of_system == Some(ErrorKind::ConnectionRefused) || has("connection refused") {
        return Failure::broken("connection refused", START);
    }
    if has("does not have this capability")
        || has("tls not supported")
        || has("ssl") && has("not support")
    {
        let step = "check whether the server takes TLS (ssl_cert, ssl_key); without it write \
                    ssl-mode=DISABLED";
        return Failure::broken("it takes no TLS", step);
    }
    // MySQL before 8.0.16 may offer nothing with a Diffie-Hellman on an elliptic curve
    if has("handshakefailure") || has("handshake failure") {
        return Failure::broken("its TLS has no cipher suite that this program knows", SUITES);
    }
    if has("unknownissuer") || has("unknown issuer") {
        return Failure::broken(
            "its certificate is signed by an authority that is not trusted here",
            AUTHORITY,
        );
    }
    if has("certificate") {
        let step = "check the server's certificate, and the host name in the address";
        return Failure::broken(printable(&words), step);
    }
    if has("failed to lookup address") || has("name or service not known") {
        return Failure::broken("there is no host of that name", "correct the host of the address");
    }
    if of_system.is_some_and(is_silence) || has("timed out") || has("could not connect to address")
    {
        return late();
    }
    Failure::broken(
        format!("no connection ({})", self::words(error)),
        "check host and port of the address",
    )
}

/// Words an answer of the server. Its quotes are not shown: values of rows, and parts of the
/// address.
fn answered(told: &MySqlError) -> Failure {
    let message = without_values(&told.message);
    match told.code {
        // access denied for user; MariaDB also reports this to clients without TLS where TLS is
        // required
        1045 | 1698 => Failure::broken("it refused the user name and password", PASSWORD),
        1049 => Failure::broken(
            "it has no database of that name",
            "create it (CREATE DATABASE), or name another one at the end of the address",
        ),
        3159 => Failure::broken(
            "it takes no connection without TLS",
            "write ssl-mode=REQUIRED, or VERIFY_IDENTITY, behind the address",
        ),
        1040 => {
            Failure::broken(message, "raise max_connections on the server, or use fewer clients")
        }
        1053 | 1080 | 1152 | 1927 => Failure::broken(message, RUNS),
        1044 | 1142 | 1143 | 1227 | 1370 => {
            let found = format!("the user has no right to do that (error {})", told.code);
            Failure::new(found, "give the user that right (GRANT)")
        }
        1054 => Failure::new(
            "the table has other columns",
            "the table is another program's: name another database, or remove the table",
        ),
        1062 => Failure {
            is_duplicate: true,
            ..Failure::new("a record with the same key is there already", LOG)
        },
        // a deadlock, and a wait that took too long
        1205 | 1213 | 1020 => {
            Failure { is_conflict: true, ..Failure::new(message, "use fewer clients") }
        }
        // read_only is on, or super_read_only, or the transaction's
        1290 | 1792 | 1836 => Failure::new(
            "it takes no writes: read_only is on",
            "name its primary, or switch read_only off",
        ),
        // the file system, or the tablespace, is full
        1021 | 1114 => is_full(),
        3 | 1026 | 1030 if told.message.contains("28") => is_full(),
        // SIGNAL of a trigger or a function, in words that anybody can choose
        code if code == 1644 || told.state == "45000" => Failure::new(
            format!("a trigger or function of the database refused it (error {code})"),
            LOG,
        ),
        code => Failure::new(format!("{message} (error {code})"), LOG),
    }
}

fn is_full() -> Failure {
    Failure::new("its disk is full", "free space on the server's disk, or load fewer records")
}
