//! A process that a lab started, in this run of the program or in an earlier one: the check that it
//! is ours and runs, and its end. Not here: starting and awaiting it (`instance`).

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::readiness;
use crate::watchdog::Watched;

/// Interval between checks of whether a process has ended.
const POLL: Duration = Duration::from_millis(20);

/// A process, identified by an argument that no other has: the number of an ended one may have been
/// reused.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    /// Only where this process started it; one that has ended is a zombie until it is waited for.
    child: Option<Child>,
    /// The argument.
    mark: PathBuf,
    /// Only where this process started it and must not leave it behind.
    _watched: Option<Watched>,
}

impl Process {
    /// Returns a process that was started here. As long as the value lives it ends with this
    /// process, however that ends: by `signals`, one after the other.
    pub fn started(child: Child, mark: &Path, signals: &[Signal]) -> Self {
        let pid = child.id() as i32;
        Self {
            pid,
            child: Some(child),
            mark: mark.to_owned(),
            _watched: Watched::new(pid, signals),
        }
    }

    /// Returns the process that another process started as `pid`; `None` if it has ended.
    pub fn found(pid: i32, mark: &Path) -> Option<Self> {
        is_marked(pid, mark).then(|| Self {
            pid,
            child: None,
            mark: mark.to_owned(),
            _watched: None,
        })
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns the exit status, if it was started here and has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok().flatten()
    }

    /// Returns whether it runs, and is ours.
    pub fn is_running(&mut self) -> bool {
        match self.child {
            Some(_) => self.ended().is_none(),
            None => is_marked(self.pid, &self.mark),
        }
    }

    /// Sends `signal` to it, which runs, and waits; false if it has not ended within `limit`.
    ///
    /// # Errors
    /// The system's error for the signal.
    pub fn end(&mut self, signal: Signal, limit: Duration) -> std::io::Result<bool> {
        kill(Pid::from_raw(self.pid), signal)?;
        Ok(readiness::wait(limit, POLL, || self.is_gone().then_some(())).is_some())
    }

    /// Stops it at once, where a failure cannot be reported.
    pub(crate) fn end_at_once(&mut self) {
        if self.is_running() {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
            if let Some(child) = &mut self.child {
                let _ = child.wait();
            }
        }
    }

    /// Returns whether it, which was ours, has released its files and its port.
    fn is_gone(&mut self) -> bool {
        if self.child.is_some() {
            return self.ended().is_some();
        }
        let facts = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // "PID (name) S …": the name may contain anything, even a parenthesis
        facts.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    }
}

/// Process `pid` and all that it started itself and that run.
#[must_use]
pub fn family(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_child = |other: &i32| {
        let facts = fs::read_to_string(format!("/proc/{other}/stat")).unwrap_or_default();
        // "PID (name) STATE PARENT …"
        let parent =
            facts.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        parent == Some(pid)
    };
    std::iter::once(pid).chain(pids.filter(is_child)).collect()
}

/// Returns whether process `pid` runs and has the argument `mark`.
fn is_marked(pid: i32, mark: &Path) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).any(|argument| argument == mark.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_children() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = std::process::id() as i32;
        let found = family(own);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found[0] == own && found.contains(&(child.id() as i32)), "{found:?}");
    }
}
