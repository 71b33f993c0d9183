//! The end of servers whose owner was killed: a shell that waits at a pipe from this process, and
//! ends the processes on its list once nobody holds the other end. Not here: a server ended by its
//! owner (`instance`).
//!
//! The system's own signal at the death of a parent would not do: it comes when the *thread* that
//! started the server ends, it is lost where the server becomes another user, and it is only one
//! signal, to which some servers react slowly.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::Signal;

/// Script of the shell. It is sent lines: `+ PID START SIGNALS` for a process to end, `- PID` for a
/// process that no longer concerns it. A process is identified by its number and by its start time
/// (`proc_pid_stat(5)`, field 22), since a number may be given again.
///
/// After each signal a server has five seconds; then it is killed.
const SCRIPT: &str = r#"
trap '' HUP INT QUIT TERM PIPE
set -f
kept=
while read -r sign pid start signals; do
    rest=
    for one in $kept; do
        case $one in "$pid":*) ;; *) rest="$rest $one" ;; esac
    done
    case $sign in +) kept="$rest $pid:$start:$signals" ;; *) kept=$rest ;; esac
done
runs() {
    { read -r facts <"/proc/$1/stat"; } 2>/dev/null || return 1
    wanted=$2
    set -- ${facts##*) }
    case $1 in Z | X) return 1 ;; esac
    [ "${20}" = "$wanted" ]
}
end() {
    pid=$1 start=$2
    for signal in $(echo "$3" | tr , ' ') KILL; do
        runs "$pid" "$start" || return
        kill -s "$signal" "$pid"
        tries=0
        while runs "$pid" "$start" && [ $tries -lt 50 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
    done
}
for one in $kept; do
    end $(echo "$one" | tr : ' ') &
done
wait
"#;

/// The shell, while there is one.
static SHELL: Mutex<Option<Child>> = Mutex::new(None);

/// A process that ends with this one, whatever becomes of this one, as long as the value lives.
#[derive(Debug)]
pub(crate) struct Watched {
    pid: i32,
}

impl Watched {
    /// Arranges that the process `pid`, just started by this process, is ended by `signals`, one
    /// after the other, and then killed, if this process ends first. None where the system does not
    /// support that.
    pub(crate) fn new(pid: i32, signals: &[Signal]) -> Option<Self> {
        let start = started_at(pid)?;
        let names: Vec<&str> =
            signals.iter().filter_map(|signal| signal.as_str().strip_prefix("SIG")).collect();
        let mut shell = shell();
        if shell.as_mut().is_none_or(|shell| shell.try_wait().is_ok_and(|ended| ended.is_some())) {
            // the processes of an earlier shell, which somebody must have killed, are unknown to
            // this shell
            *shell = start_shell();
        }
        tell(&mut shell, &format!("+ {pid} {start} {}\n", names.join(","))).then_some(Self { pid })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        tell(&mut shell(), &format!("- {}\n", self.pid));
    }
}

fn shell() -> MutexGuard<'static, Option<Child>> {
    SHELL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the shell, with only the pipe of this process: a shell that holds our output or
/// directory open would be waited for.
fn start_shell() -> Option<Child> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "sealstone-watchdog"])
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    // Ctrl-C in a terminal is for this process
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()
}

/// Sends `line`; whether it could be. A line is far shorter than what a pipe takes at once.
fn tell(shell: &mut Option<Child>, line: &str) -> bool {
    let pipe = shell.as_mut().and_then(|shell| shell.stdin.as_mut());
    pipe.is_some_and(|pipe| pipe.write_all(line.as_bytes()).is_ok())
}

/// Returns the time at which the process `pid` was started, in ticks since the system's start.
fn started_at(pid: i32) -> Option<u64> {
    let facts = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // "PID (name) STATE …": the name may contain anything, even a parenthesis
    facts.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}
