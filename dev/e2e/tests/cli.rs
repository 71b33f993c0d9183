//! The command line in normal operation: output and files of the commands, as text and as JSON, and
//! their behaviour in pipes and under Ctrl-C.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::transcript::{finish, finish_after, run, sealstone};
use sealstone_rocksdb::library;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Settings of a comparison that is as short as one can be.
const TINY: [&str; 10] = [
    "--records",
    "2k",
    "--operations",
    "500",
    "--rounds",
    "1",
    "--set",
    "pairs=6",
    "--set",
    "slice-ms=1",
];

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn compare(dir: &Path, more: &[&str]) -> Command {
    sealstone(dir, &[&["compare"], &TINY[..], more].concat())
}

/// Parses what a command printed as JSON, and asserts its schema version.
fn json(text: &str) -> Value {
    of_schema(1, text)
}

/// As [`json`], of what a comparison leaves.
fn results(text: &str) -> Value {
    of_schema(1, text)
}

/// As [`json`], of comparisons that a report merges; each has the schema of [`results`].
fn reports(text: &str) -> Value {
    let value = of_schema(1, text);
    for comparison in value["comparisons"].as_array().unwrap() {
        assert_eq!(comparison["schema"], 1);
    }
    value
}

fn of_schema(schema: u64, text: &str) -> Value {
    let value: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(value["schema"], schema, "{}", text.chars().take(300).collect::<String>());
    value
}

#[test]
fn compare_answers_and_leaves_report_and_data() {
    let dir = empty();
    let out = run(&mut compare(
        dir.path(),
        &[
            "--ciphers",
            "none,aes-256",
            "--workloads",
            "a,oltp,batch-load,batch-scan",
            "--bytes",
            "2MB",
        ],
    ));
    let screen = out.done();
    assert_eq!(screen.lines().last(), Some("sealstone-results/report.html"));
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    for part in ["aes-256", "oltp", "batch-load", "batch-scan", "%"] {
        assert!(screen.contains(part), "{part} is not in:\n{screen}");
    }
    let left_in = dir.path().join("sealstone-results");
    let data = results(&fs::read_to_string(left_in.join("results.json")).unwrap());
    assert_eq!(data["interrupted"], false);
    assert_eq!(data["groups"][0]["cells"].as_array().unwrap().len(), 8);
    assert_eq!(data["groups"][0]["engine"]["name"], "rocksdb");
    let page = fs::read_to_string(left_in.join("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    assert!(page.contains("aes-256") && !page.contains("src=\"http"));
    let table = fs::read_to_string(left_in.join("results.csv")).unwrap();
    let samples: usize = data["groups"][0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["samples"].as_array().unwrap().len())
        .sum();
    assert_eq!(table.lines().count(), 1 + samples);
    let mut left: Vec<String> = fs::read_dir(&left_in)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["report.html", "results.csv", "results.json"]);

    // the report can be drawn again, alone and merged with that of another run
    let again = run(&mut sealstone(
        dir.path(),
        &["report", "sealstone-results/results.json", "--out", "again.html"],
    ))
    .done();
    assert_eq!(again.lines().last(), Some("again.html"));
    assert!(dir.path().join("again.html").is_file());
    fs::copy(left_in.join("results.json"), dir.path().join("other.json")).unwrap();
    let twice = ["report", "sealstone-results/results.json", "other.json", "--json"];
    let merged = reports(&run(&mut sealstone(dir.path(), &twice)).done());
    assert_eq!(merged["comparisons"].as_array().unwrap().len(), 2);
    assert!(
        merged["comparisons"][0]["machine"]["host"].as_str().is_some_and(|host| !host.is_empty())
    );
    let named =
        [&twice[..3], &["--label", "laptop", "--label", "server", "--out", "named.html"]].concat();
    let screen = run(&mut sealstone(dir.path(), &named)).done();
    assert!(screen.contains(" on laptop; ") && screen.contains(" on server; "), "{screen}");
    assert!(fs::read_to_string(dir.path().join("named.html")).unwrap().contains("<h2>server</h2>"));
    let markdown = run(&mut sealstone(dir.path(), &["report", "other.json", "--markdown"])).done();
    // so little is measured that it may stay open
    let answers = ["take aes-256", "nothing to take yet"].map(|answer| {
        format!("**{answer}: by throughput against no encryption, over all 4 workloads")
    });
    assert!(answers.iter().any(|answer| markdown.starts_with(answer)), "{markdown}");
    assert!(markdown.contains("\n| workload | none | aes-256 |\n"), "{markdown}");

    // results are not replaced by a report, nor counted twice
    let before = fs::read(dir.path().join("other.json")).unwrap();
    for (arguments, words) in [
        (
            ["report", "other.json", "--out", "./other.json"],
            "the report would replace the results other.json",
        ),
        (
            ["report", "other.json", "./other.json", "--json"],
            "results ./other.json are named twice",
        ),
        (["report", "other.json", "--label=one", "--label=two"], "2 labels for 1 file"),
    ] {
        let refused = run(&mut sealstone(dir.path(), &arguments));
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.starts_with(&format!("sealstone: {words}\n")), "{}", refused.stderr);
    }
    assert_eq!(fs::read(dir.path().join("other.json")).unwrap(), before);
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let dir = empty();
    let few = ["--ciphers", "none,aes-256", "--workloads", "a"];
    run(&mut compare(dir.path(), &[&few[..], &["--out", "old"]].concat())).done();
    // without --fail-if it only reports that
    let transcript =
        run(&mut compare(dir.path(), &[&few[..], &["--baseline", "old/results.json"]].concat()));
    assert_eq!(transcript.code, Some(0), "{}", transcript.stderr);
    assert!(transcript.stderr.contains("against old/results.json, of 20"), "{}", transcript.stderr);
    // the same results as if sealed stores had run a thousand times as fast then: the cost has
    // grown
    let text = fs::read_to_string(dir.path().join("old/results.json")).unwrap();
    let mut old: Value = serde_json::from_str(&text).unwrap();
    for cell in old["groups"][0]["cells"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .filter(|cell| cell["variant"] == 1)
    {
        for sample in cell["samples"].as_array_mut().unwrap() {
            sample["elapsed_s"] = (sample["elapsed_s"].as_f64().unwrap() / 1000.0).into();
        }
    }
    fs::write(dir.path().join("fast.json"), old.to_string()).unwrap();
    let grown = run(&mut compare(
        dir.path(),
        &[&few[..], &["--baseline", "fast.json", "--fail-if", "5%"]].concat(),
    ));
    assert_eq!(grown.code, Some(1), "{}", grown.stderr);
    for part in ["aes-256 under a: ", "more than the 5 % allowed"] {
        assert!(grown.stderr.contains(part), "{}", grown.stderr);
    }
    // nothing in common, and a file that is none
    let other =
        ["--ciphers", "none,aria-256", "--workloads", "a", "--baseline", "old/results.json"];
    let stranger = run(&mut compare(dir.path(), &other));
    assert_eq!(stranger.code, Some(2));
    assert!(
        stranger.stderr.contains("nothing to compare with old/results.json"),
        "{}",
        stranger.stderr
    );
    let absent =
        run(&mut compare(dir.path(), &[&few[..], &["--baseline", "nowhere.json"]].concat()));
    assert!(
        absent.stderr.starts_with("sealstone: cannot read results nowhere.json: "),
        "{}",
        absent.stderr
    );
}

#[test]
fn axes_with_several_values_are_groups_of_one_comparison() {
    let dir = empty();
    let axes = [
        "--ciphers",
        "none,aes-256",
        "--workloads",
        "a,batch-load",
        "--threads",
        "1,4",
        "--bytes",
        "1MB",
    ];
    let screen = run(&mut compare(dir.path(), &axes)).done();
    assert!(screen.contains("\n4 clients\n") && screen.starts_with("1 client\n"), "{screen}");
    let data =
        results(&fs::read_to_string(dir.path().join("sealstone-results/results.json")).unwrap());
    let groups = data["groups"].as_array().unwrap();
    assert_eq!(data["plan"]["threads"], json!([1, 4]));
    let shown: Vec<_> =
        groups.iter().map(|group| (&group["point"]["clients"], &group["workloads"])).collect();
    // bulk loading has one client, whatever the number of the others
    let [one, both, four, alone] = [json!(1), json!(["a", "batch-load"]), json!(4), json!(["a"])];
    assert_eq!(shown, [(&one, &both), (&four, &alone)]);
    for group in groups {
        let ratios = group["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| !cell["overhead"].is_null())
            .count();
        assert_eq!(
            ratios,
            group["workloads"].as_array().unwrap().len(),
            "each group has a baseline of its own"
        );
    }
    let page = fs::read_to_string(dir.path().join("sealstone-results/report.html")).unwrap();
    assert!(page.contains("Cost by clients") && page.contains("Throughput by clients"));
    let again = run(&mut sealstone(
        dir.path(),
        &["report", "sealstone-results/results.json", "--out", "again.html"],
    ))
    .done();
    assert!(again.ends_with("again.html\n"));
    assert!(fs::read_to_string(dir.path().join("again.html")).unwrap().contains("Cost by clients"));
}

#[test]
fn presets_choose_cache_and_durability_and_every_output_says_so() {
    let dir = empty();
    let cells = |arguments: &[&str]| {
        let few = ["--ciphers", "none,aes-256", "--threads", "4"];
        let _ = fs::remove_dir_all(dir.path().join("sealstone-results"));
        let screen = run(&mut compare(dir.path(), &[&few, arguments].concat())).done();
        let data = results(
            &fs::read_to_string(dir.path().join("sealstone-results/results.json")).unwrap(),
        );
        (screen, data["groups"][0]["cells"].as_array().unwrap().clone())
    };
    let sum = |cell: &Value, what: &str| -> u64 {
        cell["samples"]
            .as_array()
            .unwrap()
            .iter()
            .map(|sample| sample[what].as_u64().unwrap())
            .sum()
    };
    let (screen, cold) = cells(&["--preset", "cold", "--workloads", "c,e"]);
    assert!(
        screen.contains("c-cold, e-cold: a cache of ") && screen.contains("1/16 of the records"),
        "{screen}"
    );
    // so short a run may find nothing, and then reports no settings
    let by_setting = screen.contains("- by setting: reads that miss it (c-cold, e-cold): ");
    assert!(by_setting || screen.starts_with("nothing to take yet"), "{screen}");
    for cell in &cold {
        let is_sealed = cell["variant"] == 1;
        assert_eq!(sum(cell, "decrypted_bytes") > 100_000, is_sealed, "{}", cell["workload"]);
        let (cache, data) = (&cell["conditions"]["cache_bytes"], &cell["conditions"]["data_bytes"]);
        assert!(cache.as_u64().unwrap() * 4 < data.as_u64().unwrap(), "{cache} for {data}");
    }
    let page = fs::read_to_string(dir.path().join("sealstone-results/report.html")).unwrap();
    assert!(page.contains("16 of the records") && page.contains("without encryption: "));
    let (screen, warm_and_synced) = cells(&["--workloads", "a,a-sync,c"]);
    assert!(
        screen.contains("a-sync: a cache that holds the records, every write synced"),
        "{screen}"
    );
    for cell in &warm_and_synced {
        // half of the operations write, and writes that wait together share a sync
        let (syncs, operations) = (sum(cell, "syncs"), sum(cell, "operations"));
        let synced = cell["workload"] == "a-sync";
        assert_eq!(cell["conditions"]["synced"], synced);
        assert_eq!(
            syncs > operations / 40,
            synced,
            "{}: {syncs} syncs, {operations}",
            cell["workload"]
        );
        if cell["workload"] == "c" {
            assert_eq!(sum(cell, "decrypted_bytes"), 0, "all of it is in the cache");
        }
    }
    let again =
        run(&mut sealstone(dir.path(), &["report", "sealstone-results/results.json", "--json"]))
            .done();
    let again = reports(&again);
    assert_eq!(
        again["comparisons"][0]["groups"][0]["cells"][2]["conditions"],
        warm_and_synced[2]["conditions"]
    );
    let printed = |arguments: &[&str]| {
        let all = [&["compare", "--print-config"], arguments].concat();
        let text = run(&mut sealstone(dir.path(), &all)).done();
        text.lines().find(|line| line.starts_with("workloads = ")).unwrap().to_owned()
    };
    assert_eq!(
        printed(&[]),
        r#"workloads = ["a", "c", "c-cold", "oltp-sync", "batch-load", "batch-scan"]"#
    );
    assert_eq!(
        printed(&["--preset", "sync"]),
        r#"workloads = ["a-sync", "b-sync", "e-sync", "oltp-sync"]"#
    );
    assert_eq!(printed(&["--preset", "all", "--workloads", "c"]), r#"workloads = ["c", "c-cold"]"#);
    fs::write(dir.path().join("f.toml"), "workloads = [\"f\"]\n").unwrap();
    assert_eq!(printed(&["--preset", "cold", "--config", "f.toml"]), r#"workloads = ["f-cold"]"#);
}

#[test]
fn clients_are_looked_for_where_their_number_is_open() {
    let dir = empty();
    let screen =
        run(&mut compare(dir.path(), &["--ciphers", "none,aes-256", "--workloads", "a,b"])).done();
    assert!(screen.contains("bottleneck without encryption: "), "{screen}");
    let data =
        results(&fs::read_to_string(dir.path().join("sealstone-results/results.json")).unwrap());
    let group = &data["groups"][0];
    assert_eq!((&group["point"]["clients"], &data["plan"]["threads"]), (&json!(0), &Value::Null));
    let cells = group["cells"].as_array().unwrap();
    for pair in cells.chunks(2) {
        assert_eq!(pair[0]["clients"], pair[1]["clients"]);
        let name = pair[0]["workload"].as_str().unwrap();
        let found = group["engine"]["settings"][format!("clients ({name})")].as_str().unwrap();
        assert!(
            found.starts_with(&format!("{}, found by search (", pair[0]["clients"])),
            "{found}"
        );
    }
    // the same again, from the report
    let page = fs::read_to_string(dir.path().join("sealstone-results/report.html")).unwrap();
    let again = format!("threads-of=a={},b={}", cells[0]["clients"], cells[2]["clients"]);
    assert!(page.contains(&again), "{again} is not in the report");
    let few = ["--ciphers", "none,aes-256", "--workloads", "a,b", "--set", "threads-of=a=3,b=5"];
    run(&mut compare(dir.path(), &few)).done();
    let data =
        results(&fs::read_to_string(dir.path().join("sealstone-results-2/results.json")).unwrap());
    let cells = data["groups"][0]["cells"].as_array().unwrap();
    assert_eq!((&cells[1]["clients"], &cells[3]["clients"]), (&json!(3), &json!(5)));
}

#[test]
fn compare_prints_its_results_as_json() {
    let dir = empty();
    let transcript = run(&mut compare(
        dir.path(),
        &["--ciphers", "none", "--workloads", "c", "--json", "--quiet"],
    ));
    assert!(
        transcript.stderr.ends_with("sealstone-results/report.html\n"),
        "{}",
        transcript.stderr
    );
    let data = results(&transcript.done());
    assert_eq!(data["plan"]["records"], 2000);
    assert!(
        fs::read_to_string(dir.path().join("sealstone-results/results.json")).unwrap().trim().len()
            > 100
    );
}

#[test]
fn settings_go_through_a_file() {
    let dir = empty();
    let printed = run(&mut compare(
        dir.path(),
        &["--print-config", "--ciphers", "none,3des", "--target", "50"],
    ))
    .done();
    fs::write(dir.path().join("plan.toml"), &printed).unwrap();
    let again =
        run(&mut sealstone(dir.path(), &["compare", "--config", "plan.toml", "--print-config"]))
            .done();
    assert_eq!(again, printed);
    // with the key, and counts as people write them
    run(&mut sealstone(dir.path(), &["keys", "new", "store.key"])).done();
    let keyed = run(&mut compare(dir.path(), &["--print-config", "--key", "store.key"])).done();
    assert!(keyed.contains("key = \"store.key\"\n"), "{keyed}");
    fs::write(
        dir.path().join("keyed.toml"),
        keyed.replace("records = 2000\n", "records = [\"2k\", \"1M\"]\n"),
    )
    .unwrap();
    let counts =
        run(&mut sealstone(dir.path(), &["compare", "--config", "keyed.toml", "--print-config"]))
            .done();
    assert_eq!(counts, keyed.replace("records = 2000\n", "records = [2000, 1000000]\n"));
    let changed = run(&mut sealstone(
        dir.path(),
        &["compare", "--config", "plan.toml", "--records", "7", "--print-config"],
    ))
    .done();
    assert_eq!(changed, printed.replace("records = 2000\n", "records = 7\n"));
}

#[test]
fn kept_stores_can_be_inspected_and_checked() {
    let dir = empty();
    let arguments =
        ["--ciphers", "none,aes-256,3des", "--workloads", "a", "--keep", "kept", "--quiet"];
    let transcript = run(&mut compare(dir.path(), &arguments));
    assert_eq!(
        transcript.stderr.lines().next(),
        Some("the stores kept in kept are sealed with the key in kept.key")
    );
    transcript.done();

    // one of them is plain, and a monitor that reads the exit code must see that
    let status = run(&mut sealstone(dir.path(), &["rest", "status", "kept", "--json"]));
    assert_eq!(status.code, Some(1), "{}", status.stderr);
    let status = json(&status.stdout);
    let ciphers: Vec<&str> = status["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|total| total["cipher"].as_str().unwrap())
        .collect();
    assert_eq!(ciphers, ["3des", "aes-256"]);
    let text = run(&mut sealstone(dir.path(), &["rest", "status", "kept/ycsb/aes-256"])).done();
    assert!(text.starts_with("CIPHER   FILES  "), "{text}");
    assert!(text.ends_with("every file that is not empty is sealed\n"), "{text}");

    let verify = |key: &str, more: &[&str]| {
        run(&mut sealstone(
            dir.path(),
            &[&["rest", "verify", "kept/ycsb/aes-256", "--key", key], more].concat(),
        ))
    };
    let whole = verify("kept.key", &[]).done();
    assert!(whole.starts_with("compared with the live set of MANIFEST-"), "{whole}");
    assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
    // the unencrypted baseline next to it is not sealed, and a check of everything reports that
    let everything =
        run(&mut sealstone(dir.path(), &["rest", "verify", "kept", "--key", "kept.key"]));
    assert_eq!(everything.code, Some(1));

    run(&mut sealstone(dir.path(), &["keys", "new", "other.key", "--id", "other"])).done();
    verify("other.key", &[]).fails_with(
        "sealstone: key compare version 1 not found in key file other.key (it holds key other)\n  \
         give the key file or server that holds key compare\n",
    );
    run(&mut sealstone(dir.path(), &["keys", "new", "namesake.key", "--id", "compare"])).done();
    let namesake = verify("namesake.key", &[]);
    assert_eq!(namesake.code, Some(1), "{}", namesake.stderr);

    let store = dir.path().join("kept/ycsb/aes-256");
    let table = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "sst" || ending == "log"))
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .expect("the store has files");
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    let damaged = verify("kept.key", &[]);
    assert_eq!(damaged.code, Some(1), "{}", damaged.stderr);
    let name = table.file_name().unwrap().to_str().unwrap();
    assert!(
        damaged.stdout.contains(": 1 failure\n") && damaged.stdout.contains(name),
        "{}",
        damaged.stdout
    );
    let found = verify("kept.key", &["--json"]);
    assert_eq!(found.code, Some(1));
    assert_eq!(json(&found.stdout)["failures"][0]["file"], name);
}

#[test]
fn a_destroyed_store_is_not_called_whole() {
    let dir = empty();
    run(&mut compare(
        dir.path(),
        &["--ciphers", "none,aes-256", "--workloads", "a", "--keep", "kept", "--quiet"],
    ))
    .done();
    let store = dir.path().join("kept/ycsb/aes-256");
    let verify = |more: &[&str]| {
        let arguments =
            [&["rest", "verify", "kept/ycsb/aes-256", "--key", "kept.key"], more].concat();
        run(&mut sealstone(dir.path(), &arguments))
    };
    verify(&[]).done();
    let kept: Vec<(PathBuf, Vec<u8>)> = fs::read_dir(&store)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    let restore = || kept.iter().for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    let of = |begin: &str, end: &str| {
        let named = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(begin) && name.ends_with(end)
        };
        kept.iter()
            .map(|(path, _)| path)
            .find(|path| named(path))
            .expect("the store has such a file")
            .clone()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (manifest, table, log) = (of("MANIFEST-", ""), of("", ".sst"), of("", ".log"));
    let says = |what: &str| {
        let found = verify(&[]);
        assert_eq!(found.code, Some(1), "{}", found.stdout);
        let (_, failures) =
            found.stdout.split_once("\n\nnot as it was sealed:\n").expect("failures are listed");
        assert!(
            failures.lines().any(|line| line.starts_with(&format!("  {what}"))),
            "want {what:?} in {failures}"
        );
        restore();
    };

    fs::remove_file(&table).unwrap();
    says(&format!("{}: missing: {} names a table on level ", name(&table), name(&manifest)));
    fs::write(&table, b"").unwrap();
    says(&format!("{}: empty, but {} names a table on level ", name(&table), name(&manifest)));
    fs::write(&manifest, b"").unwrap();
    says(&format!(
        "{}: empty: CURRENT names it, and it should name the files of the database",
        name(&manifest)
    ));
    fs::write(store.join("CURRENT"), b"").unwrap();
    says("CURRENT: empty: it should name the MANIFEST of the database");
    fs::remove_file(store.join("CURRENT")).unwrap();
    says(&format!("CURRENT: missing: {} and ", name(&log)));
    kept.iter().for_each(|(path, _)| fs::write(path, b"").unwrap());
    says("CURRENT: empty: it should name the MANIFEST of the database");
    kept.iter()
        .filter(|(path, _)| !path.ends_with("CURRENT"))
        .for_each(|(path, _)| fs::remove_file(path).unwrap());
    let found = verify(&["--json"]);
    assert_eq!(found.code, Some(1));
    let found = json(&found.stdout);
    let failures = found["failures"].as_array().unwrap();
    let missing = failures
        .iter()
        .find(|failure| failure["file"] == name(&manifest))
        .expect("the manifest is missing");
    assert!(
        missing["what"].as_str().unwrap().starts_with("missing: CURRENT names it"),
        "{missing}"
    );
    assert_eq!(found["compared"][0]["compared_with"], "unknown");
    restore();
    let found = json(&verify(&["--json"]).done());
    assert_eq!(found["compared"][0]["compared_with"], "live_set");
    assert_eq!(found["compared"][0]["manifest"], name(&manifest));
}

#[test]
fn an_older_copy_of_a_store_is_reported_with_an_anchor() {
    let dir = empty();
    run(&mut compare(
        dir.path(),
        &["--ciphers", "none,aes-256", "--workloads", "a", "--keep", "kept", "--quiet"],
    ))
    .done();
    let store = dir.path().join("kept/ycsb/aes-256");
    let verify = |anchor: &str, more: &[&str]| {
        let arguments = [
            &["rest", "verify", "kept/ycsb/aes-256", "--key", "kept.key", "--anchor", anchor],
            more,
        ]
        .concat();
        run(&mut sealstone(dir.path(), &arguments))
    };
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    };
    let first = verify("anchor", &[]).done();
    assert!(first.contains("\nthe anchor anchor remembers this state from now on: "), "{first}");
    let again = verify("anchor", &[]).done();
    assert!(again.contains("\nas new as the anchor anchor remembers: "), "{again}");
    let older = dir.path().join("older");
    copy(&store, &older);
    run(&mut sealstone(
        dir.path(),
        &["rest", "reseal", "kept/ycsb/aes-256", "--key", "kept.key", "--cipher", "aria-256"],
    ))
    .done();
    let newer = json(&verify("anchor", &["--json"]).done());
    assert_ne!(newer["anchor"]["remembered"], newer["anchor"]["found"]);
    // whole, and genuine, and older
    copy(&older, &store);
    let found = verify("anchor", &[]);
    assert_eq!(found.code, Some(1), "{}", found.stdout);
    assert!(found.stdout.contains(
        "SEALSTONE-CATALOGUE-1: older than its anchor anchor remembers: the store is at "
    ));
    let unchanged = fs::read(dir.path().join("anchor")).unwrap();
    verify("anchor", &[]);
    assert_eq!(fs::read(dir.path().join("anchor")).unwrap(), unchanged);

    fs::write(dir.path().join("rubbish"), "no anchor").unwrap();
    for (anchor, said) in [
        ("rubbish", "rubbish is not an anchor of a store"),
        ("kept/ycsb/aes-256/anchor", "is in the store itself"),
        (
            "no/such/anchor",
            "there is no directory no/such\n  make it first, with: mkdir -p no/such",
        ),
    ] {
        let refused = verify(anchor, &[]);
        assert!(
            refused.code == Some(2) && refused.stderr.contains(said),
            "{anchor}: {}",
            refused.stderr
        );
    }
}

#[test]
fn tables_speak_json_too() {
    let dir = empty();
    let ciphers = json(&run(&mut sealstone(dir.path(), &["ciphers", "--json"])).done());
    let names: Vec<&str> = ciphers["ciphers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cipher| cipher["name"].as_str().unwrap())
        .collect();
    assert!(names.starts_with(&["aes-128", "aes-192", "aes-256", "aria-128"]), "{names:?}");
    let workloads = json(&run(&mut sealstone(dir.path(), &["workloads", "--json"])).done());
    assert_eq!(workloads["workloads"].as_array().unwrap().len(), 19);
    let arguments = [
        "ciphers",
        "--speed",
        "--ciphers",
        "aes-256,3des",
        "--sizes",
        "64,4KiB",
        "--seconds",
        "0.01",
    ];
    let speeds =
        json(&run(&mut sealstone(dir.path(), &[&arguments[..], &["--json"]].concat())).done());
    assert_eq!(speeds["speeds"].as_array().unwrap().len(), 4);
    assert!(speeds["speeds"][0]["gb_per_s"].as_f64().unwrap() > 0.0);
    let text = run(&mut sealstone(dir.path(), &arguments)).done();
    assert!(
        text.contains("4 KiB")
            && text.contains("GB/s")
            && text.contains("backends of this CPU: portable"),
        "{text}"
    );
    let new = json(
        &run(&mut sealstone(dir.path(), &["keys", "new", "a.key", "--id", "orders", "--json"]))
            .done(),
    );
    assert_eq!((&new["id"], &new["versions"][0]["version"]), (&"orders".into(), &1.into()));
    let shown = json(&run(&mut sealstone(dir.path(), &["keys", "show", "a.key", "--json"])).done());
    assert_eq!(shown, new);
}

#[test]
fn secrets_are_never_shown() {
    let dir = empty();
    let made = run(&mut sealstone(dir.path(), &["keys", "new", "a.key"]));
    let shown = run(&mut sealstone(dir.path(), &["keys", "show", "a.key"]));
    let file = fs::read_to_string(dir.path().join("a.key")).unwrap();
    let secret = file.split('"').find(|part| part.len() == 64).expect("64 hex digits");
    for text in [&made.stdout, &made.stderr, &shown.stdout, &shown.stderr] {
        assert!(!text.contains(&secret[..8]), "{text}");
    }
}

#[test]
fn every_command_has_help_with_examples_within_the_screen() {
    let dir = empty();
    for command in [
        "",
        "compare",
        "report",
        "ciphers",
        "workloads",
        "keys",
        "rest",
        "field",
        "completions",
        "man",
    ] {
        let arguments: Vec<&str> =
            [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let help = run(&mut sealstone(dir.path(), &arguments)).done();
        assert!(help.contains("Usage: sealstone"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
        // crates/cli/src/flags/examples.rs walks all of them
        assert!(help.contains("Examples:\n  ") || help.contains("Example:\n  "), "{help}");
    }
    let version = run(&mut sealstone(dir.path(), &["--version"])).done();
    let engine = format!("RocksDB {}, {}", library::version(), library::build());
    assert_eq!(version, format!("sealstone {} ({engine})\n", env!("CARGO_PKG_VERSION")));
    // the manual and the completions do not change with the machine they are made on
    assert!(!run(&mut sealstone(dir.path(), &["man"])).done().contains("RocksDB 7"));
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let dir = empty();
    for arguments in [&["ciphers"][..], &["man"], &["completions", "bash"], &["compare", "--help"]]
    {
        let mut child = sealstone(dir.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let transcript = finish(child);
        assert_eq!((transcript.code, transcript.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let dir = empty();
    let arguments = [
        "compare",
        "--records",
        "2k",
        "--operations",
        "200",
        "--rounds",
        "1000",
        "--ciphers",
        "none,aes-256",
    ];
    let more = ["--workloads", "c", "--set", "slice-ms=20", "--set", "pairs=6"];
    let mut command = sealstone(dir.path(), &[&arguments[..], &more].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let transcript = finish_after(child, "round 10 of 1000", |id| {
        assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap().success());
    });
    assert!(transcript.stderr.contains("\nstopping: "), "{}", transcript.stderr);
    assert_eq!(transcript.code, Some(130), "{}", transcript.stderr);
    assert_eq!(transcript.stdout.lines().last(), Some("sealstone-results/report.html"));
    let data =
        results(&fs::read_to_string(dir.path().join("sealstone-results/results.json")).unwrap());
    assert_eq!(data["interrupted"], true);
    let samples = data["groups"][0]["cells"][0]["samples"].as_array().unwrap().len();
    assert!(samples > 0, "something was measured in nine rounds");
    assert!(dir.path().join("sealstone-results/report.html").is_file());
}

#[test]
fn ctrl_c_ends_the_computing_of_data_at_once() {
    let dir = empty();
    // minutes of computing, for some hundred million records
    fs::write(dir.path().join("tiny.csv"), "a\n1\n").unwrap();
    let arguments =
        ["compare", "--records-from", "tiny.csv", "--workloads", "batch-scan", "--bytes", "1GB"];
    let mut command = sealstone(dir.path(), &[&arguments[..], &["--ciphers", "none"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with("preparing the data of batch-scan")));
    thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "it takes longer than that");
    let begin = Instant::now();
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!(
        rest.last().map(String::as_str),
        Some("sealstone: stopped before anything was measured"),
        "{rest:?}"
    );
    let left: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["tiny.csv"]);
}

#[test]
fn stores_of_a_killed_run_are_removed_by_the_next() {
    let dir = empty();
    let endless =
        ["--workloads", "c", "--ciphers", "none", "--rounds", "1000", "--set", "slice-ms=20"];
    let mut command =
        sealstone(dir.path(), &[&["compare", "--records", "2k"], &endless[..]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("measuring c")));
    let out = dir.path().join("sealstone-results");
    let stores = || {
        let names = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("stores-")).collect::<Vec<_>>()
    };
    let [left] = &stores()[..] else { panic!("{:?}", stores()) };
    // a second run beside the living one leaves its stores alone
    let short = ["--workloads", "c", "--ciphers", "none"];
    let beside = run(&mut compare(dir.path(), &short));
    assert!(beside.code == Some(0) && !beside.stderr.contains("removed"), "{}", beside.stderr);
    assert_eq!(stores(), std::slice::from_ref(left));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(stores(), std::slice::from_ref(left));
    let next = run(&mut compare(dir.path(), &short));
    let removed = format!(
        "note: removed sealstone-results/{left}: the stores of an earlier run that was killed"
    );
    assert!(
        next.code == Some(0) && next.stderr.lines().any(|line| line == removed),
        "{}",
        next.stderr
    );
    assert_eq!(stores(), Vec::<String>::new());
}

#[test]
fn a_second_ctrl_c_removes_the_stores_and_ends_as_the_first() {
    let dir = empty();
    let endless =
        ["--workloads", "c", "--ciphers", "none", "--rounds", "1000", "--set", "slice-ms=200"];
    let mut command =
        sealstone(dir.path(), &[&["compare", "--records", "20k"], &endless[..]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // a signal of another number is not lost in the first, and comes before that has ended the run
    let transcript = finish_after(child, "measuring c, none", |id| {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            kill(Pid::from_raw(id as i32), signal).unwrap();
        }
    });
    // which of two that come at once is the first, the system decides
    assert!(
        matches!(transcript.code, Some(130 | 143)),
        "{:?}: {}",
        transcript.code,
        transcript.stderr
    );
    assert!(
        transcript.stderr.contains("\naborted; the unfinished stores were removed\n"),
        "{}",
        transcript.stderr
    );
    assert!(
        !dir.path().join("sealstone-results").exists(),
        "nothing is left, the directory for the results neither"
    );
}

#[test]
fn results_of_an_earlier_run_stay() {
    let dir = empty();
    let short = ["--workloads", "c", "--ciphers", "none", "--quiet"];
    let text = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    for number in ["", "-2", "-3"] {
        let screen = run(&mut compare(dir.path(), &short)).done();
        assert_eq!(
            screen.lines().last(),
            Some(format!("sealstone-results{number}/report.html").as_str())
        );
    }
    let first = text("sealstone-results/results.json");
    let named = [&short[..], &["--out", "sealstone-results"]].concat();
    run(&mut compare(dir.path(), &named)).fails_with(
        "sealstone: sealstone-results has the results of an earlier run (results.json), which \
         stay\n  name another directory with --out, or continue that run with: sealstone compare \
         --resume sealstone-results\n",
    );
    assert_eq!(text("sealstone-results/results.json"), first);
    // a name in a configuration counts, too
    fs::write(dir.path().join("plan.toml"), "out = \"sealstone-results-2\"\n").unwrap();
    let configured =
        run(&mut compare(dir.path(), &[&short[..], &["--config", "plan.toml"]].concat()));
    assert!(
        configured.code == Some(2)
            && configured.stderr.contains("results-2 has the results of an earlier run")
    );
    // a printed configuration has the default, which nobody chose
    let printed = run(&mut compare(dir.path(), &["--print-config"])).done();
    assert!(printed.contains("out = \"sealstone-results\"\n"), "{printed}");

    let report = |more: &[&str]| {
        run(&mut sealstone(
            dir.path(),
            &[&["report", "sealstone-results/results.json"], more].concat(),
        ))
    };
    for name in ["report.html", "report-2.html"] {
        assert_eq!(report(&[]).done().lines().last(), Some(name));
    }
    fs::write(dir.path().join("report.html"), "mine").unwrap();
    report(&["--out", "report.html"]).fails_with(
        "sealstone: report.html is there already\n  name another file with --out, or give \
         --replace to write over it\n",
    );
    assert_eq!(text("report.html"), "mine");
    report(&["--out", "report.html", "--replace"]).done();
    assert!(text("report.html").len() > 1000);
}
