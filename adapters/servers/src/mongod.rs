//! MongoDB's server: starting, awaiting and ending it; with the feature `mongodb`, replica sets.

#[cfg(feature = "mongodb")]
mod admin;
mod log;
#[cfg(feature = "mongodb")]
mod replica_set;
#[cfg(feature = "mongodb")]
mod row;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::certificate::{self, SUITE};
use crate::error::{io, processes};
use crate::instance::{Instance, ServerKind};
use crate::{LabError, Place, Program, directory};

#[cfg(feature = "mongodb")]
pub use admin::number;
#[cfg(feature = "mongodb")]
pub use replica_set::ReplicaSet;
#[cfg(feature = "mongodb")]
pub use row::SERVER;

/// Program mongod, and how it is found.
pub static PROGRAM: Program = Program {
    what: "mongod",
    flag: "mongod",
    variable: "SEALSTONE_MONGOD",
    places: &[Place::Cache("mongod/bin/mongod"), Place::SearchPath("mongod")],
    works: Path::is_file,
    install: "name one with --mongod or in SEALSTONE_MONGOD, or install one for tests with: make \
              setup-mongod",
};

/// File in the directory of a server with its certificate and key, which mongod requires in one
/// file.
const OWN_CERTIFICATE: &str = "certificate.pem";
/// The mode in which a server takes TLS and nothing else.
pub const REQUIRE_TLS: &str = "requireTLS";
/// The parameter that names its suites of TLS 1.3, which MongoDB has from 5.0 on.
pub const SUITES: &str = "opensslCipherSuiteConfig";

/// Options with which a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MongodOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Port on 127.0.0.1; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// Cache of the storage engine, in gigabytes; the least is 0.25.
    pub cache_gb: f64,
    /// Name of the replica set that it is a member of.
    pub replica_set: Option<String>,
    /// Directory with `ca.pem`, `server.pem` and `server-key.pem`, an absolute path: it then takes
    /// TLS 1.3 and nothing else, from other members, too, for which the certificate must be for
    /// [`CertificateUse::Member`](certificate::CertificateUse::Member).
    pub certificates: Option<PathBuf>,
    /// Settings of the storage engine, such as which extension to load
    /// (`--wiredTigerEngineConfigString`).
    pub engine_config: Option<String>,
    /// More arguments.
    pub arguments: Vec<String>,
    /// More variables of its environment.
    pub environment: Vec<(String, String)>,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for MongodOptions {
    fn default() -> Self {
        Self {
            program: None,
            port: None,
            cache_gb: 0.25,
            replica_set: None,
            certificates: None,
            engine_config: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            start_limit_s: 120,
        }
    }
}

/// A mongod on 127.0.0.1, alone or a member of a `ReplicaSet`. It ends with the value.
pub type Mongod = Instance<Kind>;

/// Differences between mongod and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = MongodOptions;
    const NAME: &'static str = "mongod";
    const RECORD: &'static str = "mongod.toml";
    const LOG: &'static str = "mongod.log";
    const OUTPUT: &'static str = "mongod.out";
    const STOP: &'static [Signal] = &[Signal::SIGTERM];
    const STOP_LIMIT: Duration = Duration::from_secs(120);
    const UNABLE: &'static str = "give a mongod that this machine can run";

    fn prepare(dir: &Path) -> Result<(), LabError> {
        directory::make(&Self::data_dir(dir), directory::USUAL)
    }

    fn command(dir: &Path, port: u16, options: &MongodOptions) -> Result<Command, LabError> {
        let mut command = Command::new(PROGRAM.find(options.program.as_deref())?);
        let mut add = |name: &str, value: OsString| {
            command.arg(name).arg(value);
        };
        add("--bind_ip", "127.0.0.1".into());
        add("--port", port.to_string().into());
        add("--dbpath", Self::data_dir(dir).into());
        add("--logpath", dir.join(Self::LOG).into());
        add("--wiredTigerCacheSizeGB", options.cache_gb.to_string().into());
        if let Some(name) = &options.replica_set {
            add("--replSet", name.into());
        }
        if let Some(config) = &options.engine_config {
            add("--wiredTigerEngineConfigString", config.into());
        }
        if let Some(certificates) = &options.certificates {
            let own = dir.join(OWN_CERTIFICATE);
            certificate::join(certificates, "server", &own)
                .map_err(|error| io("write", &own, error))?;
            add("--tlsMode", REQUIRE_TLS.into());
            add("--tlsCAFile", certificates.join("ca.pem").into());
            add("--tlsCertificateKeyFile", own.into());
            add("--tlsDisabledProtocols", "TLS1_0,TLS1_1,TLS1_2".into());
            add("--setParameter", format!("{SUITES}={SUITE}").into());
            command.arg("--tlsAllowConnectionsWithoutCertificates");
        }
        command.args(["--logappend", "--nounixsocket"]);
        // a member waits 15 s for clients to turn elsewhere; nothing is gained by that here
        command.args(["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"]);
        command.args(&options.arguments);
        command.envs(options.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        Self::data_dir(dir)
    }

    fn fixed_port(options: &MongodOptions) -> Option<u16> {
        options.port
    }

    fn start_limit(options: &MongodOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log)
    }

    fn has_run(dir: &Path) -> bool {
        Self::data_dir(dir).join("WiredTiger").exists()
    }

    /// Checks that it uses TLS: a program that ignores TLS would be measured under a wrong label.
    fn set_up(dir: &Path, _port: u16, options: &MongodOptions) -> Result<(), LabError> {
        let path = dir.join(Self::LOG);
        if options.certificates.is_none() || log::has_tls(&crate::log::read_from(&path, 0)) {
            return Ok(());
        }
        let found = "it was started with TLS, and says that its port has none".into();
        let step = "give a mongod that was built with TLS".into();
        Err(LabError::Start {
            server: Self::NAME,
            dir: dir.to_owned(),
            found,
            said: vec![step],
            log: path,
        })
    }

    fn said(log: &str, output: &str) -> Vec<String> {
        log::matters(log, output)
    }
}

impl Mongod {
    /// Takes over the mongod in `dir` that another process started, whether it runs or not. It ends
    /// with the value.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::BadState`].
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        Self::find(dir)?.ok_or_else(|| LabError::NoLab { dir: dir.to_owned(), server: "mongodb" })
    }

    /// Returns the address for a client that needs exactly this server, whatever it is a member of.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.address())
    }

    /// Removes all data of a server that does not run; port and options stay.
    ///
    /// # Errors
    /// [`LabError::Running`], [`LabError::Io`].
    pub fn empty(&mut self) -> Result<(), LabError> {
        if let Some(pid) = self.pid() {
            return Err(LabError::Running { dir: self.dir().to_owned(), pids: processes(&[pid]) });
        }
        let data = self.data_dir();
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io("empty", &data, error))
            }
            _ => Ok(()),
        }
    }
}
