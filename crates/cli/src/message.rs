//! Outcome of a command: an answer, or an error worded for its reader.
//!
//! Errors of the libraries carry their next step as a second line; here they only get their frame.

use std::io::Write;
use std::process::ExitCode;

use sealstone_message::{printable, printable_lines};

use crate::retirement::RetireError;
use crate::secret_words::{hide, hide_json};
use crate::{end_request, terminal};

/// Outcome of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Done; exit code 0.
    Done,
    /// The answer is no (damage was found); exit code 1.
    Negative,
    /// Answer that settles the question neither way; exit code 3.
    Inconclusive,
}

/// Turns an outcome into the exit code, and an error into a message on stderr. A reader of our
/// output who left (a broken pipe) is not an error, and a key version still in use is an answer. A
/// command interrupted by Ctrl-C exits with the code that a shell uses for signals.
pub(crate) fn exit_code(outcome: anyhow::Result<Answer>) -> ExitCode {
    end_request::leave_the_end();
    let (_, code) = result(&outcome);
    match outcome {
        Err(error) if !is_broken_pipe(&error) => report(&words(&error)),
        _ => {}
    }
    ExitCode::from(code)
}

/// Returns the outcome in one word, and the exit code.
pub(crate) fn result(outcome: &anyhow::Result<Answer>) -> (&'static str, u8) {
    let found = match outcome {
        Ok(Answer::Done) => return ("done", 0),
        Ok(Answer::Negative) => ("negative", 1),
        Ok(Answer::Inconclusive) => ("inconclusive", 3),
        Err(error) if is_broken_pipe(error) => return ("done", 0),
        Err(error) => match error.downcast_ref::<RetireError>() {
            Some(error) if error.is_in_use() => ("negative", 1),
            _ => ("error", 2),
        },
    };
    end_request::exit_code().map_or(found, |code| ("interrupted", code))
}

/// Returns the words of an error and of its causes, one after the other on the first line, next
/// steps below. A cause that the words before it quote already is left out.
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
    let text = safe(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let name = terminal::stderr().strong("sealstone:");
    let mut message = format!("{name} {}\n", lines.next().unwrap_or("unknown error"));
    lines.for_each(|line| message.push_str(&format!("  {line}\n")));
    // there is no way left to report that stderr is closed
    let _ = std::io::stderr().write_all(message.as_bytes());
}

/// Prints `text` on stderr: progress and remarks, never data.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", safe(text));
}

/// Returns `text` as a terminal may show it: no address of the command line with its secrets, and
/// nothing that a server, a file or a name put in that would take over the terminal.
pub(crate) fn safe(text: &str) -> String {
    printable_lines(&hide(text)).into_owned()
}

/// Writes `text` to stdout, made [`safe`] but for colours, where colours are welcome.
///
/// # Errors
/// The operating system's error, including a broken pipe.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    write(&safe_but_colours(text, terminal::stdout().colour()))
}

/// Writes `text` to stdout unchanged: text for other programs, such as a script or the options of a
/// server.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_exactly(text: &str) -> anyhow::Result<()> {
    write(text)
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(cannot_write)
}

/// Returns `text` made [`safe`]; `colour`: sequences that set colour or weight stay.
fn safe_but_colours(text: &str, colour: bool) -> String {
    if !colour {
        return safe(text);
    }
    let mut pieces = text.split("\x1b[");
    let mut shown = safe(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end.filter(|end| piece[*end..].starts_with('m')) {
            Some(end) => {
                shown.push_str(&format!("\x1b[{}m{}", &piece[..end], safe(&piece[end + 1..])))
            }
            None => shown.push_str(&format!("{}[{}", printable("\x1b"), safe(piece))),
        }
    }
    shown
}

/// Writes `value` to stdout as indented JSON.
///
/// # Errors
/// As `print`.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    write(&json_text(value)?)
}

/// Returns `value` as indented JSON, made [`safe`].
///
/// # Errors
/// A value that JSON cannot hold.
pub(crate) fn json_text(value: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = safe_json(&hide_json(&serde_json::to_string_pretty(value)?));
    text.push('\n');
    Ok(text)
}

/// Returns JSON of the same value, with every character unsafe for a terminal written by its
/// number.
fn safe_json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        let is_safe = c == '\n' || printable(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8();
        match is_safe {
            true => text.push(c),
            // such characters occur only in strings
            false => c
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| text.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    text
}

/// A failed write to stdout. A type of its own: a server or a device that goes away is a broken
/// pipe, too, and an error.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to stdout")]
struct StdoutError(#[source] std::io::Error);

/// Words a failed write to stdout.
pub(crate) fn cannot_write(error: std::io::Error) -> anyhow::Error {
    StdoutError(error).into()
}

/// Handles the parser's result: help and version are normal output, all else is an error with its
/// next step.
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

/// Returns whether the reader of our output left.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &StdoutError| error.0.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(broken))
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
        let context =
            anyhow::Error::new(std::io::Error::other("gone")).context("cannot write y\ntry z");
        assert_eq!(words(&context), "cannot write y: gone\ntry z");
    }

    #[test]
    fn colours_are_all_that_reaches_a_terminal() {
        let text = "\x1b[1mHEAD\x1b[0m \x1b]0;x\x07 \x1b[2J \u{202e}한글\n";
        assert_eq!(
            safe_but_colours(text, true),
            "\x1b[1mHEAD\x1b[0m \\u{1b}]0;x\\u{7} \\u{1b}[2J \\u{202e}한글\n"
        );
        assert!(!safe_but_colours(text, false).contains('\x1b'));
    }

    #[test]
    fn json_stays_what_it_is() {
        let value = "\x1b[31m \u{9b} \u{202e} \u{e0001} 한글 \n";
        let json = safe_json(&serde_json::to_string(value).unwrap());
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), value);
        assert!(
            json.contains("한글") && !json.contains(['\u{9b}', '\u{202e}', '\u{e0001}', '\x1b']),
            "{json}"
        );
    }

    #[test]
    fn a_broken_pipe_is_no_error() {
        let pipe = cannot_write(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(is_broken_pipe(&pipe));
        assert!(!is_broken_pipe(&cannot_write(std::io::Error::from(
            std::io::ErrorKind::StorageFull
        ))));
        let of_a_server = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let error = anyhow::Error::new(of_a_server).context("cannot ask 127.0.0.1:3306");
        assert_eq!(result(&Err(error)), ("error", 2));
        assert_eq!(result(&Err(pipe.context("cannot show people"))), ("done", 0));
    }
}
