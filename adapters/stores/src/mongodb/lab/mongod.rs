//! One real server: started in a directory of its own, waited for, ended. Not here: what it is asked (`admin`), several
//! that know each other (`replica_set`).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::process::Process;
use super::{LabError, find_mongod, free_port, io, log, state};

/// What stands in the directory of a server.
const STATE_FILE: &str = "mongod.toml";
/// How long a server may take to end after it was asked to.
const STOP_LIMIT: Duration = Duration::from_secs(120);
/// How often it is looked whether a server has started.
const POLL: Duration = Duration::from_millis(20);
/// How often a new server may meet a port that was free just before.
const PORT_TRIES: u32 = 5;
/// How long a server that was there before waits for its port, which a connection to it may still hold.
const PORT_LIMIT: Duration = Duration::from_secs(10);
/// What the errors call it.
const SERVER: &str = "mongod";
/// What no process but a server in this directory is asked to end with.
const NOT_ENDED: &str = "end the process by hand";

/// How a server is started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MongodOptions {
    /// The program; without it as [`find_mongod`] finds it.
    pub program: Option<PathBuf>,
    /// Port on 127.0.0.1; without it one that the system chooses, kept from then on.
    pub port: Option<u16>,
    /// Cache of the storage engine, in gigabytes; the least is 0.25.
    pub cache_gb: f64,
    /// Name of the replica set that it is a member of.
    pub replica_set: Option<String>,
    /// What the storage engine is told, such as which extension to load: see
    /// [`EngineOptions`](sealstone_wiredtiger::engine_options::EngineOptions).
    pub engine_config: Option<String>,
    /// More arguments.
    pub arguments: Vec<String>,
    /// More variables of its environment.
    pub environment: Vec<(String, String)>,
    /// How long it may take until it answers, in seconds.
    pub start_limit_s: u64,
}

impl Default for MongodOptions {
    fn default() -> Self {
        Self {
            program: None,
            port: None,
            cache_gb: 0.25,
            replica_set: None,
            engine_config: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            start_limit_s: 120,
        }
    }
}

/// What the next process needs to know of a server.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    port: u16,
    pid: Option<i32>,
    options: MongodOptions,
}

/// A server on 127.0.0.1. Ends with the value, at once and whatever it was doing, unless [`Mongod::leave_running`] was
/// called.
#[derive(Debug)]
pub struct Mongod {
    dir: PathBuf,
    port: u16,
    options: MongodOptions,
    process: Option<Process>,
    /// Where in the log the last start begins.
    log_start: u64,
}

impl Mongod {
    /// Starts a server in `dir`, which is made if it is not there, and waits until it answers. A directory that had a
    /// server keeps its data and its port.
    ///
    /// # Errors
    /// No program; a directory that cannot be written; a server that ends or does not answer in time, with what it
    /// said. No process is left behind.
    pub fn start(dir: &Path, options: MongodOptions) -> Result<Self, LabError> {
        fs::create_dir_all(dir).map_err(|error| io("create directory", dir, error))?;
        let dir = dir.canonicalize().map_err(|error| io("look at", dir, error))?;
        let kept: Option<State> = state::read(&dir.join(STATE_FILE))?;
        if let Some(pid) = kept.as_ref().and_then(|kept| kept.pid)
            && Process::found(pid, &data_dir(&dir)).is_some()
        {
            return Err(LabError::Running { dir, pids: format!("process {pid}") });
        }
        let kept = kept.map(|kept| kept.port);
        let port = options.port.or(kept).map_or_else(free_port, Ok)?;
        let chosen = options.port.is_none() && kept.is_none();
        let mut server = Self { dir, port, options, process: None, log_start: 0 };
        let mut tries = 1;
        loop {
            match server.start_again() {
                Err(LabError::Start { .. }) if chosen && server.port_was_taken() && tries < PORT_TRIES => {
                    server.port = free_port()?;
                    tries += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(server),
            }
        }
    }

    /// Takes over the server in `dir` that another process started, whether it runs or not. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::BadState`].
    pub fn open(dir: &Path) -> Result<Self, LabError> {
        let dir = dir.canonicalize().map_err(|error| io("look at", dir, error))?;
        let Some(State { port, pid, options }) = state::read(&dir.join(STATE_FILE))? else {
            return Err(LabError::NoLab { dir });
        };
        let process = pid.and_then(|pid| Process::found(pid, &data_dir(&dir)));
        Ok(Self { dir, port, options, process, log_start: 0 })
    }

    /// Starts a server that has ended, in the same directory and on the same port, and waits until it answers.
    ///
    /// # Errors
    /// As [`Mongod::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        let begin = Instant::now();
        loop {
            match self.start_once() {
                // a connection that is about to close may hold the port still
                Err(LabError::Start { .. })
                    if self.data_dir().join("WiredTiger").exists()
                        && self.port_was_taken()
                        && self.options.port.is_none()
                        && begin.elapsed() < PORT_LIMIT =>
                {
                    thread::sleep(POLL * 10);
                }
                outcome => return outcome,
            }
        }
    }

    fn start_once(&mut self) -> Result<(), LabError> {
        if self.is_running() {
            return Ok(());
        }
        let program = find_mongod(self.options.program.as_deref())?;
        let (data, log, output) = (self.data_dir(), self.log_path(), self.output_path());
        fs::create_dir_all(&data).map_err(|error| io("create directory", &data, error))?;
        let said = File::create(&output).map_err(|error| io("create", &output, error))?;
        let said_too = said.try_clone().map_err(|error| io("create", &output, error))?;
        self.log_start = fs::metadata(&log).map_or(0, |facts| facts.len());
        self.save(None)?;
        let child = Command::new(&program)
            .args(self.arguments())
            .envs(self.options.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(said_too)
            // Ctrl-C in a terminal is for the command that started it
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::Io {
                attempt: "start",
                path: program.clone(),
                source,
                step: "give a mongod that this machine can run",
            })?;
        let process = Process::started(child, &data);
        let pid = process.pid();
        self.process = Some(process);
        let started = self.save(Some(pid)).and_then(|()| self.wait_until_ready());
        if started.is_err() {
            self.end_at_once();
        }
        started
    }

    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: OsString| arguments.extend([name.into(), value]);
        add("--bind_ip", "127.0.0.1".into());
        add("--port", self.port.to_string().into());
        add("--dbpath", self.data_dir().into());
        add("--logpath", self.log_path().into());
        add("--wiredTigerCacheSizeGB", self.options.cache_gb.to_string().into());
        if let Some(name) = &self.options.replica_set {
            add("--replSet", name.into());
        }
        if let Some(config) = &self.options.engine_config {
            add("--wiredTigerEngineConfigString", config.into());
        }
        arguments.extend(["--logappend", "--nounixsocket"].map(OsString::from));
        // a member waits 15 s for clients to turn elsewhere; nothing is gained by that here
        arguments.extend(["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"].map(OsString::from));
        arguments.extend(self.options.arguments.iter().map(OsString::from));
        arguments
    }

    fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let begin = Instant::now();
        let limit = Duration::from_secs(self.options.start_limit_s);
        loop {
            let ended = self.process.as_mut().and_then(Process::ended);
            let said = read_from(&self.log_path(), self.log_start);
            let found = match ended {
                Some(status) => format!("it ended with {status}"),
                None if log::is_ready(&said) => return Ok(()),
                None if begin.elapsed() > limit => format!("it did not answer within {} s", limit.as_secs()),
                None => {
                    thread::sleep(POLL);
                    continue;
                }
            };
            let output = fs::read_to_string(self.output_path()).unwrap_or_default();
            let said = log::matters(&said, &output);
            let (dir, log) = (self.dir.clone(), self.log_path());
            return Err(LabError::Start { server: SERVER, dir, found, said, log });
        }
    }

    fn port_was_taken(&self) -> bool {
        log::is_port_taken(&read_from(&self.log_path(), self.log_start))
    }

    /// Asks the server to end, and waits until it has.
    ///
    /// # Errors
    /// [`LabError::Stop`]; it then runs on.
    pub fn stop(&mut self) -> Result<(), LabError> {
        self.signal(Signal::SIGTERM)
    }

    /// Ends the server at once, as a power cut does to a process.
    ///
    /// # Errors
    /// As [`Mongod::stop`].
    pub fn kill(&mut self) -> Result<(), LabError> {
        self.signal(Signal::SIGKILL)
    }

    fn signal(&mut self, signal: Signal) -> Result<(), LabError> {
        if let Some(process) = &mut self.process
            && process.is_running()
        {
            let ended = process.end(signal, STOP_LIMIT).map_err(|source| LabError::Io {
                attempt: "end mongod in",
                path: self.dir.clone(),
                source,
                step: NOT_ENDED,
            })?;
            if !ended {
                let (pid, dir, log) = (process.pid(), self.dir.clone(), self.log_path());
                return Err(LabError::Stop { server: SERVER, pid, dir, limit_s: STOP_LIMIT.as_secs(), log });
            }
        }
        self.process = None;
        self.save(None)
    }

    /// As [`Mongod::kill`], where nobody can be told that it did not work.
    fn end_at_once(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end_at_once();
        }
        // the directory may be gone by now
        let _ = self.save(None);
    }

    /// Lets the server run on after this process has ended; [`Mongod::open`] finds it again.
    pub fn leave_running(mut self) {
        self.process = None;
    }

    /// Whether the server runs.
    pub fn is_running(&mut self) -> bool {
        self.pid().is_some()
    }

    /// The process, if it runs.
    pub fn pid(&mut self) -> Option<i32> {
        self.process.as_mut().and_then(|process| process.is_running().then(|| process.pid()))
    }

    /// Port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Address for a client that wants this very server, whatever it is a member of.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.address())
    }

    /// Directory of the server; its data lie in [`Mongod::data_dir`].
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Data directory (`--dbpath`).
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        data_dir(&self.dir)
    }

    /// The log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.dir.join("mongod.log")
    }

    fn output_path(&self) -> PathBuf {
        self.dir.join("mongod.out")
    }

    /// What the log says that matters, most important first.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        log::matters(
            &read_from(&self.log_path(), self.log_start),
            &fs::read_to_string(self.output_path()).unwrap_or_default(),
        )
    }

    /// How it is started.
    #[must_use]
    pub fn options(&self) -> &MongodOptions {
        &self.options
    }

    /// Changes how it is started the next time.
    pub fn set_options(&mut self, options: MongodOptions) {
        self.options = options;
    }

    /// Removes all data and the log of a server that does not run; port and options stay.
    ///
    /// # Errors
    /// [`LabError::Running`], [`LabError::Io`].
    pub fn empty(&mut self) -> Result<(), LabError> {
        if let Some(pid) = self.pid() {
            return Err(LabError::Running { dir: self.dir.clone(), pids: format!("process {pid}") });
        }
        let data = self.data_dir();
        match fs::remove_dir_all(&data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io("empty", &data, error)),
            _ => Ok(()),
        }
    }

    fn save(&self, pid: Option<i32>) -> Result<(), LabError> {
        let state = State { port: self.port, pid, options: self.options.clone() };
        state::write(&self.dir.join(STATE_FILE), &state)
    }
}

impl Drop for Mongod {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.end_at_once();
        }
    }
}

/// Where the data lie; by it a process is known, too.
fn data_dir(dir: &Path) -> PathBuf {
    dir.join("data")
}

/// What `path` holds from `start` on; nothing if it is not there yet.
fn read_from(path: &Path, start: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = OpenOptions::new().read(true).open(path)
        && file.seek(SeekFrom::Start(start)).is_ok()
    {
        // what was read until an error is as good as none
        let _ = file.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
