//! Ctrl-C, and the other polite ways to end a process: the first asks it to stop with results, the second stops it at
//! once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::message::say;

/// Sets the handler; the flag it returns turns true when the user asks for an end. `stores` is where unfinished stores
/// would be left by an abort, for the message.
///
/// # Errors
/// A handler that is set already.
pub(crate) fn install(stores: &Path) -> anyhow::Result<Arc<AtomicBool>> {
    install_saying(
        "stopping: finishing the current operations and keeping what was measured; Ctrl-C again aborts at once",
        format!("aborted; unfinished stores may be left in {}", stores.display()),
    )
}

/// Runs `start`, which starts servers. At the first Ctrl-C they are stopped, and so is this process: `saying` says what
/// remains.
///
/// # Errors
/// A handler that is set already, or as `start`.
#[cfg(feature = "lab")]
pub(crate) fn ending_servers<T>(saying: String, start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    ctrlc::set_handler(move || {
        seen.store(true, Ordering::SeqCst);
        say(&format!("\n{saying}"));
        end_servers();
        // the exit code by which a shell reports a process ended by SIGINT
        std::process::exit(130);
    })
    .context("cannot listen for Ctrl-C")?;
    let outcome = start();
    // a server that was stopped is not a failure to report
    while asked.load(Ordering::SeqCst) {
        std::thread::park();
    }
    outcome
}

/// Kills the processes that this one started: servers of a lab, which would keep running for nobody. Looks again until
/// there are none, since this process may be starting another one.
fn end_servers() {
    while end_running_servers() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether there were any.
fn end_running_servers() -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = false;
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // the name in brackets is followed by the state and the parent (proc(5))
        let mut facts = stat.rsplit_once(')').map_or("", |(_, facts)| facts).split_whitespace();
        let (state, parent) = (facts.next(), facts.next().and_then(|parent| parent.parse::<u32>().ok()));
        if parent == Some(std::process::id()) && state != Some("Z") {
            found |= kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
        }
    }
    found
}

/// As [`install`], with other words: what the first Ctrl-C does, and what the second one did.
///
/// # Errors
/// A handler that is set already.
pub(crate) fn install_saying(first: &'static str, second: String) -> anyhow::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    ctrlc::set_handler(move || {
        if !seen.swap(true, Ordering::SeqCst) {
            say(&format!("\n{first}"));
            return;
        }
        say(&format!("\n{second}"));
        end_servers();
        // an orderly exit would wait for the engine's threads, and the user has waited once already
        let _ = kill(Pid::this(), Signal::SIGKILL);
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(asked)
}
