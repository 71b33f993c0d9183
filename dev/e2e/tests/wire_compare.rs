//! TLS as a place beside others, measured on real servers: each server that was started for a
//! variant with TLS itself reports that it accepts nothing else, the advice takes TLS where a
//! threat on the network is named, and senseless settings are refused. Not here: tunnels of packets
//! (`block_compare`), the choice on made-up costs (`crates/bench/src/advise/place_choice`).

use std::fs;
use std::path::Path;

use sealstone_e2e::binary::wiredtiger_extension;
use sealstone_e2e::sql_server::SqlKind;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{MONGOD_PROGRAM, REDIS_PROGRAM};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--records=300",
    "--operations=200",
    "--threads=2",
    "--rounds=6",
    "--set=pairs=1",
    "--set=slice-ms=1",
    "--workloads=a",
    "--ciphers=none,aes-256",
    "--margin=50%",
    "--out=out",
];

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    run(&mut sealstone(dir, &[SMALL, more].concat()))
}

/// TLS version and cipher suite that servers accept as configured; they have no command for a
/// connection's.
const ALONE: &str = "TLSv1.3, TLS_AES_256_GCM_SHA384; ";

/// Fields, TLS and both on `store`, whose server's report of the connection contains `told`.
fn fields_with_tls(store: &str, told: &[&str]) {
    let store = format!("--store={store}");
    let flags = [&store, "--layer=field,wire,field+wire", "--protect-from=network,dba"];
    let labels = ["none", "aes-256 field", "aes-256 field+wire", "tls"];
    places_with_tls(
        &flags,
        "to protect from network and dba, take aes-256 field+wire",
        labels,
        told,
    );
}

/// A place, TLS and both, according to `flags`: the advice, and the servers' reports of the
/// connection.
fn places_with_tls(flags: &[&str], wanted: &str, labels: [&str; 4], told: &[&str]) {
    let dir = reachable();
    let done = compare(dir.path(), flags);
    let said = done.stdout.clone();
    done.done();
    // so short a run may leave it open on a busy machine
    let advised = said.split_whitespace().collect::<Vec<_>>().join(" ").contains(wanted);
    assert!(advised || said.starts_with("nothing to take yet: "), "{said}");
    let results = results(dir.path());
    let found: Vec<&str> = results["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["label"].as_str().unwrap())
        .collect();
    assert_eq!(found, labels);
    assert_says(&results, told);
    let group = &results["groups"][0];
    let rows = group["recommendation"]["coverage"]["rows"].as_array().unwrap();
    let wire = rows.iter().find(|row| row["place"] == "wire").unwrap();
    assert_eq!(wire["variant"], "tls");
    assert!(wire["cost"]["ratio"].as_f64().unwrap() > 0.0, "measured: {wire}");
    assert_eq!(wire["entries"][2]["protection"], "protects");
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(
        page.contains("the connection sealed (TLS), both ways")
            && page.contains("Place, person and cost")
    );
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

/// Checks that the reports of the servers of `results` on their connections contain all of `told`.
fn assert_says(results: &Value, told: &[&str]) {
    let engine = &results["groups"][0]["engine"];
    let words = engine["settings"]["tls"].as_str().unwrap_or_default();
    assert!(told.iter().all(|told| words.contains(told)), "{engine}");
}

#[test]
fn mongodb_is_measured_with_tls() {
    if is_installed(&MONGOD_PROGRAM, "mongodb_is_measured_with_tls") {
        let extension = format!("--extension={}", wiredtiger_extension().display());
        let flags = [
            "--store=mongodb",
            "--nodes=1",
            "--layer=rest,wire,rest+wire",
            "--protect-from=disk-thief,network",
        ];
        places_with_tls(
            &[&flags[..], &[&extension]].concat(),
            "to protect from disk-thief and network, take aes-256 wire+rest",
            ["none", "aes-256 rest", "aes-256 wire+rest", "tls"],
            &[ALONE, "tlsMode requireTLS: it takes nothing else, from members either"],
        );
    }
}

#[test]
fn postgres_is_measured_with_tls() {
    if SqlKind::Postgres.is_available("postgres_is_measured_with_tls") {
        fields_with_tls("postgres", &["TLSv1.3, TLS_AES_256_GCM_SHA384"]);
    }
}

#[test]
fn mariadb_is_measured_with_tls() {
    if SqlKind::MariaDb.is_available("mariadb_is_measured_with_tls") {
        fields_with_tls("mysql", &["TLSv1.3, TLS_AES_256_GCM_SHA384"]);
    }
}

#[test]
fn redis_is_measured_with_tls() {
    if !is_installed(&REDIS_PROGRAM, "redis_is_measured_with_tls") {
        return;
    }
    fields_with_tls("redis", &[ALONE, "port 0: it takes nothing else; "]);

    // suites of the wire alone: the cost, and nothing to choose
    let dir = reachable();
    let done = compare(dir.path(), &["--store=redis", "--layer=wire", "--suites=none,tls"]);
    let said = done.stdout.clone();
    done.done();
    assert!(said.contains("tls"), "{said}");
    // a cluster with replicas, which report it too
    compare(dir.path(), &["--store=redis", "--layer=wire", "--nodes=6"]).done();
    assert_says(
        &results(dir.path()),
        &[ALONE, "port 0: it takes nothing else, from other nodes either; "],
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, want) in [
        (
            &["--store=postgres", "--layer=wire", "--suites=none,aes-256-gcm"][..],
            "suites is aes-256-gcm: it seals packets on a link, and postgres has TLS there\n  name \
             none and tls",
        ),
        (
            &["--store=postgres", "--layer=wire", "--links=100"],
            "links is 100: it is about packets on a link, and postgres has TLS there\n  leave it \
             out",
        ),
        (
            &["--store=postgres", "--layer=wire", "--suites=none"],
            "suites is none: nothing is sealed on the wire",
        ),
        (
            &["--store=postgres", "--layer=field,wire"],
            "layer is field,wire: what is on its way and what is stored are",
        ),
        (
            &["--store=ssdb", "--ssdb-url=ssdb://127.0.0.1", "--layer=wire", "--suites=none,tls"],
            "layer is wire: ssdb has nothing for it: its server speaks no TLS\n  choose a store \
             that has: mongodb, redis, postgres, mysql, iscsi",
        ),
    ] {
        let refused = compare(dir.path(), arguments);
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(want), "{arguments:?}: {}", refused.stderr);
    }
    let printed =
        compare(dir.path(), &["--store=postgres", "--layer=field+wire", "--print-config"]);
    assert!(printed.stdout.contains("suites = [\"none\", \"tls\"]"), "{}", printed.stdout);
}
