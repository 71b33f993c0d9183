//! Several clients on the same servers at once, `sealstone compare --client`, and their results as
//! one. Here all of them are on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sealstone_e2e::transcript::{Transcript, finish, run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{
    MONGOD_PROGRAM, Mongod, MongodOptions, REDIS_PROGRAM, RedisOptions, start_redis,
};
use serde_json::Value;

/// A comparison that takes some seven seconds of slices.
const SMALL: [&str; 17] = [
    "compare",
    "--store",
    "mongodb",
    "--records",
    "600",
    "--threads",
    "2",
    "--rounds",
    "1",
    "--set",
    "pairs=6",
    "--set",
    "slice-ms=200",
    "--workloads",
    "a,d",
    "--ciphers",
    "none,aes-256",
];

/// Returns the time in so many seconds.
fn in_seconds(seconds: u32) -> String {
    let text = Command::new("date")
        .args(["-u", "-d", &format!("{seconds} seconds"), "+%FT%TZ"])
        .output()
        .unwrap();
    String::from_utf8(text.stdout).unwrap().trim().to_owned()
}

fn results(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn cells(comparison: &Value) -> &[Value] {
    comparison["groups"][0]["cells"].as_array().unwrap()
}

/// Operations of every slice.
fn operations(cell: &Value) -> Vec<u64> {
    cell["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["operations"].as_u64().unwrap())
        .collect()
}

/// Operations a second of every slice.
fn throughputs(cell: &Value) -> Vec<f64> {
    let samples = cell["samples"].as_array().unwrap();
    samples
        .iter()
        .map(|one| one["operations"].as_f64().unwrap() / one["elapsed_s"].as_f64().unwrap())
        .collect()
}

/// Adds the histogram of `operation` to `to`: nanoseconds, and how many took so long.
fn add(cell: &Value, operation: &str, to: &mut BTreeMap<u64, u64>) {
    for pair in cell["histograms"][operation]
        .as_str()
        .unwrap_or_default()
        .split(' ')
        .filter(|pair| !pair.is_empty())
    {
        let (ns, count) = pair.split_once(':').unwrap();
        *to.entry(ns.parse().unwrap()).or_default() += count.parse::<u64>().unwrap();
    }
}

/// Returns the 99th percentile of the counts, in microseconds.
fn p99_us(counts: &BTreeMap<u64, u64>) -> f64 {
    let wanted = (counts.values().sum::<u64>() as f64 * 0.99).ceil() as u64;
    let mut seen = 0;
    let found = counts.iter().find(|(_, count)| {
        seen += *count;
        seen >= wanted
    });
    *found.unwrap().0 as f64 / 1e3
}

/// Starts all clients with `arguments`, and waits for them.
fn together(dir: &Path, clients: &[&str], arguments: &[&str]) -> Vec<Transcript> {
    let started: Vec<_> = clients
        .iter()
        .map(|client| {
            let out = format!("out-{}", &client[..1]);
            let own = ["--client", client, "--out", &out];
            let mut command = sealstone(dir, &[&SMALL[..], arguments, &own].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    started.into_iter().map(finish).collect()
}

#[test]
fn a_redis_is_filled_by_the_first_client_and_left_empty() {
    const NAME: &str = "a_redis_is_filled_by_the_first_client_and_left_empty";
    if !is_installed(&REDIS_PROGRAM, NAME) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = start_redis(&dir.path().join("theirs"), RedisOptions::default()).unwrap();
    let url = format!("--redis-url=redis://{}", server.address());
    let small = [
        "compare",
        "--store",
        "redis",
        "--records",
        "300",
        "--threads",
        "2",
        "--operations",
        "200",
    ];
    let brief =
        ["--rounds", "1", "--set", "pairs=6", "--set", "slice-ms=50", "--workloads", "a", &url];
    let start = in_seconds(10);
    let started = ["1/2", "2/2"].map(|client| {
        let own =
            ["--client", client, "--start-at", &start, "--out", &format!("out-{}", &client[..1])];
        let mut command = sealstone(dir.path(), &[&small[..], &brief, &own].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for said in started.map(finish) {
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let both = ["report", "out-1/results.json", "out-2/results.json", "--out", "all.html"];
    let screen = run(&mut sealstone(dir.path(), &both)).done();
    assert!(screen.contains("2 clients ("), "{screen}");
    // a server that is not empty would be refused
    run(&mut sealstone(dir.path(), &[&small[..], &brief].concat())).done();
}

#[test]
fn two_clients_measure_what_one_report_adds_up() {
    const NAME: &str = "two_clients_measure_what_one_report_adds_up";
    if !is_installed(&MONGOD_PROGRAM, NAME) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = Mongod::start(&dir.path().join("theirs"), MongodOptions::default()).unwrap();
    let place = server.uri().split('?').next().unwrap().trim_end_matches('/').to_owned();
    let clusters =
        [format!("--cluster=none={place}/first"), format!("--cluster=aes-256={place}/second")];
    let start = in_seconds(20);
    let arguments = [&clusters[0][..], &clusters[1], "--start-at", &start];
    for said in together(dir.path(), &["1/2", "2/2"], &arguments) {
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let parts =
        [1, 2].map(|number| results(&dir.path().join(format!("out-{number}/results.json"))));
    for (number, part) in (1..).zip(&parts) {
        let client = &part["client"];
        assert_eq!(
            (client["number"].as_u64(), client["of"].as_u64()),
            (Some(number), Some(2)),
            "{client}"
        );
        assert_eq!(client["start_at"], start);
        let warnings = part["groups"][0]["warnings"].to_string();
        assert!(part["interrupted"] == false, "{warnings}");
    }

    let both = ["report", "out-2/results.json", "out-1/results.json"];
    let merged = run(&mut sealstone(dir.path(), &[&both[..], &["--json"]].concat())).done();
    let merged: Value = serde_json::from_str(&merged).unwrap();
    let comparisons = merged["comparisons"].as_array().unwrap();
    assert_eq!(comparisons.len(), 1);
    assert_eq!(cells(&comparisons[0]).len(), 4);
    for (at, cell) in cells(&comparisons[0]).iter().enumerate() {
        let of = |part: usize| &cells(&parts[part])[at];
        assert_eq!(cell["clients"], 4);
        let sum: Vec<u64> = operations(of(0))
            .iter()
            .zip(operations(of(1)))
            .map(|(one, other)| one + other)
            .collect();
        assert_eq!(operations(cell), sum);
        let rates =
            throughputs(of(0)).into_iter().zip(throughputs(of(1))).map(|(one, other)| one + other);
        for (found, want) in throughputs(cell).into_iter().zip(rates) {
            // on a busy machine nobody may have finished anything in a slice
            assert!((found - want).abs() <= 1e-9 * want, "{found} for {want}");
        }
        for (operation, latency) in cell["latency"].as_object().unwrap() {
            let mut union = BTreeMap::new();
            (0..2).for_each(|part| add(of(part), operation, &mut union));
            let count = (0..2)
                .filter_map(|part| of(part)["latency"][operation]["count"].as_u64())
                .sum::<u64>();
            assert_eq!(
                (latency["count"].as_u64(), union.values().sum::<u64>()),
                (Some(count), count),
                "{operation}"
            );
            let (found, want) = (latency["p99_us"].as_f64().unwrap(), p99_us(&union));
            assert!((found / want - 1.0).abs() < 1e-9, "{operation}: {found} for {want}");
        }
    }
    let facts = &comparisons[0]["groups"][0]["engine"]["settings"];
    for client in ["client 1 of 2", "client 2 of 2"] {
        assert!(facts[client].as_str().unwrap().contains(" CPUs in use, "), "{facts}");
    }
    let screen =
        run(&mut sealstone(dir.path(), &[&both[..], &["--out", "all.html"]].concat())).done();
    assert!(screen.contains("2 clients (") && screen.ends_with("all.html\n"), "{screen}");
    // none of them can be left out
    let alone = run(&mut sealstone(dir.path(), &["report", "out-2/results.json"]));
    alone.fails_with(&format!(
        "sealstone: the results of client 1 of the 2 that began at {start} are missing\n  name the \
         results.json of every client\n"
    ));

    // client 1 never comes, so nothing is loaded; and a client that loads too late reports it
    let elsewhere = tempfile::tempdir().unwrap();
    let start = in_seconds(4);
    let late =
        together(elsewhere.path(), &["2/2"], &[&clusters[0], &clusters[1], "--start-at", &start])
            .remove(0);
    assert_eq!(late.code, Some(2));
    let want =
        format!("client 2/2 could not begin at {start}: client 1 had not loaded the data by then");
    assert!(
        late.stderr.contains(&want) && late.stderr.contains("with a later --start-at"),
        "{}",
        late.stderr
    );
    let start = in_seconds(4);
    // each workload is run once on each cluster before the start, for as long as a slice
    let long = SMALL.map(|word| if word == "slice-ms=200" { "slice-ms=1500" } else { word });
    let arguments = [&clusters[0][..], &clusters[1], "--client=1/2", "--start-at", &start];
    let late = run(&mut sealstone(elsewhere.path(), &[&long[..], &arguments].concat()));
    let want = format!(
        "client 1/2 could not begin at {start}: loading and warming up took until after it"
    );
    assert!(late.code == Some(2) && late.stderr.contains(&want), "{}", late.stderr);
}

#[test]
fn what_several_clients_cannot_measure_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], want: &str| {
        let together = ["compare", "--client", "1/2", "--start-at", "2999-01-01T00:00:00Z"];
        let refused = run(&mut sealstone(dir.path(), &[&together[..], arguments].concat()));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    };
    fails(&[], "a rocksdb store is inside this process, where no other machine reaches it");
    fails(&["--store", "mongodb"], "servers that are started here are for this machine alone");
    let cluster =
        ["--store", "mongodb", "--cluster", "none=mongodb://127.0.0.1:1/x", "--ciphers", "none"];
    fails(
        &[&cluster[..], &["--start-at", "2020-01-01T00:00:00Z"]].concat(),
        "the argument '--start-at",
    );
    fails(
        &[&cluster[..], &["--records", "1k,2k"]].concat(),
        "several clients measure one point together",
    );
    fails(
        &[&cluster[..], &["--workloads", "a,batch-load"]].concat(),
        "workloads is batch-load: it loads the store again",
    );
    fails(
        &[&cluster[..], &["--workloads", "a,oltp"]].concat(),
        "workloads is oltp: it has other data",
    );
    fails(
        &[&cluster[..], &["--target", "100"]].concat(),
        "target is set: several clients ask as fast as they can",
    );
    let past = ["compare", "--client", "1/2", "--start-at", "2020-01-01T00:00:00Z"];
    let past = run(&mut sealstone(dir.path(), &[&past[..], &cluster].concat()));
    assert!(
        past.code == Some(2)
            && past.stderr.contains("start-at is 2020-01-01T00:00:00Z: that has passed")
    );
    for (words, want) in [
        (&["compare", "--client", "3/2", "--start-at", "12:00:00"][..], "such as 2/8"),
        (&["compare", "--client", "1/2", "--start-at", "noon"], "such as 12:00:00"),
        (&["compare", "--client", "1/2"], "--start-at"),
    ] {
        let refused = run(&mut sealstone(dir.path(), words));
        assert!(refused.code == Some(2) && refused.stderr.contains(want), "{}", refused.stderr);
    }
}
