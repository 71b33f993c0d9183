//! `sealstone wire`: a tunnel of sealed packets between two machines.

mod down;
mod guard;
mod status;
mod suites;
mod unit;
mod up;

use crate::flags::WireCommand;
use crate::message::Answer;

/// Runs one of the commands.
pub(crate) fn run(command: &WireCommand) -> anyhow::Result<Answer> {
    match command {
        WireCommand::Up(flags) => up::run(flags),
        WireCommand::Status { name, runtime, json } => {
            status::run(name.as_deref(), runtime.runtime_dir.as_deref(), *json)
        }
        WireCommand::Down { name, remove_guard, runtime } => {
            down::run(name, *remove_guard, runtime.runtime_dir.as_deref())
        }
        WireCommand::Guard(flags) => guard::run(flags),
        WireCommand::Unit { guard, config } => unit::run(config, *guard),
        WireCommand::Suites { json } => suites::run(*json),
    }
}
