//! `sealstone completions`, the completions themselves, and `sealstone man`: from the same
//! definition as the flags.

use std::ffi::OsString;
use std::fs;

use anyhow::Context;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;
use sealstone_file::output::{self, Access};

use crate::flags::{self, CompletionsFlags, ManFlags};
use crate::manual;
use crate::message::{Answer, print_exactly, say};

/// The variable by which a shell requests the completions of a line, instead of running it.
const VARIABLE: &str = "SEALSTONE_COMPLETE";
/// Name of the program that a shell completes, and that it calls for completions.
const PROGRAM: &str = "sealstone";

/// Writes the completion script of one shell to stdout. The script calls this program at each
/// completion, so that values after a comma are completed too, which the shells' own rules cannot
/// express.
pub(crate) fn completions(flags: &CompletionsFlags) -> anyhow::Result<Answer> {
    let shells = Shells::builtins();
    let name = flags.shell.to_string();
    let shell = shells.completer(&name).with_context(|| format!("no completions for {name}"))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .context("completion script")?;
    print_exactly(&String::from_utf8(script).context("completion script")?)?;
    Ok(Answer::Done)
}

/// Answers a shell that requests completions of `arguments`; returns whether one did.
///
/// # Errors
/// An unknown shell, or one that does not read.
pub(crate) fn complete(arguments: &[OsString]) -> anyhow::Result<bool> {
    let here = std::env::current_dir().ok();
    let answer =
        CompleteEnv::with_factory(flags::definition).var(VARIABLE).bin(PROGRAM).completer(PROGRAM);
    Ok(answer.try_complete(arguments, here.as_deref())?)
}

/// Writes the manual page to stdout, or the pages of all commands into a folder.
pub(crate) fn manual(flags: &ManFlags) -> anyhow::Result<Answer> {
    match &flags.out {
        Some(dir) => {
            fs::create_dir_all(dir)
                .with_context(|| format!("cannot make the folder {}", dir.display()))?;
            for (name, page) in manual::pages(flags::definition()) {
                let path = dir.join(name);
                output::replace(&path, Access::Usual, page.as_bytes())
                    .with_context(|| format!("cannot write the manual page {}", path.display()))?;
            }
            say(&format!(
                "manual pages are in {}; try: man {}/sealstone.1",
                dir.display(),
                dir.display()
            ));
        }
        None => print_exactly(&manual::page(flags::definition()))?,
    }
    Ok(Answer::Done)
}
