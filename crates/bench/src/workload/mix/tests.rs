//! The user's own workloads on a memory store.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use super::*;
use crate::study::plan::Plan;
use crate::workload::build;
use crate::workload::testing::{Journal, Names, alone, assert_distributed, load, plan, run, tally};
use sealstone_store::{MemoryStore, Record, Store};

/// Returns a plan whose only workload is that of `text`.
fn own(text: &str) -> Plan {
    let mut definition: Definition = toml::from_str(text).unwrap();
    definition.name = "own".into();
    definition.check().unwrap_or_else(|fault| panic!("{fault}"));
    Plan { own_workloads: vec![definition], workloads: vec!["own".into()], ..plan() }
}

fn make(plan: &Plan) -> Box<dyn Workload> {
    build(&plan.data(), &plan.workloads).unwrap_or_else(|error| panic!("{error}")).pop().unwrap()
}

/// Runs `count` operations of the workload of `text` on a store that was loaded for it.
fn journal(text: &str, count: u64) -> (Vec<String>, Names) {
    let (store, workload) = (Journal::default(), make(&own(text)));
    load(&*workload, &store, 2);
    store.take();
    let (names, _) = run(&mut *workload.client(alone(0, 0)), &store, count);
    (store.take(), names)
}

/// Counts how often each record is requested, by its number, where keys are numbers.
fn requests(text: &str, count: u64) -> Vec<u64> {
    let (calls, _) = journal(
        &format!("{text}\nkeys = {{ order = \"ordered\" }}\nmix = {{ read = 1 }}\n"),
        count,
    );
    let number =
        |call: &String| call.split(' ').nth(2).unwrap()["user".len()..].parse::<u64>().unwrap();
    tally(calls.iter().map(number), 1_000)
}

#[test]
fn every_operation_comes_as_often_as_it_weighs() {
    let mix = "mix = \
               { read = 2, update = 1, insert = 1, scan = 1, read-modify-write = 3, delete = 1, \
                 transaction = 1 }";
    let (calls, names) = journal(mix, 20_000);
    let shares = [
        ("insert", 0.1),
        ("scan", 0.1),
        ("read-modify-write", 0.3),
        ("delete", 0.1),
        ("transaction", 0.1),
    ];
    let mut counts: Vec<u64> = shares.iter().map(|(name, _)| names.count(name) as u64).collect();
    let both = names.count("read-modify-write") as u64;
    counts.push(names.count("read") as u64 - both);
    counts.push(names.count("update") as u64 - both);
    assert_eq!(counts.iter().sum::<u64>(), 20_000);
    assert_distributed(&counts, &[0.1, 0.1, 0.3, 0.1, 0.1, 0.2, 0.1]);
    // two records are read, two others locked and written, unless a draw comes twice
    let begun = calls.iter().filter(|call| *call == "begin").count();
    let put = calls.iter().filter(|call| call.starts_with("put ")).count();
    let locked = calls.iter().filter(|call| call.starts_with("lock ")).count();
    assert_eq!((begun, put), (names.count("transaction"), locked));
    assert!(put > begun && put <= 2 * begun, "{put} {begun}");
}

#[test]
fn the_oldest_are_deleted_and_nobody_asks_for_them() {
    for distribution in ["uniform", "zipfian", "latest", "hotspot", "sequential", "exponential"] {
        let text = format!(
            "mix = {{ read = 2, insert = 1, delete = 1, update = 1, scan = 1, transaction = 1 }}\n\
             requests = {{ distribution = \"{distribution}\" }}\nkeys = {{ order = \"ordered\" }}"
        );
        let (calls, _) = journal(&text, 5_000);
        let mut oldest = 0;
        for call in &calls {
            let words: Vec<&str> = call.split(' ').collect();
            if words.len() < 3 {
                continue;
            }
            let number: u64 = words[2]["user".len()..].parse().unwrap();
            assert!(number >= oldest, "{distribution}: {call} after {oldest} were deleted");
            if words[0] == "delete" {
                assert_eq!(number, oldest);
                oldest += 1;
            }
        }
        assert!(oldest > 500, "{distribution}: {oldest}");
    }
}

#[test]
fn a_store_never_loses_more_than_half_of_what_was_loaded() {
    let text = "mix = { insert = 1, delete = 1 }";
    let plan = Plan { records: vec![4], ..own(text) };
    let (store, workload) = (Journal::default(), make(&plan));
    load(&*workload, &store, 1);
    let mut client = workload.client(alone(0, 0));
    for _ in 0..2_000 {
        run(&mut *client, &store, 1);
        assert!(store.scan(&workload.tables()[0], b"", 9_999, &mut |_, _| ()).unwrap() >= 2);
    }
}

#[test]
fn clients_side_by_side_miss_only_what_was_deleted() {
    let text = "mix = \
                { read = 2, update = 1, insert = 2, delete = 2, scan = 1, read-modify-write = 1, \
                  transaction = 1 }";
    let workload = make(&Plan { records: vec![64], ..own(text) });
    let store = MemoryStore::new();
    load(&*workload, &store, 1);
    let client = |client| {
        let mut client = workload.client(Position { client, clients: 4, ..alone(0, 0) });
        run(&mut *client, &store, 3_000);
    };
    std::thread::scope(|scope| (0..4).for_each(|number| drop(scope.spawn(move || client(number)))));
    assert!(store.scan(&workload.tables()[0], b"", 99_999, &mut |_, _| ()).unwrap() >= 32);
}

#[test]
fn two_variants_are_asked_the_same() {
    for distribution in ["uniform", "hotspot", "sequential", "exponential", "latest"] {
        let text = format!(
            "mix = {{ read = 2, insert = 1, delete = 1, transaction = 1 }}\n\
             requests = {{ distribution = \"{distribution}\" }}\nfields = \
             {{ size = \"uniform\", bytes-max = 20 }}"
        );
        let workload = make(&own(&text));
        let calls = |variant| {
            let store = Journal::default();
            load(&*workload, &store, 1);
            run(&mut *workload.client(alone(variant, 0)), &store, 300);
            store.take()
        };
        assert_eq!(calls(0), calls(1), "{distribution}");
    }
}

#[test]
fn requests_have_their_distribution() {
    let even = requests("requests = { distribution = \"uniform\" }", 100_000);
    assert_distributed(&even, &[1e-3; 1_000]);
    let hot = requests(
        "requests = { distribution = \"hotspot\", hot-records = 0.1, hot-requests = 0.9 }",
        100_000,
    );
    let shares: Vec<f64> =
        (0..1_000).map(|record| if record < 100 { 0.9 / 100.0 } else { 0.1 / 900.0 }).collect();
    assert_distributed(&hot, &shares);
    assert_eq!(requests("requests = { distribution = \"sequential\" }", 3_000), [3; 1_000]);
    let text = "requests = \
                { distribution = \"exponential\", newest-records = 0.1, newest-requests = 0.95 }";
    let newest: u64 = requests(text, 100_000)[900..].iter().sum();
    assert!((94_000..96_000).contains(&newest), "{newest}");
    let most = |theta: &str| {
        requests(&format!("requests = {{ theta = {theta} }}"), 50_000).into_iter().max().unwrap()
    };
    let (flat, usual, steep) = (most("0.2"), most("0.99"), most("0.999"));
    assert!(flat * 4 < usual && usual < steep * 2, "{flat} {usual} {steep}");
}

/// YCSB's `insertstart` and `insertcount`: only these records and new records, whatever the
/// distribution.
#[test]
fn a_part_of_the_records_is_all_that_is_asked_for() {
    for distribution in ["uniform", "zipfian", "hotspot", "sequential"] {
        let text =
            |more: &str| format!("requests = {{ distribution = \"{distribution}\", {more} }}");
        let first = requests(&text("records = 500"), 20_000);
        assert!(
            first[500..].iter().all(|count| *count == 0)
                && first[..500].iter().sum::<u64>() == 20_000
        );
        let middle = requests(&text("first-record = 200, records = 300"), 20_000);
        let asked = |(record, count): (usize, &u64)| (200..500).contains(&record) || *count == 0;
        assert!(middle.iter().enumerate().all(asked), "{distribution}");
        let rest = requests(&text("first-record = 900"), 20_000);
        assert!(rest[..900].iter().all(|count| *count == 0), "{distribution}");
    }
    let even = requests("requests = { distribution = \"uniform\", records = 500 }", 50_000);
    assert_distributed(&even[..500], &[2e-3; 500]);
    let plan = own("mix = { read = 1 }\nrequests = { records = 501 }");
    let plan = Plan { records: vec![500], ..plan };
    let error = build(&plan.data(), &plan.workloads).err();
    let error = error.expect("there are fewer").to_string();
    assert!(
        error.contains("asks for 501 records from number 0 on, and there are 500\n"),
        "{error}"
    );
}

#[test]
fn scans_fields_and_parts_are_as_the_file_says() {
    let (calls, _) =
        journal("mix = { scan = 1 }\nscans = { length = \"constant\", records-max = 7 }", 50);
    assert!(calls.iter().all(|call| call.ends_with(" 7")));
    let (calls, _) = journal(
        "mix = { scan = 1 }\nscans = { length = \"zipfian\", records-min = 3, records-max = 9 }",
        5_000,
    );
    let lengths: Vec<u64> =
        calls.iter().map(|call| call.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(lengths.iter().all(|length| (3..=9).contains(length)));
    let shortest = lengths.iter().filter(|length| **length == 3).count();
    assert!(shortest > 1_500, "{shortest} of 5000");

    let text = "mix = { read = 1, update = 1 }\nfields = \
                { count = 3, size = \"uniform\", bytes-min = 2, bytes-max = 5, read = \"one\", \
                  write = \"all\" }";
    let (calls, _) = journal(text, 2_000);
    assert!(
        calls.iter().filter(|call| call.starts_with("read ")).all(|call| call.contains(" Some(["))
    );
    let written: Vec<usize> = calls
        .iter()
        .filter(|call| call.starts_with("update "))
        .map(|call| call.splitn(5, ' ').nth(4).unwrap().len())
        .collect();
    let updates = calls.iter().filter(|call| call.starts_with("update ")).count();
    assert_eq!(updates % 3, 0, "every field");
    assert_distributed(&tally(written.iter().map(|bytes| *bytes as u64 - 2), 4), &[0.25; 4]);
    let workload = make(&own(text));
    assert_eq!((workload.data_bytes(), workload.tables()[0].fields.len()), (10_500, 3));
}

#[test]
fn lengths_and_keys_come_from_a_column() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all("id,name\nk1,ann\nk2,\nk3,christine\n".as_bytes()).unwrap();
    let path = file.path().display();
    let text = format!(
        "mix = {{ read = 1, insert = 1 }}\nkeys = {{ from = \"{path}\", column = \"id\" }}\n\
         fields = {{ count = 2, size = \"column\", from = \"{path}\", column = \"name\" }}"
    );
    let (store, workload) = (MemoryStore::new(), make(&Plan { records: vec![7], ..own(&text) }));
    load(&*workload, &store, 1);
    let (mut keys, mut lengths) = (BTreeSet::new(), BTreeSet::new());
    let mut see = |key: &[u8], record: &Record| {
        keys.insert(String::from_utf8(key.to_vec()).unwrap());
        lengths.extend(record.iter().map(<[u8]>::len));
    };
    store.scan(&workload.tables()[0], b"", 99, &mut see).unwrap();
    assert_eq!(
        keys.iter().map(String::as_str).collect::<Vec<_>>(),
        ["k1", "k1#1", "k1#2", "k2", "k2#1", "k3", "k3#1"]
    );
    assert!(lengths.is_subset(&[0, 3, 9].into()), "{lengths:?}");
    run(&mut *workload.client(alone(0, 0)), &store, 200);
    assert!((workload.data_bytes() as f64 - 7.0 * 2.0 * 4.0).abs() < 1.0);

    for (text, wanted) in [
        (
            "id\nk1\nk2\nk1\n",
            "record 3: the same key as in record 1\nkeys must differ from each other",
        ),
        ("id,x\nk1,1\n,2\n", "record 2: a key of 0 bytes, where 1 to 1024 are allowed\n"),
        (
            "id\nk#7\n",
            "record 1: a key that ends with # and a number, as those of new records do\n",
        ),
        ("no\nk\n", "has no column \"id\"; there is 1 column, whose name is not shown, since"),
    ] {
        std::fs::write(file.path(), text).unwrap();
        let plan =
            own(&format!("mix = {{ read = 1 }}\nkeys = {{ from = \"{path}\", column = \"id\" }}"));
        let error = build(&plan.data(), &plan.workloads).err().unwrap().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn clients_pause_as_long_as_they_are_told_and_it_is_no_latency() {
    for (distribution, least) in [("constant", 100), ("exponential", 50)] {
        let text = format!(
            "mix = {{ read = 1 }}\nthink-time = \
             {{ distribution = \"{distribution}\", mean-us = 1000 }}"
        );
        let workload = make(&own(&text));
        let store = MemoryStore::new();
        load(&*workload, &store, 1);
        let begin = Instant::now();
        run(&mut *workload.client(alone(0, 0)), &store, 100);
        assert!(
            begin.elapsed() >= Duration::from_millis(least),
            "{distribution}: {:?}",
            begin.elapsed()
        );
        assert!(workload.pauses() && workload.spec().remark.is_some());
    }
    let open = Plan {
        target: Some(crate::words::target::Target::Rate(5.0)),
        ..own("mix = { read = 1 }\nthink-time = { distribution = \"constant\", mean-us = 5 }")
    };
    assert!(open.check().unwrap_err().to_string().contains("nobody pauses"));
}

#[test]
fn what_is_like_ycsb_shares_its_stores_and_the_rest_has_its_own() {
    let spec = |text: &str, name: &str| own(text).workload(name).unwrap();
    let shared = spec("mix = { read = 1, update = 1 }", "own-cold");
    assert_eq!((shared.name, shared.base, shared.dataset), ("own-cold", "own", "ycsb-cold"));
    assert_eq!(shared.sized_by, SizedBy::Records);
    let apart = spec("mix = { read = 1 }\nfields = { count = 2 }", "own");
    assert_eq!((apart.dataset, apart.sized_by), ("own", SizedBy::RecordsOf { record_bytes: 200 }));
    assert_eq!(apart.settings, [Setting::Cold]);
    assert!(own("mix = { read = 1 }").workload("own-warm").is_err());
    // a plan with one survives its own TOML
    let plan = own("mix = { read = 1, delete = 0.5, insert = 0.5 }\nrequests = { theta = 0.7 }");
    assert_eq!(Plan::from_toml(&plan.to_toml(), std::path::Path::new("x")).unwrap(), plan);
    plan.check().unwrap();
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    let error = Plan {
        records_from: Some("x.csv".into()),
        ..own("mix = { read = 1 }\nfields = { count = 2 }")
    };
    let error = build(&error.data(), &["own"]).err().unwrap().to_string();
    assert!(
        error.starts_with("workload own has fields of its own, and records come from x.csv\n"),
        "{error}"
    );
}
