//! The advice across places on real RocksDB stores: files at rest, fields, and both at once in one
//! run; the protection of each, in the answer, the results and the report; and the message where
//! nothing covers the request. Not here: the choice on made-up costs
//! (`crates/bench/src/advise/place_choice`).

use std::fs;
use std::path::Path;
use std::process::Command;

use sealstone_e2e::transcript::{Transcript, run, sealstone};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--records=300",
    "--operations=200",
    "--rounds=6",
    "--set=pairs=1",
    "--set=slice-ms=1",
    "--threads=2",
    "--ciphers=none,aes-256",
    "--workloads=a",
    "--margin=50%",
    "--out=out",
];

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    run(&mut sealstone(dir, &[SMALL, more].concat()))
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

/// Returns whether a file below `dir` contains `text`.
fn lies_in(dir: &Path, text: &str) -> bool {
    let grep = Command::new("grep").args(["-rqaF", text]).arg(dir).status().unwrap();
    grep.code() == Some(0)
}

#[test]
fn places_are_measured_in_one_run_and_one_is_advised() {
    let dir = tempfile::tempdir().unwrap();
    let records = "name,memo\nmarker-of-a-name,marker-of-a-memo\nother,another\n";
    fs::write(dir.path().join("records.csv"), records).unwrap();
    let more = [
        "--layer=rest,field,field+rest",
        "--protect-from=disk-thief,network",
        "--records-from=records.csv",
        "--keep=kept",
    ];
    let done = compare(dir.path(), &more);
    // so short a run may leave it open on a busy machine
    let advised = done.stdout.contains("to protect from disk-thief and network, take aes-256 ");
    assert!(advised || done.stdout.starts_with("nothing to take yet: "), "{}", done.stdout);
    let nobody = "there is no network here: the store is in the process of its client";
    assert!(!advised || done.stdout.contains(nobody), "{}", done.stdout);
    assert!(done.stdout.contains("nobody there"), "{}", done.stdout);
    done.done();
    let found = results(dir.path());
    let labels: Vec<&str> = found["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["none", "aes-256 rest", "aes-256 field", "aes-256 field+rest"]);
    let both = found["variants"][3]["layers"].as_object().unwrap();
    assert_eq!(both.keys().collect::<Vec<_>>(), ["field", "rest"]);
    // files at rest are sealed as a whole; a field layer seals values, and leaves the names of
    // fields
    for (variant, value, field) in [
        ("none", true, true),
        ("aes-256-rest", false, false),
        ("aes-256-field", false, true),
        ("aes-256-field-rest", false, false),
    ] {
        let kept = dir.path().join("kept/ycsb").join(variant);
        assert!(
            kept.is_dir(),
            "{variant}: {:?}",
            fs::read_dir(dir.path().join("kept")).unwrap().collect::<Vec<_>>()
        );
        assert_eq!(lies_in(&kept, "marker-of-a-memo"), value, "the value in {variant}");
        assert_eq!(lies_in(&kept, "memo"), field, "the name of the field in {variant}");
    }
    let recommendation = &found["groups"][0]["recommendation"];
    let coverage = &recommendation["coverage"];
    assert_eq!(coverage["protect_from"], serde_json::json!(["disk-thief", "network"]));
    assert_eq!(coverage["surroundings"]["within_process"], true);
    let rows = coverage["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "neither wire nor server is a place within a process: {rows:?}");
    assert!(
        rows.iter().all(|row| row["cost"]["ratio"].as_f64().unwrap() > 0.0),
        "each was measured: {rows:?}"
    );
    assert_eq!(rows[2]["entries"][0]["protection"], "protects");
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(
        page.contains("Place, person and cost") && page.contains("Who is kept out, at what cost")
    );

    // the report is drawn again from the results, with the same content
    let again =
        run(&mut sealstone(dir.path(), &["report", "out/results.json", "--out=again.html"]));
    again.done();
    assert!(
        fs::read_to_string(dir.path().join("again.html"))
            .unwrap()
            .contains("Place, person and cost")
    );
    let merged = run(&mut sealstone(dir.path(), &["report", "out/results.json", "--json"]));
    let merged: Value = serde_json::from_str(&merged.stdout).unwrap();
    let drawn = &merged["comparisons"][0]["groups"][0]["recommendation"];
    assert_eq!(drawn["answer"], recommendation["answer"]);
    assert_eq!(&drawn["coverage"], coverage);
    let text = run(&mut sealstone(dir.path(), &["report", "out/results.json", "--markdown"]));
    assert!(
        text.stdout
            .contains("| | disk-thief | backup-reader | network | dba | server-admin | cost |")
    );
}

#[test]
fn what_nothing_covers_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let done = compare(dir.path(), &["--layer=rest,field", "--protect-from=server-admin"]);
    let wanted =
        "no place protects from server-admin here: the key is in the memory of the process";
    let said = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(wanted), "{}", done.stdout);
    done.done();
    assert_eq!(results(dir.path())["groups"][0]["recommendation"]["take"], Value::Null);
}

#[test]
fn what_cannot_be_asked_is_refused_and_what_can_is_in_the_plan() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, want) in [
        (
            &["--protect-from=disk-theif"][..],
            "unknown threat \"disk-theif\"; did you mean disk-thief?\n  known threats: disk-thief, \
             backup-reader, network, dba, server-admin\n",
        ),
        (&["--protect-from=dba,dba"], "protect-from is dba: it is listed twice"),
        (&["--layer=rest,field"], "say from whom with --protect-from, or compare them in two runs"),
        (&["--layer=rest+rest", "--protect-from=dba"], "a layer is there once"),
        (
            &["--layer=field+server", "--protect-from=dba"],
            "functions of the server are measured by themselves",
        ),
    ] {
        let refused = compare(dir.path(), arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(want), "{arguments:?}: {}", refused.stderr);
    }
    let asked = ["--layer=rest,field+rest", "--protect-from=dba,disk-thief", "--print-config"];
    let printed = compare(dir.path(), &asked);
    assert!(
        printed.stdout.contains("protect-from = [\"dba\", \"disk-thief\"]"),
        "{}",
        printed.stdout
    );
    fs::write(dir.path().join("plan.toml"), &printed.stdout).unwrap();
    let again =
        run(&mut sealstone(dir.path(), &["compare", "--config=plan.toml", "--print-config"]));
    assert_eq!(again.stdout, printed.stdout);
}
