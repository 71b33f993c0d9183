//! Studies by name and `--dry-run`: every study is a list of points that can be looked at without
//! starting anything, and one that brings files of its own runs with them.

use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{run, sealstone};
use serde_json::Value;

/// The studies, each with the number of its points and of the variants at one.
const STUDIES: [(&str, usize, usize); 5] = [
    ("mongodb-kmip", 2, 4),
    ("tablespace", 1, 7),
    ("redis-ssdb", 30, 2),
    ("mysql-columns", 1, 6),
    ("iscsi-ipsec", 4, 9),
];

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn a_dry_run_lists_the_points_of_every_study_and_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for (name, points, variants) in STUDIES {
        let asked = ["compare", "--study", name, "--dry-run"];
        // no server is looked for, whatever is installed
        let mut command = sealstone(dir.path(), &asked);
        let text = run(command.env("PATH", "/nowhere")).done();
        assert!(text.starts_with(&format!("study {name}: ")), "{text}");
        let noun = if points == 1 { "point" } else { "points" };
        assert!(text.contains(&format!("{points} {noun} to measure, about ")), "{text}");
        assert!(text.contains(" in all; nothing was started\n"), "{text}");
        assert!(text.lines().any(|line| line.starts_with(&format!("{points}. "))), "{text}");

        let mut command = sealstone(dir.path(), &[&asked[..], &["--json"]].concat());
        let found: Value = serde_json::from_str(&run(&mut command).done()).unwrap();
        let listed = found["points"].as_array().unwrap();
        assert_eq!((listed.len(), found["study"].as_str()), (points, Some(name)));
        let most = listed.iter().map(|point| point["variants"].as_array().unwrap().len()).max();
        assert_eq!(most, Some(variants), "{found}");
        let sum: f64 = listed.iter().map(|point| point["about_s"].as_f64().unwrap()).sum();
        assert!((sum - found["about_s"].as_f64().unwrap()).abs() <= points as f64, "{found}");
        assert!(sum > 60.0, "{name} takes {sum} s?");
    }
    assert!(is_empty(dir.path()), "a dry run leaves nothing");
}

/// Redis and RocksDB are plain and on a volume, and so is an SSDB whose program the user has; one
/// that runs already is as it is. None of that needs a volume, or a server, before it is measured.
#[test]
fn redis_and_the_store_on_disk_are_studied_plain_and_sealed() {
    let dir = tempfile::tempdir().unwrap();
    let planned = |more: &[&str]| -> Vec<(String, Vec<String>)> {
        let asked = ["compare", "--study=redis-ssdb", "--dry-run", "--json"];
        let mut command = sealstone(dir.path(), &[&asked[..], more].concat());
        let said = run(command.env("PATH", "/nowhere")).done();
        let found: Value = serde_json::from_str(&said).unwrap();
        let points = found["points"].as_array().unwrap().iter().map(|point| {
            let variants = point["variants"].as_array().unwrap().iter();
            let store = point["point"]["store"].as_str().unwrap().to_owned();
            (store, variants.map(|variant| variant.as_str().unwrap().to_owned()).collect())
        });
        points.collect()
    };
    let expected = |stores: &[(&str, &[&str])]| -> Vec<(String, Vec<String>)> {
        let of = |(store, variants): &(&str, &[&str])| {
            (store.to_string(), variants.iter().map(|name| name.to_string()).collect())
        };
        // three sizes, five numbers of clients
        stores.iter().flat_map(|one| vec![of(one); 15]).collect()
    };
    let both: &[&str] = &["none", "aes-256"];
    assert_eq!(planned(&[]), expected(&[("redis", both), ("rocksdb", both)]));
    let program = ["--store=redis,ssdb", "--ssdb-server=/opt/ssdb/ssdb-server"];
    assert_eq!(planned(&program), expected(&[("redis", both), ("ssdb", both)]));
    let theirs = ["--store=redis,ssdb", "--ssdb-url=ssdb://127.0.0.1:1"];
    assert_eq!(planned(&theirs), expected(&[("redis", both), ("ssdb", &["none"])]));
    // where nobody may mount anything
    assert_eq!(planned(&["--seal=own"]), expected(&[("redis", &["none"]), ("rocksdb", both)]));
}

/// The guess before a run is of the order of the run.
#[test]
fn a_dry_run_says_about_how_long_a_run_takes() {
    let dir = tempfile::tempdir().unwrap();
    let small = [
        "compare",
        "--records=2k",
        "--threads=1,2",
        "--ciphers=none,aes-256",
        "--workloads=a,c",
        "--operations=500",
        "--rounds=2",
        "--set=pairs=6",
        "--set=slice-ms=100",
        "--out=out",
    ];
    let text = run(&mut sealstone(dir.path(), &[&small[..], &["--dry-run"]].concat())).done();
    assert!(text.starts_with("2 points to measure, about "), "{text}");
    assert!(text.contains("1. rocksdb, 1 member, 2\u{202f}000 records, 1 client"), "{text}");
    assert!(
        text.contains("\n   none, aes-256\n   under a, c; 2 rounds, 6 pairs of slices a round\n")
    );
    assert!(is_empty(dir.path()));
    let mut command = sealstone(dir.path(), &[&small[..], &["--dry-run", "--json"]].concat());
    let said: Value = serde_json::from_str(&run(&mut command).done()).unwrap();
    run(&mut sealstone(dir.path(), &[&small[..], &["--quiet"]].concat())).done();
    let results = fs::read(dir.path().join("out/results.json")).unwrap();
    let results: Value = serde_json::from_slice(&results).unwrap();
    let (guess, took) = (said["about_s"].as_f64().unwrap(), results["elapsed_s"].as_f64().unwrap());
    assert!(guess > took / 10.0 && guess < took * 5.0, "guessed {guess} s, took {took} s");

    // what was measured is not listed again; rounds to add are
    let rest = |more: &[&str]| {
        let resume = [&["compare", "--resume=out", "--dry-run"][..], more].concat();
        run(&mut sealstone(dir.path(), &resume)).done()
    };
    assert!(rest(&[]).starts_with("0 points to measure, about 0"), "{}", rest(&[]));
    assert!(rest(&["--rounds=3"]).contains("2 points to measure, about "));
    assert!(
        rest(&["--until=2%", "--max-time=10m"]).contains("2 points to measure, at most 20 min")
    );
}

/// Columns before a store, with the records and the policy that the study brings.
#[test]
fn a_study_runs_with_the_files_that_it_brings() {
    let dir = tempfile::tempdir().unwrap();
    let small = [
        "compare",
        "--study=mysql-columns",
        "--store=rocksdb",
        "--layer=field",
        "--ciphers=none,pipo-128",
        "--workloads=insert,c",
        "--records=200",
        "--operations=100",
        "--rounds=1",
        "--set=pairs=6",
        "--set=slice-ms=2",
        "--quiet",
    ];
    run(&mut sealstone(dir.path(), &small)).done();
    let out = dir.path().join("sealstone-results");
    let results: Value =
        serde_json::from_slice(&fs::read(out.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["plan"]["records-from"], "sealstone-results/people.csv");
    assert_eq!(results["variants"][1]["layers"]["field"]["modes"][0], "ff1");
    for name in ["people.csv", "people.toml"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // its results can be added to
    let more = ["compare", "--resume=sealstone-results", "--rounds=1", "--quiet"];
    run(&mut sealstone(dir.path(), &more)).done();
    let printed = ["compare", "--study=mysql-columns", "--print-config"];
    run(&mut sealstone(dir.path(), &printed)).fails_with(
        "sealstone: cannot print the settings of study mysql-columns: a run writes people.csv and \
         people.toml beside its results, and settings would name files that are not there\n  name \
         a directory for them with --out, or your own with --records-from and --fields\n",
    );
    // with one, the study is a file that runs by itself
    let printed = [&printed[..], &small[2..], &["--out=study"]].concat();
    let plan = run(&mut sealstone(dir.path(), &printed)).done();
    fs::write(dir.path().join("study.toml"), &plan).unwrap();
    let again = ["compare", "--config=study.toml", "--quiet"];
    run(&mut sealstone(dir.path(), &again)).done();
    let results: Value =
        serde_json::from_slice(&fs::read(dir.path().join("study/results.json")).unwrap()).unwrap();
    assert_eq!(results["plan"]["records-from"], "study/people.csv");
}
