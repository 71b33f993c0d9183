//! `sealstone compare --store mongodb`: replica sets that the comparison starts and ends, sealed
//! and not, in one report for several numbers of members; the user's own clusters; impossible
//! settings.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::binary::wiredtiger_extension;
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{MONGOD_PROGRAM, Mongod, MongodOptions};
use sealstone_stores::{MongoDb, MongoDbOptions};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: [&str; 17] = [
    "compare",
    "--store",
    "mongodb",
    "--records",
    "300",
    "--operations",
    "200",
    "--threads",
    "4",
    "--rounds",
    "1",
    "--set",
    "pairs=6",
    "--set",
    "slice-ms=1",
    "--workloads",
    "a,e",
];

fn available(name: &str) -> bool {
    is_installed(&MONGOD_PROGRAM, name)
}

fn compare(dir: &Path, more: &[&str]) -> Command {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    let mut command = sealstone(dir, &[&SMALL[..], more].concat());
    command.env("SEALSTONE_WT_EXTENSION", wiredtiger_extension());
    command
}

fn results(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Returns whether a process has `dir` in its command line.
fn is_used(dir: &Path) -> bool {
    let dir = dir.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(|line| {
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(dir.to_str().unwrap())
    })
}

/// Returns the processes that `parent` has started.
fn servers(parent: u32) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let parent_of = |pid: &i32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    pids.filter(|pid| parent_of(pid) == Some(parent)).collect()
}

/// Waits until `comparison` has three servers running.
fn wait_for_three_servers(comparison: &mut Child) {
    let begin = Instant::now();
    while servers(comparison.id()).len() < 3 {
        assert!(
            begin.elapsed() < Duration::from_secs(300) && comparison.try_wait().unwrap().is_none()
        );
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sets_of_several_sizes_are_measured_and_removed() {
    if !available("sets_of_several_sizes_are_measured_and_removed") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let said = run(&mut compare(
        dir.path(),
        &["--at-rest", "none,aes-256", "--nodes", "1,3", "--out", "out"],
    ))
    .done();
    assert!(said.contains("1 member\n") && said.contains("3 members\n"), "{said}");
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let results = results(&dir.path().join("out/results.json"));
    for (group, members) in results["groups"].as_array().unwrap().iter().zip([1, 3]) {
        assert_eq!(group["engine"]["name"], "mongodb");
        assert!(group["engine"]["version"].as_str().unwrap().contains('.'), "{}", group["engine"]);
        assert_eq!(group["engine"]["settings"]["members"], members.to_string());
        assert_eq!(group["point"]["members"], members);
        let cells = group["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 4);
        for cell in cells {
            let samples = cell["samples"].as_array().unwrap();
            let sum = |field: &str| {
                samples.iter().map(|sample| sample[field].as_f64().unwrap()).sum::<f64>()
            };
            assert!(sum("operations") > 0.0 && cell["disk_bytes"].as_u64().unwrap() > 0, "{cell}");
            // the servers' work counts: only this process reports CPU time to the microsecond,
            // servers to 10 ms
            assert!(sum("cpu_user_s") + sum("cpu_system_s") > 0.0);
        }
    }
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(
        page.contains("3 members")
            && page.contains("results.json")
            && page.contains("Throughput by members")
    );
    assert!(!is_used(dir.path()), "a server was left behind");
    // the key of the run has been removed, and so have the stores
    let left: Vec<_> = fs::read_dir(dir.path().join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn stores_are_set_against_each_other_where_asked() {
    if !available("stores_are_set_against_each_other_where_asked") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let both = SMALL.map(|word| if word == "mongodb" { "rocksdb,mongodb" } else { word });
    let flags = ["--ciphers", "none,aes-256", "--against", "rocksdb", "--out", "out"];
    let mut command = sealstone(dir.path(), &[&both[..], &flags].concat());
    let said = run(command.env("SEALSTONE_WT_EXTENSION", wiredtiger_extension())).done();
    assert!(said.contains("not measured in alternation"), "{said}");
    let results = results(&dir.path().join("out/results.json"));
    let against = results["against"].as_array().unwrap();
    let seen: Vec<_> =
        against.iter().map(|one| (one["workload"].as_str(), one["variant"].as_str())).collect();
    let cell = |workload, variant| (Some(workload), Some(variant));
    assert_eq!(
        seen,
        [cell("a", "none"), cell("a", "aes-256"), cell("e", "none"), cell("e", "aes-256")]
    );
    for one in against {
        assert_eq!(
            (&one["point"]["store"], &one["other"]["store"]),
            (&"mongodb".into(), &"rocksdb".into())
        );
        assert!(one["ratio"].as_f64().unwrap() > 0.0, "{one}");
    }
}

#[test]
fn what_is_kept_is_sealed_and_opens_again() {
    if !available("what_is_kept_is_sealed_and_opens_again") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let arguments =
        ["--at-rest", "none,aria-256", "--nodes", "1", "--out", "out", "--keep", "kept"];
    run(&mut compare(dir.path(), &arguments)).done();
    assert!(!is_used(dir.path()));
    let sealed = dir.path().join("kept/ycsb/aria-256/member-1/data");
    let check =
        run(&mut sealstone(dir.path(), &["mongo", "check", sealed.to_str().unwrap()])).done();
    assert!(check.contains("aria-256"), "{check}");
    assert!(dir.path().join("kept.key").is_file());
}

#[test]
fn servers_that_are_killed_cost_no_earlier_result() {
    if !available("servers_that_are_killed_cost_no_earlier_result") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = compare(dir.path(), &["--at-rest", "none", "--nodes", "1,3", "--out", "out"]);
    let mut comparison = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // the third member is of the second run
    wait_for_three_servers(&mut comparison);
    for pid in servers(comparison.id()) {
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
    assert_eq!(
        results(&dir.path().join("out/results.json"))["groups"][0]["engine"]["settings"]["members"],
        "1"
    );
    assert!(!is_used(dir.path()), "a server was left behind");
}

#[test]
fn a_second_interrupt_ends_the_servers_too() {
    if !available("a_second_interrupt_ends_the_servers_too") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = compare(dir.path(), &["--at-rest", "none", "--nodes", "3", "--out", "out"]);
    let mut comparison = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_three_servers(&mut comparison);
    for _ in 0..2 {
        kill(Pid::from_raw(comparison.id() as i32), Signal::SIGINT).unwrap();
        thread::sleep(Duration::from_millis(200));
    }
    let said = comparison.wait_with_output().unwrap();
    assert_eq!(said.status.code(), Some(130));
    assert!(
        String::from_utf8_lossy(&said.stderr)
            .ends_with("\naborted; the unfinished stores were removed\n")
    );
    let begin = Instant::now();
    while is_used(dir.path()) {
        assert!(begin.elapsed() < Duration::from_secs(20), "a server was left behind");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn clusters_of_the_user_are_used_and_left_as_they_were() {
    if !available("clusters_of_the_user_are_used_and_left_as_they_were") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = Mongod::start(&dir.path().join("theirs"), MongodOptions::default()).unwrap();
    let place = |database: &str| {
        format!("{}/{database}", server.uri().split('?').next().unwrap().trim_end_matches('/'))
    };
    fs::write(dir.path().join("address"), place("second")).unwrap();
    let clusters =
        [format!("--cluster=none={}", place("first")), "--cluster=aes-256=@address".to_owned()];
    let arguments = [&clusters[0], &clusters[1], "--at-rest=none,aes-256", "--out=out"];
    run(&mut compare(dir.path(), &arguments)).done();
    assert_eq!(
        results(&dir.path().join("out/results.json"))["groups"][0]["engine"]["name"],
        "mongodb"
    );

    // stores that should differ only in TLS do
    let tls = format!("--cluster=tls={}", place("second"));
    let refused = run(&mut compare(dir.path(), &[&clusters[0], &tls, "--layer=wire", "--out=out"]));
    let want = format!(
        "tls is measured with TLS, and MongoDB at {} is reached without\n",
        server.address()
    );
    assert!(refused.code == Some(2) && refused.stderr.contains(&want), "{}", refused.stderr);
    let both = [format!("{}?tls=true", clusters[0]), format!("{tls}?tls=true")];
    let refused = run(&mut compare(dir.path(), &[&both[0], &both[1], "--layer=wire", "--out=out"]));
    assert!(
        refused.stderr.contains("none is measured without TLS, and MongoDB at "),
        "{}",
        refused.stderr
    );

    // a place with other records is refused, and not touched
    let client = |database: &str| {
        MongoDb::connect(&MongoDbOptions {
            uri: place(database),
            threads: 1,
            ..MongoDbOptions::default()
        })
        .unwrap()
    };
    let table = sealstone_store::Table { id: 1, name: "usertable".into(), fields: Vec::new() };
    let tables = vec![std::sync::Arc::new(table)];
    assert!(client("first").holding(&tables).unwrap().is_none(), "what was loaded is gone");
    let options = sealstone_store::StoreOptions {
        cache_bytes: 0,
        tables: tables.clone(),
        sync_writes: false,
    };
    let theirs = client("first").open_store(&options).unwrap();
    let record = sealstone_store::Record::new();
    sealstone_store::Store::insert(&theirs, &tables[0], b"theirs", &record).unwrap();
    let refused = run(&mut compare(dir.path(), &arguments));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("already contains records"), "{}", refused.stderr);
    assert!(client("first").holding(&tables).unwrap().is_some());

    // a variant without a cluster
    let missing =
        run(&mut compare(dir.path(), &[&clusters[1], "--at-rest=none,aes-256", "--out=out"]));
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.contains("no cluster for none: there are clusters for aes-256"),
        "{}",
        missing.stderr
    );
}

#[test]
fn impossible_settings_are_reported_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], want: &str| {
        let refused = run(&mut compare(dir.path(), arguments));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    };
    fails(&["--mongod", "/nonexistent/mongod"], "no mongod found: looked in /nonexistent/mongod");
    fails(&["--cluster", "mongodb://db.example"], "a cluster without the name of its cipher");
    fails(
        &["--cluster", "none=@/nonexistent"],
        "cannot read the address of cluster none from /nonexistent",
    );
    fails(&["--nodes", "0"], "0");
    fails(&["--nodes", "3,3"], "it is listed twice");
    fails(&["--nodes", "8"], "a replica set has 1 to 7 members that vote");
    fails(
        &["--nodes", "1,3", "--keep", "kept"],
        "stores can be kept of only one point of the axes",
    );
}
