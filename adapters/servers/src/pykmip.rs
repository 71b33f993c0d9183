//! A real key server, PyKMIP: started with certificates made for it, awaited, stopped, restarted
//! with its keys and on its port.
//!
//! Its keys are in the clear in its directory, next to the data that they seal: for experiments
//! with real KMIP; it protects nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::fcntl::Flock;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::certificate::{Authority, CertificateUse};
use crate::error::{io, processes};
use crate::instance::{Instance, ServerKind};
use crate::server::{MemberStatus, Running, Server, ServerOption, Settings, Standing};
use crate::{LabError, Place, Program, directory, log, state};

/// Name in the table.
const NAME: &str = "pykmip";
/// Directory of the server within that of the lab.
const DIRECTORY: &str = "lab.kms";
/// Name of the file that leads a client to the key.
const ADDRESS_FILE: &str = "key.toml";
/// Default name of the key that clients request.
const KEY_ID: &str = "lab";
/// Time that a client waits for one answer, in milliseconds: a laboratory machine may be busy.
const ANSWER_LIMIT_MS: u64 = 30_000;
/// Number of its last lines that are reported.
const LINES_MAX: usize = 3;

/// Modules that a Python must have: PyKMIP, and the part of the standard library that PyKMIP needs
/// and Python 3.12 removed.
const NEEDED: &str = "import kmip.services.server.server, ssl; ssl.wrap_socket";

/// Script that the server runs; its arguments are the port, the log and the directory of its
/// certificates. The server keeps its access policies in separate processes, so that they can
/// change while it runs. A lab changes none, and a single process can be stopped by its number.
const SCRIPT: &str = "\
import multiprocessing, os, sys, types
from kmip.services.server.server import KmipServer
multiprocessing.Manager = lambda: types.SimpleNamespace(dict=dict)
pem = lambda name: os.path.join(sys.argv[3], name)
with KmipServer(hostname='127.0.0.1', port=int(sys.argv[1]), certificate_path=pem('server.pem'),
        key_path=pem('server-key.pem'), ca_path=pem('ca.pem'), auth_suite='TLS1.2',
        config_path=None,
        log_path=sys.argv[2], policy_path='.', enable_tls_client_auth=True, logging_level='INFO',
        database_path='pykmip.db') as server:
    server.serve()
";
/// Message in its log once it listens.
const READY: &str = "Starting connection service";
/// Message in its log if the port is taken.
const PORT_TAKEN: &str = "Address already in use";

/// Python that runs PyKMIP, and how it is found: distributions package PyKMIP for the system's own
/// Python.
pub static PROGRAM: Program = Program {
    what: "key server (PyKMIP)",
    flag: "python",
    variable: "SEALSTONE_PYKMIP_PYTHON",
    places: &[Place::Cache("pykmip/bin/python"), Place::At("/usr/bin/python3")],
    works: has_pykmip,
    install: "install it with: make setup-kmip; or name a key on your own server with --key \
              kmip:...",
};

/// The row of PyKMIP.
pub static SERVER: Server = Server {
    name: NAME,
    about: "PyKMIP, a key server that speaks KMIP",
    options: &[
        ServerOption {
            name: "key-id",
            value: "ID",
            help: "Name of the key that lab.kms/key.toml leads to, once it is made [default: lab]",
        },
        ServerOption {
            name: "python",
            value: "FILE",
            help: "A Python with PyKMIP [default: SEALSTONE_PYKMIP_PYTHON, the one that make test \
                   installed, or /usr/bin/python3]",
        },
    ],
    program: &PROGRAM,
    fits_a_volume: false,
    check: |_, settings| PROGRAM.find(settings.path("python")).map(drop),
    start: |dir, settings| Ok(Box::new(PyKmip::start(dir, options(settings))?)),
    open: |dir| Ok(PyKmip::open(dir)?.map(|server| Box::new(server) as Box<dyn Running>)),
};

fn options(settings: &Settings) -> PyKmipOptions {
    PyKmipOptions {
        program: settings.path("python").map(Path::to_owned),
        key_id: settings.get("key-id").map(String::from),
        certificates: None,
    }
}

/// Returns whether `python` is a Python that can run it.
fn has_pykmip(python: &Path) -> bool {
    let mut command = Command::new(python);
    command.args(["-W", "ignore", "-c", NEEDED]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Options with which a key server is started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PyKmipOptions {
    /// The Python; without it as [`PROGRAM`] is found.
    pub program: Option<PathBuf>,
    /// Name of the key in [`PyKmip::address_file`]; without it `lab`.
    pub key_id: Option<String>,
    /// Directory with `ca.pem`, `server.pem` and `server-key.pem`, an absolute path; without it
    /// they are made, and a client's with them.
    pub certificates: Option<PathBuf>,
}

/// Differences between PyKMIP and other servers.
#[derive(Debug)]
pub(crate) struct Kind;

impl ServerKind for Kind {
    type Options = PyKmipOptions;
    const NAME: &'static str = "the key server";
    const RECORD: &'static str = "key-server.toml";
    const LOG: &'static str = "pykmip.log";
    const OUTPUT: &'static str = "pykmip.out";
    // SIGTERM would be seen with the next client, or after ten seconds
    const STOP: &'static [Signal] = &[Signal::SIGINT, Signal::SIGKILL];
    const STOP_LIMIT: Duration = Duration::from_secs(20);
    const UNABLE: &'static str = "check that this is a Python with PyKMIP: make setup-kmip";

    fn prepare(dir: &Path) -> Result<(), LabError> {
        // the server itself moves a long log away, so the log of this start begins with a new file
        let log = dir.join(Self::LOG);
        match fs::remove_file(&log) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io("remove", &log, error))
            }
            _ => Ok(()),
        }
    }

    fn command(dir: &Path, port: u16, options: &PyKmipOptions) -> Result<Command, LabError> {
        // one that is recorded has been tried, which takes a while
        let mut command =
            Command::new(options.program.clone().map_or_else(|| PROGRAM.find(None), Ok)?);
        command.args(["-W", "ignore", "-c", SCRIPT, &port.to_string()]);
        command.arg(dir.join(Self::LOG)).arg(options.certificates.as_deref().unwrap_or(dir));
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        dir.join(Self::LOG)
    }

    fn data_dir(dir: &Path) -> PathBuf {
        dir.to_owned()
    }

    fn start_limit(_options: &PyKmipOptions) -> Duration {
        Duration::from_secs(60)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log.contains(READY)
    }

    fn is_port_taken(log: &str, output: &str) -> bool {
        log.contains(PORT_TAKEN) || output.contains(PORT_TAKEN)
    }

    fn said(_log: &str, output: &str) -> Vec<String> {
        log::tail(output, LINES_MAX)
    }
}

/// Location at which a client finds the key, as `sealstone-keys` reads it; paths are relative to
/// the file.
#[derive(Serialize)]
struct Address<'a> {
    key_id: &'a str,
    servers: [String; 1],
    cert: &'a str,
    key: &'a str,
    ca: &'a str,
    timeout_ms: u64,
}

/// A key server on 127.0.0.1, in the directory `lab.kms` of a lab. It ends with the value, unless
/// [`PyKmip::leave_running`] was called.
#[derive(Debug)]
pub struct PyKmip {
    instance: Instance<Kind>,
    _lock: Flock<File>,
}

impl PyKmip {
    /// Starts a server in `lab`, the directory of a lab, and waits until it answers. The caller
    /// makes the key in [`PyKmip::address_file`]. A directory that had a server keeps its keys and
    /// its port.
    ///
    /// # Errors
    /// [`LabError::NoProgram`]; a directory that cannot be written; a server that runs there
    /// already, or does not start. No process is left behind.
    pub fn start(lab: &Path, options: PyKmipOptions) -> Result<Self, LabError> {
        let program = Some(PROGRAM.find(options.program.as_deref())?);
        let options = PyKmipOptions { program, ..options };
        directory::make(lab, directory::USUAL)?;
        // its database contains keys
        let dir = directory::made(&lab.join(DIRECTORY), directory::PRIVATE)?;
        let lock = state::lock(&dir)?;
        if let Some(mut there) = Instance::<Kind>::find(&dir)? {
            let pid = there.pid();
            there.leave_running();
            if let Some(pid) = pid {
                return Err(LabError::Running { dir: lab.to_owned(), pids: processes(&[pid]) });
            }
        }
        if options.certificates.is_none() {
            let authority = Authority::make(&dir, "ca").and_then(|authority| {
                authority.sign("server", CertificateUse::Server)?;
                authority.sign("client", CertificateUse::Client)
            });
            authority.map_err(|error| io("make certificates in", &dir, error))?;
        }
        let server = Self { instance: Instance::start(&dir, options)?, _lock: lock };
        if server.instance.options().certificates.is_none() {
            server.write_address()?;
        }
        Ok(server)
    }

    /// Takes over the server of the lab in `lab` that another process started, whether it runs or
    /// not; `None` where the lab has none. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::InUse`], [`LabError::BadState`].
    pub fn open(lab: &Path) -> Result<Option<Self>, LabError> {
        let Ok(dir) = lab.join(DIRECTORY).canonicalize() else { return Ok(None) };
        let lock = state::lock(&dir)?;
        Ok(Instance::find(&dir)?.map(|instance| Self { instance, _lock: lock }))
    }

    /// Starts a server that has ended, with its keys and on its port, and waits until it answers.
    ///
    /// # Errors
    /// As [`PyKmip::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        self.instance.start_again()
    }

    /// Requests the server to stop, waits until it has, and kills it if it takes too long.
    ///
    /// # Errors
    /// [`LabError::Stop`]; it then keeps running.
    pub fn stop(&mut self) -> Result<(), LabError> {
        self.instance.stop()
    }

    /// Ends the server at once, as a power cut does to a process.
    ///
    /// # Errors
    /// As [`PyKmip::stop`].
    pub fn kill(&mut self) -> Result<(), LabError> {
        self.instance.kill()
    }

    /// Lets the server run on after this process has ended; [`PyKmip::open`] finds it again.
    pub fn leave_running(self) {
        self.instance.leave_running();
    }

    /// Returns the process, if it runs.
    pub fn pid(&mut self) -> Option<i32> {
        self.instance.pid()
    }

    /// Returns the port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.instance.port()
    }

    /// Returns `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        self.instance.address()
    }

    /// Returns the file that leads a client to the key: `kmip:` and this path is a key source.
    /// There is none for a server that was given its certificates.
    #[must_use]
    pub fn address_file(&self) -> PathBuf {
        self.instance.dir().join(ADDRESS_FILE)
    }

    /// Returns the log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.instance.log_path()
    }

    fn write_address(&self) -> Result<(), LabError> {
        let address = Address {
            key_id: self.instance.options().key_id.as_deref().unwrap_or(KEY_ID),
            servers: [self.address()],
            cert: "client.pem",
            key: "client-key.pem",
            ca: "ca.pem",
            timeout_ms: ANSWER_LIMIT_MS,
        };
        state::write(&self.address_file(), &address)
    }
}

impl Running for PyKmip {
    fn pids(&mut self) -> Vec<i32> {
        self.pid().into_iter().collect()
    }

    fn start_again(&mut self) -> Result<(), LabError> {
        Self::start_again(self)
    }

    fn stop(&mut self) -> Result<(), LabError> {
        Self::stop(self)
    }

    fn standing(&mut self) -> Standing {
        let pid = self.pid();
        let (serves, state) = (pid.is_some(), if pid.is_some() { "up" } else { "down" });
        let data_dir = self.instance.data_dir();
        let member =
            MemberStatus { address: self.address(), pid, state: state.into(), serves, data_dir };
        Standing {
            server: NAME,
            uri: format!("kmip:{}", self.address_file().display()),
            members: vec![member],
        }
    }

    fn leave_running(self: Box<Self>) {
        Self::leave_running(*self);
    }
}
