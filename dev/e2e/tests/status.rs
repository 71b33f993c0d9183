//! `sealstone status` on real stores, volumes and files: for people, for programs, and for
//! Prometheus, whose own checker judges the metrics and the rules for alerts. Not here: every
//! metric by its value (`crates/audit/tests/metrics.rs`).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use sealstone_e2e::promtool::{self, sample};
use sealstone_e2e::sealed_places::{call, plain_store, sealed};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::VolumePlace;
use serde_json::Value;

#[test]
fn places_are_shown_to_people_and_programs() {
    let home = sealed();
    let dir = home.path();
    let table = call(dir, "status db vol files --key orders.key").done();
    for wanted in ["100 %", "aria-256", "lea-256", "seed-128", "orders 1", "0 d", "not checked"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    let text = call(dir, "status db vol files --key orders.key --verify --json").done();
    let status: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(status["is_sealed"], true);
    for place in status["places"].as_array().expect("a list") {
        assert_eq!(place["sealed_ratio"], 1.0, "{place}");
        assert_eq!(place["verified"]["is_whole"], true, "{place}");
    }
    assert_eq!(status["keys"][0]["versions"][0]["places"], 3);
}

#[test]
fn metrics_say_what_is_so() {
    let home = sealed();
    let dir = home.path();
    plain_store(&dir.join("plain"));
    call(dir, "audit db vol files --key orders.key --verify --out audit").done();
    let line = "status db vol files plain gone --key orders.key none.key --previous \
                audit/audit.json --prometheus --out out.prom";
    let done = call(dir, line);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
    // what cannot be looked at is said, and the others are looked at all the same
    for wanted in ["gone: cannot look at gone", "none.key: no key file at none.key"] {
        assert!(done.stderr.contains(wanted), "{}", done.stderr);
    }
    let metrics = fs::read_to_string(dir.join("out.prom")).expect("a file");
    let is = |name: &str, labels: &[&str], wanted: f64| {
        let found = sample(&metrics, &format!("sealstone_{name}"), labels);
        assert!((found - wanted).abs() < 1e-9, "{name}{labels:?}: {found}\n{metrics}");
    };
    for place in ["/db\"", "/vol\"", "/files/people.csv\""] {
        is("sealed_ratio", &[place], 1.0);
        is("scrape_success", &[place], 1.0);
        is("verify_success", &[place], 1.0);
        assert!(sample(&metrics, "sealstone_verify_timestamp_seconds", &[place]) > 1.7e9);
    }
    is("sealed_ratio", &["/plain\""], 0.0);
    assert!(sample(&metrics, "sealstone_clear_bytes", &["/plain\""]) > 1000.0);
    is("scrape_success", &["place=\"gone\""], 0.0);
    is("scrape_success", &["place=\"none.key\""], 0.0);
    let key = ["key_id=\"orders\"", "key_version=\"1\""];
    is("key_places", &key, 3.0);
    is("key_held", &key, 1.0);
    let age = sample(&metrics, "sealstone_key_age_seconds", &key);
    assert!((0.0..600.0).contains(&age), "{age}");
    assert!(sample(&metrics, "sealstone_sealed_bytes", &["/db\"", "cipher=\"aria-256\""]) > 1000.0);
    assert!(sample(&metrics, "sealstone_sealed_rows", &["column=\"memo\""]) == 2.0);
    // no secret of the key is anywhere
    let secret = fs::read_to_string(dir.join("orders.key")).expect("a file");
    for line in secret.lines().filter_map(|line| line.split('"').nth(1)) {
        assert!(line.len() < 30 || !metrics.contains(line), "{line}");
    }
}

/// The timers of the guide leave each audit in a directory of its own, and a status takes the
/// newest; without any, the other places are looked at all the same.
#[test]
fn a_status_knows_the_newest_of_many_audits() {
    let home = sealed();
    let dir = home.path();
    fs::create_dir(dir.join("audits")).expect("room");
    let line = "status db --key orders.key --previous audits --prometheus --out out.prom";
    let none = call(dir, line);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
    assert!(none.stderr.contains("audits: audits has no audit in any of its directories"));
    let metrics = || fs::read_to_string(dir.join("out.prom")).expect("a file");
    let is = |name: &str, place: &str| sample(&metrics(), &format!("sealstone_{name}"), &[place]);
    assert!((is("scrape_success", "place=\"audits\"") - 0.0).abs() < 1e-9, "{}", metrics());
    assert!((is("sealed_ratio", "/db\"") - 1.0).abs() < 1e-9, "{}", metrics());

    let audit = |at: &Path| {
        let [db, key] = ["db", "orders.key"].map(|name| dir.join(name).display().to_string());
        run(&mut sealstone(at, &["audit", &db, "--key", &key, "--verify"])).done();
    };
    audit(&dir.join("audits"));
    call(dir, line).done();
    let first = is("verify_timestamp_seconds", "/db\"");
    std::thread::sleep(Duration::from_millis(1100));
    audit(&dir.join("audits"));
    assert!(dir.join("audits/sealstone-audit-2/audit.json").exists());
    call(dir, line).done();
    assert!(is("verify_timestamp_seconds", "/db\"") > first, "{}", metrics());
    assert!((is("verify_success", "/db\"") - 1.0).abs() < 1e-9);
    // an old one that is damaged does not hide it; a newest one that cannot be read is said
    let newest = is("verify_timestamp_seconds", "/db\"");
    let spoil = |name: &str, at: SystemTime| {
        let file = fs::File::create(dir.join("audits").join(name).join("audit.json"));
        file.and_then(|file| file.set_modified(at)).expect("room");
    };
    spoil("sealstone-audit", SystemTime::now() - Duration::from_hours(1));
    call(dir, line).done();
    assert!((is("verify_timestamp_seconds", "/db\"") - newest).abs() < 1e-9, "{}", metrics());
    spoil("sealstone-audit-2", SystemTime::now());
    let damaged = call(dir, line);
    assert_eq!(damaged.code, Some(1));
    let why = "sealstone-audit-2/audit.json is no audit of this version";
    assert!(damaged.stderr.contains(why), "{}", damaged.stderr);
}

#[test]
fn a_collector_never_sees_a_part_of_the_file() {
    let home = sealed();
    let dir = home.path();
    let out = dir.join("out.prom");
    let facts = || {
        let facts = fs::metadata(&out).expect("a file");
        (facts.permissions().mode() & 0o7777, facts.ino())
    };
    // what this command wrote earlier may be replaced
    let old = "# HELP sealstone_build_info of an earlier version\n";
    fs::write(&out, old).expect("room");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).expect("mine");
    let kept = fs::File::open(&out).expect("it is there");
    let (_, before) = facts();
    call(dir, "status db --prometheus --out out.prom").done();
    let (mode, after) = facts();
    assert_eq!(mode, 0o644, "another user reads it");
    assert_ne!(before, after, "it is put in place by a rename");
    assert_eq!(std::io::read_to_string(kept).expect("a file"), old, "and not written into");
    let left: Vec<_> = fs::read_dir(dir).expect("a directory").flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().contains("partial")));
    // nothing is written through a link, nor into something else
    fs::remove_file(&out).expect("it is there");
    std::os::unix::fs::symlink(dir.join("elsewhere"), &out).expect("room");
    let refused = call(dir, "status db --prometheus --out out.prom");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot write out.prom"), "{}", refused.stderr);
    assert!(!dir.join("elsewhere").exists());
}

#[test]
fn the_checker_of_prometheus_finds_no_fault() {
    let Some(promtool) = promtool::find("the_checker_of_prometheus_finds_no_fault") else {
        return;
    };
    let home = sealed();
    let dir = home.path();
    let awkward = dir.join("a \"new\"\\db {x=1}");
    fs::rename(dir.join("db"), &awkward).expect("room");
    let name = awkward.to_str().expect("text");
    let words = ["status", name, "vol", "files", "--key", "orders.key", "--verify", "--prometheus"];
    let metrics =
        sealstone_e2e::transcript::run(&mut sealstone_e2e::transcript::sealstone(dir, &words));
    let metrics = metrics.done();
    assert_eq!(promtool::faults(&promtool, &metrics), None, "{metrics}");
    // and it would find one
    let broken = metrics.replacen("# TYPE sealstone_sealed_ratio gauge", "", 1);
    let worse = broken.replace("sealstone_sealed_ratio{", "sealstone_sealed_ratio{{");
    assert!(promtool::faults(&promtool, &worse).is_some());

    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    let rules = rules.join("sealstone-alerts.yml");
    let checked = Command::new(&promtool).args(["check", "rules"]).arg(&rules).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "{said}");
    // each fires where its tests say so, and none where all is well
    let tests = rules.with_file_name("sealstone-alerts-test.yml");
    let tested = Command::new(&promtool).args(["test", "rules"]).arg(&tests).output().unwrap();
    let said = [tested.stdout, tested.stderr].concat();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&said));
    let tests = fs::read_to_string(tests).expect("a file");
    let rules = fs::read_to_string(rules).expect("a file");
    for name in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let fires = format!("alertname: {name}\n        exp_alerts:\n          - ");
        assert!(tests.contains(&fires), "no test in which {name} fires");
    }
    // every metric of the rules is one of ours
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let named: Vec<&str> =
        words.filter(|word| word.starts_with("sealstone_") && !word.ends_with('_')).collect();
    assert!(!named.is_empty());
    let source = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/audit/src/metrics.rs"),
    );
    let source = source.expect("a file");
    for name in named {
        let end = name.trim_start_matches("sealstone_");
        assert!(source.contains(&format!("\"{end}\"")), "{name} is no metric");
    }
}

/// The process that serves a volume counts, and its counts are metrics.
#[test]
fn a_volume_counts_what_it_seals_and_opens() {
    let test = "a_volume_counts_what_it_seals_and_opens";
    let home = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let place = VolumePlace::new(home, "aria-256", "64MiB");
    if !place.mounts_new(test) {
        return;
    }
    fs::write(place.at("m/data"), vec![7; 1 << 20]).expect("room");
    nix::unistd::sync();
    let words = ["status", "--runtime-dir", "run", "vol", "--prometheus"];
    let metrics = place.sealstone(&words).done();
    // a file of 1 MiB has 256 blocks of 4 KiB
    assert!(sample(&metrics, "sealstone_blocks_sealed_total", &[]) >= 256.0, "{metrics}");
    assert!(sample(&metrics, "sealstone_blocks_opened_total", &[]) > 0.0, "{metrics}");
    assert_eq!(sample(&metrics, "sealstone_failures_total", &[]), 0.0, "{metrics}");
    let status = place.volume(&["status", "vol"]);
    assert!(status.stdout.contains("blocks sealed since it was attached"), "{}", status.stdout);
    place.volume(&["unmount", "m"]).done();
    let metrics = place.sealstone(&words).done();
    assert!(!metrics.contains("sealstone_blocks_sealed_total"), "{metrics}");
}
