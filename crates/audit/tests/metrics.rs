//! Metrics of an audit, read by an independent parser of the text format of Prometheus.

use std::collections::HashMap;
use std::time::Duration;

use prometheus_parse::{Sample, Scrape, Value};
use sealstone_audit::facts::{
    Audit, Clear, Counted, Held, Key, Kind, Maker, Place, Protection, Share, Unit, Verified,
    Version,
};
use sealstone_audit::{metrics, sealed_ratio};

const MADE: &str = "2026-11-28T06:00:00Z";
const NOW: &str = "2026-11-29T06:00:00Z";
/// A name with a blank. What the format escapes, this parser does not take; Prometheus' own does
/// (`dev/e2e/tests/status.rs`).
const STORE: &str = "/data/new db";

fn share(bytes: Option<u64>, unit: Unit, column: Option<&str>) -> Share {
    Share {
        cipher: "aria-256".into(),
        mode: "gcm".into(),
        key_id: Some("orders".into()),
        key_version: 2,
        maker: Maker::Sealstone,
        count: 6,
        unit,
        bytes,
        column: column.map(str::to_owned),
        leaks: None,
        fips: true,
        kcmvp: true,
    }
}

fn clear(bytes: Option<u64>, values: Option<u64>) -> Clear {
    Clear { name: "x".into(), bytes, remark: None, values }
}

fn audit() -> Audit {
    let mut audit = Audit::new(None, "sealstone 0.1.0".into(), "db1".into(), MADE.parse().unwrap());
    let mut store = Place::new(STORE.into(), Kind::Store, "RocksDB");
    store.sealed = vec![share(Some(3000), Unit::Files, None)];
    store.clear = vec![clear(Some(1000), None)];
    store.verified = Verified::Checked {
        at: MADE.into(),
        is_whole: false,
        findings: vec!["page 3".into()],
        count: 4,
        earlier: None,
    };
    let mut volume = Place::new("/vol".into(), Kind::Volume, "sealed volume");
    volume.sealed = vec![share(Some(1 << 30), Unit::Volumes, None)];
    volume.counted = Some(Counted {
        process: 7,
        at: MADE.into(),
        blocks_sealed: Some(12),
        blocks_opened: Some(34),
        bytes_sealed: None,
        bytes_opened: None,
        failures: 1,
        log_bytes: Some(4096),
    });
    let mut table = Place::new("table".into(), Kind::Table, "table");
    table.sealed = vec![share(None, Unit::Rows, Some("phone"))];
    table.clear = vec![clear(None, Some(2))];
    let mut gone = Place::new("/gone".into(), Kind::Unknown, "unknown");
    gone.unread = vec![clear(None, None)];
    audit.places = vec![store, volume.clone(), table, gone, volume];
    audit.keys = vec![Key {
        id: "orders".into(),
        held: Some(Held {
            place: "/keys/orders.key".into(),
            owner: None,
            mode: None,
            protection: Protection::Passphrase,
        }),
        versions: vec![Version {
            version: 2,
            id: None,
            made_at: Some(MADE.into()),
            age_days: Some(1),
            places: 3,
            is_held: true,
        }],
        rotate_by: None,
        is_overdue: false,
    }];
    audit
}

/// Returns the samples of `text`, and the type of each metric.
fn parsed(text: &str) -> (Vec<Sample>, HashMap<String, String>) {
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    let scrape = Scrape::parse(lines).expect("the text format");
    (scrape.samples, scrape.docs)
}

fn value(samples: &[Sample], metric: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let is_it = |sample: &&Sample| {
        sample.metric == metric
            && labels.iter().all(|(label, value)| sample.labels.get(label) == Some(value))
    };
    let mut found = samples.iter().filter(is_it);
    let value = match found.next()?.value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => value,
        ref other => panic!("{metric}: {other:?}"),
    };
    assert!(found.next().is_none(), "{metric} has one sample of these labels");
    Some(value)
}

#[test]
fn another_parser_reads_every_fact() {
    let text = metrics(&audit(), NOW.parse().unwrap(), Duration::from_millis(1500));
    let (samples, docs) = parsed(&text);
    let is = |metric: &str, labels: &[(&str, &str)], wanted: f64| {
        assert_eq!(value(&samples, metric, labels), Some(wanted), "{metric}\n{text}");
    };
    let day = 86_400.0;
    is("sealstone_build_info", &[("version", "0.1.0")], 1.0);
    is("sealstone_scrape_duration_seconds", &[], 1.5);
    let name = STORE;
    is("sealstone_sealed_ratio", &[("place", name)], 0.75);
    is("sealstone_verify_success", &[("place", name)], 0.0);
    is("sealstone_verify_findings", &[("place", name)], 4.0);
    let key = [("place", name), ("key_id", "orders"), ("key_version", "2"), ("mode", "gcm")];
    is("sealstone_sealed_bytes", &key, 3000.0);
    is("sealstone_sealed_files", &key, 6.0);
    // a place that was named twice counts once
    is("sealstone_sealed_ratio", &[("place", "/vol")], 1.0);
    is("sealstone_blocks_sealed_total", &[("place", "/vol")], 12.0);
    is("sealstone_blocks_opened_total", &[("place", "/vol")], 34.0);
    is("sealstone_failures_total", &[("place", "/vol")], 1.0);
    // what is not counted is not there
    assert!(!text.contains("sealstone_bytes_sealed_total{"), "{text}");
    is("sealstone_log_bytes", &[("place", "/vol")], 4096.0);
    is("sealstone_sealed_ratio", &[("place", "table")], 0.75);
    is("sealstone_clear_parts", &[("place", "table")], 2.0);
    is("sealstone_sealed_rows", &[("place", "table"), ("column", "phone")], 6.0);
    is("sealstone_scrape_success", &[("place", "/gone")], 0.0);
    is("sealstone_scrape_success", &[("place", "/vol")], 1.0);
    assert_eq!(value(&samples, "sealstone_sealed_ratio", &[("place", "/gone")]), None);
    let version = [("key_id", "orders"), ("key_version", "2")];
    is("sealstone_key_age_seconds", &version, day);
    is("sealstone_key_held", &version, 1.0);
    is("sealstone_key_places", &version, 3.0);
    for sample in &samples {
        let is_counter = matches!(sample.value, Value::Counter(_));
        assert_eq!(is_counter, sample.metric.ends_with("_total"), "{}", sample.metric);
        assert!(docs.contains_key(&sample.metric), "{} has a HELP line", sample.metric);
    }
}

#[test]
fn the_sealed_share_is_by_bytes_or_by_parts() {
    let mut place = Place::new("x".into(), Kind::Store, "RocksDB");
    assert_eq!(sealed_ratio(&place), None, "of nothing there is no share");
    place.on_volume = Some("/vol".into());
    assert_eq!(sealed_ratio(&place), Some(1.0));
    place.sealed = vec![share(Some(100), Unit::Files, None)];
    assert_eq!(sealed_ratio(&place), Some(1.0));
    place.clear = vec![clear(Some(300), None)];
    assert_eq!(sealed_ratio(&place), Some(0.25));
    // where one part has no bytes, parts are counted: six files and two in the clear
    place.clear.push(clear(None, None));
    assert_eq!(sealed_ratio(&place), Some(0.75));
}
