//! A program on its own terminal, with questions and typed answers. Not here: programs without one
//! (`transcript`).

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::transcript::{Transcript, finish};

/// Time that a person takes to begin typing: by then the program has stopped the terminal from
/// showing it.
const BEFORE_TYPING: Duration = Duration::from_millis(700);

/// Result of a run with typed input.
#[derive(Debug)]
pub struct Typed {
    /// Transcript with what the terminal showed in `stdout`, and an empty `stderr`.
    pub transcript: Transcript,
    /// Number of lines that the program prompted for.
    pub lines: usize,
}

/// Returns the program that makes terminals (`script`, of util-linux), if there is one here.
#[must_use]
pub fn maker() -> Option<&'static Path> {
    ["/usr/bin/script", "/bin/script"].map(Path::new).into_iter().find(|path| path.is_file())
}

/// Runs the shell command `command` in `dir` on a terminal that [`maker`] makes, prepared by
/// `prepare`, and types one of `lines` whenever the terminal waits after a question, which ends
/// with a colon and a blank.
///
/// # Panics
/// If it cannot be started, or takes longer than five minutes.
pub fn on_terminal(
    maker: &Path,
    dir: &Path,
    command: &str,
    lines: &[&str],
    prepare: impl Fn(&mut Command),
) -> Typed {
    let mut script = Command::new(maker);
    script.args(["--quiet", "--return", "--command", command, "/dev/null"]).current_dir(dir);
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepare(&mut script);
    let mut child = script.spawn().expect("script starts");
    let (stdin, mut stdout) =
        (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
    let (read, output) = mpsc::channel();
    thread::spawn(move || {
        let mut byte = [0];
        while stdout.read(&mut byte).is_ok_and(|count| count == 1) && read.send(byte[0]).is_ok() {}
    });
    let typist = thread::spawn(move || {
        let (mut shown, mut typed, mut stdin) = (Vec::new(), 0, Some(stdin));
        loop {
            match output.recv_timeout(BEFORE_TYPING) {
                Ok(byte) => shown.push(byte),
                Err(RecvTimeoutError::Disconnected) => {
                    return (String::from_utf8_lossy(&shown).into_owned(), typed);
                }
                // it waits after a question; a colon alone may be in any output
                Err(RecvTimeoutError::Timeout) if shown.ends_with(b": ") => {
                    match lines.get(typed) {
                        Some(line) => {
                            let _ = stdin.as_mut().map(|stdin| {
                                stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush())
                            });
                            typed += 1;
                            shown.push(b'\n');
                        }
                        // nobody has an answer to it: the terminal hangs up
                        None => drop(stdin.take()),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    });
    let ended = finish(child);
    let (stdout, lines) = typist.join().expect("the typist ends with the program");
    Typed { transcript: Transcript { stdout, ..ended }, lines }
}
