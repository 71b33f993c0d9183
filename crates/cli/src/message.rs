//! What a command ends with: an answer, or an error worded for its reader.
//!
//! Errors of the libraries carry their next step as a second line; here they only get their frame.

use std::io::Write;
use std::process::ExitCode;

use sealstone_stores::retire::RetireError;

use crate::{interrupt, terminal};

/// How a command that did its work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Done; exit code 0.
    Done,
    /// The answer is no (damage was found); exit code 1.
    Negative,
    /// What was asked is not shown either way; exit code 3.
    Inconclusive,
}

/// Turns an outcome into the exit code, and an error into a message on stderr. A reader of our output who left
/// (a broken pipe) is not an error, and that a key version is still in use is an answer. What Ctrl-C kept from being
/// done ends as a shell says that a signal ended it.
pub(crate) fn exit_code(outcome: anyhow::Result<Answer>) -> ExitCode {
    interrupt::leave_the_end();
    let code = match outcome {
        Ok(Answer::Done) => return ExitCode::SUCCESS,
        Ok(Answer::Negative) => 1,
        Ok(Answer::Inconclusive) => 3,
        Err(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
        Err(error) => {
            report(&words(&error));
            let is_answer = error.downcast_ref::<RetireError>().is_some_and(RetireError::is_in_use);
            if is_answer { 1 } else { 2 }
        }
    };
    ExitCode::from(interrupt::exit_code().unwrap_or(code))
}

/// The words of an error and of its causes, one after the other on the first line, next steps below. A cause that the
/// words before it quote already is left out.
fn words(error: &anyhow::Error) -> String {
    let mut head = String::new();
    let mut steps = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if head.contains(first) {
            continue;
        }
        if !head.is_empty() {
            head.push_str(": ");
        }
        head.push_str(first);
        steps.extend(lines.map(String::from));
    }
    [vec![head], steps].concat().join("\n")
}

/// Writes `sealstone: <what>` to stderr; further lines of `text`, the next steps, are indented.
pub(crate) fn report(text: &str) {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let name = terminal::stderr().strong("sealstone:");
    let mut message = format!("{name} {}\n", lines.next().unwrap_or("unknown error"));
    lines.for_each(|line| message.push_str(&format!("  {line}\n")));
    // there is no way left to report that stderr is closed
    let _ = std::io::stderr().write_all(message.as_bytes());
}

/// Says `text` on stderr: progress and remarks, never data.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Writes `text` to stdout.
///
/// # Errors
/// What the operating system says; a broken pipe among it.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(cannot_write)
}

/// Writes `value` to stdout as indented JSON.
///
/// # Errors
/// As `print`.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}

/// Words a failed write to stdout.
pub(crate) fn cannot_write(error: std::io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context("cannot write to stdout")
}

/// Answers what the parser found: help and version are wanted output, all else is an error with its next step.
pub(crate) fn usage(error: &clap::Error) -> anyhow::Result<Answer> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(cannot_write)?;
            Ok(Answer::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            anyhow::bail!("no command given\ntry: sealstone --help")
        }
        _ => {
            let text = error.render().to_string();
            anyhow::bail!("{}", text.strip_prefix("error: ").unwrap_or(&text))
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read x: {source}\nlook for it")]
    struct Quoting {
        source: std::io::Error,
    }

    #[test]
    fn causes_are_said_once() {
        let quoting = Quoting { source: std::io::Error::other("gone") };
        assert_eq!(words(&anyhow::Error::new(quoting)), "cannot read x: gone\nlook for it");
        let context = anyhow::Error::new(std::io::Error::other("gone")).context("cannot write y\ntry z");
        assert_eq!(words(&context), "cannot write y: gone\ntry z");
    }

    #[test]
    fn a_broken_pipe_is_no_error() {
        let pipe = cannot_write(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&pipe));
        assert!(!is_broken_pipe(&cannot_write(std::io::Error::from(std::io::ErrorKind::StorageFull))));
    }
}
