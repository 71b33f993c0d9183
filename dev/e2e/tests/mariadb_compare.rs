//! `sealstone compare` with MariaDB's files under our plug-in and under what the server brings
//! itself, side by side.

use std::fs;
use std::path::Path;

use sealstone_e2e::binary::mariadb_plugin;
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_e2e::volume_place::holds;
use sealstone_servers::testing::reachable;
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--store=mysql",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--set=pairs=6",
    "--set=slice-ms=1",
    "--workloads=a",
    "--ciphers=none,seed-128",
    "--out=out",
];

/// A name that every table file has in its pages.
const MARKER: &[u8] = b"usertable";

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    run(sealstone(dir, &[SMALL, more].concat()).env("SEALSTONE_MARIADB_PLUGIN", mariadb_plugin()))
}

#[test]
fn files_are_encrypted_by_us_and_by_the_server_side_by_side() {
    let test = "files_are_encrypted_by_us_and_by_the_server_side_by_side";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    let done = compare(dir, &["--seal=own,server", "--keep=kept"]);
    let note = "the stores kept in kept are sealed with the key in kept.key";
    assert!(done.stderr.contains(note), "{}", done.stderr);
    let said = done.done();
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let results: Value =
        serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap();
    let variants = results["variants"].as_array().unwrap();
    let of = |at: usize, name: &str| variants[at]["layers"]["rest"][name].clone();
    let labels: Vec<&str> = variants.iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["none", "seed-128 own", "AES_CTR server", "AES_CBC server"]);
    assert_eq!(of(1, "modes"), Value::from(vec!["hctr2", "ctr", "cbc-feistel"]), "{variants:?}");
    for at in [2, 3] {
        let by_server = (of(at, "seal"), of(at, "backend"), of(at, "cipher"));
        let name = labels[at].split_once(' ').unwrap().0;
        assert_eq!(by_server, ("server".into(), "server".into(), name.into()), "{variants:?}");
    }
    // what is no cipher of ours is measured, and never recommended
    let ranking = results["groups"][0]["recommendation"]["ranking"].as_array().unwrap();
    let ranked: Vec<&Value> = ranking.iter().map(|one| &one["label"]).collect();
    assert_eq!(ranked, ["seed-128 own"]);

    // the files are as they are said to be
    let files = |label: &str| {
        dir.join("kept/ycsb").join(label.replace([' ', '_'], "-")).join("lab.mariadb/data")
    };
    assert!(holds(&files("none"), MARKER), "the marker is not in the clear files");
    for label in &labels[1..] {
        assert!(!holds(&files(label).join("sealstone"), MARKER), "{label}");
    }
    let data = files("seed-128 own");
    let check = ["mysql", "check", data.to_str().unwrap(), "--json"];
    let account = run(&mut sealstone(dir, &check)).stdout;
    let account: Value = serde_json::from_str(&account).unwrap();
    assert_eq!(account["sealed"][0]["cipher"], "seed-128", "{account:#}");
    assert_eq!(account["other_blocks"], 0, "{account:#}");
}

#[test]
fn the_study_of_tablespaces_is_one_command() {
    let test = "the_study_of_tablespaces_is_one_command";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    let study = |bytes: &str, out: &str, more: &[&str]| {
        let (bytes, out) = (format!("--bytes={bytes}"), format!("--out={out}"));
        let small = ["--operations=200", "--rounds=1", "--set=pairs=6", "--set=slice-ms=1"];
        let arguments = [&["compare", "--study=tablespace", &bytes, &out], &small[..], more];
        let mut command = sealstone(dir, &arguments.concat());
        run(command.env("SEALSTONE_MARIADB_PLUGIN", mariadb_plugin()))
    };
    // a fifth of so few records is less than a server takes
    let small = study("2MB", "out", &[]);
    let why = "workload oltp-cold needs a cache of ";
    assert!(small.code == Some(2) && small.stderr.contains(why), "{}", small.stderr);
    assert!(small.stderr.contains(", 20 % of its records"), "{}", small.stderr);

    let plan =
        run(&mut sealstone(dir, &["compare", "--study=tablespace", "--print-config"])).done();
    for line in [
        "seal = [\"own\", \"server\"]",
        "ciphers = [\"none\", \"aes-256\", \"aria-256\"]",
        "workloads = [\"oltp\", \"oltp-cold\", \"batch-load\", \"batch-scan\"]",
    ] {
        assert!(plan.contains(line), "{plan}");
    }

    // all of its workloads; that with a pool smaller than its records takes many, and a pool of
    // nine tenths of them takes fewer
    let many = ["--workloads=oltp-cold", "--set=cold-share=90%"];
    let few = ["--workloads=oltp,batch-load,batch-scan"];
    let all = ["none", "aes-256 own", "aes-256 portable own", "AES_CTR server", "AES_CBC server"];
    let cells_of = |bytes: &str, out: &str, more: &[&str]| {
        study(bytes, out, &[&["--ciphers=none,aes-256"], more].concat()).done();
        let results: Value =
            serde_json::from_slice(&fs::read(dir.join(out).join("results.json")).unwrap()).unwrap();
        let variants = results["variants"].as_array().unwrap();
        let labels: Vec<&str> = variants.iter().map(|one| one["label"].as_str().unwrap()).collect();
        assert_eq!(labels, all);
        results["groups"][0]["cells"].as_array().unwrap().clone()
    };
    let cells = [cells_of("2MB", "warm", &few), cells_of("64MB", "cold", &many)].concat();
    for workload in ["oltp", "oltp-cold", "batch-load", "batch-scan"] {
        let of_it = cells.iter().filter(|cell| cell["workload"] == workload).count();
        assert_eq!(of_it, all.len(), "{workload}: {cells:?}");
    }
    let seconds = |cell: &Value| {
        let samples = cell["samples"].as_array().unwrap().iter();
        samples.map(|sample| sample["servers_cpu_s"].as_f64().unwrap()).sum::<f64>()
    };
    // a clock of a hundredth of a second misses what is short
    let load = cells.iter().filter(|cell| cell["workload"] == "oltp");
    assert!(load.map(seconds).sum::<f64>() > 0.0, "{cells:?}");
}

#[test]
fn what_cannot_be_encrypted_here_is_said() {
    let test = "what_cannot_be_encrypted_here_is_said";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    for (arguments, wanted) in [
        (
            &["--extension=/nonexistent/x.so"][..],
            "no libsealstone_mariadb.so found: looked in /none",
        ),
        (&["--layer=field+rest", "--seal=server"], "what the server brings is measured by itself"),
        (&["--layer=field", "--seal=server"], "it is about files at rest; add --layer rest"),
    ] {
        let refused = compare(dir, arguments);
        assert!(
            refused.code == Some(2) && refused.stderr.contains(wanted),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(!dir.join("out").exists(), "{arguments:?}");
    }
    // a server of the user's own is measured as it is
    let server = SqlServer::start(SqlKind::MariaDb, &dir.join("theirs"));
    let url = format!("--mysql-url={}", server.url());
    let measured = compare(dir, &[&url]);
    let why = "mysql is measured without encryption: the servers are your own; encrypt their files \
               where they run";
    assert!(measured.stderr.contains(why), "{}", measured.stderr);
    measured.done();
}
