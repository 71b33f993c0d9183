//! Reasons why servers cannot be used, worded for the person reading them: the attempt, the place,
//! the finding, the next step. A password in an address appears in no message. Not here: reasons
//! common to all kinds of servers (`server_error`), connecting (`connection`).

use std::path::PathBuf;
use std::time::Duration;

use mongodb::error::{Error as DriverError, ErrorKind, WriteFailure};
use percent_encoding::percent_decode_str;
use sealstone_message::{
    SettingName, ShownAddress, UNSHOWN, printable, shown_address, without_addresses,
};
use sealstone_store::{StoreError, Table};

use crate::server_error::{Place, ServerError};
use crate::server_message::without_values;

/// Forms of an address, for errors.
const FORMS: &str =
    "write mongodb://HOST:PORT/, for a replica set mongodb://HOST,HOST/?replicaSet=NAME";

/// Reason for which servers cannot be used. No message contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option that does not exist, or makes no sense.
    #[error("cannot use {name} {value:?} with MongoDB: {found}\nuse {known}")]
    Option {
        /// Name of the option.
        name: &'static str,
        /// Its value.
        value: String,
        /// Problem found in it.
        found: &'static str,
        /// Known values.
        known: &'static str,
    },
    /// A sealed variant, and nothing that servers could load to seal.
    #[error(
        "cannot seal {variant}: there is no extension to load\nname one with {}",
        SettingName("extension")
    )]
    NoSeal {
        /// Label of the variant.
        variant: String,
    },
    /// Synced writes, and a setting against them.
    #[error(
        "writes cannot be synced with {}\nleave it out, or name workloads without -sync",
        SettingName("journal false")
    )]
    NotSynced,
    /// No cluster was named for a variant.
    #[error(
        "no cluster for {variant}: there are clusters for {named}\nname it with {} \
         '{variant}=mongodb://…'",
        SettingName("cluster")
    )]
    NoCluster {
        /// Label of the variant.
        variant: String,
        /// Labels of the clusters that were named.
        named: String,
    },
    /// A comparison of the cost of TLS, and a cluster that is not reached as its variant requires.
    #[error(
        "{variant} is measured {} TLS, and MongoDB at {shown} is reached {}\n\
         write tls=true&tlsCAFile=FILE into the address of the cluster that is to have it alone, \
         and leave the settings tls-… out",
        with(!has_tls), with(*has_tls)
    )]
    OtherTls {
        /// Label of the variant.
        variant: String,
        /// Address of the servers, without user and password.
        shown: String,
        /// True if they are reached with TLS.
        has_tls: bool,
    },
    /// A collection is not empty, and its records are not ours.
    #[error(
        "collection {collection} at {shown} already contains records, which are not ours to \
         remove\n\
         name an empty database in the address"
    )]
    NotEmpty {
        /// Name of the collection.
        collection: String,
        /// Address of the servers, without user and password.
        shown: String,
    },
    /// Secondaries that do not catch up.
    #[error(
        "the secondaries did not catch up within {limit_s} s\ncheck whether they are slower than \
         the primary"
    )]
    Behind {
        /// Time spent waiting for them, in seconds.
        limit_s: u64,
    },
    /// A data directory on this machine cannot be listed.
    #[error("cannot read directory {}: {source}\ncheck that it is readable", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// A reason that servers of other kinds have, too.
    #[error(transparent)]
    Server(#[from] ServerError),
}

fn with(is_with: bool) -> &'static str {
    if is_with { "with" } else { "without" }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::engine(error)
    }
}

/// Way to servers, for messages.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) place: Place,
    /// True if its address can be taken apart.
    is_clear: bool,
    /// Strings that must not be shown.
    secrets: Vec<String>,
    /// Time for which servers are searched for, in seconds; set once a server is searched for.
    pub(super) find_limit_s: u64,
}

impl Route {
    /// Parses the address `uri`, however wrong it is: all before its last `@` counts as user and
    /// password, and the part behind a question mark may be secret, too.
    pub(super) fn of(uri: &str) -> Self {
        let address = ShownAddress::of(uri);
        let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
        let (user, hosts) = rest.rsplit_once('@').map_or(("", rest), |(user, hosts)| (user, hosts));
        let password = user.split_once(':').map_or("", |(_, password)| password);
        let values = hosts.split_once('?').map_or("", |(_, parameters)| parameters).split('&');
        let values = values.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        let mut secrets: Vec<String> =
            std::iter::once(password).chain(values).map(String::from).collect();
        let decoded: Vec<String> = secrets
            .iter()
            .map(|secret| percent_decode_str(secret).decode_utf8_lossy().into_owned())
            .collect();
        secrets.extend(decoded);
        // an address that was written wrong is quoted in pieces
        let pieces: Vec<String> = secrets
            .iter()
            .flat_map(|secret| secret.split(['@', '/', '?', ':']))
            .map(String::from)
            .collect();
        secrets.extend(pieces);
        // a number of one digit, true, false: these are in many a reason
        secrets.retain(|secret| secret.len() > 1 && !["true", "false"].contains(&secret.as_str()));
        let shown = address.hosts().unwrap_or(UNSHOWN).to_owned();
        let place = Place { server: "MongoDB", shown };
        Self { place, is_clear: address.hosts().is_some(), secrets, find_limit_s: 0 }
    }

    /// Returns `text`, unless it quotes something that must not be shown; without the values that
    /// it may quote.
    pub(super) fn hide(&self, text: &str) -> String {
        match !self.is_clear || self.secrets.iter().any(|secret| text.contains(secret.as_str())) {
            true => "the reason quotes what must not be shown and is left out".into(),
            false => {
                let words =
                    without_addresses(text).split_whitespace().collect::<Vec<_>>().join(" ");
                printable(&words).into_owned()
            }
        }
    }

    /// Words for `error`, which resulted from `attempt`, such as `read from`.
    pub(super) fn failure(&self, attempt: &str, error: &DriverError) -> ServerError {
        let (found, step) = self.words(error);
        self.place.failed(attempt, &self.hide(&found), step)
    }

    /// Returns the error that a server did not answer within `limit`.
    pub(super) fn silence(&self, limit: Duration) -> ServerError {
        let found = format!("a server was found, and did not answer within {} s", limit.as_secs());
        let step = "check whether the server is overloaded or stopped, and whether it is a MongoDB";
        self.place.failed("connect to", &found, step)
    }

    /// As [`Route::failure`], of a collection.
    pub(super) fn failure_of(
        &self,
        attempt: &str,
        table: &Table,
        error: &DriverError,
    ) -> StoreError {
        self.failure(&format!("{attempt} collection {} of", table.name), error).into()
    }

    fn words(&self, error: &DriverError) -> (String, &'static str) {
        const REACH: &str = "check whether the servers run and can be reached from here, and \
                             whether they need TLS (tls=true)";
        const LOG: &str = "look at the server's log";
        match &*error.kind {
            ErrorKind::ServerSelection { message, .. } if message.contains("UnknownIssuer") => (
                "its certificate is signed by an authority that is not trusted here".into(),
                "name the authority's certificate as tls-ca-file",
            ),
            ErrorKind::ServerSelection { message, .. } => (self.unreachable(message), REACH),
            ErrorKind::Io(source) => (source.to_string(), REACH),
            ErrorKind::ConnectionPoolCleared { .. } => ("the connection broke".into(), REACH),
            ErrorKind::DnsResolve { message, .. } => {
                (message.clone(), "check the spelling of the name")
            }
            ErrorKind::Authentication { .. } => refused("it refused the user name and password"),
            ErrorKind::InvalidTlsConfig { message, .. } => {
                (message.clone(), "check the files for TLS")
            }
            ErrorKind::Command(error) => match error.code {
                18 => refused("it refused the user name and password"),
                // its words name the command with all that it was given
                13 => refused("the user may not do that (code 13)"),
                10107 | 13435 => (
                    without_values(&error.message),
                    "the address leads to a secondary: add replicaSet=NAME, and take \
                     directConnection out",
                ),
                _ => (format!("{} (code {})", without_values(&error.message), error.code), LOG),
            },
            ErrorKind::Write(WriteFailure::WriteError(error)) => {
                (format!("{} (code {})", without_values(&error.message), error.code), LOG)
            }
            ErrorKind::Write(WriteFailure::WriteConcernError(error)) => (
                format!("{} (code {})", without_values(&error.message), error.code),
                "check whether enough members of the replica set are running",
            ),
            ErrorKind::InsertMany(errors) => {
                match (&errors.write_errors, &errors.write_concern_error) {
                    (Some(all), _) if !all.is_empty() => (
                        format!(
                            "{} (code {}; {} of them failed)",
                            without_values(&all[0].message),
                            all[0].code,
                            all.len()
                        ),
                        LOG,
                    ),
                    (_, Some(error)) => (
                        format!("{} (code {})", without_values(&error.message), error.code),
                        "check whether enough members of the replica set are running",
                    ),
                    _ => ("it refused documents".into(), LOG),
                }
            }
            kind => (without_values(&kind.to_string()), LOG),
        }
    }

    /// Describes servers that were not found: the driver's description of each is long, its error
    /// is short.
    fn unreachable(&self, message: &str) -> String {
        let mut reasons: Vec<String> = Vec::new();
        for part in message.split("Error: ").skip(1) {
            let reason = part.split([',', '}']).next().unwrap_or_default().replace("Kind: ", "");
            let reason = reason.trim().to_owned();
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        let what = if reasons.is_empty() && message.contains("Primary") {
            "no primary".to_owned()
        } else if message.contains("ReplicaSetNoPrimary") && reasons.is_empty() {
            "the replica set has no primary".to_owned()
        } else {
            "no server".to_owned()
        };
        let why =
            if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        format!("{what} answered within {} s{why}", self.find_limit_s)
    }
}

/// Makes the error that `found` is wrong with the address `uri`.
pub(super) fn wrong_address(uri: &str, found: String) -> ServerError {
    ServerError::Address { server: "MongoDB", shown: shown_address(uri), found, forms: FORMS }
}

fn refused(found: &str) -> (String, &'static str) {
    (
        found.into(),
        "check user, password and authSource of the address, and the user's roles (readWrite, \
         clusterMonitor)",
    )
}
