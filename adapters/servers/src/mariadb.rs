//! MariaDB: making, starting, awaiting and ending a server.

mod log;
mod row;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;
use sealstone_message::Password;
use serde::{Deserialize, Serialize};

use crate::instance::{Instance, ServerKind};
use crate::privilege::Identity;
use crate::secret::{escaped, hand_over, random_password, write};
use crate::{LabError, Place, Program, directory, maker};

pub use row::{MariaDbServer, SERVER};

/// The user of a server that is started here, who may do everything in it, and the database that
/// clients use.
pub const USER: &str = "sealstone";
/// The database.
pub const DATABASE: &str = "sealstone";
/// File in the directory of a server with user and password, as programs of MariaDB read it
/// (`--defaults-file`). Only its owner may.
const SECRETS: &str = "client.cnf";
/// File with the statements that make user and database, which the server runs before it answers.
const FIRST: &str = "first.sql";
/// Program that makes a data directory, and the file for what it prints.
const MAKER: &str = "mariadb-install-db";
const MAKER_OUTPUT: &str = "install.out";
/// The same program in a distribution that was unpacked.
const UNPACKED_MAKER: &str = "scripts/mariadb-install-db";
/// As whom it runs where root starts it.
const SYSTEM_USER: &str = "mysql";

/// Server program, and how it is found. The program that makes its data directory is that of the
/// distribution it was unpacked with, or on the search path.
pub static PROGRAM: Program = Program {
    what: "mariadbd",
    flag: "mariadbd",
    variable: "SEALSTONE_MARIADBD",
    places: &[Place::SearchPath("mariadbd"), Place::At("/usr/sbin/mariadbd")],
    works: Path::is_file,
    install: "install it with: make setup-mariadb; or name one with --mariadbd or in \
              SEALSTONE_MARIADBD",
};

/// Program that makes a data directory.
static INSTALL: Program = Program {
    what: MAKER,
    flag: "mariadbd",
    variable: "SEALSTONE_MARIADB_INSTALL_DB",
    places: &[Place::SearchPath(MAKER), Place::At("/usr/bin/mariadb-install-db")],
    works: Path::is_file,
    install: "install it with: make setup-mariadb; or name one in SEALSTONE_MARIADB_INSTALL_DB",
};

/// Options with which a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MariaDbOptions {
    /// The program; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Port on 127.0.0.1; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// Size of its cache (`innodb_buffer_pool_size`), in bytes; without it the server's own
    /// default.
    pub cache_bytes: Option<u64>,
    /// True if a write is on the disk before it is acknowledged (`innodb_flush_log_at_trx_commit`).
    pub sync_writes: bool,
    /// Most connections at once.
    pub connections: u32,
    /// The password of its user; without it a random one. Recorded only in files that their owner
    /// alone may read.
    #[serde(skip)]
    pub password: Option<Password>,
    /// Directory with `ca.pem`, `server.pem` and `server-key.pem`, an absolute path: it then takes
    /// TLS and nothing else.
    pub certificates: Option<PathBuf>,
    /// More arguments.
    pub arguments: Vec<String>,
    /// Time that it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for MariaDbOptions {
    fn default() -> Self {
        Self {
            program: None,
            port: None,
            cache_bytes: None,
            sync_writes: true,
            connections: 150,
            password: None,
            certificates: None,
            arguments: Vec::new(),
            start_limit_s: 120,
        }
    }
}

/// A MariaDB on 127.0.0.1. It ends with the value.
pub type MariaDb = Instance<Kind>;

/// Differences between MariaDB and other servers.
#[derive(Debug)]
pub struct Kind;

impl ServerKind for Kind {
    type Options = MariaDbOptions;
    const NAME: &'static str = "mariadbd";
    const RECORD: &'static str = "mariadb.toml";
    // it logs to where it prints
    const LOG: &'static str = "mariadb.log";
    const OUTPUT: &'static str = "mariadb.log";
    const STOP: &'static [Signal] = &[Signal::SIGTERM];
    const STOP_LIMIT: Duration = Duration::from_secs(120);
    const UNABLE: &'static str =
        "give a mariadbd that this machine can run, in a directory that its user can reach";

    fn command(dir: &Path, port: u16, options: &MariaDbOptions) -> Result<Command, LabError> {
        let program = PROGRAM.find(options.program.as_deref())?;
        let mut command = Identity::of(SYSTEM_USER).command(&program);
        // the system's own settings are for its own server
        command.arg("--no-defaults").arg(mark(dir));
        command.args(unpacked(&program).iter().flat_map(|base| of_unpacked(base)));
        let mut set = |name: &str, value: &str| {
            command.arg(format!("--{name}={value}"));
        };
        set("port", &port.to_string());
        set("bind-address", "127.0.0.1");
        // within the data directory, where no other user gets to it; a longer path might be too
        // long for a socket
        set("socket", "mariadb.sock");
        set("pid-file", "mariadb.pid");
        set("tmpdir", &temporary_dir(dir).to_string_lossy());
        set("init-file", &dir.join(FIRST).to_string_lossy());
        set("max-connections", &options.connections.to_string());
        set("character-set-server", "utf8mb4");
        set("innodb-flush-log-at-trx-commit", if options.sync_writes { "1" } else { "2" });
        if let Some(bytes) = options.cache_bytes {
            // it takes no less
            set("innodb-buffer-pool-size", &bytes.max(CACHE_BYTES_MIN).to_string());
        }
        if options.certificates.is_some() {
            set("require-secure-transport", "ON");
            for (name, file) in
                [("ssl-ca", "ca.pem"), ("ssl-cert", "server.pem"), ("ssl-key", "server-key.pem")]
            {
                set(name, &dir.join(file).to_string_lossy());
            }
        }
        command.args(&options.arguments);
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        mark(dir)
    }

    fn fixed_port(options: &MariaDbOptions) -> Option<u16> {
        options.port
    }

    fn start_limit(options: &MariaDbOptions) -> Duration {
        Duration::from_secs(options.start_limit_s)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log::is_ready(log)
    }

    fn is_port_taken(log: &str, _output: &str) -> bool {
        log::is_port_taken(log)
    }

    fn has_run(dir: &Path) -> bool {
        Self::data_dir(dir).join("tc.log").exists() || Self::data_dir(dir).join(DATABASE).exists()
    }

    fn said(log: &str, _output: &str) -> Vec<String> {
        log::matters(log)
    }
}

/// The least cache that a server takes, in bytes.
pub const CACHE_BYTES_MIN: u64 = 8 << 20;

/// Starts a server in `dir`, with an empty database where there is none yet, and waits until it
/// answers.
///
/// # Errors
/// As [`Instance::start`]; a data directory that cannot be made.
pub fn start(dir: &Path, options: MariaDbOptions) -> Result<MariaDb, LabError> {
    let program = PROGRAM.find(options.program.as_deref())?;
    let dir = directory::made(dir, directory::PASSABLE)?;
    let identity = Identity::of(SYSTEM_USER);
    let is_new = !dir.join(FIRST).exists();
    if is_new {
        make(&dir, &identity, unpacked(&program).as_deref(), &options.arguments)?;
    }
    if let Some(certificates) = &options.certificates {
        hand_over(certificates, &dir, &identity)?;
    }
    if is_new {
        let password = options.password.clone().map_or_else(random_password, Ok)?;
        let quoted = password.as_str().replace('\\', "\\\\").replace('\'', "''");
        // the server reads a statement a line; without it, anyone who reaches the socket would get
        // in
        let first = format!(
            "CREATE DATABASE IF NOT EXISTS {DATABASE};\n\
             CREATE OR REPLACE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{quoted}';\n\
             GRANT ALL ON *.* TO '{USER}'@'127.0.0.1' WITH GRANT OPTION;\n\
             DROP USER IF EXISTS root@localhost, {SYSTEM_USER}@localhost, nobody@localhost;\n"
        );
        write(&dir.join(FIRST), &first, &identity)?;
        write(&dir.join(SECRETS), &secrets(password.as_str()), &Identity::Own)?;
    }
    Instance::start(&dir, options)
}

/// Returns the part of a client's settings file that gives the password, which is quoted there.
fn secrets(password: &str) -> String {
    let quoted = password.replace('\\', "\\\\").replace('"', "\\\"");
    format!("[client]\nuser={USER}\npassword=\"{quoted}\"\n")
}

/// Returns the directory that a distribution of MariaDB was unpacked into, if the server `program`
/// is of one, not installed by the system: then all that belongs to it is there.
fn unpacked(program: &Path) -> Option<PathBuf> {
    let base = program.parent().filter(|bin| bin.ends_with("bin"))?.parent()?;
    base.join(UNPACKED_MAKER).is_file().then(|| base.to_owned())
}

/// Returns the arguments with which programs of the distribution unpacked into `base` find its
/// files.
fn of_unpacked(base: &Path) -> [String; 2] {
    [
        format!("--basedir={}", base.display()),
        format!("--lc-messages-dir={}", base.join("share").display()),
    ]
}

/// Makes an empty data directory in `dir`, by the programs that were unpacked into `base`, if any.
/// The server's own tables are made under `arguments`, too: a plug-in that seals files seals them.
fn make(
    dir: &Path,
    identity: &Identity,
    base: Option<&Path>,
    arguments: &[String],
) -> Result<(), LabError> {
    let install = base.map_or_else(|| INSTALL.find(None), |base| Ok(base.join(UNPACKED_MAKER)))?;
    let data = Kind::data_dir(dir);
    if fs::read_dir(&data).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(LabError::NotEmpty { dir: data });
    }
    identity.make_directory(&data)?;
    let mut command = identity.command(&install);
    command.arg("--no-defaults").arg(mark(dir));
    command.args(base.iter().flat_map(|base| of_unpacked(base)));
    command.args(["--skip-test-db", "--skip-name-resolve", "--cross-bootstrap"]);
    let temporary = temporary_dir(dir);
    identity.make_directory(&temporary)?;
    command.arg(format!("--tmpdir={}", temporary.display()));
    // it writes little, and queues of the system may be scarce
    command.args(["--innodb-use-native-aio=0", "--innodb-buffer-pool-size=16M"]);
    command.args(arguments);
    let output = dir.join(MAKER_OUTPUT);
    let status = maker::run(&mut command, &install, &output)?;
    if !status.success() {
        // it was empty before, and half of it is of no use to the next start
        let _ = fs::remove_dir_all(&data);
        let printed = crate::log::read_from(&output, 0);
        let grave = log::matters(&printed);
        let said =
            if grave.is_empty() { crate::log::tail(&printed, log::LINES_MAX) } else { grave };
        let found = format!("{MAKER} exited with {status}");
        return Err(LabError::Start {
            server: Kind::NAME,
            dir: dir.to_owned(),
            found,
            said,
            log: output,
        });
    }
    Ok(())
}

impl MariaDb {
    /// Address for a client. Instead of the password it names the file with it.
    #[must_use]
    pub fn uri(&self) -> String {
        let tls = match self.options().certificates {
            None => String::new(),
            Some(_) => {
                format!("&ssl-mode=VERIFY_IDENTITY&ssl-ca={}", escaped(&self.dir().join("ca.pem")))
            }
        };
        let secrets = escaped(&self.secrets_path());
        format!("mysql://{USER}@{}/{DATABASE}?defaults-file={secrets}{tls}", self.address())
    }

    /// Returns the file with its user's password, in the form of MariaDB's own files of settings.
    #[must_use]
    pub fn secrets_path(&self) -> PathBuf {
        self.dir().join(SECRETS)
    }
}

/// Returns the directory for the temporary tables of the server in `dir`: a server that starts
/// removes tables that others left, and mistakes the tables of running servers for such.
fn temporary_dir(dir: &Path) -> PathBuf {
    dir.join("tmp")
}

/// Returns the argument that no other process has.
fn mark(dir: &Path) -> PathBuf {
    PathBuf::from(format!("--datadir={}", Kind::data_dir(dir).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_unpacked_has_its_own_files() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let server = base.join("bin/mariadbd");
        assert_eq!(unpacked(&server), None);
        fs::create_dir(base.join("scripts")).unwrap();
        fs::write(base.join(UNPACKED_MAKER), "").unwrap();
        assert_eq!(unpacked(&server).as_deref(), Some(base));
        assert_eq!(unpacked(&base.join("sbin/mariadbd")), None);
        assert_eq!(unpacked(Path::new("/usr/sbin/mariadbd")), None);
        assert!(of_unpacked(base)[0].ends_with(&base.display().to_string()));
    }

    #[test]
    fn a_password_is_quoted_in_a_file_of_settings() {
        assert_eq!(secrets("a\"b\\"), "[client]\nuser=sealstone\npassword=\"a\\\"b\\\\\"\n");
    }
}
