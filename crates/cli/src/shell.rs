//! `sealstone completions` and `sealstone man`: made from the same definition as the flags themselves.

use std::fs;

use anyhow::Context;

use crate::flags::{self, CompletionsFlags, ManFlags};
use crate::message::{Answer, print, say};

/// Writes the completion script of one shell to stdout.
pub(crate) fn completions(flags: &CompletionsFlags) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut flags::definition(), "sealstone", &mut script);
    print(&String::from_utf8(script).context("completion script")?)?;
    Ok(Answer::Done)
}

/// Writes the manual page to stdout, or the pages of all commands into a folder.
pub(crate) fn manual(flags: &ManFlags) -> anyhow::Result<Answer> {
    match &flags.out {
        Some(dir) => {
            fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
            clap_mangen::generate_to(flags::definition(), dir)
                .with_context(|| format!("cannot write manual pages into {}", dir.display()))?;
            say(&format!("manual pages are in {}; try: man {}/sealstone.1", dir.display(), dir.display()));
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(flags::definition()).render(&mut page).context("manual page")?;
            print(&String::from_utf8(page).context("manual page")?)?;
        }
    }
    Ok(Answer::Done)
}
