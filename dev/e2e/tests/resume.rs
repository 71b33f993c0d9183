//! Comparisons that end before they are whole, by a kill, a dead server or errors: their files, and
//! their continuation by `sealstone compare --resume`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::transcript::{finish, run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{MONGOD_PROGRAM, Mongod, MongodOptions};
use serde_json::Value;

/// The longest wait for a comparison to reach the point that a test needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A grid of four points, each of which takes a second or two.
const GRID: [&str; 19] = [
    "compare",
    "--records",
    "500,1k",
    "--threads",
    "1,2",
    "--ciphers",
    "none,aes-256",
    "--workloads",
    "c",
    "--operations",
    "200",
    "--rounds",
    "2",
    "--set",
    "pairs=6",
    "--set",
    "slice-ms=30",
    "--out",
    "out",
];

/// Returns the results in `dir`, if there are any.
fn results(dir: &Path) -> Option<Value> {
    // the file is replaced whole, so whatever is read can be understood
    fs::read(dir.join("out/results.json")).ok().map(|text| serde_json::from_slice(&text).unwrap())
}

fn groups(results: &Value) -> &[Value] {
    results["groups"].as_array().unwrap()
}

/// Operations of every slice of the first cell.
fn operations(group: &Value) -> Vec<u64> {
    let samples = group["cells"][0]["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample["operations"].as_u64().unwrap()).collect()
}

/// Records and clients of every group.
fn points(results: &Value) -> BTreeSet<(u64, u64)> {
    let number = |group: &Value, axis: &str| group["point"][axis].as_u64().unwrap();
    groups(results)
        .iter()
        .map(|group| (number(group, "records"), number(group, "clients")))
        .collect()
}

#[test]
fn a_killed_grid_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = sealstone(dir.path(), &GRID);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    // the report is written after the results
    while !dir.path().join("out/report.html").exists() {
        assert!(
            begin.elapsed() < PATIENCE && child.try_wait().unwrap().is_none(),
            "it wrote nothing before its end"
        );
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = results(dir.path()).unwrap();
    let measured = groups(&left).len();
    assert!((1..4).contains(&measured), "{measured} of 4 points");
    assert_eq!(
        (left["interrupted"].as_bool(), left["missing"].as_array().unwrap().len()),
        (Some(true), 4 - measured)
    );
    assert_eq!(left["missing"][0]["reason"], "not measured yet");
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("Not everything was measured") && page.contains("(c): not measured yet"));

    // the same flags again or none, and no others
    let other =
        run(&mut sealstone(dir.path(), &["compare", "--resume", "out", "--records", "500"]));
    other.fails_with(
        "sealstone: cannot resume out: records was 500,1000, and is 500\n  leave --records out, or \
         measure again with another --out\n",
    );
    run(&mut sealstone(dir.path(), &["compare", "--resume", "nowhere"])).fails_with(
        "sealstone: cannot resume in nowhere: it has no results.json, so nothing was measured \
         whole\n  run the comparison with --out nowhere instead\n",
    );
    let resumed = run(&mut sealstone(dir.path(), &[&GRID[..], &["--resume", "out"]].concat()));
    let kept = format!("kept {measured} of 4 points, which were measured whole before\n");
    assert!(resumed.stderr.contains(&kept), "{}", resumed.stderr);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let whole = results(dir.path()).unwrap();
    assert_eq!(points(&whole), BTreeSet::from([(500, 1), (500, 2), (1_000, 1), (1_000, 2)]));
    assert_eq!((whole["interrupted"].as_bool(), whole.get("missing")), (Some(false), None));
    for group in groups(&left) {
        let same = groups(&whole).iter().find(|other| other["point"] == group["point"]).unwrap();
        assert_eq!(same["started_at"], group["started_at"], "it was measured again");
        assert_eq!(operations(same), operations(group));
    }
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(!page.contains("Not everything was measured"));
    // nothing is left to do
    let again = run(&mut sealstone(dir.path(), &["compare", "--resume", "out"]));
    assert!(again.stderr.contains("kept 4 of 4 points"), "{}", again.stderr);
    assert_eq!(again.done().lines().last(), Some("out/report.html"));
}

/// The answer's advice on more rounds can be followed: rounds are added to a run that is whole, on
/// stores that are loaded again, as many as requested or until a time is up.
#[test]
fn rounds_are_added_to_a_finished_run() {
    let dir = tempfile::tempdir().unwrap();
    let small = [
        "compare",
        "--records",
        "500",
        "--threads",
        "1",
        "--ciphers",
        "none,aes-256",
        "--workloads",
        "a",
    ];
    let more = [
        "--operations",
        "200",
        "--rounds",
        "2",
        "--set",
        "pairs=3",
        "--set",
        "slice-ms=2",
        "--out",
        "out",
    ];
    let first =
        run(&mut sealstone(dir.path(), &[&small[..], &more].concat())).done().replace('\n', " ");
    assert!(first.contains("intervals are over 2 loads of each store"), "{first}");
    let rounds = |found: &Value| -> Vec<(u64, u64)> {
        let samples = groups(found)[0]["cells"][1]["samples"].as_array().unwrap();
        let number = |sample: &Value, name: &str| sample[name].as_u64().unwrap();
        let seen: BTreeSet<_> =
            samples.iter().map(|one| (number(one, "round"), number(one, "load"))).collect();
        seen.into_iter().collect()
    };
    let before = results(dir.path()).unwrap();
    assert_eq!(rounds(&before), [(0, 0), (1, 1)]);
    let added =
        run(&mut sealstone(dir.path(), &["compare", "--resume", "out", "--rounds", "3"])).done();
    assert!(
        added.replace('\n', " ").contains("intervals are over 5 loads of each store"),
        "{added}"
    );
    let after = results(dir.path()).unwrap();
    assert_eq!(rounds(&after), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
    assert_eq!(after["plan"]["rounds"], 5);
    let [old, new] = [&before, &after].map(|found| operations(&groups(found)[0]));
    assert_eq!(new[..old.len()], old, "what was measured stays");
    // a single one has too few pairs for an interval by itself, and does not stand by itself
    run(&mut sealstone(dir.path(), &["compare", "--resume", "out", "--rounds", "1"])).done();
    assert_eq!(rounds(&results(dir.path()).unwrap()).len(), 6);
    // and for a time
    run(&mut sealstone(dir.path(), &["compare", "--resume", "out", "--max-time", "2s"])).done();
    assert!(rounds(&results(dir.path()).unwrap()).len() > 6);
    let both = run(&mut sealstone(
        dir.path(),
        &["compare", "--resume", "out", "--rounds", "3", "--until", "2%"],
    ));
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

/// Rounds are added where they can be; a point that no longer fits keeps what it has.
#[test]
fn a_point_that_no_longer_fits_keeps_its_rounds() {
    let dir = tempfile::tempdir().unwrap();
    let small = [
        "compare",
        "--records=500,600",
        "--threads=1",
        "--ciphers=none",
        "--workloads=c",
        "--operations=200",
        "--rounds=1",
        "--set=pairs=6",
        "--set=slice-ms=1",
        "--out=out",
    ];
    run(&mut sealstone(dir.path(), &small)).done();
    // as if the second point had been measured on a machine with room for it
    let path = dir.path().join("out/results.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut found: Value = serde_json::from_str(&text).unwrap();
    let large = 1_000_000_000_000_u64;
    found["plan"]["records"][1] = large.into();
    found["groups"][1]["point"]["records"] = large.into();
    fs::write(&path, found.to_string()).unwrap();
    let before = results(dir.path()).unwrap();
    let said = run(&mut sealstone(dir.path(), &["compare", "--resume=out", "--rounds=1"]));
    assert!(said.stderr.contains("; its earlier rounds stay\n"), "{}", said.stderr);
    let screen = said.done();
    assert!(!screen.contains("not measured: "), "{screen}");
    let after = results(dir.path()).unwrap();
    let [old, new] = [&before, &after].map(|found| groups(found).iter().map(operations));
    let (old, new): (Vec<_>, Vec<_>) = (old.collect(), new.collect());
    assert!(new[0].len() > old[0].len() && new[0][..old[0].len()] == old[0][..]);
    assert_eq!(new[1], old[1], "the second point stays");
}

#[test]
fn points_that_do_not_fit_are_left_out_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let grid = [
        "compare",
        "--records",
        "500,1000G",
        "--threads",
        "1",
        "--ciphers",
        "none",
        "--workloads",
        "c",
    ];
    let small = [
        "--operations",
        "200",
        "--rounds",
        "1",
        "--set",
        "pairs=6",
        "--set",
        "slice-ms=1",
        "--out",
        "out",
    ];
    let said = run(&mut sealstone(dir.path(), &[&grid[..], &small].concat()));
    assert!(
        said.stderr.contains("left out ") && said.stderr.contains("the stores need about "),
        "{}",
        said.stderr
    );
    let screen = said.done();
    assert!(
        screen.contains("not everything could be had; measured 1 of 2 points\nnot measured: "),
        "{screen}"
    );
    let found = results(dir.path()).unwrap();
    assert_eq!(
        (found["interrupted"].as_bool(), &found["missing"][0]["left_out"]),
        (Some(false), &Value::Bool(true))
    );
    // alone it is an error
    let alone: Vec<&str> =
        grid.iter().map(|word| if *word == "500,1000G" { "1000G" } else { word }).collect();
    let refused = run(&mut sealstone(
        dir.path(),
        &[&alone[..], &small[..small.len() - 1], &["other"]].concat(),
    ));
    assert!(
        refused.code == Some(2) && refused.stderr.starts_with("sealstone: the stores need about ")
    );
}

#[test]
fn a_server_that_dies_ends_the_run_with_what_was_measured() {
    const NAME: &str = "a_server_that_dies_ends_the_run_with_what_was_measured";
    if !is_installed(&MONGOD_PROGRAM, NAME) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut server = Mongod::start(&dir.path().join("theirs"), MongodOptions::default()).unwrap();
    let place = server.uri().split('?').next().unwrap().trim_end_matches('/').to_owned();
    let cluster = format!("--cluster=none={place}/first");
    let grid = [
        "compare",
        "--store",
        "mongodb",
        "--records",
        "200,300",
        "--threads",
        "2",
        "--ciphers",
        "none",
    ];
    let more = [
        "--operations",
        "200",
        "--rounds",
        "10",
        "--set",
        "pairs=6",
        "--set",
        "slice-ms=10",
        "--workloads",
        "a",
    ];
    let arguments = [&grid[..], &more, &["--max-errors", "1", "--out", "out", &cluster]].concat();
    let mut command = sealstone(dir.path(), &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while results(dir.path()).is_none() {
        assert!(
            begin.elapsed() < PATIENCE && child.try_wait().unwrap().is_none(),
            "it wrote nothing before its end"
        );
        thread::sleep(Duration::from_millis(5));
    }
    // the second point is being measured by now, or will be
    thread::sleep(Duration::from_millis(500));
    kill(Pid::from_raw(server.pid().expect("it runs")), Signal::SIGKILL).unwrap();
    let said = finish(child);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("sealstone: cannot compare 300 records: "), "{}", said.stderr);
    assert!(said.stdout.trim_end().ends_with("out/report.html"), "{}", said.stdout);
    let found = results(dir.path()).unwrap();
    assert_eq!(
        (found["interrupted"].as_bool(), groups(&found)[0].get("failure")),
        (Some(true), None)
    );
    match groups(&found).get(1) {
        // killed while slices were measured: they are there, and nothing is recommended from them
        Some(partial) => {
            let failure = partial["failure"].as_str().unwrap();
            assert!(
                failure.contains("MongoDB at ") && partial["recommendation"]["take"].is_null(),
                "{failure}"
            );
            let samples = partial["cells"][0]["samples"].as_array().unwrap().len();
            assert!((1..60).contains(&samples), "{samples} samples");
        }
        None => assert_eq!(found["missing"][0]["reason"], "the run ended before it"),
    }
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("ended early") || page.contains("Not everything was measured"));
}
