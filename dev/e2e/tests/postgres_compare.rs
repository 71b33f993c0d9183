//! `sealstone compare --store postgres`: a server that the comparison starts and ends, one of the user's own, and what
//! cannot be. Not here: the figures (a measurement is no test), the store itself (`adapters/stores`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_servers::postgres::{self, PostgresOptions};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--store=postgres",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--pairs=6",
    "--slice-ms=1",
    "--workloads=a,e",
    "--out=out",
];

fn available(name: &str) -> bool {
    let found = postgres::PROGRAM.find(None);
    if let Err(error) = &found {
        println!("SKIP: {name}: {}", error.to_string().lines().next().unwrap_or_default());
    }
    found.is_ok()
}

/// A directory that the server's user can reach, where that is another one.
fn reachable() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
    dir
}

fn compare(dir: &Path, more: &[&str]) -> Command {
    sealstone(dir, &[SMALL, more].concat())
}

fn results(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The servers that work below `dir`, without the processes that they started.
fn servers(dir: &Path) -> Vec<i32> {
    let dir = dir.canonicalize().unwrap();
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let uses = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let works_in = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        // the others say what they do instead of their arguments
        line.windows(4).any(|part| part == b"\0-D\0") && works_in.starts_with(&dir)
    };
    pids.filter(uses).collect()
}

#[test]
fn a_postgres_is_measured_and_ended() {
    if !available("a_postgres_is_measured_and_ended") {
        return;
    }
    let dir = reachable();
    let transcript = run(&mut compare(dir.path(), &["--workloads=a,e,a-sync,oltp", "--bytes=300k"]));
    assert!(transcript.stderr.contains("postgres is measured without encryption"), "{}", transcript.stderr);
    let said = transcript.done();
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let results = results(&dir.path().join("out/results.json"));
    let group = &results["groups"][0];
    assert_eq!(group["engine"]["name"], "postgres");
    assert!(group["engine"]["version"].as_str().unwrap().contains('.'), "{}", group["engine"]);
    let cells = group["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        let samples = cell["samples"].as_array().unwrap();
        let sum = |field: &str| samples.iter().map(|sample| sample[field].as_f64().unwrap()).sum::<f64>();
        assert!(sum("operations") > 0.0 && cell["disk_bytes"].as_u64().unwrap() > 100_000, "{cell}");
    }
    assert!(servers(dir.path()).is_empty(), "a server was left behind");
}

#[test]
fn a_postgres_of_the_user_is_used_and_left_as_it_was() {
    if !available("a_postgres_of_the_user_is_used_and_left_as_it_was") {
        return;
    }
    let dir = reachable();
    let password = Some("geheim".to_owned());
    let theirs = PostgresOptions { password, ..PostgresOptions::default() };
    let server = postgres::start(&dir.path().join("theirs"), theirs).unwrap();
    let url = format!("postgres://sealstone:geheim@{}/postgres", server.address());
    fs::write(dir.path().join("address"), &url).unwrap();
    run(&mut compare(dir.path(), &["--postgres-url=@address"])).done();
    // its tables are gone, so the same can be done again
    let named = format!("--postgres-url={url}");
    run(&mut compare(dir.path(), &[&named])).done();
    let written = fs::read_to_string(dir.path().join("out/results.json")).unwrap();
    assert!(!written.contains("geheim"), "a password in the results");

    // two variants need two servers
    let two = run(&mut compare(dir.path(), &[&named, "--ciphers=none,none"]));
    assert_eq!(two.code, Some(2));
    assert!(two.stderr.contains("needs a server of its own, and --postgres-url names one for all"), "{}", two.stderr);
    let wrong = format!("--postgres-url=postgres://sealstone:geheimnis@{}/postgres", server.address());
    let refused = run(&mut compare(dir.path(), &[&wrong]));
    assert_eq!(refused.code, Some(2));
    let want = format!("cannot connect to PostgreSQL at {}: it refused the user name and password\n", server.address());
    assert!(refused.stderr.contains(&want) && !refused.stderr.contains("geheim"), "{}", refused.stderr);
}

#[test]
fn a_postgres_that_is_killed_ends_the_run_with_one_error() {
    if !available("a_postgres_that_is_killed_ends_the_run_with_one_error") {
        return;
    }
    let dir = reachable();
    // long enough to be met at work
    let long = SMALL.iter().map(|flag| match flag.split_once('=') {
        Some(("--operations", _)) => "--operations=1M",
        Some(("--slice-ms", _)) => "--slice-ms=2000",
        _ => flag,
    });
    let mut command = sealstone(dir.path(), &long.collect::<Vec<_>>());
    let mut comparison = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let found = loop {
        if let [pid] = servers(dir.path())[..] {
            break pid;
        }
        let still_runs = comparison.try_wait().unwrap().is_none();
        assert!(still_runs && begin.elapsed() < Duration::from_secs(60), "no server was started");
        thread::sleep(Duration::from_millis(20));
    };
    thread::sleep(Duration::from_millis(3000));
    kill(Pid::from_raw(found), Signal::SIGKILL).unwrap();
    let said = comparison.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(" failed on none: cannot ") && stderr.contains("PostgreSQL at 127.0.0.1:"), "{stderr}");
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn impossible_settings_of_postgres_are_reported_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], want: &str| {
        let refused = run(&mut compare(dir.path(), arguments));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    };
    fails(&["--postgres", "/nonexistent"], "no postgres with initdb beside it found: looked in /nonexistent");
    fails(&["--nodes", "2"], "nodes is 2: a postgres store is a single node");
    fails(
        &["--postgres-url", "mysql://db.example"],
        "cannot use the PostgreSQL address db.example: its scheme is mysql",
    );
    fails(&["--postgres-url", "postgres://u:p@h:x"], "cannot use the PostgreSQL address h:x: \"x\" is not a port");
    fails(&["--postgres-url", "postgres://h?sslmode=on"], "there is no sslmode \"on\"");
    fails(&["--postgres-url", "@/nonexistent"], "cannot read the address of a server from /nonexistent");
    let both = ["--postgres-url", "postgres://h", "--postgres", "p"];
    fails(&both, "postgres-url of postgres makes no sense together with postgres");
}
