//! PostgreSQL: making, starting, awaiting and ending a server.

mod log;
mod row;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use sealstone_message::Password;
use serde::{Deserialize, Serialize};

use crate::error::io;
use crate::instance::{Instance, ServerKind};
use crate::privilege::Identity;
use crate::secret::{escaped, hand_over, random_password, write};
use crate::{LabError, Place, Program, directory, maker};

pub use row::{PostgresServer, SERVER};

/// The user of a server that is started here, who may do everything in it, and the database that
/// clients use.
pub const USER: &str = "sealstone";
const DATABASE: &str = "postgres";
/// File in the directory of a server with that user's password, as programs of PostgreSQL read it
/// (`PGPASSFILE`). Only its owner may.
const SECRETS: &str = "password";
/// Name of the file for the output of the program that makes a data directory.
const MAKER_OUTPUT: &str = "initdb.out";
/// As whom it runs where root starts it.
const SYSTEM_USER: &str = "postgres";

/// Server program, and how it is found: `initdb` must be beside it. Debian keeps both off the
/// search path.
pub static PROGRAM: Program = Program {
    what: "postgres with initdb beside it",
    flag: "postgres",
    variable: "SEALSTONE_POSTGRES",
    places: &[
        Place::SearchPath("postgres"),
        Place::At("/usr/lib/postgresql/18/bin/postgres"),
        Place::At("/usr/lib/postgresql/17/bin/postgres"),
        Place::At("/usr/lib/postgresql/16/bin/postgres"),
        Place::At("/usr/lib/postgresql/15/bin/postgres"),
        Place::At("/usr/lib/postgresql/14/bin/postgres"),
    ],
    works: |path| path.is_file() && initdb(path).is_file(),
    install: "install it with: make setup-postgres; or name one with --postgres or in \
              SEALSTONE_POSTGRES",
};

fn initdb(program: &Path) -> PathBuf {
    program.with_file_name("initdb")
}

/// Options with which a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PostgresOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Port on 127.0.0.1; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// Size of its cache (`shared_buffers`), in bytes; without it the server's own default.
    pub cache_bytes: Option<u64>,
    /// True if a write is on the disk before it is acknowledged (`synchronous_commit`).
    pub sync_writes: bool,
    /// Most connections at once.
    pub connections: u32,
    /// The password of its user; without it a random one. Recorded only in a file that its owner
    /// alone may read.
    #[serde(skip)]
    pub password: Option<Password>,
    /// Directory with `ca.pem`, `server.pem` and `server-key.pem`, an absolute path: it then takes
    /// TLS and nothing else.
    pub certificates: Option<PathBuf>,
    /// True if clients must show a certificate, where there is TLS.
    pub client_certificates: bool,
    /// More arguments.
    pub arguments: Vec<String>,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            program: None,
            port: None,
            cache_bytes: None,
            sync_writes: true,
            connections: 100,
            password: None,
            certificates: None,
            client_certificates: false,
            arguments: Vec::new(),
            start_limit_s: 60,
        }
    }
}

/// A PostgreSQL on 127.0.0.1. It ends with the value.
pub type Postgres = Instance<Kind>;

/// Differences between PostgreSQL and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = PostgresOptions;
    const NAME: &'static str = "postgres";
    const RECORD: &'static str = "postgres.toml";
    // it logs to where it prints
    const LOG: &'static str = "postgres.log";
    const OUTPUT: &'static str = "postgres.log";
    // at first it breaks connections off and writes a checkpoint, then it leaves without
    const STOP: &'static [Signal] = &[Signal::SIGINT, Signal::SIGQUIT];
    const STOP_LIMIT: Duration = Duration::from_secs(60);
    const UNABLE: &'static str =
        "give a postgres that this machine can run, in a directory that its user can reach";

    fn command(dir: &Path, port: u16, options: &PostgresOptions) -> Result<Command, LabError> {
        let mut command =
            Identity::of(SYSTEM_USER).command(&PROGRAM.find(options.program.as_deref())?);
        command
            .arg("-D")
            .arg(Self::data_dir(dir))
            .arg("-p")
            .arg(port.to_string())
            .arg("-h")
            .arg("127.0.0.1");
        let mut set = |name: &str, value: &str| {
            command.arg("-c").arg(format!("{name}={value}"));
        };
        // a socket in the file system would be a second way in
        set("unix_socket_directories", "");
        set("max_connections", &options.connections.to_string());
        set("synchronous_commit", if options.sync_writes { "on" } else { "off" });
        if let Some(bytes) = options.cache_bytes {
            // 16 pages of 8 KiB are the least that it takes
            set("shared_buffers", &format!("{}kB", (bytes / 1024).max(128)));
        }
        if options.certificates.is_some() {
            set("ssl", "on");
            for (name, file) in [("ssl_ca_file", "ca.pem"), ("ssl_cert_file", "server.pem")] {
                set(name, &dir.join(file).to_string_lossy());
            }
            set("ssl_key_file", &dir.join("server-key.pem").to_string_lossy());
        }
        command.args(&options.arguments);
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        Self::data_dir(dir)
    }

    fn fixed_port(options: &PostgresOptions) -> Option<u16> {
        options.port
    }

    fn start_limit(options: &PostgresOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    /// Returns true also where processes of a killed server are about to end: they hold its memory
    /// a moment longer.
    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log) || log::is_predecessor_there(log)
    }

    fn has_run(dir: &Path) -> bool {
        Self::data_dir(dir).join("postmaster.opts").exists()
    }

    fn said(log: &str, _output: &str) -> Vec<String> {
        log::matters(log)
    }
}

/// Starts a server in `dir`, with an empty database where there is none yet, and waits until it
/// answers.
///
/// # Errors
/// As [`Instance::start`]; a data directory that cannot be made.
pub fn start(dir: &Path, options: PostgresOptions) -> Result<Postgres, LabError> {
    let program = PROGRAM.find(options.program.as_deref())?;
    let dir = directory::made(dir, directory::PASSABLE)?;
    let identity = Identity::of(SYSTEM_USER);
    if !Kind::data_dir(&dir).join("PG_VERSION").exists() {
        make(&dir, &program, &identity, options.password.as_ref())?;
    }
    let mut rules = String::new();
    let (kind, more) = match (&options.certificates, options.client_certificates) {
        (None, _) => ("host", ""),
        (Some(_), false) => ("hostssl", ""),
        (Some(_), true) => ("hostssl", " clientcert=verify-ca"),
    };
    rules.push_str(&format!("{kind} all all 127.0.0.1/32 scram-sha-256{more}\n"));
    write(&Kind::data_dir(&dir).join("pg_hba.conf"), &rules, &identity)?;
    if let Some(certificates) = &options.certificates {
        hand_over(certificates, &dir, &identity)?;
    }
    Instance::start(&dir, options)
}

/// Makes an empty data directory in `dir`, with a user whose password is in a file beside it. Its
/// texts are sorted by their bytes, whatever the language of the system is.
fn make(
    dir: &Path,
    program: &Path,
    identity: &Identity,
    password: Option<&Password>,
) -> Result<(), LabError> {
    let data = Kind::data_dir(dir);
    identity.make_directory(&data)?;
    let password = password.cloned().map_or_else(random_password, Ok)?;
    let for_initdb = dir.join("initdb.password");
    write(&for_initdb, &format!("{}\n", password.as_str()), identity)?;
    let initdb = initdb(program);
    let mut command = identity.command(&initdb);
    command.arg("-D").arg(&data).arg("--pwfile").arg(&for_initdb);
    command.args(["-U", USER, "-E", "UTF8", "--locale=C", "--auth=scram-sha-256", "--no-sync"]);
    let output = dir.join(MAKER_OUTPUT);
    let status = maker::run(&mut command, &initdb, &output)?;
    fs::remove_file(&for_initdb).map_err(|error| io("remove", &for_initdb, error))?;
    if !status.success() {
        let said = crate::log::tail(&crate::log::read_from(&output, 0), log::LINES_MAX);
        let found = format!("initdb exited with {status}");
        return Err(LabError::Start {
            server: Kind::NAME,
            dir: dir.to_owned(),
            found,
            said,
            log: output,
        });
    }
    let quoted = password.as_str().replace('\\', "\\\\").replace(':', "\\:");
    write(&dir.join(SECRETS), &format!("127.0.0.1:*:*:{USER}:{quoted}\n"), &Identity::Own)
}

impl Postgres {
    /// Address for a client. Instead of the password it names the file with it.
    #[must_use]
    pub fn uri(&self) -> String {
        let tls = match self.options().certificates {
            None => String::new(),
            Some(_) => {
                format!("&sslmode=verify-full&sslrootcert={}", escaped(&self.dir().join("ca.pem")))
            }
        };
        let secrets = escaped(&self.secrets_path());
        format!("postgres://{USER}@{}/{DATABASE}?passfile={secrets}{tls}", self.address())
    }

    /// Returns the file with its user's password, in the form of PostgreSQL's own password files.
    #[must_use]
    pub fn secrets_path(&self) -> PathBuf {
        self.dir().join(SECRETS)
    }
}
