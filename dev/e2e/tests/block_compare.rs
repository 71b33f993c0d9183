//! `sealstone compare` on block devices: a file, a target started here, the user's own target,
//! detected damage, and impossible settings.

use std::fs;
use std::path::Path;
use std::process::Command;

use sealstone_e2e::transcript::{run, sealstone};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{TGT_PROGRAM, TgtOptions, start_tgt};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--bytes=4MB",
    "--set=depth=4",
    "--operations=64",
    "--rounds=1",
    "--set=pairs=6",
    "--verify",
    "--out=out",
];

fn available(name: &str) -> bool {
    is_installed(&TGT_PROGRAM, name)
}

fn compare(dir: &Path, more: &[&str]) -> Command {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    let usual = ["--block-bytes=16KiB", "--set=slice-ms=1"].into_iter().filter(|flag| {
        let name = flag.rsplit_once('=').map_or(*flag, |(name, _)| name);
        !more.iter().any(|own| own.starts_with(name))
    });
    sealstone(dir, &[SMALL, &usual.collect::<Vec<_>>(), more].concat())
}

fn cells(dir: &Path) -> Vec<Value> {
    let results: Value =
        serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap();
    results["groups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["cells"].as_array().unwrap().clone())
        .collect()
}

#[test]
fn a_file_is_measured_and_the_report_has_its_requests() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let said =
        run(&mut compare(dir, &["--store=block", "--workloads=seq-read,const-write,rand-mix"]))
            .done();
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let cells = cells(dir);
    assert_eq!(cells.len(), 3);
    assert!(
        cells
            .iter()
            .all(|cell| cell["unit"] == "bytes" && cell["throughput"].as_f64().unwrap() > 0.0)
    );
    let mix: Vec<&String> = cells[2]["latency"].as_object().unwrap().keys().collect();
    assert_eq!(mix, ["read", "write"]);
    let report = fs::read_to_string(dir.join("out/report.html")).unwrap();
    for head in ["Requests a second", "CPU at this end", "CPU at the other end"] {
        assert!(report.contains(head), "{head}");
    }
    let left: Vec<_> =
        fs::read_dir(dir.join("out")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_target_is_started_measured_and_ended() {
    if !available("a_target_is_started_measured_and_ended") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    run(&mut compare(dir.path(), &["--store=iscsi", "--workloads=rand-mix"])).done();
    let cells = cells(dir.path());
    assert!(cells.len() == 1 && cells[0]["workload"] == "rand-mix");
    let runs = fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(dir.path().to_str().unwrap())
    });
    assert!(!runs, "nothing works there any more");
}

#[test]
fn a_target_of_the_users_is_overwritten_only_where_it_may_be() {
    if !available("a_target_of_the_users_is_overwritten_only_where_it_may_be") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let target = start_tgt(
        &dir.path().join("target"),
        TgtOptions { bytes: 8 << 20, ..TgtOptions::default() },
    )
    .unwrap();
    let uri = target.uri();
    let device = ["--store=block", "--workloads=seq-mix", "--device", &uri];
    run(&mut compare(dir.path(), &device)).done();
    let used = run(&mut compare(dir.path(), &device));
    assert!(
        used.code == Some(2) && used.stderr.contains("is not empty: its first 1048576 bytes"),
        "{}",
        used.stderr
    );
    run(&mut compare(dir.path(), &[&device[..], &["--erase=true"]].concat())).done();
    let missing = uri.replace("disk/1", "disk/5");
    let missing = run(&mut compare(
        dir.path(),
        &["--store=block", "--workloads=seq-mix", "--device", &missing],
    ));
    assert!(
        missing.code == Some(2) && missing.stderr.contains("the target has no unit of this number")
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |more: &[&str]| {
        let transcript = run(&mut compare(dir.path(), more));
        assert_eq!(transcript.code, Some(2), "{}", transcript.stderr);
        transcript.stderr
    };
    let records = refused(&["--store=block", "--workloads=a"]);
    assert!(
        records.contains(
            "workload a needs records, and block is a block device\n  choose a store for it: "
        ),
        "{records}"
    );
    let blocks = refused(&["--store=rocksdb", "--workloads=rand-mix"]);
    assert!(
        blocks.contains("workload rand-mix needs a block device, and rocksdb keeps records\n"),
        "{blocks}"
    );
    let odd = refused(&["--store=block", "--block-bytes=1000"]);
    assert!(
        odd.contains("block-bytes is 1000: a request is made of sectors of 512 bytes"),
        "{odd}"
    );
    let suite = refused(&["--store=iscsi", "--layer=wire", "--suites=none,aes-256-gmc"]);
    assert!(suite.contains("unknown suite \"aes-256-gmc\"; did you mean aes-256-gcm?"), "{suite}");
    let link = refused(&["--store=iscsi", "--layer=wire", "--links=10"]);
    assert!(
        link.contains(
            "unknown link \"10\"; did you mean 100?\n  known links: unlimited, 1000, 100, 5.28; \
             numbers are Mbit/s"
        ),
        "{link}"
    );
    let unknown = refused(&["--store=iscsi", "--layer=wire", "--congestion=nagle"]);
    assert!(
        unknown.contains("unknown congestion control \"nagle\"\n  this kernel has: "),
        "{unknown}"
    );
    assert!(unknown.contains("reno"), "{unknown}");
    let nothing = refused(&["--store=iscsi", "--congestion=reno"]);
    assert!(nothing.contains(
        "congestion is reno: it is about TCP over a link that is made here; add --layer wire"
    ));
    let nowhere = refused(&["--store=rocksdb", "--layer=wire"]);
    assert!(
        nowhere.contains(
            "layer is wire: rocksdb has nothing for it: it is in this process, and nothing goes \
             over a wire\n  choose a store that has: mongodb, redis, postgres, mysql, iscsi"
        ),
        "{nowhere}"
    );
    let tls = refused(&["--store=iscsi", "--layer=wire", "--suites=none,tls"]);
    assert!(
        tls.contains("suites is none,tls: iscsi speaks no TLS\n  name suites of ESP, see: "),
        "{tls}"
    );
    assert!(
        tls.contains("or choose a store that speaks TLS: mongodb, redis, postgres, mysql"),
        "{tls}"
    );
    let layer = refused(&["--store=iscsi", "--links=1000"]);
    assert!(
        layer.contains("links is 1000: it is about packets on the link; add --layer wire"),
        "{layer}"
    );
}

#[test]
fn packets_on_a_link_are_sealed() {
    let name = "packets_on_a_link_are_sealed";
    if !available(name) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // in a short slice much would be what the link had saved before it
    let on_links =
        ["--layer=wire", "--links=100,unlimited", "--suites=none,3des-md5", "--set=slice-ms=40"];
    let more = ["--store=iscsi", "--workloads=seq-read,stream", "--congestion=reno"];
    let transcript = run(&mut compare(dir.path(), &[&on_links[..], &more].concat()));
    if transcript.code == Some(2) && transcript.stderr.contains("cannot make") {
        return println!("SKIP: {name}: {}", transcript.stderr.lines().next().unwrap_or_default());
    }
    let said = transcript.done();
    assert!(said.contains("100 Mbit/s") && said.contains("unlimited link"), "{said}");
    assert!(said.contains("limit: 3des-md5: "), "its caveat: {said}");
    let condition = "congestion control of TCP: reno, as asked for";
    assert!(said.contains(condition), "{said}");
    let recorded: Value =
        serde_json::from_slice(&fs::read(dir.path().join("out/results.json")).unwrap()).unwrap();
    assert_eq!(
        recorded["groups"][1]["engine"]["settings"]["congestion control"],
        "reno, as asked for"
    );
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("Congestion control of TCP") && page.contains("reno, as asked for"));
    let cells = cells(dir.path());
    assert_eq!(cells.len(), 8);
    let speeds: Vec<f64> =
        cells[..4].iter().map(|cell| cell["throughput"].as_f64().unwrap()).collect();
    assert!(speeds.iter().all(|speed| *speed < 15e6), "more than the link carries: {speeds:?}");
}

#[test]
fn strongswan_carries_packets_of_a_comparison() {
    let name = "strongswan_carries_packets_of_a_comparison";
    if !available(name) {
        return;
    }
    if !sealstone_wire::path::strongswan::is_installed() {
        return println!(
            "SKIP: {name}: strongSwan is not installed; make setup-strongswan installs it"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let on_link = [
        "--layer=wire",
        "--suites=none,aes-128-sha1",
        "--set=path=strongswan",
        "--workloads=seq-read",
    ];
    let transcript = run(&mut compare(
        dir.path(),
        &[&["--store=iscsi", "--set=slice-ms=10"], &on_link[..]].concat(),
    ));
    if transcript.code == Some(2) && transcript.stderr.contains("cannot make") {
        return println!("SKIP: {name}: {}", transcript.stderr.lines().next().unwrap_or_default());
    }
    transcript.done();
    let cells = cells(dir.path());
    assert!(
        cells.len() == 2 && cells.iter().all(|cell| cell["throughput"].as_f64().unwrap() > 0.0)
    );
    let results: Value =
        serde_json::from_slice(&fs::read(dir.path().join("out/results.json")).unwrap()).unwrap();
    assert_eq!(results["variants"][1]["layers"]["wire"]["backend"], "strongswan");
}

/// If the kernel has ESP, it carries packets; if it has none, one sentence reports that, and
/// nothing is measured.
#[test]
fn the_kernel_carries_packets_or_says_that_it_cannot() {
    let name = "the_kernel_carries_packets_or_says_that_it_cannot";
    if !available(name) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let on_link =
        ["--layer=wire", "--suites=none,aes-128-sha1", "--set=path=kernel", "--workloads=seq-read"];
    let transcript = run(&mut compare(
        dir.path(),
        &[&["--store=iscsi", "--set=slice-ms=10"], &on_link[..]].concat(),
    ));
    if transcript.code == Some(2) && transcript.stderr.contains("cannot make") {
        return println!("SKIP: {name}: {}", transcript.stderr.lines().next().unwrap_or_default());
    }
    if transcript.code == Some(0) {
        assert_eq!(cells(dir.path()).len(), 2);
        return;
    }
    let stderr = &transcript.stderr;
    assert!(
        transcript.code == Some(2) && stderr.contains("this kernel has no ESP: ip xfrm says "),
        "{stderr}"
    );
    assert!(stderr.contains("or take another path, such as sealstone"), "{stderr}");
    assert!(!dir.path().join("out").exists(), "nothing was measured");
}
