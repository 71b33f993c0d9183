//! A plaintext replica set becomes a sealed one, member by member, while a writer continues:
//! nothing acknowledged is lost, nothing remains in the clear.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sealstone_e2e::binary::wiredtiger_extension;
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_keys::{KeyFile, KeySource};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{MONGOD_PROGRAM, MongodOptions, ReplicaSet};
use sealstone_store::{Field, Kind, Record, Store, StoreOptions, Table, Upkeep};
use sealstone_stores::{MongoDb, MongoDbOptions, MongoDbStore};
use sealstone_wiredtiger::{EngineOptions, Settings};
use serde_json::Value;
use std::sync::Arc;

/// Contained in every record.
const MARKER: &str = "PLANTED-MARKER-w4Tz9";
/// Records there before the conversion begins.
const BEFORE: u64 = 2_000;
const LIMIT: Duration = Duration::from_secs(300);

fn table() -> Arc<Table> {
    let fields = vec![
        Field { name: "note".into(), kind: Kind::Text },
        Field { name: "number".into(), kind: Kind::Integer },
    ];
    Arc::new(Table { id: 1, name: "orders".into(), fields })
}

fn key(number: u64) -> Vec<u8> {
    format!("order{number:09}").into_bytes()
}

fn record(number: u64) -> Record {
    let mut record = Record::new();
    record.push(format!("{MARKER} {number} {}", "x".repeat(200)).as_bytes());
    record.push(number.to_string().as_bytes());
    record
}

fn open(uri: String, table: &Arc<Table>) -> MongoDbStore {
    let options = MongoDbOptions {
        uri,
        write_concern: Some("majority".into()),
        threads: 2,
        ..MongoDbOptions::default()
    };
    let tables = vec![Arc::clone(table)];
    MongoDb::connect(&options)
        .unwrap()
        .open_store(&StoreOptions { cache_bytes: 0, tables, sync_writes: false })
        .unwrap()
}

/// Returns the findings of `sealstone mongo check`, and its exit code.
fn check(dir: &Path) -> (Option<i32>, Value) {
    let transcript = run(&mut sealstone(dir, &["mongo", "check", ".", "--json"]));
    let report = serde_json::from_str(&transcript.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", transcript.stderr));
    (transcript.code, report)
}

/// Returns the files below `dir` that hold the marker.
fn with_marker(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(with_marker(&path));
        } else if fs::read(&path)
            .is_ok_and(|bytes| memchr::memmem::find(&bytes, MARKER.as_bytes()).is_some())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_rolling_conversion_loses_no_acknowledged_write() {
    if !is_installed(&MONGOD_PROGRAM, "a_rolling_conversion_loses_no_acknowledged_write") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let keys = KeyFile::create(dir.path().join("orders.key"), "orders").unwrap();
    let sealing = EngineOptions {
        extension: wiredtiger_extension().to_owned(),
        key_id: keys.name().unwrap(),
        settings: Settings {
            cipher: Some("aria-256".into()),
            ..Settings::new(keys.path().canonicalize().unwrap().display().to_string())
        },
    };
    // without compression a marker in the clear would be seen
    let plain =
        ["--wiredTigerCollectionBlockCompressor", "none", "--wiredTigerJournalCompressor", "none"];
    let plain =
        MongodOptions { arguments: plain.map(String::from).to_vec(), ..MongodOptions::default() };
    let sealed =
        MongodOptions { engine_config: Some(sealing.engine_config().unwrap()), ..plain.clone() };

    let mut set = ReplicaSet::start(&dir.path().join("lab"), &vec![plain; 3]).unwrap();
    let table = table();
    let store = open(set.uri(), &table);
    store.bulk().unwrap().bulk_load(&table, &mut (0..BEFORE).map(|n| (key(n), record(n)))).unwrap();
    store.quiesce().unwrap();
    // a sealed member also seals collections requested in the clear
    let shop = mongodb::sync::Client::with_uri_str(set.uri()).unwrap().database("shop");
    let clear = bson::doc! { "wiredTiger": { "configString": "encryption=(name=none)" } };
    shop.run_command(bson::doc! { "create": "clear", "storageEngine": &clear }).run().unwrap();
    let index = bson::doc! { "key": { "v": 1 }, "name": "v", "storageEngine": &clear };
    shop.run_command(bson::doc! { "createIndexes": "clear", "indexes": [index] }).run().unwrap();
    let documents = (0..500).map(|n| bson::doc! { "v": format!("{MARKER} {n}") });
    shop.collection::<bson::Document>("clear").insert_many(documents).run().unwrap();
    let (code, report) = check(&set.data_dirs()[0]);
    assert_eq!(code, Some(1), "in the clear: {report:#}");
    assert!(!with_marker(&set.data_dirs()[0]).is_empty(), "the marker can be found");

    let (acknowledged, ended) = (AtomicU64::new(BEFORE), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = BEFORE;
            while !ended.load(Ordering::Relaxed) {
                // one that was not acknowledged is written again: the store's insert replaces
                if store.insert(&table, &key(number), &record(number)).is_ok() {
                    number += 1;
                    acknowledged.store(number, Ordering::Relaxed);
                }
            }
        });
        // the writer ends, also when a step fails
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for at in 0..3 {
                let before = acknowledged.load(Ordering::Relaxed);
                set.replace_member(at, sealed.clone(), LIMIT).unwrap();
                let during = acknowledged.load(Ordering::Relaxed) - before;
                println!("member {at} converted, {during} writes acknowledged in that time");
            }
        }));
        ended.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
    let written = acknowledged.into_inner();
    assert!(written > BEFORE, "the writer went on");

    set.wait_for_sync(LIMIT).unwrap();
    store.quiesce().unwrap();
    let shop = mongodb::sync::Client::with_uri_str(set.uri()).unwrap().database("shop");
    assert_eq!(
        shop.collection::<bson::Document>("clear").count_documents(bson::doc! {}).run().unwrap(),
        500
    );
    let refused = shop
        .run_command(bson::doc! { "create": "other", "storageEngine": &clear })
        .run()
        .unwrap_err();
    println!("{refused}");
    // each member has everything that was acknowledged
    for server in set.members() {
        let options = MongoDbOptions {
            uri: server.uri(),
            read_preference: Some("secondaryPreferred".into()),
            ..MongoDbOptions::default()
        };
        let member = MongoDb::connect(&options).unwrap();
        let mut next = 0;
        let member = member.open_for_reading(&StoreOptions {
            cache_bytes: 0,
            tables: vec![table.clone()],
            sync_writes: false,
        });
        member
            .scan(&table, b"", usize::MAX, &mut |found, values| {
                if next < written {
                    assert_eq!((found, values), (key(next).as_slice(), &record(next)));
                }
                next += 1;
            })
            .unwrap();
        // one more may have come in without being acknowledged
        assert!(
            next == written || next == written + 1,
            "{next} of {written} on {}",
            server.address()
        );
    }
    drop(store);
    set.stop().unwrap();
    let data_dirs = set.data_dirs();
    // nobody else opens the lab before
    drop(set);
    // by the content of the files, whatever the lab was made with
    let status = run(&mut sealstone(dir.path(), &["lab", "status", "lab", "--json"]));
    let status: Value = serde_json::from_str(&status.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", status.stderr));
    let members = status["servers"][0]["members"].as_array().unwrap();
    assert!(
        members.len() == 3 && members.iter().all(|member| member["sealed"] == true),
        "{status:#}"
    );
    for data in data_dirs {
        let (code, report) = check(&data);
        assert_eq!(code, Some(0), "{report:#}");
        assert_eq!(
            report["sealed"].as_array().unwrap().len(),
            1,
            "one key, one cipher: {report:#}"
        );
        assert_eq!(report["sealed"][0]["cipher"], "aria-256");
        assert_eq!(with_marker(&data), Vec::<String>::new());
    }
}
