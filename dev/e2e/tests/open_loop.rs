//! Open loops with the real program and a real store: a rate that is reached, one that no machine
//! reaches, and the search for the highest rate under a limit on latency.

use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{run, sealstone};
use serde_json::Value;
use tempfile::TempDir;

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Compares AES-256 under reads, with `more` flags; returns the screen and the cells of the
/// results.
fn compare(dir: &Path, more: &[&str]) -> (String, Vec<Value>) {
    let few = [
        "--records",
        "2k",
        "--threads",
        "4",
        "--rounds",
        "1",
        "--set",
        "pairs=6",
        "--workloads",
        "c",
        "--quiet",
    ];
    let screen = run(&mut sealstone(
        dir,
        &[&["compare", "--ciphers", "none,aes-256"], &few[..], more].concat(),
    ))
    .done();
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let results = fs::read_to_string(dir.join("sealstone-results/results.json")).unwrap();
    let results: Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["schema"], 1);
    (screen, results["groups"][0]["cells"].as_array().unwrap().clone())
}

/// Returns the output of `sealstone report` for the results that a comparison left in `dir`.
fn report(dir: &Path, more: &[&str]) -> String {
    run(&mut sealstone(dir, &[&["report", "sealstone-results/results.json"], more].concat())).done()
}

/// Returns the answer of a screen: the text before its list.
fn answer(screen: &str) -> String {
    screen
        .lines()
        .take_while(|line| !line.starts_with("- ") && !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_rate_within_reach_is_answered_in_latency() {
    let dir = empty();
    let (screen, cells) = compare(dir.path(), &["--target", "300", "--operations", "3k"]);
    for cell in &cells {
        let at_rate = &cell["open_loop"]["at_rate"];
        assert_eq!(at_rate["is_kept"], true, "{at_rate}");
        let p50 = |field: &str| at_rate["p50"][field].as_f64().unwrap();
        assert!(
            p50("low_us") <= p50("us") && p50("us") <= p50("high_us") && p50("us") > 0.0,
            "{at_rate}"
        );
        assert!(cell["overhead"].is_null(), "a throughput that was set says nothing");
    }
    assert!(
        screen.contains("c p50") && screen.contains("c p99") && screen.contains("CPU a request"),
        "{screen}"
    );
    // 3000 requests have 30 beyond the 99th percentile
    assert!(screen.contains("too few requests for a p99"), "{screen}");
    assert_eq!(answer(&report(dir.path(), &[])), answer(&screen));
    assert!(report(dir.path(), &["--markdown"]).contains("| c p50 | "));
    assert!(fs::read_to_string(dir.path().join("report.html")).unwrap().contains("At 300 ops"));
}

#[test]
fn a_rate_out_of_reach_is_said_first() {
    let dir = empty();
    let (screen, cells) = compare(dir.path(), &["--target", "1e9", "--operations", "2k"]);
    let start = "even without encryption 1.00 G ops/s is not sustained under reads (c): reached";
    assert!(answer(&screen).starts_with(start), "{screen}");
    for cell in &cells {
        assert_eq!(cell["open_loop"]["at_rate"]["is_kept"], false);
        assert!(
            cell["open_loop"]["at_rate"]["p50"]["against"].is_null(),
            "queues are not compared"
        );
    }
    assert_eq!(answer(&report(dir.path(), &[])), answer(&screen));
}

#[test]
fn the_highest_rate_under_a_limit_is_found() {
    let dir = empty();
    let (screen, cells) =
        compare(dir.path(), &["--target", "max", "--p99", "50ms", "--set", "slice-ms=50"]);
    // so few searches may leave it open
    assert!(
        answer(&screen).contains("by the rate sustained with a p99 of at most 50ms"),
        "{screen}"
    );
    for cell in &cells {
        let open_loop = &cell["open_loop"];
        assert_eq!(open_loop["searches"].as_array().unwrap().len(), 6);
        let found = &open_loop["sustained"];
        let rate = found["rate_per_s"].as_f64().unwrap();
        assert!(
            found["low_per_s"].as_f64().unwrap() <= rate
                && rate <= found["high_per_s"].as_f64().unwrap()
        );
        assert!(found["held_per_s"].as_f64().unwrap() > 0.0 && rate > 50.0, "{found}");
    }
    assert!(!cells[1]["overhead"].is_null());
    assert_eq!(answer(&report(dir.path(), &[])), answer(&screen));
    assert!(
        fs::read_to_string(dir.path().join("report.html"))
            .unwrap()
            .contains("Rate sustained with a p99 of at most")
    );
}

#[test]
fn a_limit_that_cannot_be_met_is_an_answer() {
    let dir = empty();
    let (screen, _) =
        compare(dir.path(), &["--target", "max", "--p99", "1us", "--set", "slice-ms=50"]);
    let want =
        "no variant with a cipher has a rate with a p99 of at most 1µs; nothing to recommend";
    assert_eq!(answer(&screen), want);
    assert!(screen.contains("never met"), "{screen}");
}
