//! `sealstone compare` with stores on sealed volumes: servers that seal nothing themselves, and a
//! store that does beside itself. Not here: the figures (a measurement is no test), volumes
//! (`volume`).

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Whence, lseek};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{MARIADB_PROGRAM, POSTGRES_PROGRAM, Program, REDIS_PROGRAM};
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

fn compare(dir: &Path, more: &[&str]) -> Command {
    sealstone(dir, &[SMALL, more].concat())
}

/// Returns the transcript; none, with a SKIP for `test`, where this machine has no volumes.
fn compared(test: &str, dir: &Path, more: &[&str]) -> Option<Transcript> {
    let done = run(&mut compare(dir, more));
    let lack = "no store can be put on a sealed volume here: ";
    let Some(line) = done.stderr.lines().find(|line| line.contains(lack)) else {
        return Some(done);
    };
    assert_eq!(done.code, Some(2));
    println!("SKIP: {test}: {line}");
    None
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

/// Returns what is mounted below `dir`.
fn mounts(dir: &Path) -> Vec<String> {
    let dir = dir.canonicalize().unwrap().display().to_string();
    let all = fs::read_to_string("/proc/self/mounts").unwrap();
    all.lines().filter(|line| line.contains(&dir)).map(String::from).collect()
}

fn holds(dir: &Path, marker: &[u8]) -> bool {
    fs::read_dir(dir).unwrap().any(|entry| {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => holds(&entry.path(), marker),
            false => extents(&entry.path())
                .iter()
                .any(|extent| memchr::memmem::find(extent, marker).is_some()),
        }
    })
}

/// Returns the stretches of a file that take space: that of a volume is sparse, and longer than
/// memory.
fn extents(path: &Path) -> Vec<Vec<u8>> {
    let file = fs::File::open(path).unwrap();
    let bytes = file.metadata().unwrap().len() as i64;
    let mut found = Vec::new();
    let mut end = 0;
    // an error means that no data follows
    while end < bytes
        && let Ok(begin) = lseek(&file, end, Whence::SeekData)
    {
        end = lseek(&file, begin, Whence::SeekHole).unwrap();
        let mut extent = vec![0; (end - begin) as usize];
        file.read_exact_at(&mut extent, begin as u64).unwrap();
        found.push(extent);
    }
    found
}

/// The files of a server are on a volume, which is whole and shows nothing of them afterwards.
fn server_is_sealed(test: &str, store: &str, program: &'static Program, marker: &[u8]) {
    if !is_installed(program, test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    let store = format!("--store={store}");
    let Some(done) = compared(test, dir, &[&store, "--layer=rest", "--keep=kept"]) else { return };
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
fn a_store_is_sealed_in_two_ways_side_by_side() {
    let test = "a_store_is_sealed_in_two_ways_side_by_side";
    let home = reachable();
    let Some(done) = compared(test, home.path(), &["--seal=own,volume"]) else { return };
    done.done();
    let results = results(home.path());
    let variants = results["variants"].as_array().unwrap();
    let labels: Vec<&str> =
        variants.iter().map(|variant| variant["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["none", "lea-256 own", "lea-256 volume"]);
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
}

/// Whoever is killed leaves no mount and no process behind, only its directory.
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
            compared(test, dir, &ways).expect("no mount was seen").done();
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
    let log = refused(&["--store=redis", "--redis-log=weekly"]);
    assert!(log.contains("use always, everysec or off"), "{log}");
}
