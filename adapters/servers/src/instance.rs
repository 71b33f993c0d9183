//! One server process in its own directory: its record, its port, starting and stopping it. Not
//! here: the differences between kinds of servers (`mongod`, `pykmip`), groups of servers
//! (`mongod::ReplicaSet`).

use std::fmt::Debug;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::error::processes;
use crate::process::Process;
use crate::readiness::{self, free_port};
use crate::{directory, log, output_file, state};

/// Interval between checks of whether a server has started.
const POLL: Duration = Duration::from_millis(20);
/// Number of times that a new server may find a port taken that was free just before.
const PORT_TRIES: u32 = 5;
/// Time that a server that was there before waits for its port, which a connection to it may still
/// hold.
const PORT_LIMIT: Duration = Duration::from_secs(10);

/// Properties in which one kind of server differs from the next.
pub trait ServerKind {
    /// Options with which a server is started. They are recorded, so that another process can start
    /// the server again.
    type Options: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned;
    /// Name of the server in errors, such as `mongod`.
    const NAME: &'static str;
    /// File in the server's directory in which port, process and options are recorded.
    const RECORD: &'static str;
    /// File in the server's directory that is its log.
    const LOG: &'static str;
    /// File in the server's directory that takes what the server prints.
    const OUTPUT: &'static str;
    /// Signals that request the server to end, sent one after the other.
    const STOP: &'static [Signal];
    /// Time that the server may take to end after each of them.
    const STOP_LIMIT: Duration;
    /// Advice for a program that cannot be run: the second line of the error.
    const UNABLE: &'static str;

    /// True if a server whose port is taken runs on without it, so that it is of no use.
    const STAYS_WITHOUT_PORT: bool = false;

    /// Prepares the directory `dir` for a start.
    ///
    /// # Errors
    /// [`LabError::Io`].
    fn prepare(_dir: &Path) -> Result<(), LabError> {
        Ok(())
    }

    /// Returns the place of the data of the server in `dir`: for most a directory of its own.
    fn data_dir(dir: &Path) -> PathBuf {
        dir.join("data")
    }

    /// Returns the program with its arguments, for a server in `dir` that listens on `port` of
    /// 127.0.0.1.
    ///
    /// # Errors
    /// [`LabError::NoProgram`].
    fn command(dir: &Path, port: u16, options: &Self::Options) -> Result<Command, LabError>;

    /// Returns an argument of that command that no other process has: by it a process is
    /// recognised.
    fn mark(dir: &Path) -> PathBuf;

    /// Returns the port that `options` demand.
    fn fixed_port(_options: &Self::Options) -> Option<u16> {
        None
    }

    /// Returns the time that the server may take until it answers.
    fn start_limit(options: &Self::Options) -> Duration;

    /// Returns whether the server on `port` answers, given what it has logged since it was started.
    fn is_ready(port: u16, log: &str) -> bool;

    /// Returns whether the server reports that the port is taken, given its log and what it
    /// printed.
    fn is_port_taken(log: &str, output: &str) -> bool;

    /// Returns whether the server ran in `dir` before, so that a taken port may be its own, not yet
    /// free.
    fn has_run(_dir: &Path) -> bool {
        false
    }

    /// Sets up what a server in `dir` that has just become ready does not keep itself, or looks
    /// whether it is what it was started as.
    ///
    /// # Errors
    /// A refusal of the server, or a missing property; the server is then ended.
    fn set_up(_dir: &Path, _port: u16, _options: &Self::Options) -> Result<(), LabError> {
        Ok(())
    }

    /// Requests the server in `dir` to end by its own command, before any signal. Returns whether
    /// it will.
    fn farewell(_dir: &Path, _port: u16, _options: &Self::Options) -> bool {
        false
    }

    /// Returns the lines that explain why it did not start, most important first, given its log and
    /// its output.
    fn said(log: &str, output: &str) -> Vec<String>;
}

/// Facts about a server that the next process needs.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Record<K: ServerKind> {
    port: u16,
    pid: Option<i32>,
    #[serde(default)]
    options: K::Options,
}

/// A server on 127.0.0.1. It ends with the value, at once and whatever it was doing, and with the
/// process that started it, even if that is killed, unless [`Instance::leave_running`] was called.
#[derive(Debug)]
pub struct Instance<K: ServerKind> {
    dir: PathBuf,
    port: u16,
    options: K::Options,
    process: Option<Process>,
    /// Position in the log at which the last start begins.
    log_start: u64,
}

impl<K: ServerKind> Instance<K> {
    /// Starts a server in `dir`, which is created if it does not exist, and waits until it answers.
    /// A directory that had a server keeps its data and its port.
    ///
    /// # Errors
    /// No program; a directory that cannot be written; a server that exits or does not answer in
    /// time, with what it printed. No process is left behind.
    pub fn start(dir: &Path, options: K::Options) -> Result<Self, LabError> {
        let dir = directory::made(dir, directory::USUAL)?;
        let kept: Option<Record<K>> = state::read(&dir.join(K::RECORD))?;
        if let Some(pid) = kept.as_ref().and_then(|kept| kept.pid)
            && Process::found(pid, &K::mark(&dir)).is_some()
        {
            return Err(LabError::Running { dir, pids: processes(&[pid]) });
        }
        let kept = K::fixed_port(&options).or(kept.map(|kept| kept.port));
        let chosen = kept.is_none();
        let port = kept.map_or_else(free_port, Ok)?;
        let mut server = Self { dir, port, options, process: None, log_start: 0 };
        let mut tries = 1;
        loop {
            match server.start_again() {
                Err(LabError::Start { .. })
                    if chosen && server.port_was_taken() && tries < PORT_TRIES =>
                {
                    server.port = free_port()?;
                    tries += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => return Ok(server),
            }
        }
    }

    /// Takes over the server in `dir` that another process started, whether it runs or not; `None`
    /// if there never was one. It ends with the value.
    ///
    /// # Errors
    /// [`LabError::BadState`], [`LabError::Io`].
    pub fn find(dir: &Path) -> Result<Option<Self>, LabError> {
        let dir = directory::real(dir)?;
        let Some(Record::<K> { port, pid, options }) = state::read(&dir.join(K::RECORD))? else {
            return Ok(None);
        };
        let process = pid.and_then(|pid| Process::found(pid, &K::mark(&dir)));
        Ok(Some(Self { dir, port, options, process, log_start: 0 }))
    }

    /// Starts a server that has ended, in the same directory and on the same port, and waits until
    /// it answers. One that runs is left alone.
    ///
    /// # Errors
    /// As [`Instance::start`].
    pub fn start_again(&mut self) -> Result<(), LabError> {
        let begin = Instant::now();
        loop {
            match self.start_once() {
                // a connection that is about to close may still hold the port
                Err(LabError::Start { .. })
                    if K::has_run(&self.dir)
                        && self.port_was_taken()
                        && K::fixed_port(&self.options).is_none()
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
        let mut command = K::command(&self.dir, self.port, &self.options)?;
        K::prepare(&self.dir)?;
        let output = self.output_path();
        let (said, said_too) = output_file::create(&output)?;
        self.log_start = fs::metadata(self.log_path()).map_or(0, |facts| facts.len());
        self.save(None)?;
        let program = PathBuf::from(command.get_program());
        let child = command
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(said)
            .stderr(said_too)
            // Ctrl-C in a terminal is for the command that started it
            .process_group(0)
            .spawn()
            .map_err(|source| LabError::Io {
                attempt: "start",
                path: program,
                source,
                step: K::UNABLE,
            })?;
        let process = Process::started(child, &K::mark(&self.dir), K::STOP);
        let pid = process.pid();
        self.process = Some(process);
        let started = self.save(Some(pid)).and_then(|()| self.wait_until_ready());
        let started = started.and_then(|()| K::set_up(&self.dir, self.port, &self.options));
        if started.is_err() {
            self.end_at_once();
        }
        started
    }

    fn wait_until_ready(&mut self) -> Result<(), LabError> {
        let limit = K::start_limit(&self.options);
        let outcome =
            readiness::wait(limit, POLL, || match self.process.as_mut().and_then(Process::ended) {
                Some(status) => Some(Err(format!("it exited with {status}"))),
                None if K::STAYS_WITHOUT_PORT && self.port_was_taken() => {
                    Some(Err("its port is taken".into()))
                }
                None => K::is_ready(self.port, &self.logged()).then_some(Ok(())),
            });
        let found = match outcome {
            Some(Ok(())) => return Ok(()),
            Some(Err(found)) => found,
            None => format!("it did not answer within {} s", limit.as_secs()),
        };
        let (dir, said, log) = (self.dir.clone(), self.said(), self.log_path());
        Err(LabError::Start { server: K::NAME, dir, found, said, log })
    }

    /// Requests the server to end, and waits until it has.
    ///
    /// # Errors
    /// [`LabError::Stop`]; it then runs on.
    pub fn stop(&mut self) -> Result<(), LabError> {
        if self.is_running() && K::farewell(&self.dir, self.port, &self.options) {
            readiness::wait(K::STOP_LIMIT, POLL, || (!self.is_running()).then_some(()));
        }
        self.end(K::STOP)
    }

    /// Ends the server at once, as a power cut does to a process.
    ///
    /// # Errors
    /// As [`Instance::stop`].
    pub fn kill(&mut self) -> Result<(), LabError> {
        self.end(&[Signal::SIGKILL])
    }

    fn end(&mut self, signals: &[Signal]) -> Result<(), LabError> {
        let (dir, log) = (self.dir.clone(), self.log_path());
        if let Some(process) = &mut self.process
            && process.is_running()
        {
            let mut ended = false;
            for signal in signals {
                ended = ended
                    || process.end(*signal, K::STOP_LIMIT).map_err(|source| LabError::Io {
                        attempt: "end the server in",
                        path: dir.clone(),
                        source,
                        step: "stop the process by hand",
                    })?;
            }
            if !ended {
                let (pid, limit_s) = (process.pid(), K::STOP_LIMIT.as_secs());
                return Err(LabError::Stop { server: K::NAME, pid, dir, limit_s, log });
            }
        }
        self.process = None;
        self.save(None)
    }

    /// As [`Instance::kill`], where a failure cannot be reported.
    fn end_at_once(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.end_at_once();
        }
        // the directory may have been removed
        let _ = self.save(None);
    }

    /// Lets the server run on after this process has ended; [`Instance::find`] takes it over again.
    pub fn leave_running(mut self) {
        self.process = None;
    }

    /// Returns whether the server runs.
    pub fn is_running(&mut self) -> bool {
        self.pid().is_some()
    }

    /// Returns the process, if it runs.
    pub fn pid(&mut self) -> Option<i32> {
        self.process.as_mut().and_then(|process| process.is_running().then(|| process.pid()))
    }

    /// Returns the port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the directory of the server.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the place of its data, as [`ServerKind::data_dir`] does.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        K::data_dir(&self.dir)
    }

    /// Returns the log.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.dir.join(K::LOG)
    }

    /// Returns the path of the file with the server's output.
    #[must_use]
    pub(crate) fn output_path(&self) -> PathBuf {
        self.dir.join(K::OUTPUT)
    }

    /// Returns the messages in its log and its output that matter, most important first.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        K::said(&self.logged(), &log::read_from(&self.output_path(), 0))
    }

    /// Returns the options with which it is started.
    #[must_use]
    pub fn options(&self) -> &K::Options {
        &self.options
    }

    /// Changes how it is started the next time.
    pub fn set_options(&mut self, options: K::Options) {
        self.options = options;
    }

    /// Returns what it has logged since it was started.
    fn logged(&self) -> String {
        log::read_from(&self.log_path(), self.log_start)
    }

    fn port_was_taken(&self) -> bool {
        K::is_port_taken(&self.logged(), &log::read_from(&self.output_path(), 0))
    }

    fn save(&self, pid: Option<i32>) -> Result<(), LabError> {
        let record = Record::<K> { port: self.port, pid, options: self.options.clone() };
        state::write(&self.dir.join(K::RECORD), &record)
    }
}

impl<K: ServerKind> Drop for Instance<K> {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.end_at_once();
        }
    }
}
