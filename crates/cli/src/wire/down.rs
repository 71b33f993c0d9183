//! `sealstone wire down`: ends a tunnel, whatever state it is in, and leaves nothing of it.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_wire::config::check_name;
use sealstone_wire::runtime::{RuntimeDir, RuntimeError};

use crate::message::{Answer, print};

/// How long a tunnel may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends tunnel `name`.
pub(crate) fn run(name: &str, runtime_dir: Option<&Path>) -> anyhow::Result<Answer> {
    check_name(name)?;
    let runtime = RuntimeDir::open(runtime_dir)?;
    let Some(pid) = runtime.pid(name) else {
        if runtime.remove_left_over(name)? {
            print(&format!("tunnel {name} was not up: its process had been killed; removed what it left\n"))?;
            return Ok(Answer::Done);
        }
        return Err(RuntimeError::NotRunning { name: name.to_owned(), running: runtime.running()? }.into());
    };
    // one that does not answer is ended by force
    let asked = runtime.ask(name, "down").is_ok_and(|answer| !answer.is_empty());
    let signals = [(!asked).then_some(Signal::SIGTERM), Some(Signal::SIGKILL)];
    let mut ended = asked && wait(&runtime, name);
    for signal in signals.into_iter().flatten() {
        if ended {
            break;
        }
        let _ = kill(Pid::from_raw(pid), signal);
        ended = wait(&runtime, name);
    }
    if !ended {
        anyhow::bail!("process {pid} of tunnel {name} does not end\nsee what it waits for: ps -o stat,wchan {pid}");
    }
    runtime.remove_left_over(name)?;
    print(&format!("tunnel {name} is down\n"))?;
    Ok(Answer::Done)
}

/// Whether it ends in time.
fn wait(runtime: &RuntimeDir, name: &str) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if runtime.pid(name).is_none() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
