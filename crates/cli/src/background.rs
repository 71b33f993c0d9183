//! A process of its own: this program started again, and left by the terminal once it reports that
//! it is ready.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::Context;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use crate::audit_log;
use crate::message::print;

/// Line that a process in the background prints once it is set up.
const READY: &str = "ready";

/// Starts this program again with the same arguments and `more`, and waits until it is set up. If
/// that fails, this process ends as that one did, which has reported why.
///
/// # Errors
/// No process can be started.
pub(crate) fn start(more: &[&str], whose: &str) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut child = Command::new(program)
        .args(std::env::args_os().skip(1))
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start a process for {whose}"))?;
    let ready = child.stdout.take().map(BufReader::new).and_then(|out| out.lines().next());
    if !ready.is_some_and(|line| line.is_ok_and(|line| line == READY)) {
        let status = child.wait().with_context(|| format!("cannot wait for {whose}"))?;
        let code = status.code().unwrap_or(2);
        audit_log::end(("error", u8::try_from(code).unwrap_or(2)))?;
        std::process::exit(code);
    }
    Ok(())
}

/// Says that this process is set up, to the one that waits for it, and leaves the terminal: neither
/// does its end end this process, nor does this process keep a pipe open.
///
/// # Errors
/// Of the system.
pub(crate) fn ready() -> anyhow::Result<()> {
    print(&format!("{READY}\n"))?;
    leave_terminal().context("cannot leave the terminal")
}

fn leave_terminal() -> std::io::Result<()> {
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // fails for the leader of a process group, which then stays one
    let _ = setsid();
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    Ok(dup2_stderr(&nothing)?)
}
