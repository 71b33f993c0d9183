//! `sealstone lab`: a key server alone, a cluster of Redis, a PostgreSQL, a MariaDB, the list of
//! labs, and the exact text of errors that have nothing to do with MongoDB.

use std::path::Path;

use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{MARIADB_PROGRAM, POSTGRES_PROGRAM, PYKMIP_PROGRAM, REDIS_PROGRAM};
use serde_json::Value;

fn lab(dir: &Path, arguments: &[&str]) -> Transcript {
    println!("sealstone lab {}", arguments.join(" "));
    run(&mut sealstone(dir, &[&["lab"], arguments].concat()))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

/// Asserts that a running lab counts as up: `again` prints the same as at its start.
fn runs_already(again: Transcript, started: &str) {
    assert!(again.stderr.contains("runs already in "), "{}", again.stderr);
    assert_eq!(again.done(), started);
}

/// Ends a lab in a directory, however the test ends.
struct Down<'a>(&'a Path, &'static str);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        lab(self.0, &["down", self.1]);
    }
}

#[test]
fn a_key_server_runs_alone_and_is_listed() {
    if !is_installed(&PYKMIP_PROGRAM, "a_key_server_runs_alone_and_is_listed") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let _down = Down(dir, "kms");
    let text = lab(dir, &["up", "pykmip", "--dir", "kms", "--json"]).done();
    let started = json(&text);
    let server = &started["servers"][0];
    assert_eq!(
        (&server["server"], &server["members"][0]["state"]),
        (&"pykmip".into(), &"up".into())
    );
    let address = server["members"][0]["address"].clone();

    // as in the help
    let spec = "kmip:kms/lab.kms/key.toml";
    run(&mut sealstone(dir, &["keys", "new", spec, "--cipher", "aria-256"])).done();
    let keys = run(&mut sealstone(dir, &["keys", "show", spec])).done();
    assert!(keys.contains("lab") && keys.contains("Active"), "{keys}");

    assert_eq!(lab(dir, &["list"]).done(), "LAB    SERVERS\n./kms  pykmip: 1 of 1 serve\n");
    let listed = json(&lab(dir, &["list", "kms", "--json"]).done());
    assert_eq!(listed["labs"][0]["servers"][0]["members"][0]["address"], address);
    assert_eq!(listed["labs"].as_array().unwrap().len(), 1, "{listed:#}");

    runs_already(lab(dir, &["up", "pykmip", "--dir", "kms", "--json"]), &text);
    let otherwise = lab(dir, &["up", "pykmip", "--dir", "kms", "--key-id", "other"]);
    assert!(
        otherwise.stderr.contains("is started again as it was, and takes no settings\n"),
        "{}",
        otherwise.stderr
    );
    assert_eq!(lab(dir, &["down", "kms"]).done(), "1 server stopped\n");
    assert_eq!(lab(dir, &["list"]).done(), "LAB    SERVERS\n./kms  pykmip: 0 of 1 serve\n");
    assert_eq!(lab(dir, &["status", "kms"]).code, Some(1));
    let other = lab(dir, &["up", "pykmip", "--dir", "kms", "--key-id", "other"]);
    assert!(
        other.stderr.contains("is started again as it was, and takes no settings\n"),
        "{}",
        other.stderr
    );
    let back = json(&lab(dir, &["up", "--dir", "kms", "--json"]).done());
    assert_eq!(back["servers"][0]["members"][0]["address"], address, "the port is kept");
    run(&mut sealstone(dir, &["keys", "show", spec])).done();
}

#[test]
fn a_cluster_of_redis_is_started_listed_and_ended() {
    if !is_installed(&REDIS_PROGRAM, "a_cluster_of_redis_is_started_listed_and_ended") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let _down = Down(dir, "r");
    let started = lab(dir, &["up", "redis", "--nodes", "6", "--dir", "r"]);
    assert!(started.stderr.contains("to stop it: sealstone lab down r"), "{}", started.stderr);
    let started = started.done();
    assert!(started.starts_with("redis://127.0.0.1:"), "{started}");
    assert_eq!(
        (started.matches(" primary ").count(), started.matches(" replica ").count()),
        (3, 3),
        "{started}"
    );
    assert_eq!(lab(dir, &["list"]).done(), "LAB  SERVERS\n./r  redis: 6 of 6 serve\n");
    let status = json(&lab(dir, &["status", "r", "--json"]).done());
    let members = status["servers"][0]["members"].as_array().unwrap();
    assert!(
        members.len() == 6 && members.iter().all(|member| member["serves"] == true),
        "{status:#}"
    );
    runs_already(lab(dir, &["up", "redis", "--dir", "r"]), &started);
    // the flags that it was started with, too, and no others
    runs_already(lab(dir, &["up", "redis", "--nodes", "6", "--dir", "r"]), &started);
    assert_eq!(lab(dir, &["up", "redis", "--nodes", "3", "--dir", "r"]).code, Some(2));
    runs_already(lab(dir, &["up", "--dir", "r"]), &started);
    assert_eq!(lab(dir, &["down", "r"]).done(), "6 servers stopped\n");
    assert_eq!(lab(dir, &["status", "r"]).code, Some(1));
    let two = lab(dir, &["up", "redis", "--nodes", "2", "--dir", "other"]);
    two.fails_with(
        "sealstone: cannot start redis with --nodes 2: choose 1 for a single server, or 3 to 30 \
         for a cluster; from 6 on half of them are replicas\n  see: sealstone lab up redis \
         --help\n",
    );
}

#[test]
fn a_postgres_is_started_listed_and_ended() {
    if !is_installed(&POSTGRES_PROGRAM, "a_postgres_is_started_listed_and_ended") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    let _down = Down(dir, "p");
    let started = lab(dir, &["up", "postgres", "--dir", "p"]).done();
    assert!(started.starts_with("postgres://sealstone@127.0.0.1:"), "{started}");
    let address = started.split_whitespace().next().unwrap();
    // the address names the file with the password, for psql as for us
    let compared = [
        "compare",
        "--store=postgres",
        "--records=100",
        "--operations=50",
        "--workloads=c",
        "--set=pairs=6",
    ];
    let small = ["--set=slice-ms=1", "--rounds=1", "--threads=2", "--postgres-url", address];
    run(&mut sealstone(dir, &[&compared[..], &small].concat())).done();
    assert_eq!(lab(dir, &["list"]).done(), "LAB  SERVERS\n./p  postgres: 1 of 1 serve\n");
    let status = json(&lab(dir, &["status", "p", "--json"]).done());
    assert_eq!(status["servers"][0]["members"][0]["serves"], true, "{status:#}");
    assert_eq!(lab(dir, &["down", "p"]).done(), "1 server stopped\n");
    assert_eq!(lab(dir, &["status", "p"]).code, Some(1));
}

#[test]
fn a_mariadb_is_started_listed_and_ended() {
    if !is_installed(&MARIADB_PROGRAM, "a_mariadb_is_started_listed_and_ended") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
    let _down = Down(dir, "m");
    let started = lab(dir, &["up", "mariadb", "--dir", "m"]).done();
    assert!(started.starts_with("mysql://sealstone@127.0.0.1:"), "{started}");
    let address = started.split_whitespace().next().unwrap();
    // the address names the file with the password, in MariaDB's own form
    let compared = [
        "compare",
        "--store=mysql",
        "--records=100",
        "--operations=50",
        "--workloads=c",
        "--set=pairs=6",
    ];
    let small = ["--set=slice-ms=1", "--rounds=1", "--threads=2", "--mysql-url", address];
    run(&mut sealstone(dir, &[&compared[..], &small].concat())).done();
    assert_eq!(lab(dir, &["list"]).done(), "LAB  SERVERS\n./m  mariadb: 1 of 1 serve\n");
    let status = json(&lab(dir, &["status", "m", "--json"]).done());
    assert_eq!(status["servers"][0]["members"][0]["serves"], true, "{status:#}");
    assert_eq!(lab(dir, &["down", "m"]).done(), "1 server stopped\n");
    assert_eq!(lab(dir, &["status", "m"]).code, Some(1));
}

#[test]
fn impossible_requests_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let none = "sealstone: no lab in sealstone-lab\n  start one with: sealstone lab up mongodb \
                --dir sealstone-lab\n";
    for command in ["up", "down", "status"] {
        lab(dir, &[command]).fails_with(none);
    }
    let empty = lab(dir, &["list"]);
    assert_eq!((empty.stdout.as_str(), empty.stderr.as_str()), ("", "no lab in .\n"));
    empty.done();
    lab(dir, &["up", "pykmip", "--python", "/nonexistent/python"]).fails_with(
        "sealstone: no key server (PyKMIP) found: looked in /nonexistent/python\n  \
         install it with: make setup-kmip; or name a key on your own server with --key kmip:...\n",
    );
    lab(dir, &["up", "mongodb", "--nodes", "three"]).fails_with(
        "sealstone: cannot start mongodb with --nodes three: expected a number\n  \
         see: sealstone lab up mongodb --help\n",
    );
    let unknown = lab(dir, &["up", "mongo"]);
    assert!(unknown.stderr.contains("unrecognized subcommand 'mongo'"), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("'mongodb'"), "{}", unknown.stderr);
    let other = lab(dir, &["up", "pykmip", "--nodes", "3"]);
    assert!(other.stderr.contains("unexpected argument '--nodes'"), "{}", other.stderr);
    let before = run(&mut sealstone(dir, &["mongo", "lab", "up"]));
    assert!(before.stderr.contains("'sealstone lab'"), "{}", before.stderr);
    assert_eq!(before.code, Some(2));
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "nothing was made");
}
