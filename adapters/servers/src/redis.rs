//! Redis: starting, awaiting and ending a server; with the feature `redis`, servers of a lab, alone
//! or as a cluster.

#[cfg(feature = "redis")]
mod admin;
#[cfg(feature = "redis")]
mod cluster;
mod log;
#[cfg(feature = "redis")]
mod row;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use sealstone_file::output::{self, Access};
use sealstone_message::Password;
use serde::{Deserialize, Serialize};

use crate::certificate::SUITE;
use crate::error::io;
use crate::instance::{Instance, ServerKind};
use crate::{LabError, Place, Program, directory};

#[cfg(feature = "redis")]
pub use cluster::{RedisServers, check_nodes};
#[cfg(feature = "redis")]
pub use row::SERVER;

/// File in the directory of a server with what no other user may read: its password.
const SECRETS: &str = "redis.conf";
/// Distance from the port for clients to the port on which the nodes of a cluster talk to each
/// other.
const BUS_PORT_DISTANCE: u16 = 10_000;

/// Program redis-server, and how it is found.
pub static PROGRAM: Program = Program {
    what: "redis-server",
    flag: "redis-server",
    variable: "SEALSTONE_REDIS_SERVER",
    places: &[Place::SearchPath("redis-server")],
    works: Path::is_file,
    install: "install it with: make setup-redis; or name one with --redis-server or in \
              SEALSTONE_REDIS_SERVER",
};

/// Part of its data that a server keeps when it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Persistence {
    /// Nothing: it never writes to the disk.
    #[default]
    None,
    /// All, in a snapshot that is written from time to time and at a requested end.
    Snapshot,
    /// All, in a log (`appendonly`) that is brought to the disk every second.
    Log,
    /// All, in such a log that is on the disk before a write is acknowledged.
    SyncedLog,
}

/// Options with which a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RedisOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Port on 127.0.0.1; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// True if it is a node of a cluster.
    pub cluster: bool,
    /// Part of its data that it keeps.
    pub persistence: Persistence,
    /// The password that clients must give; recorded only in a file that its owner alone may read.
    #[serde(skip)]
    pub password: Option<Password>,
    /// Directory with `ca.pem`, `server.pem` and `server-key.pem`, an absolute path: it then takes
    /// TLS 1.3 and nothing else, from other nodes of its cluster, too, for which the certificate
    /// must be for [`CertificateUse::Member`](crate::certificate::CertificateUse::Member).
    pub certificates: Option<PathBuf>,
    /// True if clients must show a certificate, where there is TLS.
    pub client_certificates: bool,
    /// More arguments.
    pub arguments: Vec<String>,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            program: None,
            port: None,
            cluster: false,
            persistence: Persistence::default(),
            password: None,
            certificates: None,
            client_certificates: false,
            arguments: Vec::new(),
            start_limit_s: 60,
        }
    }
}

/// A redis-server on 127.0.0.1. It ends with the value.
pub type Redis = Instance<Kind>;

/// Differences between redis-server and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = RedisOptions;
    const NAME: &'static str = "redis-server";
    const RECORD: &'static str = "redis.toml";
    const LOG: &'static str = "redis.log";
    const OUTPUT: &'static str = "redis.out";
    const STOP: &'static [Signal] = &[Signal::SIGTERM];
    const STOP_LIMIT: Duration = Duration::from_secs(120);
    const UNABLE: &'static str = "give a redis-server that this machine can run";

    fn prepare(dir: &Path) -> Result<(), LabError> {
        directory::make(&Self::data_dir(dir), directory::USUAL)
    }

    fn command(dir: &Path, port: u16, options: &RedisOptions) -> Result<Command, LabError> {
        let mut command = Command::new(PROGRAM.find(options.program.as_deref())?);
        let secrets = dir.join(SECRETS);
        if secrets.exists() {
            command.arg(secrets);
        }
        let mut add = |name: &str, value: OsString| {
            command.arg(name).arg(value);
        };
        add("--bind", "127.0.0.1".into());
        add("--dir", Self::data_dir(dir).into());
        add("--logfile", dir.join(Self::LOG).into());
        // by its arguments a process is recognised, and a title would replace them
        add("--set-proc-title", "no".into());
        match &options.certificates {
            None => add("--port", port.to_string().into()),
            Some(certificates) => {
                add("--port", "0".into());
                add("--tls-port", port.to_string().into());
                add("--tls-ca-cert-file", certificates.join("ca.pem").into());
                add("--tls-cert-file", certificates.join("server.pem").into());
                add("--tls-key-file", certificates.join("server-key.pem").into());
                add("--tls-protocols", "TLSv1.3".into());
                add("--tls-ciphersuites", SUITE.into());
                add(
                    "--tls-auth-clients",
                    if options.client_certificates { "yes" } else { "no" }.into(),
                );
            }
        }
        match options.persistence {
            Persistence::None => add("--save", "".into()),
            Persistence::Snapshot => add("--save", "300 1".into()),
            Persistence::Log | Persistence::SyncedLog => {
                let is_synced = options.persistence == Persistence::SyncedLog;
                add("--save", "".into());
                add("--appendonly", "yes".into());
                add("--appendfsync", if is_synced { "always" } else { "everysec" }.into());
            }
        }
        if options.cluster {
            add("--cluster-enabled", "yes".into());
            add("--cluster-announce-ip", "127.0.0.1".into());
            add("--cluster-port", bus_port(port).to_string().into());
            // a replica need not wait for others that might need the same data
            add("--repl-diskless-sync-delay", "0".into());
            if options.certificates.is_some() {
                add("--tls-cluster", "yes".into());
                add("--tls-replication", "yes".into());
            }
        }
        command.args(&options.arguments);
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        Self::data_dir(dir)
    }

    fn fixed_port(options: &RedisOptions) -> Option<u16> {
        options.port
    }

    fn start_limit(options: &RedisOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log)
    }

    fn has_run(dir: &Path) -> bool {
        let data = Self::data_dir(dir);
        ["dump.rdb", "appendonlydir", "nodes.conf"].iter().any(|name| data.join(name).exists())
    }

    fn said(log: &str, output: &str) -> Vec<String> {
        log::matters(log, output)
    }
}

/// Starts a server in `dir`, with its password where `options` have one, and waits until it
/// answers.
///
/// # Errors
/// As [`Instance::start`].
pub fn start(dir: &Path, options: RedisOptions) -> Result<Redis, LabError> {
    if let Some(password) = &options.password {
        directory::make(dir, directory::USUAL)?;
        let path = dir.join(SECRETS);
        let quoted =
            format!("\"{}\"", password.as_str().replace('\\', "\\\\").replace('"', "\\\""));
        let text = format!("requirepass {quoted}\nmasterauth {quoted}\n");
        output::replace(&path, Access::Private, text.as_bytes())
            .map_err(|error| io("write", &path, error))?;
    }
    Instance::start(dir, options)
}

impl Redis {
    /// Address for a client, without a password.
    #[must_use]
    pub fn uri(&self) -> String {
        let scheme = if self.options().certificates.is_some() { "rediss" } else { "redis" };
        format!("{scheme}://{}", self.address())
    }

    /// Returns the port on which it talks to the other nodes of its cluster.
    #[must_use]
    pub(crate) fn bus_port(&self) -> u16 {
        bus_port(self.port())
    }
}

/// Returns the port that Redis itself chooses, if that port exists.
fn bus_port(port: u16) -> u16 {
    port.checked_add(BUS_PORT_DISTANCE).unwrap_or(port - BUS_PORT_DISTANCE)
}
