//! `sealstone compare --store redis`: servers and clusters that the comparison starts and ends, the
//! user's own servers, and impossible settings.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::transcript::{finish_after, run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{REDIS_PROGRAM, RedisOptions, start_redis};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--store=redis",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--set=pairs=6",
    "--set=slice-ms=1",
    "--workloads=a,e",
    "--out=out",
];

fn available(name: &str) -> bool {
    is_installed(&REDIS_PROGRAM, name)
}

fn compare(dir: &Path, more: &[&str]) -> Command {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    sealstone(dir, &[SMALL, more].concat())
}

fn results(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Returns the servers that work below `dir`. Their command lines are no help: Redis writes its
/// address over them.
fn servers(dir: &Path) -> Vec<i32> {
    let dir = dir.canonicalize().unwrap();
    let pids = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let uses = |pid: &i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let works_in = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        name.trim_end() == "redis-server" && works_in.starts_with(&dir)
    };
    pids.filter(uses).collect()
}

#[test]
fn a_server_and_a_cluster_are_measured_and_ended() {
    if !available("a_server_and_a_cluster_are_measured_and_ended") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let transcript = run(&mut compare(dir.path(), &["--nodes=1,3"]));
    assert!(
        transcript.stderr.contains("redis is measured without encryption"),
        "{}",
        transcript.stderr
    );
    let said = transcript.done();
    assert!(said.contains("1 member\n") && said.contains("3 members\n"), "{said}");
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let results = results(&dir.path().join("out/results.json"));
    for (group, topology) in results["groups"].as_array().unwrap().iter().zip(["single", "cluster"])
    {
        assert_eq!(
            (&group["engine"]["name"], &group["engine"]["settings"]["topology"]),
            (&"redis".into(), &topology.into())
        );
        assert!(group["engine"]["version"].as_str().unwrap().contains('.'), "{}", group["engine"]);
        let cells = group["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        for cell in cells {
            let samples = cell["samples"].as_array().unwrap();
            let sum = |field: &str| {
                samples.iter().map(|sample| sample[field].as_f64().unwrap()).sum::<f64>()
            };
            assert!(sum("operations") > 0.0 && cell["disk_bytes"].as_u64().unwrap() > 0, "{cell}");
        }
    }
    assert!(servers(dir.path()).is_empty(), "a server was left behind");
}

#[test]
fn a_store_that_takes_no_cipher_stands_beside_one_that_does() {
    if !available("a_store_that_takes_no_cipher_stands_beside_one_that_does") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let stores =
        ["--store=redis,rocksdb", "--ciphers=none,aes-256", "--against=redis", "--threads=1,2"];
    let words: Vec<&str> = SMALL[..1]
        .iter()
        .chain(&SMALL[2..])
        .filter(|word| **word != "--threads=4")
        .copied()
        .collect();
    let said = run(&mut sealstone(dir.path(), &[&words, &stores[..]].concat())).done();
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let found = results(&dir.path().join("out/results.json"));
    let labels: Vec<&Value> =
        found["variants"].as_array().unwrap().iter().map(|variant| &variant["label"]).collect();
    assert_eq!(labels, ["none", "aes-256"]);
    let cells = |group: &Value| group["cells"].as_array().unwrap().len();
    let groups: Vec<usize> = found["groups"].as_array().unwrap().iter().map(cells).collect();
    assert_eq!(
        groups,
        [2, 2, 4, 4],
        "none with Redis; none and aes-256 with RocksDB; workloads a and e"
    );
    let csv = fs::read_to_string(dir.path().join("out/results.csv")).unwrap();
    assert!(
        csv.lines().any(|line| line.starts_with("a,aes-256,") && line.contains(",rocksdb,")),
        "{csv}"
    );
    // drawn again from the written results, with the same figures
    let again =
        run(&mut sealstone(dir.path(), &["report", "out/results.json", "--out", "again.html"]));
    assert!(again.done().contains("again.html"));
}

#[test]
fn a_server_of_the_user_is_used_and_left_as_it_was() {
    if !available("a_server_of_the_user_is_used_and_left_as_it_was") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let password = Some("geheim".into());
    let server = start_redis(
        &dir.path().join("theirs"),
        RedisOptions { password, ..RedisOptions::default() },
    )
    .unwrap();
    let url = format!("redis://:geheim@{}", server.address());
    fs::write(dir.path().join("address"), &url).unwrap();
    run(&mut compare(dir.path(), &["--redis-url=@address"])).done();
    let named = format!("--redis-url={url}");
    run(&mut compare(dir.path(), &[&named])).done();
    let written = fs::read_to_string(dir.path().join("out/results.json")).unwrap();
    assert!(!written.contains("geheim"), "a password in the results");

    // two variants need two servers
    let two = run(&mut compare(dir.path(), &[&named, "--ciphers=none,none"]));
    assert_eq!(two.code, Some(2));
    assert!(
        two.stderr.contains("needs a server of its own, and --redis-url names one for all"),
        "{}",
        two.stderr
    );
    let refused = run(&mut compare(
        dir.path(),
        &[&format!("--redis-url=redis://:geheimnis@{}", server.address())],
    ));
    assert_eq!(refused.code, Some(2));
    let want = format!(
        "cannot connect to Redis at {}: it refused the user name and password\n",
        server.address()
    );
    assert!(
        refused.stderr.contains(&want) && !refused.stderr.contains("geheim"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_server_that_is_killed_ends_the_run_with_one_error() {
    if !available("a_server_that_is_killed_ends_the_run_with_one_error") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // long enough to be met at work
    let long = SMALL.iter().map(|flag| match flag.rsplit_once('=') {
        Some(("--operations", _)) => "--operations=1M",
        Some(("--set=slice-ms", _)) => "--set=slice-ms=2000",
        _ => flag,
    });
    let mut command = sealstone(dir.path(), &long.collect::<Vec<_>>());
    let comparison = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = finish_after(comparison, "; warming up ", |_| {
        // a process that it just started still has its name
        let only = || if let [pid] = servers(dir.path())[..] { Some(pid) } else { None };
        let found = std::iter::repeat_with(only).find_map(|found| found).unwrap();
        kill(Pid::from_raw(found), Signal::SIGKILL).unwrap();
    });
    let stderr = said.stderr;
    assert_eq!(said.code, Some(2), "{stderr}");
    assert!(
        stderr.contains(" failed on none: cannot ") && stderr.contains("Redis at 127.0.0.1:"),
        "{stderr}"
    );
}

#[test]
fn servers_that_are_killed_cost_no_earlier_result() {
    if !available("servers_that_are_killed_cost_no_earlier_result") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = compare(dir.path(), &["--nodes=1,3"]);
    let mut comparison = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    // a cluster, and so the second run
    let found = loop {
        let found = servers(dir.path());
        if found.len() > 2 {
            break found;
        }
        let still_runs = comparison.try_wait().unwrap().is_none();
        assert!(still_runs && begin.elapsed() < Duration::from_secs(60), "no cluster was started");
        thread::sleep(Duration::from_millis(5));
    };
    for pid in found {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let said = comparison.wait_with_output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert_eq!(said.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("sealstone: cannot compare 3 members: "), "{stderr}");
    // the run before is shown, and written
    assert!(
        stdout.contains("ended early") && stdout.trim_end().ends_with("out/report.html"),
        "{stdout}"
    );
    let written = results(&dir.path().join("out/results.json"));
    assert_eq!(written["groups"][0]["engine"]["settings"]["topology"], "single");
    assert!(servers(dir.path()).is_empty(), "a server was left behind");
}

#[test]
fn a_log_that_syncs_no_write_refuses_workloads_that_need_it() {
    if !available("a_log_that_syncs_no_write_refuses_workloads_that_need_it") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let refused =
        run(&mut compare(dir.path(), &["--redis-log", "everysec", "--workloads", "a-sync"]));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let wanted = "a workload syncs its writes, and --redis-log is not always";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    assert!(servers(dir.path()).is_empty(), "a server was left behind");
}

#[test]
fn impossible_settings_are_reported_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], want: &str| {
        let refused = run(&mut compare(dir.path(), arguments));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    };
    fails(&["--redis-server", "/nonexistent"], "no redis-server found: looked in /nonexistent");
    fails(&["--nodes", "2"], "2 Redis servers are not possible\n  choose 1 for a single server");
    fails(
        &["--redis-keys", "other"],
        "cannot use --redis-keys \"other\" with Redis: it is unknown\n  use ycsb or",
    );
    fails(&["--redis-url", "mongodb://db.example"], "cannot use the Redis address");
    fails(
        &["--redis-url", "redis://u:p@h:x"],
        "cannot use the Redis address redis://…: its port is not a number",
    );
    fails(
        &["--redis-url", "@/nonexistent"],
        "cannot read the address of a server from /nonexistent",
    );
    fails(
        &["--redis-url", "redis://h", "--nodes", "3"],
        "redis-url of redis makes no sense together with nodes",
    );
    fails(&["--workloads", "c-cold"], "redis keeps all of them in memory\n  name c");
}
