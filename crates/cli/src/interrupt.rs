//! Ctrl-C, and the other polite ways to end a process: the first stops it with results, the second
//! ends it at once, without leaving anything behind.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_bench::compare::work_dir;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::audit_log;
use crate::end_request::{self, exit_code};
use crate::message::say;

/// Listens for a comparison; the flag it returns turns true when the user requests an end. `stores`
/// is the place of unfinished stores, and `made` the results directory made by this run, which is
/// removed if empty.
///
/// # Errors
/// Signals that cannot be listened for.
pub(crate) fn install(stores: &Path, made: Option<&Path>) -> anyhow::Result<Arc<AtomicBool>> {
    let (stores, made) = (stores.to_owned(), made.map(Path::to_owned));
    install_with(
        "stopping: finishing the current operations and keeping what was measured; Ctrl-C again \
         aborts at once",
        move || match work_dir::remove_own() {
            Some(left) if !left.is_empty() => {
                format!("aborted; unfinished stores are left in {}", places(&left))
            }
            Some(_) => {
                let _ = made.map(std::fs::remove_dir);
                "aborted; the unfinished stores were removed".into()
            }
            // they are where the user keeps them
            None => format!("aborted; unfinished stores may be left in {}", stores.display()),
        },
    )
}

fn places(dirs: &[PathBuf]) -> String {
    dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Runs `start`, which starts servers. At the first Ctrl-C they are stopped, and so is this
/// process: `saying` describes what remains.
///
/// # Errors
/// Signals that cannot be listened for, or as `start`.
#[cfg(feature = "lab")]
pub(crate) fn ending_servers<T>(
    saying: String,
    start: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    listen(move |_| {
        say(&format!("\n{saying}"));
        end();
    })?;
    let outcome = start();
    // a server that was stopped is not a failure to report
    if exit_code().is_some() {
        end_request::take_the_end();
        end_request::leave_the_end();
    }
    outcome
}

/// Kills the processes that this one started: servers, which would keep running for nobody. Looks
/// again until there are none, since this process may be starting another one.
fn end_servers() {
    while end_running_servers() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the running servers and returns whether there were any.
fn end_running_servers() -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let pids =
        processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = false;
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // the name in brackets is followed by the state and the parent (proc(5))
        let mut facts = stat.rsplit_once(')').map_or("", |(_, facts)| facts).split_whitespace();
        let (state, parent) =
            (facts.next(), facts.next().and_then(|parent| parent.parse::<u32>().ok()));
        if parent == Some(std::process::id()) && state != Some("Z") {
            found |= kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
        }
    }
    found
}

/// As [`install`], with other messages for the first and the second Ctrl-C.
///
/// # Errors
/// Signals that cannot be listened for.
pub(crate) fn install_saying(
    first: &'static str,
    second: String,
) -> anyhow::Result<Arc<AtomicBool>> {
    install_with(first, move || second)
}

/// As [`install_saying`], for work that the same command goes on with.
///
/// # Errors
/// Signals that cannot be listened for.
#[cfg(feature = "volume")]
pub(crate) fn install_for_later() -> anyhow::Result<Arc<AtomicBool>> {
    install_saying("stopping: the same command goes on later", "ended at once".into())
}

/// As [`install_saying`]; at the second Ctrl-C `second` does the remaining work, once no server
/// runs, and reports it.
fn install_with(
    first: &'static str,
    second: impl FnOnce() -> String + Send + 'static,
) -> anyhow::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let mut second = Some(second);
    listen(move |again| {
        if !again {
            seen.store(true, Ordering::SeqCst);
            say(&format!("\n{first}"));
            return;
        }
        end_request::take_the_end();
        end_servers();
        if let Some(second) = second.take() {
            say(&format!("\n{}", second()));
        }
        end();
    })?;
    Ok(asked)
}

/// Ends this process and its child processes.
fn end() -> ! {
    end_request::take_the_end();
    end_servers();
    let code = exit_code().unwrap_or(1);
    if let Err(error) = audit_log::end(("interrupted", code)) {
        say(&format!("{error:#}"));
    }
    // an orderly exit would wait for the engine's threads, and the user has waited once already
    low_level::exit(code.into())
}

/// Starts a thread that calls `handle` for each signal that requests an end, with whether there was
/// one before.
fn listen(mut handle: impl FnMut(bool) + Send + 'static) -> anyhow::Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for Ctrl-C")?;
    let listening = move || {
        for signal in signals.forever() {
            handle(end_request::note(signal));
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(listening)
        .context("cannot listen for Ctrl-C")?;
    Ok(())
}
