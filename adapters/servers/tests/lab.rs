//! Real servers and replica sets: started, ended, found again by another process, grown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sealstone_servers::testing::{is_installed, reachable, runs};
use sealstone_servers::{
    Lab, LabError, MONGOD_PROGRAM, Mongod, MongodOptions, ReplicaSet, Settings, servers,
};

const LIMIT: Duration = Duration::from_secs(180);

/// Returns whether there is a mongod; prints SKIP if not.
fn available(name: &str) -> bool {
    is_installed(&MONGOD_PROGRAM, name)
}

fn options() -> MongodOptions {
    MongodOptions::default()
}

#[test]
fn a_server_starts_ends_and_is_found_again() {
    if !available("a_server_starts_ends_and_is_found_again") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut server = Mongod::start(dir.path(), options()).unwrap();
    let (port, pid) = (server.port(), server.pid().expect("it runs"));
    assert!(runs(pid));
    assert!(matches!(Mongod::start(dir.path(), options()), Err(LabError::Running { .. })));

    server.kill().unwrap();
    assert!(!server.is_running() && !runs(pid));
    server.start_again().unwrap();
    assert_eq!(server.port(), port);
    server.stop().unwrap();
    server.start_again().unwrap();

    // as another process does it
    let pid = server.pid().unwrap();
    server.leave_running();
    assert!(runs(pid));
    let mut found = Mongod::open(dir.path()).unwrap();
    assert_eq!((found.pid(), found.port()), (Some(pid), port));
    drop(found);
    assert_eq!(Mongod::open(dir.path()).unwrap().pid(), None, "it ends with the value");
}

#[test]
fn a_start_that_fails_says_why_and_leaves_no_process() {
    if !available("a_start_that_fails_says_why_and_leaves_no_process") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let start = |name: &str, options: MongodOptions| {
        Mongod::start(&dir.path().join(name), options).unwrap_err()
    };

    let error = start("a", MongodOptions { arguments: vec!["--noSuchFlag".into()], ..options() })
        .to_string();
    assert!(error.contains("noSuchFlag"), "{error}");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = start("b", MongodOptions { port: Some(port), ..options() }).to_string();
    assert!(error.contains("Address already in use"), "{error}");

    let config = "extensions=[/nonexistent/x.so=(early_load=true)]".to_string();
    let error = start("c", MongodOptions { engine_config: Some(config), ..options() }).to_string();
    assert!(error.contains("/nonexistent/x.so"), "{error}");

    let program = Some("/nonexistent/mongod".into());
    let error = start("d", MongodOptions { program, ..options() });
    assert!(matches!(error, LabError::NoProgram { .. }), "{error}");

    for name in ["a", "b", "c"] {
        assert_eq!(Mongod::open(&dir.path().join(name)).unwrap().pid(), None);
        assert!(!anybody_in(&dir.path().join(name)));
    }
}

/// Returns whether any process names `dir` in its command line.
fn anybody_in(dir: &Path) -> bool {
    let dir = dir.canonicalize().unwrap().display().to_string();
    let processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    processes
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .any(|line| line.contains(&dir))
}

#[test]
fn a_replica_set_grows_shrinks_and_hands_over() {
    if !available("a_replica_set_grows_shrinks_and_hands_over") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let lab = dir.path().join("lab");
    let mut set = ReplicaSet::start(&lab, &[options(), options(), options()]).unwrap();
    assert_eq!((set.members().len(), set.pids().len()), (3, 3));
    assert!(set.uri().ends_with("/?replicaSet=sealstone"), "{}", set.uri());
    assert!(matches!(ReplicaSet::open(&lab), Err(LabError::InUse { .. })));
    assert!(matches!(ReplicaSet::start(&lab, &[options()]), Err(LabError::NotEmpty { .. })));

    let added = set.add_member(options(), LIMIT).unwrap();
    set.remove_member(added).unwrap();
    let before = set.primary().expect("a primary");
    set.replace_member(before, options(), LIMIT).unwrap();
    assert_ne!(set.primary(), Some(before));
    set.wait_for_sync(LIMIT).unwrap();

    let pids = set.pids();
    set.leave_running();
    let mut set = ReplicaSet::open(&lab).unwrap();
    assert!(set.is_complete());
    assert_eq!(set.pids(), pids);
    set.stop().unwrap();
    set.start_again().unwrap();
    assert!(
        set.status().iter().all(|member| ["PRIMARY", "SECONDARY"].contains(&member.state.as_str()))
    );
    drop(set);
    assert!(!anybody_in(&lab), "members end with the value");
}

#[test]
fn a_set_that_cannot_be_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for nodes in [0, 8] {
        let error = ReplicaSet::start(dir.path(), &vec![options(); nodes]).unwrap_err();
        assert!(matches!(error, LabError::Members { .. }), "{error}");
    }
    fs::write(dir.path().join("something"), "else").unwrap();
    assert!(matches!(ReplicaSet::start(dir.path(), &[options()]), Err(LabError::NotEmpty { .. })));
    assert!(matches!(ReplicaSet::open(dir.path()), Err(LabError::NoLab { .. })));
    fs::write(dir.path().join("lab.toml"), "name = ").unwrap();
    assert!(matches!(ReplicaSet::open(dir.path()), Err(LabError::BadState { .. })));
}

/// Variable with the directory in which the next test has this one start servers. Without it, this
/// test does nothing.
const OWNED: &str = "SEALSTONE_TEST_OWNED_LAB";

#[test]
fn owner_of_every_kind() {
    let Some(dir) = std::env::var_os(OWNED).map(PathBuf::from) else { return };
    let mut lab = Lab::new(&dir.join("lab"));
    let mut pids = Vec::new();
    for server in servers() {
        if is_installed(server.program, server.name) {
            lab.start(server, &Settings::default()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    for member in lab.standing().servers.into_iter().flat_map(|kind| kind.members) {
        pids.extend(member.pid.map(|pid| pid.to_string()));
    }
    fs::write(dir.join("pids.new"), pids.join(" ")).unwrap();
    fs::rename(dir.join("pids.new"), dir.join("pids")).unwrap();
    std::thread::sleep(LIMIT);
}

/// Whatever their kind and user: a killed process leaves none behind.
#[test]
fn servers_of_every_kind_end_with_the_process_that_started_them() {
    let dir = reachable();
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["owner_of_every_kind", "--exact", "--nocapture"]).env(OWNED, dir.path());
    let mut owner = owner.stdout(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let pids: Vec<i32> = loop {
        if let Ok(text) = fs::read_to_string(dir.path().join("pids")) {
            break text.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        }
        assert!(
            begin.elapsed() < LIMIT && owner.try_wait().unwrap().is_none(),
            "the servers do not start"
        );
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(pids.iter().all(|pid| runs(*pid)), "{pids:?}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    let begin = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        let left: Vec<&i32> = pids.iter().filter(|pid| runs(**pid)).collect();
        assert!(begin.elapsed() < Duration::from_secs(60), "left behind: {left:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
