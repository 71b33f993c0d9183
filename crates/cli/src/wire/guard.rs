//! `sealstone wire guard`: keeps packets of a tunnel off other routes before the tunnel exists.

use sealstone_wire::tunnel::{Guards, RuntimeDir};

use crate::flags::WireGuard;
use crate::message::{Answer, print, say};

/// Sets it up, unless the settings exclude it.
pub(crate) fn run(flags: &WireGuard) -> anyhow::Result<Answer> {
    let config = flags.config()?;
    let (name, guard) = config.guard()?;
    if config.guard == Some(false) {
        print(&format!("tunnel {name} is to have no guard: guard = false\n"))?;
        return Ok(Answer::Done);
    }
    let runtime = RuntimeDir::open(flags.runtime.runtime_dir.as_deref())?;
    if let Some(without) = Guards(&runtime).put(&name, &guard)? {
        say(&format!("warning: {without}"));
    }
    print(&format!(
        "guard of tunnel {name} is set up: nothing goes to {} but through it\n",
        guard.listed()
    ))?;
    Ok(Answer::Done)
}
