//! The published schema of results against every field that this build writes, also those that few
//! runs have; and the page that explains them.

#[path = "fixtures/mod.rs"]
mod fixtures;

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::Validator;
use sealstone_bench::compare::groups;
use sealstone_bench::report::findings;
use sealstone_bench::results::files;
use sealstone_bench::results::{Against, Comparison, Interval, Missing, Verdict};
use sealstone_bench::results::{AtRate, Longer, OpenLoop, Percentile, Ratio, Search, Sustained};
use sealstone_bench::study::plan::{self, Plan};
use sealstone_bench::words::ClientFacts;
use sealstone_bench::workload::Definition;
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../../docs/schema/results.schema.json");
const PAGE: &str = include_str!("../../../docs/results.md");

fn schema() -> (Value, Validator) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    (schema, validator)
}

fn faults(validator: &Validator, value: &Value) -> Vec<String> {
    let fault = |error: jsonschema::ValidationError| format!("{}: {error}", error.instance_path());
    validator.iter_errors(value).map(fault).map(|text| text.chars().take(300).collect()).collect()
}

fn ratio() -> Ratio {
    Ratio { ratio: 1.1, low: 1.0, high: 1.2, verdict: Verdict::AtMost, words: "words".into() }
}

fn percentile() -> Percentile {
    let longer = Longer {
        ratio: ratio(),
        difference_us: 1.0,
        difference_low_us: 0.5,
        difference_high_us: 1.5,
    };
    Percentile { us: 10.0, low_us: 9.0, high_us: 11.0, against: Some(longer) }
}

/// Returns what no single run has, with every field that a run may have.
fn everything() -> Comparison {
    let places = fixtures::places();
    let mut whole = groups::comparison(&places.plan.clone(), vec![places, fixtures::ordinary()]);
    let point = whole.groups[0].point.clone();
    let definition = || {
        let text = r#"
            {"name": "own", "description": "x", "setting": "cold", "records": 1, "operations": 1,
             "threads": 1, "target": 2.5, "mix": {"read": 0.5, "transaction": 1},
             "requests": {"distribution": "hotspot", "first-record": 1, "records": 9, "theta": 0.5,
                          "hot-records": 0.2, "hot-requests": 0.8, "newest-records": 0.1,
                          "newest-requests": 0.9},
             "scans": {"records-min": 1, "records-max": 9},
             "fields": {"bytes-min": 1, "bytes-max": 2, "from": "x.csv", "column": "y"},
             "keys": {"zero-padding": 3, "from": "x.csv", "column": "y"},
             "think-time": {"distribution": "constant", "mean-us": 1.5}}"#;
        serde_json::from_str::<Definition>(text).unwrap()
    };
    whole.plan = Plan {
        against: Some("redis".into()),
        nodes: vec![3, 6],
        seal: vec!["own".into(), "volume".into()],
        protect_from: vec!["dba".into()],
        fields: Some("fields.toml".into()),
        module: vec!["none".into(), "openssl:fips".into()],
        suites: vec!["none".into(), "tls".into()],
        path: vec!["sealstone".into()],
        links: vec!["1000".into()],
        records_from: Some("x.csv".into()),
        delimiter: Some(serde_json::from_value(json!("tab")).unwrap()),
        threads: vec![1, 2],
        until: Some(0.02),
        max_time: Some("10m".parse().unwrap()),
        cache: Some(1 << 20),
        target: Some("max".parse().unwrap()),
        p99: Some("10ms".parse().unwrap()),
        seed: u64::MAX,
        keep: Some("kept".into()),
        key: Some("kmip://host".into()),
        passphrase_file: Some("file".into()),
        baseline: Some("old.json".into()),
        fail_if: Some(0.05),
        threads_of: BTreeMap::from([("a".into(), 3)]),
        stores: BTreeMap::from([(
            "mongodb".into(),
            BTreeMap::from([
                ("one".into(), vec!["x".into()]),
                ("several".into(), vec!["x".into(), "y".into()]),
            ]),
        )]),
        own_workloads: vec![definition()],
        ..whole.plan
    };
    let variant = whole.variants.iter_mut().find(|variant| !variant.is_baseline()).unwrap();
    for choice in variant.layers.values_mut() {
        choice.module = "OpenSSL".into();
        choice.modes = vec!["aead".into()];
        choice.seal = "volume".into();
    }
    let group = &mut whole.groups[0];
    group.failure = Some("the server died".into());
    if let Some(coverage) = &mut group.recommendation.coverage {
        coverage.surroundings.policy_seals_everything = true;
        coverage.surroundings.field_modes = vec!["ff1".into()];
    }
    let cell = group.cells.iter_mut().find(|cell| cell.overhead.is_some()).unwrap();
    cell.service = cell.latency.clone();
    cell.service.values_mut().for_each(|one| one.intervals = vec![(0.5, 1.0, 2.0)]);
    cell.stored_rows = Some(7);
    cell.generator_share = Some(0.1);
    cell.conditions = Some(Default::default());
    cell.failed = BTreeMap::from([("read".into(), 3)]);
    let buckets: sealstone_bench::results::Buckets =
        serde_json::from_value(json!("1000:3 2000:4")).unwrap();
    cell.histograms = BTreeMap::from([("read".into(), buckets.clone())]);
    cell.service_histograms = BTreeMap::from([("read".into(), buckets)]);
    cell.overhead.as_mut().unwrap().interval = Some(Interval { low: 0.9, high: 0.95 });
    cell.open_loop = Some(OpenLoop {
        slices: vec![Default::default()],
        at_rate: Some(AtRate {
            target_per_s: 10.0,
            kept_per_s: 10.0,
            is_kept: true,
            requests: 9,
            p50: Some(percentile()),
            p99: None,
            cpu: Some(ratio()),
        }),
        searches: vec![Search { met_per_s: None, missed_per_s: 2.0, fell_behind: true, load: 0 }],
        sustained: Some(Sustained { held_p99: Some(percentile()), ..Sustained::default() }),
    });
    whole.against = vec![Against {
        point: point.clone(),
        other: point.clone(),
        workload: "a".into(),
        variant: "none".into(),
        other_variant: "none".into(),
        ratio: 1.0,
        low: 0.9,
        high: 1.1,
    }];
    let mut elsewhere = point;
    elsewhere.link = Some("5.28".into());
    whole.missing = vec![Missing {
        point: elsewhere,
        workloads: vec!["a".into()],
        reason: "no room".into(),
        left_out: true,
    }];
    let start_at = "2026-03-02T12:00:00Z".into();
    whole.client = Some(ClientFacts { number: 1, of: 2, start_at });
    whole
}

#[test]
fn every_field_of_results_is_in_the_schema() {
    let (schema, validator) = schema();
    let whole = serde_json::to_value(everything()).unwrap();
    assert_eq!(faults(&validator, &whole), [""; 0]);
    // everything is only everything if no field of the schema is left out
    let mut seen = BTreeSet::new();
    names(&whole, &mut seen);
    let mut known = BTreeSet::new();
    properties(&schema, &mut |name, _| {
        known.insert(name.to_owned());
    });
    // fields of the layers that the fixture has not, and of the report
    let elsewhere = ["wire", "server", "comparisons", "differences"].map(String::from);
    let unseen: Vec<&String> =
        known.difference(&seen).filter(|name| !elsewhere.contains(name)).collect();
    assert!(unseen.is_empty(), "the schema has {unseen:?}, and results do not");
    let of_plan = &schema["$defs"]["plan"]["properties"];
    for setting in plan::settings() {
        assert!(of_plan.get(&setting).is_some(), "the schema lacks the setting {setting}");
    }
}

/// Collects the names of all fields of `value`.
fn names(value: &Value, seen: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                seen.insert(name.clone());
                names(value, seen);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, seen)),
        _ => {}
    }
}

/// Calls `each` with every field that the schema has, and its schema.
fn properties(schema: &Value, each: &mut dyn FnMut(&str, &Value)) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let ("properties", Value::Object(fields)) = (name.as_str(), value) {
                    fields.iter().for_each(|(name, schema)| each(name, schema));
                }
                properties(value, each);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| properties(value, each)),
        _ => {}
    }
}

#[test]
fn a_field_that_is_not_in_the_schema_is_refused() {
    let (_, validator) = schema();
    let whole = serde_json::to_value(everything()).unwrap();
    for place in ["", "/machine", "/plan", "/groups/0", "/groups/0/cells/0", "/variants/0"] {
        let mut other = whole.clone();
        other.pointer_mut(place).unwrap()["new_field"] = json!(1);
        let found = faults(&validator, &other);
        assert!(found.iter().any(|fault| fault.contains("new_field")), "{place}: {found:?}");
    }
    let mut other = whole.clone();
    other["groups"][0]["cells"][0]["samples"][0]["new_field"] = json!(1);
    assert!(!validator.is_valid(&other));
    other = whole.clone();
    other["groups"][0]["cells"][0]["unit"] = json!("rows");
    assert!(!validator.is_valid(&other));
    other = whole.clone();
    other.as_object_mut().unwrap().remove("machine");
    assert!(!validator.is_valid(&other));
    let report = |more: &str| json!({"schema": 1, "comparisons": [whole.clone()], more: []});
    assert_eq!(faults(&validator, &report("differences")), [""; 0]);
    assert!(!validator.is_valid(&report("difference")));
}

#[test]
fn every_object_of_the_schema_is_closed_and_every_field_described() {
    let (schema, _) = schema();
    let mut open = Vec::new();
    fn walk(schema: &Value, open: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                if fields.get("properties").is_some_and(Value::is_object)
                    && fields.get("additionalProperties") != Some(&Value::Bool(false))
                {
                    open.push(fields["properties"].to_string());
                }
                fields.values().for_each(|value| walk(value, open));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, open)),
            _ => {}
        }
    }
    walk(&schema, &mut open);
    assert!(open.is_empty(), "{open:?}");
    let described = |of: &Value| of["description"].as_str().is_some_and(|text| !text.is_empty());
    let of_other = |of: &Value| {
        let name = of["$ref"].as_str()?.strip_prefix("#/$defs/")?.to_owned();
        Some(described(&schema["$defs"][name]))
    };
    properties(&schema, &mut |name, of| {
        assert!(described(of) || of_other(of) == Some(true), "{name} has no description");
    });
}

#[test]
fn the_page_names_every_column_and_field() {
    let rows: BTreeSet<&str> =
        PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let section = |head: &str| {
        let (_, rest) = PAGE.split_once(&format!("\n## {head}\n")).unwrap();
        rest.split("\n## ").next().unwrap()
    };
    let named = |section: &str| -> Vec<String> {
        let row = |line: &str| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned());
        section.lines().filter_map(row).collect()
    };
    assert_eq!(named(section("Findings")), findings::columns().collect::<Vec<_>>());
    assert_eq!(named(section("results.csv")), files::columns().collect::<Vec<_>>());
    let (schema, _) = schema();
    properties(&schema, &mut |name, _| {
        assert!(rows.contains(name), "docs/results.md has no row for {name}");
    });
}
