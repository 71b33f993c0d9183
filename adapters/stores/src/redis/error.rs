//! Reasons why servers cannot be used, worded for the person reading them: server, command,
//! finding, next step. Not here: reasons common to all kinds of servers (`server_error`), the forms
//! of an address (`address`).

use redis::{ErrorKind, RedisError, ServerErrorKind};
use sealstone_message::{SettingName, without_addresses};
use sealstone_store::StoreError;

use crate::server_error::{Place, ServerError};
use crate::server_message::without_values;

/// Reasons why servers cannot be used. No message contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Several addresses of servers that are no cluster.
    #[error(
        "Redis at {shown} is no cluster, and several addresses are given\nname the one server to \
         use"
    )]
    NoCluster {
        /// The addresses.
        shown: String,
    },
    /// A number of nodes that no cluster has.
    #[error("{nodes} Redis servers are not possible\n{step}")]
    Nodes {
        /// The requested number of nodes.
        nodes: usize,
        /// Description of the possible values.
        step: &'static str,
    },
    /// A setting that does not exist.
    #[error("cannot use {} {value:?} with Redis: it is unknown\nuse {known}", SettingName(name))]
    Option {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: String,
        /// The known values.
        known: &'static str,
    },
    /// Records that are not ours.
    #[error(
        "{server} at {shown} already holds keys, which are not ours to remove\n\
         name an empty server{}",
        if *server == "Redis" { ", or another database of it: redis://HOST:PORT/1" } else { "" }
    )]
    NotEmpty {
        /// Name of its product.
        server: &'static str,
        /// Address of the server, without user and password.
        shown: String,
    },
    /// Durable writes, on servers started here whose log was asked for without syncing each.
    #[error(
        "a workload syncs its writes, and {name} is not always\n\
         leave {name} out, or name workloads without -sync",
        name = SettingName("redis-log")
    )]
    LogNotSynced,
    /// Durable writes, on a server of the user's own that does not sync them.
    #[error(
        "writes cannot be synced on Redis at {shown}: {found}\n\
         set appendonly to yes and appendfsync to always there, or name workloads without -sync"
    )]
    NotSynced {
        /// Address of the server, without user and password.
        shown: String,
        /// Current setting on the server.
        found: String,
    },
    /// Durable writes, on SSDB, which cannot have them.
    #[error(
        "writes cannot be synced on SSDB: it acknowledges them before they are on the disk, and \
         has no setting for that\n\
         name workloads without -sync"
    )]
    SsdbNotSynced,
    /// A reason that servers of other kinds have, too.
    #[error(transparent)]
    Server(#[from] ServerError),
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        Self::engine(error)
    }
}

/// Way to a server, for messages.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) place: Place,
    /// True if connections to the server are encrypted.
    pub(super) tls: bool,
    /// Longest time that the server may take to answer, in seconds.
    pub(super) limit_s: u64,
}

impl Route {
    /// Words for `error`, which resulted from `attempt` on a server that was connected to, such as
    /// `read … of`.
    pub(super) fn failure(&self, attempt: &str, error: &RedisError) -> ServerError {
        let (found, step) = match Transport::of(error) {
            Some(Transport::Refused) => refused(),
            Some(Transport::Silent) => self.silent(),
            Some(Transport::Broken(found)) => (
                format!("the connection broke ({found})"),
                "check whether the server still runs, and read its log",
            ),
            None => answered(error),
        };
        self.error(attempt, &found, step)
    }

    /// As [`Route::failure`], of the attempt to connect.
    pub(super) fn unconnected(&self, error: &RedisError) -> ServerError {
        const NO_TLS: &str =
            "check whether the server takes TLS on this port; without it write redis://";
        const TLS: &str =
            "check whether the server wants TLS (write rediss://), and whether it runs";
        let (found, step) = match Transport::of(error) {
            Some(Transport::Refused) => refused(),
            Some(Transport::Silent) if self.tls => {
                (format!("no TLS connection within {} s", self.limit_s), NO_TLS)
            }
            Some(Transport::Silent) => self.silent(),
            Some(Transport::Broken(found)) => match found.to_lowercase() {
                text if text.contains("unknownissuer") || text.contains("unknown issuer") => (
                    "its certificate is signed by an authority that is not trusted here".into(),
                    "name the authority's certificate as tls-ca-file",
                ),
                text if text.contains("certificaterequired")
                    || text.contains("certificate required") =>
                {
                    (
                        "it wants a certificate of the client".into(),
                        "name certificate and key as tls-certificate-key-file",
                    )
                }
                text if text.contains("peer certificate") => {
                    (found, "check the server's certificate, and the host name in the address")
                }
                _ if self.tls => (format!("no TLS connection ({found})"), NO_TLS),
                _ => (format!("it ended the connection ({found})"), TLS),
            },
            None => answered(error),
        };
        self.error("connect to", &found, step)
    }

    /// Returns the error that the cluster has the node `host`, which cannot be reached: `attempt`
    /// ended there.
    pub(super) fn unreachable_node(&self, attempt: &str, host: &str, port: u16) -> ServerError {
        let found = format!(
            "its node {host}:{port}, as the cluster announces it, cannot be reached from here"
        );
        let step = "start that node, or have the nodes announce addresses that are reached from \
                    here (cluster-announce-ip, cluster-announce-hostname)";
        self.error(attempt, &found, step)
    }

    /// Returns an error that was worded elsewhere.
    pub(super) fn error(&self, attempt: &str, found: &str, step: &'static str) -> ServerError {
        self.place.failed(attempt, &without_addresses(found), step)
    }

    fn silent(&self) -> (String, &'static str) {
        let step = "check whether the server is overloaded or stopped, and whether a firewall \
                    drops what is sent";
        (format!("no answer within {} s", self.limit_s), step)
    }
}

/// Fault of a connection.
enum Transport {
    /// Nobody listens.
    Refused,
    /// There was no answer in time.
    Silent,
    /// It ended, or was never a connection of this protocol.
    Broken(String),
}

impl Transport {
    fn of(error: &RedisError) -> Option<Self> {
        if error.is_connection_refusal() || error.to_string().contains("Connection refused") {
            return Some(Self::Refused);
        }
        if error.is_timeout() {
            return Some(Self::Silent);
        }
        match error.kind() {
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound | ErrorKind::Parse => {
                let found = error.detail().map_or_else(|| error.to_string(), String::from);
                Some(Self::Broken(found))
            }
            _ => None,
        }
    }
}

fn refused() -> (String, &'static str) {
    ("connection refused".into(), "start the server, or correct host and port of the address")
}

/// Words for what a server answered.
fn answered(error: &RedisError) -> (String, &'static str) {
    const PASSWORD: &str = "give user and password in the address: redis://USER:PASSWORD@HOST:PORT";
    const LOG: &str = "look at the server's log";
    let detail = error.detail().unwrap_or_default();
    let told = match (error.code(), detail) {
        (Some(code), "") => code.to_owned(),
        (Some("ERR") | None, detail) if !detail.is_empty() => detail.to_owned(),
        // names the user, and the command with its key
        (Some(code @ "NOPERM"), _) => code.to_owned(),
        (Some(code), detail) => format!("{code} {detail}"),
        (None, _) => error.to_string(),
    };
    let told = without_values(&told);
    match (error.kind(), error.code().unwrap_or_default()) {
        (ErrorKind::AuthenticationFailed, _) | (_, "WRONGPASS") => {
            ("it refused the user name and password".into(), PASSWORD)
        }
        (_, "NOAUTH") => ("it wants a password".into(), PASSWORD),
        (ErrorKind::Server(ServerErrorKind::NoPerm), _) => {
            (told, "give the user that right (ACL SETUSER)")
        }
        (ErrorKind::Server(ServerErrorKind::ReadOnly), _) => (
            "it is a replica, which takes no writes".into(),
            "name its primary, or let sentinels name it: redis+sentinel://HOST:PORT/NAME",
        ),
        (_, "OOM") => (
            "it is out of memory: its data reach maxmemory".into(),
            "raise maxmemory on the server, or load fewer records",
        ),
        (_, "MISCONF") => {
            (told, "free space on the server's disk, or switch its snapshots off (save \"\")")
        }
        (ErrorKind::Server(ServerErrorKind::ClusterDown | ServerErrorKind::MasterDown), _) => (
            told,
            "check with redis-cli --cluster check HOST:PORT that every hash slot has a primary \
             that runs",
        ),
        (ErrorKind::MasterNameNotFoundBySentinel, _) => (
            "no sentinel knows a primary of that name".into(),
            "correct the name at the end of the address; redis-cli -p 26379 SENTINEL MASTERS lists \
             them",
        ),
        _ => (told, LOG),
    }
}
