//! Asking before something that cannot be undone by running another command.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::bail;

use crate::message::say;

/// Prints `about` and `question` and reads the answer, unless `yes` is set. Returns whether to go
/// on.
///
/// # Errors
/// No terminal for the question, and no `yes`.
pub(crate) fn confirm(about: &str, question: &str, yes: bool) -> anyhow::Result<bool> {
    say(about);
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        bail!(
            "nothing was changed: this has to be confirmed, and there is no terminal to ask on\n\
             add --yes"
        );
    }
    let mut stderr = std::io::stderr();
    // with stderr closed nobody sees the question, but the answer is still needed
    let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    let is_yes = ["y", "yes"].contains(&answer.trim().to_lowercase().as_str());
    if !is_yes {
        say("nothing was changed");
    }
    Ok(is_yes)
}
