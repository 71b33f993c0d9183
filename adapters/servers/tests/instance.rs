//! One process and its record, with a shell script as the server: the common behaviour of all
//! servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_servers::{Instance, LabError, ServerKind, log_tail};
use serde::{Deserialize, Serialize};

/// Runs until it is ended, after it has reported that it is ready. Its arguments are its directory
/// and its port.
const SERVES: &str = r#"echo ready >> "$1/toy.log"; while :; do sleep 0.05; done"#;

/// A server that is a shell script.
#[derive(Debug)]
struct Toy;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Script {
    text: String,
}

impl ServerKind for Toy {
    type Options = Script;
    const NAME: &'static str = "the toy";
    const RECORD: &'static str = "toy.toml";
    const LOG: &'static str = "toy.log";
    const OUTPUT: &'static str = "toy.out";
    const STOP: &'static [Signal] = &[Signal::SIGTERM, Signal::SIGKILL];
    const STOP_LIMIT: Duration = Duration::from_secs(2);
    const UNABLE: &'static str = "install a shell";

    fn command(dir: &Path, port: u16, options: &Script) -> Result<Command, LabError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &options.text, "toy"]).arg(dir).arg(port.to_string());
        Ok(command)
    }

    fn mark(dir: &Path) -> PathBuf {
        dir.to_owned()
    }

    fn start_limit(_options: &Script) -> Duration {
        Duration::from_secs(60)
    }

    fn is_ready(_port: u16, log: &str) -> bool {
        log.contains("ready")
    }

    fn is_port_taken(_log: &str, output: &str) -> bool {
        output.contains("taken")
    }

    fn said(_log: &str, output: &str) -> Vec<String> {
        log_tail(output, 2)
    }
}

fn script(text: &str) -> Script {
    Script { text: text.into() }
}

fn start(dir: &Path, text: &str) -> Result<Instance<Toy>, LabError> {
    Instance::start(dir, script(text))
}

#[test]
fn a_server_is_found_again_and_keeps_its_port() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path(), SERVES).unwrap();
    let (port, pid) = (server.port(), server.pid().expect("it runs"));
    assert!(matches!(start(dir.path(), SERVES), Err(LabError::Running { .. })));
    server.leave_running();

    let mut found = Instance::<Toy>::find(dir.path()).unwrap().expect("a record");
    assert_eq!((found.pid(), found.port(), found.options()), (Some(pid), port, &script(SERVES)));
    found.stop().unwrap();
    assert!(!found.is_running());
    // its output from this start on counts
    found.start_again().unwrap();
    assert_eq!(found.port(), port);
    drop(found);
    assert_eq!(
        Instance::<Toy>::find(dir.path()).unwrap().expect("a record").pid(),
        None,
        "it ends with the value"
    );
    assert!(Instance::<Toy>::find(tempfile::tempdir().unwrap().path()).unwrap().is_none());
}

#[test]
fn a_process_that_does_not_name_the_directory_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let record = format!("port = 7\npid = {}\n", std::process::id());
    fs::write(dir.path().join("toy.toml"), record).unwrap();
    let mut found = Instance::<Toy>::find(dir.path()).unwrap().expect("a record");
    assert_eq!(found.pid(), None, "the number is this test's by now");
    found.kill().unwrap();
}

#[test]
fn a_start_that_fails_quotes_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let error =
        start(dir.path(), "echo first; echo; echo no such key; exit 3").unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert!(
        lines[0].starts_with("cannot start the toy in ") && lines[0].ends_with("exit status: 3"),
        "{error}"
    );
    assert_eq!(lines[1..3], ["first", "no such key"], "{error}");
    assert!(lines[3].ends_with("/toy.log"), "{error}");
    assert_eq!(Instance::<Toy>::find(dir.path()).unwrap().expect("a record").pid(), None);
}

#[test]
fn a_port_taken_by_another_process_is_not_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let once = r#"[ -e "$1/port" ] || { echo "$2" > "$1/port"; echo taken; exit 1; }; "#;
    let server = start(dir.path(), &format!("{once}{SERVES}")).unwrap();
    let first: u16 = fs::read_to_string(dir.path().join("port")).unwrap().trim().parse().unwrap();
    assert_ne!(server.port(), first);
}

/// The directory was prepared by somebody: the output would go where the link leads.
#[test]
fn output_does_not_go_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "theirs").unwrap();
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let output = home.join("toy.out");
    std::os::unix::fs::symlink(&elsewhere, &output).unwrap();
    let error = start(&home, "echo output").unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot create {}", output.display())), "{error}");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
    fs::remove_file(&output).unwrap();
    nix::unistd::mkfifo(&output, nix::sys::stat::Mode::S_IRWXU).unwrap();
    start(&home, "echo output").unwrap_err();
}

#[test]
fn a_server_that_does_not_listen_to_signals_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path(), &format!("trap '' TERM; {SERVES}")).unwrap();
    server.stop().unwrap();
    assert!(!server.is_running());
}

/// Variable with the directory in which the next test has this one start a server. Without it, this
/// test does nothing.
const OWNED: &str = "SEALSTONE_TEST_OWNED";
/// The shell that is recognisable by its name.
const LEFT: &str = "left";

#[test]
fn owner() {
    let Some(dir) = std::env::var_os(OWNED).map(PathBuf::from) else { return };
    // by a thread that ends: the end of a thread is not that of the process
    let started = std::thread::spawn({
        let dir = dir.clone();
        move || start(&dir.join("owned"), &format!("trap '' TERM; {SERVES}")).unwrap()
    });
    let mut server = started.join().unwrap();
    start(&dir.join(LEFT), SERVES).unwrap().leave_running();
    start(&dir.join("ended"), SERVES).unwrap().stop().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    fs::write(dir.join("pid"), server.pid().expect("it runs").to_string()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

/// However their owner ends, and whether they listen to signals or not.
#[test]
fn servers_end_with_the_process_that_started_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["owner", "--exact", "--nocapture"]).env(OWNED, dir.path());
    let mut owner = owner.stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let pid: i32 = loop {
        match fs::read_to_string(dir.path().join("pid")).ok().and_then(|text| text.parse().ok()) {
            Some(pid) => break pid,
            None => assert!(
                begin.elapsed() < Duration::from_secs(30) && owner.try_wait().unwrap().is_none()
            ),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut owned = Instance::<Toy>::find(&dir.path().join("owned")).unwrap().expect("a record");
    assert_eq!(owned.pid(), Some(pid));
    kill(Pid::from_raw(owner.id() as i32), Signal::SIGKILL).unwrap();
    owner.wait().unwrap();
    let begin = Instant::now();
    while owned.is_running() {
        assert!(begin.elapsed() < Duration::from_secs(30), "process {pid} was left behind");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut left = Instance::<Toy>::find(&dir.path().join(LEFT)).unwrap().expect("a record");
    assert!(left.is_running(), "one that was left running on purpose runs");
    left.kill().unwrap();
}
