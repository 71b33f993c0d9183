//! Ctrl-C, and the other polite ways to end a process: once asks for an end with results, twice ends at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        // an orderly exit would wait for the engine's threads, and the user has waited once already
        let _ = kill(Pid::this(), Signal::SIGKILL);
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(asked)
}
