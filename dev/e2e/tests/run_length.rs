//! Runs as long or as exact as asked: `--max-time`, `--until`, rounds added to a run, and the lines
//! that say how far it is. Not here: continuing what was interrupted (`resume`), how often an
//! interval that ended a run is wrong (`crates/bench`).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{Transcript, run, sealstone};
use serde_json::Value;

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    let small = [
        "compare",
        "--records=500",
        "--ciphers=none,aes-256",
        "--workloads=a",
        "--operations=200",
        "--set=pairs=6",
        "--set=slice-ms=10",
        "--out=out",
    ];
    let done = run(&mut sealstone(dir, &[&small[..], more].concat()));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

/// Returns the rounds of the first cell.
fn rounds(results: &Value) -> BTreeSet<u64> {
    let samples = results["groups"][0]["cells"][0]["samples"].as_array().unwrap();
    samples.iter().map(|sample| sample["round"].as_u64().unwrap()).collect()
}

/// Returns the lines of progress that say what is measured.
fn measuring(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.contains(" measuring a, ")).collect()
}

#[test]
fn a_run_takes_the_time_that_it_may_and_says_how_much_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let done = compare(dir.path(), &["--threads=1", "--max-time=6s"]);
    let found = results(dir.path());
    let elapsed_s = found["elapsed_s"].as_f64().unwrap();
    assert!((1.0..20.0).contains(&elapsed_s), "{elapsed_s} s");
    assert!(!rounds(&found).is_empty());
    let lines = measuring(&done.stderr);
    for line in &lines {
        assert!(line.contains(" s so far, ") && line.contains(" s left; "), "{line}");
        // how many rounds there will be is not known
        assert!(line.contains(", round ") && !line.contains(" of "), "{line}");
    }
    let first = lines.first().unwrap();
    assert!(first.contains("; measuring a, ") && first.contains(", round 1"), "{first}");
    // precision is known once a load is over, if there was time for another
    if let Some(second) = lines.iter().find(|line| line.contains(", round 2")) {
        assert!(second.contains("; widest interval ") && second.contains("± "), "{second}");
        assert!(!second.contains("wanted"), "{second}");
    }
}

#[test]
fn a_run_ends_once_it_is_as_exact_as_asked() {
    let dir = tempfile::tempdir().unwrap();
    let done = compare(dir.path(), &["--threads=1", "--until=50%", "--max-time=2m"]);
    let found = results(dir.path());
    let elapsed_s = found["elapsed_s"].as_f64().unwrap();
    let overhead = &found["groups"][0]["cells"][1]["overhead"];
    let end = |name: &str| overhead[name].as_f64().unwrap();
    let half = (end("high") / end("low")).ln() / 2.0;
    // the loads after it was narrow may have widened it a little; a busy machine takes its time
    assert!(half < 1.3 * 0.5_f64.ln_1p() || elapsed_s > 100.0, "± {half} after {elapsed_s} s");
    assert!(rounds(&found).len() >= 6, "a width is believed after six loads");
    let lines = measuring(&done.stderr);
    assert!(lines[0].contains(" so far, at most "), "{}", lines[0]);
    assert!(lines[0].contains("; no interval for every figure yet, wanted ± 50 %"), "{}", lines[0]);
    let last = lines.last().unwrap();
    assert!(last.contains("; widest interval ") && last.contains(", wanted ± 50 %"), "{last}");
}

#[test]
fn rounds_that_are_added_are_counted_and_points_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let done = compare(dir.path(), &["--threads=1,2", "--rounds=1"]);
    for point in ["; point 1 of 2 (1 client); ", "; point 2 of 2 (2 clients); "] {
        assert!(measuring(&done.stderr).iter().any(|line| line.contains(point)), "{point}");
    }
    let more = ["compare", "--resume=out", "--rounds=2"];
    let done = run(&mut sealstone(dir.path(), &more));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(rounds(&results(dir.path())), BTreeSet::from([0, 1, 2]));
    let lines = measuring(&done.stderr);
    for (round, is_there) in [("round 2 of 3", true), ("round 3 of 3", true), ("round 1 of", false)]
    {
        assert_eq!(lines.iter().any(|line| line.contains(round)), is_there, "{round}");
    }
}
