//! Processes that a run started in its namespaces and that outlived it, since it was killed.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that names the run that started a process.
pub(super) const MARK: &str = "SEALSTONE_LINKS";

/// Returns the time at which process `id` started, in ticks since the machine's start: together
/// with its id it is unique.
fn started(id: u32) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // the name of the program, in parentheses, may hold anything
    let (_, after) = text.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let is_dead = fields.next()? == "Z";
    fields.nth(18).filter(|_| !is_dead).map(str::to_owned)
}

/// Returns the text that this process writes into [`MARK`].
pub(super) fn mark() -> String {
    let id = std::process::id();
    format!("{id}:{}", started(id).unwrap_or_default())
}

/// Returns whether the run that made `mark` no longer exists.
fn is_over(mark: &str) -> bool {
    let Some((id, then)) = mark.split_once(':') else { return false };
    let Ok(id) = id.parse() else { return false };
    !then.is_empty() && started(id).as_deref() != Some(then)
}

/// Ends processes that a run which is there no more started by [`command`](super::command). Returns
/// how many.
///
/// Namespaces, devices and routes of a killed run go away with the last of them.
pub fn remove_orphans() -> usize {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let left = |path: &Path| {
        let id: i32 = path.file_name()?.to_str()?.parse().ok()?;
        let environment = fs::read(path.join("environ")).ok()?;
        let marked = |entry: &&[u8]| {
            entry.starts_with(MARK.as_bytes()) && entry.get(MARK.len()) == Some(&b'=')
        };
        let entry = environment.split(|byte| *byte == 0).find(marked)?;
        is_over(std::str::from_utf8(&entry[MARK.len() + 1..]).ok()?).then_some(Pid::from_raw(id))
    };
    let processes = entries.flatten().filter_map(|entry| left(&entry.path()));
    processes.filter(|id| kill(*id, Signal::SIGKILL).is_ok()).count()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_what_a_dead_run_started_is_ended() {
        let sleeper = |mark: &str| {
            let mut command = Command::new("sleep");
            command.arg("100").env(MARK, mark).stdin(Stdio::null()).spawn().unwrap()
        };
        // as if this id had belonged to another process before
        let of_dead_run = format!("{}:1", std::process::id());
        let (mut left, mut living, mut odd) =
            (sleeper(&of_dead_run), sleeper(&mark()), sleeper("nonsense"));
        // another test may have done it a moment before
        remove_orphans();
        assert!(!left.wait().unwrap().success());
        for other in [&mut living, &mut odd] {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
