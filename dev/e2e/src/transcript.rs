//! Runs a program to its end and keeps all its output, so that tests can compare texts word for
//! word.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest that a run may take before the test gives up on it: a comparison took more than five
/// minutes beside two other programs of tests on a slow machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// Longest time that a program that was just copied may be busy.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// Output and exit of a finished program.
#[derive(Debug)]
pub struct Transcript {
    /// Exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

impl Transcript {
    /// Asserts exit code 0 and returns stdout.
    ///
    /// # Panics
    /// On any other exit code.
    pub fn done(self) -> String {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Asserts exit code 2, an empty stdout, and exactly the text `want` on stderr.
    ///
    /// # Panics
    /// On anything else.
    pub fn fails_with(self, want: &str) {
        assert_eq!(self.stderr, want);
        assert_eq!((self.code, self.stdout.as_str()), (Some(2), ""));
    }
}

/// Returns a command that runs the `sealstone` under test in `dir`, without colour and with stdin
/// closed.
pub fn sealstone(dir: &Path, arguments: &[&str]) -> Command {
    plain(crate::binary::sealstone(), dir, arguments)
}

/// As [`sealstone`], for any program.
pub fn plain(program: &Path, dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS");
    command
}

/// Runs `command` to its end.
///
/// # Panics
/// If it cannot be started, or takes longer than ten minutes.
pub fn run(command: &mut Command) -> Transcript {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let begin = Instant::now();
    let child = loop {
        match command.spawn() {
            // a program that was just copied stays open for writing in a child that another test
            // was forking at the same time
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy
                    && begin.elapsed() < BUSY_LIMIT =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("cannot start {command:?}: {error}"),
            Ok(child) => break child,
        }
    };
    finish(child)
}

/// Waits for `child`, started with stdout and stderr piped, and keeps what it prints until it
/// exits.
///
/// # Panics
/// If it takes longer than ten minutes; it is killed in that case.
pub fn finish(mut child: Child) -> Transcript {
    let stdout = child.stdout.take().map(|pipe| thread::spawn(move || text(pipe)));
    let stderr = child.stderr.take().map(|pipe| thread::spawn(move || text(pipe)));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status;
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("gave up on process {} after {PATIENCE:?}", child.id());
        }
        thread::sleep(Duration::from_millis(5));
    };
    let join = |pipe: Option<thread::JoinHandle<String>>| {
        pipe.map_or(String::new(), |pipe| pipe.join().expect("reads"))
    };
    Transcript { code: status.code(), stdout: join(stdout), stderr: join(stderr) }
}

/// Waits until the child's stderr has a line that contains `said`, calls `act` with its process id,
/// and keeps all its output until its end. Stderr must be a pipe; stdout may be one, for a program
/// that writes little to it before.
///
/// # Panics
/// If the line does not come, and as [`finish`] does.
pub fn finish_after(mut child: Child, said: &str, act: impl FnOnce(u32)) -> Transcript {
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    let (sender, came) = mpsc::channel();
    let said = said.to_owned();
    let reader = thread::spawn(move || {
        let (mut all, mut before) = (String::new(), 0);
        while stderr.read_line(&mut all).expect("a pipe of ours") > 0 {
            if all[before..].contains(&said) {
                // nobody listens any more after the first
                let _ = sender.send(());
            }
            before = all.len();
        }
        all
    });
    let came = came.recv_timeout(PATIENCE).is_ok();
    if came {
        act(child.id());
    } else {
        let _ = child.kill();
    }
    let transcript = finish(child);
    let stderr = reader.join().expect("reads");
    assert!(came, "it ended or hung before it said what was waited for:\n{stderr}");
    Transcript { stderr, ..transcript }
}

fn text(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).expect("a pipe of ours");
    String::from_utf8_lossy(&bytes).into_owned()
}
