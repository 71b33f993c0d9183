//! PostgreSQL in the table of servers: one server. Not here: how it is started (`postgres`).

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use nix::fcntl::Flock;

use super::{Kind, PROGRAM, Postgres, PostgresOptions};
use crate::error::io;
use crate::instance::Instance;
use crate::server::{MemberStatus, Running, Server, ServerOption, Settings, Standing};
use crate::{LabError, state};

/// Name in the table.
const NAME: &str = "postgres";
/// Directory of the server within that of the lab.
const DIRECTORY: &str = "lab.postgres";

/// The row of PostgreSQL.
pub static SERVER: Server = Server {
    name: NAME,
    about: "PostgreSQL, a single server",
    options: &[ServerOption {
        name: "postgres",
        value: "FILE",
        help: "The program, with initdb beside it [default: SEALSTONE_POSTGRES, or postgres on the search path or in \
            /usr/lib/postgresql]",
    }],
    program: &PROGRAM,
    check: |_, settings| PROGRAM.find(settings.path("postgres")).map(drop),
    start: |dir, settings| Ok(Box::new(PostgresServer::start(dir, options(settings)?)?)),
    open: |dir| Ok(PostgresServer::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> Result<PostgresOptions, LabError> {
    let program = Some(PROGRAM.find(settings.path("postgres"))?);
    Ok(PostgresOptions { program, ..PostgresOptions::default() })
}

/// The PostgreSQL of a lab. It ends with the value, unless [`PostgresServer::leave_running`] was called.
#[derive(Debug)]
pub struct PostgresServer {
    server: Postgres,
    _lock: Flock<File>,
}

impl PostgresServer {
    /// Starts a new server in `lab`, the directory of a lab, which is created if it does not exist, and waits until it
    /// answers.
    ///
    /// # Errors
    /// A directory with PostgreSQL in it, or in use; a server that does not start, with what it printed. No process is
    /// left behind.
    pub fn start(lab: &Path, options: PostgresOptions) -> Result<Self, LabError> {
        fs::create_dir_all(lab).map_err(|error| io("create directory", lab, error))?;
        let dir = lab.join(DIRECTORY);
        // its files have modes of their own, and the server must reach them where it is another user
        let made = DirBuilder::new().recursive(true).mode(0o711).create(&dir);
        made.map_err(|error| io("create directory", &dir, error))?;
        let dir = dir.canonicalize().map_err(|error| io("look at", &dir, error))?;
        let lock = state::lock(&dir)?;
        if dir.join("data").exists() {
            return Err(LabError::NotEmpty { dir });
        }
        Ok(Self { server: super::start(&dir, options)?, _lock: lock })
    }

    /// Takes over the server of the lab in `lab` that another process started, whether it runs or not; `None` where the
    /// lab has none. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::InUse`], [`LabError::BadState`].
    pub fn open(lab: &Path) -> Result<Option<Self>, LabError> {
        let Ok(dir) = lab.join(DIRECTORY).canonicalize() else { return Ok(None) };
        let lock = state::lock(&dir)?;
        Ok(Instance::<Kind>::find(&dir)?.map(|server| Self { server, _lock: lock }))
    }

    /// Address for a client; see [`Postgres::uri`].
    #[must_use]
    pub fn uri(&self) -> String {
        self.server.uri()
    }

    /// The server itself.
    pub fn server(&mut self) -> &mut Postgres {
        &mut self.server
    }

    /// Lets the server run on after this process has ended; [`PostgresServer::open`] finds it again.
    pub fn leave_running(self) {
        self.server.leave_running();
    }
}

impl Running for PostgresServer {
    fn pids(&mut self) -> Vec<i32> {
        // the others are its own business, and end with it
        self.server.pid().into_iter().collect()
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        self.server.start_again()
    }

    fn stop(&mut self) -> Result<(), LabError> {
        self.server.stop()
    }

    fn standing(&mut self) -> Standing {
        let pid = self.server.pid();
        let (serves, state) = (pid.is_some(), if pid.is_some() { "up" } else { "down" });
        let (address, data_dir) = (self.server.address(), self.server.data_dir());
        let member = MemberStatus { address, pid, state: state.into(), serves, data_dir, sealed: None };
        Standing { server: NAME, uri: self.uri(), members: vec![member] }
    }

    fn leave_running(self: Box<Self>) {
        Self::leave_running(*self);
    }
}
