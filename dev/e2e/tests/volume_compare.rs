//! `sealstone compare` with stores on sealed volumes: servers that seal nothing themselves, and a
//! store that does beside itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::binary::{mariadb_plugin, wiredtiger_extension};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_e2e::volume_place::{holds, is_skipped};
use sealstone_modules::testing::compiled;
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    MARIADB_PROGRAM, MONGOD_PROGRAM, POSTGRES_PROGRAM, Program, REDIS_PROGRAM, SSDB_PROGRAM,
};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--set=pairs=6",
    "--set=slice-ms=1",
    "--workloads=a",
    "--ciphers=none,lea-256",
    "--out=out",
];

/// Names the program that serves volumes.
const PROGRAM: &str = "SEALSTONE_PROGRAM";

fn compare(dir: &Path, more: &[&str]) -> Command {
    sealstone(dir, &[SMALL, more].concat())
}

/// Returns the transcript; none, with a SKIP for `test`, where this machine has no volumes.
fn compared(test: &str, dir: &Path, more: &[&str]) -> Option<Transcript> {
    let done = run(&mut compare(dir, more));
    (!is_skipped(test, &done)).then_some(done)
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

fn labels(variants: &[Value]) -> Vec<&str> {
    variants.iter().map(|variant| variant["label"].as_str().unwrap()).collect()
}

/// Returns what is mounted below `dir`.
fn mounts(dir: &Path) -> Vec<String> {
    let dir = dir.canonicalize().unwrap().display().to_string();
    let all = fs::read_to_string("/proc/self/mounts").unwrap();
    all.lines().filter(|line| line.contains(&dir)).map(String::from).collect()
}

/// The files of a server are on a volume, which is whole and shows nothing of them afterwards.
fn server_is_sealed(test: &str, store: &str, program: &'static Program, marker: &[u8]) {
    if !is_installed(program, test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    let store = format!("--store={store}");
    let Some(done) = compared(test, dir, &[&store, "--seal=volume", "--keep=kept"]) else { return };
    let (note, said) = (done.stderr.clone(), done.done());
    assert!(said.ends_with("out/report.html\n"), "{said}");
    assert!(note.contains("the stores kept in kept are sealed with the key in kept.key"), "{note}");
    let results = results(dir);
    let group = &results["groups"][0];
    let rest = &results["variants"][1]["layers"]["rest"];
    assert_eq!((&rest["cipher"], &rest["seal"]), (&"lea-256".into(), &"volume".into()));
    let volume = group["engine"]["settings"]["sealed volume"].as_str().unwrap();
    assert!(volume.starts_with("ext4 on a loop device"), "{volume}");
    assert_eq!(mounts(dir), [""; 0]);

    let sealed = dir.join("kept/ycsb/lea-256/volume");
    let verify = ["volume", "verify", sealed.to_str().unwrap(), "--key", "kept.key"];
    let said = run(&mut sealstone(dir, &verify)).done();
    assert!(said.contains(" is whole: "), "{said}");
    assert!(holds(&dir.join("kept/ycsb/none"), marker), "the marker is not in the clear files");
    assert!(!holds(&sealed, marker), "{}", String::from_utf8_lossy(marker));
}

#[test]
fn postgres_is_measured_on_a_volume() {
    let test = "postgres_is_measured_on_a_volume";
    server_is_sealed(test, "postgres", &POSTGRES_PROGRAM, b"usertable");
}

#[test]
fn mysql_is_measured_on_a_volume() {
    server_is_sealed("mysql_is_measured_on_a_volume", "mysql", &MARIADB_PROGRAM, b"usertable");
}

#[test]
fn redis_is_measured_on_a_volume() {
    server_is_sealed("redis_is_measured_on_a_volume", "redis", &REDIS_PROGRAM, b"\r\nuser1000");
}

#[test]
fn redis_is_measured_with_each_of_its_logs() {
    let test = "redis_is_measured_with_each_of_its_logs";
    if !is_installed(&REDIS_PROGRAM, test) {
        return;
    }
    let logs =
        [("always", "yes", "always"), ("everysec", "yes", "everysec"), ("off", "no", "everysec")];
    for (log, appendonly, appendfsync) in logs {
        let home = reachable();
        let log = format!("--redis-log={log}");
        let done = compared(test, home.path(), &["--store=redis", "--seal=volume", &log]);
        let Some(done) = done else { return };
        done.done();
        let results = results(home.path());
        let settings = &results["groups"][0]["engine"]["settings"];
        let found = (&settings["appendonly"], &settings["appendfsync"]);
        assert_eq!(found, (&appendonly.into(), &appendfsync.into()), "{log}");
        assert_eq!(results["variants"][1]["layers"]["rest"]["seal"], "volume");
    }
}

#[test]
fn ssdb_is_measured_on_a_volume() {
    server_is_sealed("ssdb_is_measured_on_a_volume", "ssdb", &SSDB_PROGRAM, b"user1000");
}

/// The study that left encryption for later: a store in memory and one on disk, each plain and on a
/// volume of its own.
#[test]
fn the_study_of_redis_is_measured_plain_and_on_volumes() {
    let test = "the_study_of_redis_is_measured_plain_and_on_volumes";
    if !is_installed(&REDIS_PROGRAM, test) {
        return;
    }
    let home = reachable();
    let small = [
        "compare",
        "--study=redis-ssdb",
        "--records=300",
        "--operations=200",
        "--threads=2",
        "--rounds=1",
        "--set=slice-ms=1",
        "--workloads=a",
        "--out=out",
    ];
    let done = run(&mut sealstone(home.path(), &small));
    if is_skipped(test, &done) {
        return;
    }
    done.done();
    let results = results(home.path());
    let rest = &results["variants"][1]["layers"]["rest"];
    assert_eq!((&rest["cipher"], &rest["seal"]), (&"aes-256".into(), &"volume".into()));
    let groups = results["groups"].as_array().unwrap();
    let stores: Vec<&Value> = groups.iter().map(|group| &group["point"]["store"]).collect();
    assert_eq!(stores, ["redis", "rocksdb"]);
    for group in groups {
        assert_eq!(group["cells"].as_array().unwrap().len(), 2, "plain and sealed");
        assert!(group["engine"]["settings"]["sealed volume"].is_string(), "{}", group["engine"]);
    }
    let log = &groups[0]["engine"]["settings"]["appendonly"];
    assert_eq!(log, "yes", "a log that is nowhere cannot be sealed");
    // plain beside plain, and sealed beside sealed
    let against = results["against"].as_array().unwrap().iter();
    let pairs: Vec<_> = against.map(|one| (&one["variant"], &one["other_variant"])).collect();
    let same = |name: &'static str| (Value::from(name), Value::from(name));
    let (none, sealed) = (same("none"), same("aes-256"));
    assert_eq!(pairs, [(&none.0, &none.1), (&sealed.0, &sealed.1)]);
    assert_eq!(mounts(home.path()), [""; 0]);
}

/// The process that serves a volume loads the module that was named, a library of this directory
/// with what was stated about it.
#[test]
fn a_volume_in_a_module_is_served_in_it() {
    let test = "a_volume_in_a_module_is_served_in_it";
    let home = reachable();
    let library = compiled(home.path(), "reference.c", &["NAME=\"vendor\""]);
    let name = library.file_name().unwrap().to_str().unwrap();
    let module = format!("--module=./{name}?certificate=No 17/2026");
    // the reference has no LEA
    let small: Vec<&str> =
        SMALL.iter().copied().filter(|flag| !flag.starts_with("--ciphers")).collect();
    let more = ["--seal=volume", "--ciphers=none,aria-256", &module];
    let done = run(&mut sealstone(home.path(), &[&small, &more[..]].concat()));
    if is_skipped(test, &done) {
        return;
    }
    done.done();
    let results = results(home.path());
    let rest = &results["variants"][1]["layers"]["rest"];
    assert_eq!(rest["seal"], "volume");
    let stated = rest["module"].as_str().unwrap();
    assert!(stated.ends_with(", certificate No 17/2026"), "{stated}");
}

#[test]
fn a_store_is_sealed_in_two_ways_side_by_side() {
    let test = "a_store_is_sealed_in_two_ways_side_by_side";
    let home = reachable();
    let Some(done) = compared(test, home.path(), &["--seal=own,volume"]) else { return };
    done.done();
    let results = results(home.path());
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(labels(variants), ["none", "lea-256 own", "lea-256 volume"]);
    let seals: Vec<&Value> =
        variants[1..].iter().map(|variant| &variant["layers"]["rest"]["seal"]).collect();
    assert_eq!(seals, [&Value::Null, &"volume".into()]);
    // what sealed its pages itself reports it, and the one on a volume has plain pages
    let cells = results["groups"][0]["cells"].as_array().unwrap();
    let encrypted = |variant: usize| {
        let cells = cells.iter().filter(|cell| cell["variant"] == variant);
        let samples = cells.flat_map(|cell| cell["samples"].as_array().unwrap());
        samples.map(|sample| sample["encrypted_bytes"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(encrypted(1) > 0);
    assert_eq!((encrypted(0), encrypted(2)), (0, 0));
    assert_eq!(mounts(home.path()), [""; 0]);

    // a process that does not come up is said, and leaves nothing
    fs::remove_dir_all(home.path().join("out")).unwrap();
    let failed = run(compare(home.path(), &["--seal=volume"]).env(PROGRAM, "/bin/false"));
    let wanted = "the process that serves the volume: ";
    assert!(failed.code == Some(2) && failed.stderr.contains(wanted), "{failed:?}");
    assert_eq!(mounts(home.path()), [""; 0]);
}

/// A server that seals its files by something that it loads, and the same on a volume: each alone.
fn server_is_sealed_in_two_ways(test: &str, store: &str, program: &'static Program) {
    if !is_installed(program, test) {
        return;
    }
    let home = reachable();
    let store = format!("--store={store}");
    let mut compare = compare(home.path(), &[&store, "--layer=rest", "--seal=own,volume"]);
    compare.env("SEALSTONE_WT_EXTENSION", wiredtiger_extension());
    compare.env("SEALSTONE_MARIADB_PLUGIN", mariadb_plugin());
    let done = run(&mut compare);
    if is_skipped(test, &done) {
        return;
    }
    done.done();
    let results = results(home.path());
    let variants = results["variants"].as_array().unwrap();
    assert_eq!(labels(variants), ["none", "lea-256 own", "lea-256 volume"]);
    let cells = results["groups"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3, "each was measured: {cells:?}");
    assert_eq!(mounts(home.path()), [""; 0]);
}

#[test]
fn mongodb_is_sealed_in_two_ways_side_by_side() {
    let test = "mongodb_is_sealed_in_two_ways_side_by_side";
    server_is_sealed_in_two_ways(test, "mongodb", &MONGOD_PROGRAM);
}

#[test]
fn mysql_is_sealed_in_two_ways_side_by_side() {
    let test = "mysql_is_sealed_in_two_ways_side_by_side";
    server_is_sealed_in_two_ways(test, "mysql", &MARIADB_PROGRAM);
}

/// A comparison that is killed leaves no mount and no process behind, only its directory.
#[test]
fn a_killed_comparison_leaves_nothing_mounted() {
    let test = "a_killed_comparison_leaves_nothing_mounted";
    let home = reachable();
    let dir = home.path();
    let ways = ["--seal=volume", "--set=slice-ms=20000"];
    let mut killed = compare(dir, &ways);
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while mounts(dir).len() < 2 {
        if killed.try_wait().unwrap().is_some() {
            let done = compared(test, dir, &ways);
            assert!(done.is_none(), "it ended before anything was mounted: {done:?}");
            return;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing was mounted");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill(Pid::from_raw(killed.id() as i32), Signal::SIGKILL).unwrap();
    killed.wait().unwrap();
    let begin = Instant::now();
    while !mounts(dir).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", mounts(dir));
        std::thread::sleep(Duration::from_millis(20));
    }
    let again = run(&mut compare(dir, &["--ciphers=none"]));
    assert!(again.stderr.contains("the stores of an earlier run that was killed"), "{again:?}");
}

#[test]
fn what_cannot_be_on_a_volume_is_said() {
    let home = reachable();
    let refused = |more: &[&str]| {
        let done = run(&mut compare(home.path(), more));
        assert_eq!(done.code, Some(2), "{done:?}");
        done.stderr
    };
    let own = refused(&["--store=postgres", "--layer=rest", "--postgres-url=postgres://h/d"]);
    let wanted = "postgres-url names servers of your own, and the volumes of a comparison are for \
                  servers that are started here";
    assert!(own.contains(wanted), "{own}");
    let unknown = refused(&["--seal=volumes"]);
    assert!(unknown.contains("unknown seal \"volumes\"; did you mean volume?"), "{unknown}");
    let elsewhere = refused(&["--layer=field", "--seal=volume"]);
    assert!(elsewhere.contains("it is about files at rest; add --layer rest"), "{elsewhere}");
    let missing = run(compare(home.path(), &["--seal=volume"]).env(PROGRAM, "/nonexistent"));
    assert!(missing.stderr.contains("cannot find the program sealstone"), "{missing:?}");
    let log = refused(&["--store=redis", "--redis-log=weekly"]);
    assert!(log.contains("use always, everysec or off"), "{log}");
}
