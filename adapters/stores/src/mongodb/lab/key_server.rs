//! A real key server (PyKMIP) beside a lab, with certificates made for it: started, waited for, ended, started again with
//! its keys and on its port.
//!
//! Its keys lie in the clear in its directory, beside what they seal: for an experiment with real KMIP, and no protection.
//!
//! Not here: which keys are made in it, which its owner does over KMIP.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::Flock;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::certificates::{Authority, CertificateUse};
use super::process::Process;
use super::{LabError, find_pykmip, free_port, io, state};

/// Directory of the server within that of the lab.
const DIRECTORY: &str = "lab.kms";
/// What stands in the directory of the server.
const STATE_FILE: &str = "key-server.toml";
/// What leads a client to the key.
const ADDRESS_FILE: &str = "key.toml";
/// What the errors call it.
const SERVER: &str = "the key server";
/// How long it may take to start, and to end after it was asked to.
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// How often it is looked whether it has started.
const POLL: Duration = Duration::from_millis(20);
/// How often a new server may meet a port that was free just before.
const PORT_TRIES: u32 = 5;
/// How long a client waits for one answer, in milliseconds: a laboratory machine may be busy.
const ANSWER_LIMIT_MS: u64 = 30_000;
/// How many of its last words are told.
const LINES_MAX: usize = 3;

/// What the server runs; arguments are port and log. It keeps its access policies in processes of their own, for the sake
/// of changes while it runs. A lab makes none, and one process is one that can be ended by its number.
const PROGRAM: &str = "\
import multiprocessing, sys, types
from kmip.services.server.server import KmipServer
multiprocessing.Manager = lambda: types.SimpleNamespace(dict=dict)
with KmipServer(hostname='127.0.0.1', port=int(sys.argv[1]), certificate_path='server.pem', key_path='server-key.pem',
        ca_path='ca.pem', auth_suite='TLS1.2', config_path=None, log_path=sys.argv[2], policy_path='.',
        enable_tls_client_auth=True, logging_level='INFO', database_path='pykmip.db') as server:
    server.serve()
";
/// What its log says once it listens.
const READY: &str = "Starting connection service";
/// What its log says where somebody else has the port.
const PORT_TAKEN: &str = "Address already in use";

/// What the next process needs to know of the server.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    program: PathBuf,
    port: u16,
    pid: Option<i32>,
}

/// Where a client finds the key, as `sealstone_keys` reads it; paths begin beside the file.
#[derive(Serialize)]
struct Address<'a> {
    key_id: &'a str,
    servers: [String; 1],
    cert: &'a str,
    key: &'a str,
    ca: &'a str,
    timeout_ms: u64,
}

/// A key server on 127.0.0.1. Ends with the value, unless [`KeyServer::leave_running`] was called.
#[derive(Debug)]
pub struct KeyServer {
    dir: PathBuf,
    program: PathBuf,
    port: u16,
    process: Option<Process>,
    _lock: Flock<File>,
}

/// How a key server stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyServerStatus {
    /// `127.0.0.1:PORT`.
    pub address: String,
    /// Its process, if it runs.
    pub pid: Option<i32>,
    /// The file that leads a client to the key.
    pub address_file: PathBuf,
}

impl KeyServer {
    /// Starts a server in `lab`, the directory of a lab, and waits until it answers. `key` is the name by which
    /// [`KeyServer::address_file`] asks for a key; it is made by the caller. A directory that had a server keeps its keys
    /// and its port.
    ///
    /// # Errors
    /// [`LabError::NoKeyServer`]; a directory that cannot be written; a server that runs there already, or does not start.
    /// No process is left behind.
    pub fn start(lab: &Path, key: &str) -> Result<Self, LabError> {
        let program = find_pykmip()?;
        fs::create_dir_all(lab).map_err(|error| io("create directory", lab, error))?;
        let dir = lab.join(DIRECTORY);
        // its database holds keys
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        made.map_err(|error| io("create directory", &dir, error))?;
        let dir = dir.canonicalize().map_err(|error| io("look at", &dir, error))?;
        let lock = state::lock(&dir)?;
        let kept: Option<State> = state::read(&dir.join(STATE_FILE))?;
        if let Some(pid) = kept.as_ref().and_then(|kept| kept.pid)
            && Process::found(pid, &log_path(&dir)).is_some()
        {
            return Err(LabError::Running { dir: lab.to_owned(), pids: format!("process {pid}") });
        }
        let authority = Authority::make(&dir, "ca").and_then(|authority| {
            authority.sign("server", CertificateUse::Server)?;
            authority.sign("client", CertificateUse::Client)
        });
        authority.map_err(|error| io("make certificates in", &dir, error))?;
        let chosen = kept.is_none();
        let port = kept.map_or_else(free_port, |kept| Ok(kept.port))?;
        let mut server = Self { dir, program, port, process: None, _lock: lock };
        let mut tries = 1;
        loop {
            match server.start_again() {
                Err(LabError::Start { .. }) if chosen && server.port_was_taken() && tries < PORT_TRIES => {
                    server.port = free_port()?;
                    tries += 1;
                }
                outcome => break outcome?,
            }
        }
        server.write_address(key)?;
        Ok(server)
    }

    /// Takes over the server of the lab in `lab` that another process started, whether it runs or not; `None` where the
    /// lab has none. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::InUse`], [`LabError::BadState`].
    pub fn open(lab: &Path) -> Result<Option<Self>, LabError> {
        let Ok(dir) = lab.join(DIRECTORY).canonicalize() else { return Ok(None) };
        let lock = state::lock(&dir)?;
        let Some(State { program, port, pid }) = state::read(&dir.join(STATE_FILE))? else { return Ok(None) };
        let process = pid.and_then(|pid| Process::found(pid, &log_path(&dir)));
        Ok(Some(Self { dir, program, port, process, _lock: lock }))
    }

    /// Starts a server that has ended, with its keys and on its port, and waits until it answers.
    ///
    /// # Errors
    /// As [`KeyServer::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        if self.pid().is_some() {
            return Ok(());
        }
        self.save(None)?;
        // what is read for its readiness is of this start alone
        if let Err(error) = fs::remove_file(self.log_path())
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(io("remove", &self.log_path(), error));
        }
        let child = self.spawn()?;
        let process = Process::started(child, &self.log_path());
        let pid = process.pid();
        self.process = Some(process);
        let started = self.save(Some(pid)).and_then(|()| self.wait_until_ready());
        if started.is_err() {
            self.end_at_once();
        }
        started
    }

    fn spawn(&self) -> Result<Child, LabError> {
        let output = self.output_path();
        let said = File::create(&output).map_err(|error| io("create", &output, error))?;
        let said_too = said.try_clone().map_err(|error| io("create", &output, error))?;
        Command::new(&self.program)
            .args(["-W", "ignore", "-c", PROGRAM, &self.port.to_string()])
            .arg(self.log_path())
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(said_too)
            // Ctrl-C in a terminal is for the command that started it
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::Io {
                attempt: "start",
                path: self.program.clone(),
                source,
                step: "see that this is a Python with PyKMIP: sh dev/setup.sh kmip",
            })
    }

    fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let begin = Instant::now();
        loop {
            let ended = self.process.as_mut().and_then(Process::ended);
            let found = match ended {
                Some(status) => format!("it ended with {status}"),
                None if read(&self.log_path()).contains(READY) => return Ok(()),
                None if begin.elapsed() > START_LIMIT => {
                    format!("it did not answer within {} s", START_LIMIT.as_secs())
                }
                None => {
                    thread::sleep(POLL);
                    continue;
                }
            };
            let (dir, said, log) = (self.dir.clone(), self.said(), self.log_path());
            return Err(LabError::Start { server: SERVER, dir, found, said, log });
        }
    }

    fn port_was_taken(&self) -> bool {
        read(&self.log_path()).contains(PORT_TAKEN) || read(&self.output_path()).contains(PORT_TAKEN)
    }

    /// The last lines that it printed.
    fn said(&self) -> Vec<String> {
        let text = read(&self.output_path());
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES_MAX)..].iter().map(|line| (*line).to_owned()).collect()
    }

    /// Asks the server to end, waits until it has, and ends it at once where it takes too long.
    ///
    /// # Errors
    /// [`LabError::Stop`]; it then runs on.
    pub fn stop(&mut self) -> Result<(), LabError> {
        let (dir, log) = (self.dir.clone(), self.log_path());
        if let Some(process) = &mut self.process
            && process.is_running()
        {
            let cannot = |error| LabError::Io {
                attempt: "end the key server in",
                path: dir.clone(),
                source: error,
                step: "end the process by hand",
            };
            // SIGTERM would be seen with the next client, or after ten seconds
            let ended = process.end(Signal::SIGINT, STOP_LIMIT).map_err(cannot)?
                || process.end(Signal::SIGKILL, STOP_LIMIT).map_err(cannot)?;
            if !ended {
                let (pid, limit_s) = (process.pid(), STOP_LIMIT.as_secs());
                return Err(LabError::Stop { server: SERVER, pid, dir, limit_s, log });
            }
        }
        self.process = None;
        self.save(None)
    }

    fn end_at_once(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end_at_once();
        }
        // the directory may be gone by now
        let _ = self.save(None);
    }

    /// Lets the server run on after this process has ended; [`KeyServer::open`] finds it again.
    pub fn leave_running(mut self) {
        self.process = None;
    }

    /// The process, if it runs.
    pub fn pid(&mut self) -> Option<i32> {
        self.process.as_mut().and_then(|process| process.is_running().then(|| process.pid()))
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The file that leads a client to the key: `kmip:` and this path is a key source.
    #[must_use]
    pub fn address_file(&self) -> PathBuf {
        self.dir.join(ADDRESS_FILE)
    }

    /// How it stands.
    pub fn status(&mut self) -> KeyServerStatus {
        KeyServerStatus { address: self.address(), pid: self.pid(), address_file: self.address_file() }
    }

    fn write_address(&self, key: &str) -> Result<(), LabError> {
        let address = Address {
            key_id: key,
            servers: [self.address()],
            cert: "client.pem",
            key: "client-key.pem",
            ca: "ca.pem",
            timeout_ms: ANSWER_LIMIT_MS,
        };
        state::write(&self.address_file(), &address)
    }

    fn log_path(&self) -> PathBuf {
        log_path(&self.dir)
    }

    fn output_path(&self) -> PathBuf {
        self.dir.join("pykmip.out")
    }

    fn save(&self, pid: Option<i32>) -> Result<(), LabError> {
        let state = State { program: self.program.clone(), port: self.port, pid };
        state::write(&self.dir.join(STATE_FILE), &state)
    }
}

impl Drop for KeyServer {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.end_at_once();
        }
    }
}

/// The log, by which its process is known, too.
fn log_path(dir: &Path) -> PathBuf {
    dir.join("pykmip.log")
}

/// What `path` holds; nothing if it is not there yet.
fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
