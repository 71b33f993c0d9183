//! `sealstone wire down`: ends a tunnel in any state, and leaves nothing of it except its guard, if
//! requested.

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_wire::tunnel::{Guards, RuntimeDir, RuntimeError, check_name};

use crate::message::{Answer, print};

/// Time that a tunnel may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ends tunnel `name`, and removes its guard if requested.
pub(crate) fn run(
    name: &str,
    remove_guard: bool,
    runtime_dir: Option<&Path>,
) -> anyhow::Result<Answer> {
    check_name(name)?;
    let runtime = RuntimeDir::open(runtime_dir)?;
    let guards = Guards(&runtime);
    let ended = end(&runtime, name)?;
    let guard = guards.get(name)?;
    match (ended, &guard) {
        (Some(said), _) => print(&said)?,
        (None, Some(_)) if remove_guard => {}
        (None, _) => {
            return Err(RuntimeError::NotRunning {
                name: name.to_owned(),
                running: runtime.running()?,
            }
            .into());
        }
    }
    if let Some(guard) = guard {
        if remove_guard {
            guards.remove(name)?;
            print(&format!(
                "guard of tunnel {name} is removed: {} go where other routes lead\n",
                guard.listed()
            ))?;
        } else {
            let listed = guard.listed();
            print(&format!(
                "its guard stays: nothing goes to {listed}; sealstone wire down {name} \
                 --remove-guard\n"
            ))?;
        }
    }
    Ok(Answer::Done)
}

/// Ends the process of tunnel `name`. Returns a message, if there was something to end.
fn end(runtime: &RuntimeDir, name: &str) -> anyhow::Result<Option<String>> {
    let Some(pid) = runtime.pid(name) else {
        let killed = runtime.remove_left_over(name)?;
        let said = || {
            format!("tunnel {name} was not up: its process had been killed; removed what it left\n")
        };
        return Ok(killed.then(said));
    };
    // one that does not answer is ended by force
    let asked = runtime.ask(name, "down").is_ok_and(|answer| !answer.is_empty());
    let signals = [(!asked).then_some(Signal::SIGTERM), Some(Signal::SIGKILL)];
    let mut ended = asked && wait(runtime, name);
    for signal in signals.into_iter().flatten() {
        if ended {
            break;
        }
        let _ = kill(Pid::from_raw(pid), signal);
        ended = wait(runtime, name);
    }
    if !ended {
        anyhow::bail!(
            "process {pid} of tunnel {name} does not end\nsee what it waits for: ps -o stat,wchan \
             {pid}"
        );
    }
    runtime.remove_left_over(name)?;
    Ok(Some(format!("tunnel {name} is down\n")))
}

/// Waits for the tunnel to end and returns whether it does so in time.
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
