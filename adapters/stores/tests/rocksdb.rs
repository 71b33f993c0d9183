//! The store as a benchmark uses it, sealed and unsealed.

mod conformance;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use conformance::key;
use sealstone_keys::EphemeralKey;
use sealstone_store::{
    Choice, Engine, Field, Kind, Record, RestSeal, Store, StoreOptions, Table, Transaction, Upkeep,
    Variant,
};
use sealstone_stores::{RocksDb, RocksStore};

const CIPHERS: [Option<&str>; 5] =
    [None, Some("aes-256"), Some("aria-256"), Some("3des"), Some("blowfish")];

fn table(id: u8, name: &str) -> Arc<Table> {
    let fields = (0..3).map(|i| Field { name: format!("field{i}"), kind: Kind::Text }).collect();
    Arc::new(Table { id, name: name.into(), fields })
}

fn variant(cipher: Option<&str>) -> Variant {
    match cipher {
        None => Variant::plain("none"),
        Some(name) => Variant {
            rest: Some(RestSeal::Own(Choice::auto(sealstone_cipher::cipher(name).unwrap()))),
            ..Variant::plain(name)
        },
    }
}

fn record(values: [&str; 3]) -> Record {
    let mut record = Record::new();
    values.iter().for_each(|value| record.push(value.as_bytes()));
    record
}

fn engine() -> RocksDb {
    RocksDb::new(Arc::new(EphemeralKey::new().unwrap()))
}

fn open(engine: &RocksDb, cipher: Option<&str>, dir: &Path) -> RocksStore {
    let options = StoreOptions {
        cache_bytes: 8 << 20,
        tables: vec![table(1, "t"), table(2, "u")],
        sync_writes: false,
    };
    engine.open_store(&variant(cipher), dir, &options).unwrap()
}

/// Returns values that fields take: any bytes, whatever the field is.
fn values(_: usize) -> &'static [&'static [u8]] {
    &[b"", b"7", b"-3", b"\xff\x00\x80\r\n", b"a.b", b"x"]
}

#[test]
fn it_answers_as_a_store_in_memory_does() {
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let tables = [table(1, "t"), table(2, "u")];
        conformance::answers_as_a_model(&open(&engine, cipher, dir.path()), &tables, values);
    }
}

#[test]
fn records_are_returned_also_after_reopening() {
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let (t, u) = (table(1, "t"), table(2, "u"));
        let mut found = Record::new();
        for round in 0..3 {
            let store = open(&engine, cipher, dir.path());
            for n in 0..500 {
                let there = store.read(&t, &key(n), None, &mut found).unwrap();
                assert_eq!(there, round > 0, "{cipher:?} {n}");
                if there {
                    let changed =
                        if n % 2 == 0 { format!("changed {}", round - 1) } else { "b".into() };
                    assert_eq!(found, record(["a", &changed, &n.to_string()]));
                }
            }
            for n in 0..500 {
                store.insert(&t, &key(n), &record(["a", "b", &n.to_string()])).unwrap();
            }
            for n in (0..500).step_by(2) {
                let changed = format!("changed {round}");
                assert!(store.update(&t, &key(n), &[(1, changed.as_bytes())]).unwrap());
            }
            assert!(!store.update(&t, b"nobody", &[(1, b"x")]).unwrap());
            assert!(!store.read(&u, &key(1), None, &mut found).unwrap());
            assert!(store.read(&t, &key(3), Some(&[2, 0]), &mut found).unwrap());
            assert_eq!(found.iter().collect::<Vec<_>>(), [&b"3"[..], b"a"]);
            store.quiesce().unwrap();
            if round == 1 {
                store.drop_caches().unwrap();
                assert!(store.read(&t, &key(4), None, &mut found).unwrap());
            }
            assert!(store.disk_bytes().unwrap() > 10_000);
            let counters = store.counters();
            assert!(counters.written_bytes > 10_000 && counters.io_wall_s > 0.0, "{counters:?}");
            assert_eq!(counters.encrypted_bytes > 10_000, cipher.is_some(), "{counters:?}");
            assert_eq!(counters.cipher_cpu_s > 0.0, cipher.is_some(), "{counters:?}");
            store.close().unwrap();
        }
    }
}

#[test]
fn what_was_deleted_is_gone_also_after_reopening() {
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let (t, u) = (table(1, "t"), table(2, "u"));
        let store = open(&engine, cipher, dir.path());
        for n in 0..20 {
            store.insert(&t, &key(n), &record(["a", "b", "c"])).unwrap();
            store.insert(&u, &key(n), &record(["a", "b", "c"])).unwrap();
        }
        (0..20).step_by(2).for_each(|n| store.delete(&t, &key(n)).unwrap());
        store.delete(&t, b"nobody").unwrap();
        store.close().unwrap();
        let store = open(&engine, cipher, dir.path());
        let mut found = Record::new();
        for n in 0..20 {
            assert_eq!(
                store.read(&t, &key(n), None, &mut found).unwrap(),
                n % 2 == 1,
                "{cipher:?} {n}"
            );
            assert!(
                store.read(&u, &key(n), None, &mut found).unwrap(),
                "another table keeps its records"
            );
        }
        assert!(!store.update(&t, &key(0), &[(0, b"x")]).unwrap());
        assert_eq!(store.scan(&t, b"", 100, &mut |_, _| ()).unwrap(), 10);
    }
}

#[test]
fn a_write_waits_for_the_disk_only_where_that_is_asked_for() {
    const WRITES: u64 = 50;
    for cipher in CIPHERS {
        let engine = engine();
        for sync_writes in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let options =
                StoreOptions { cache_bytes: 8 << 20, tables: vec![table(1, "t")], sync_writes };
            let store = engine.open_store(&variant(cipher), dir.path(), &options).unwrap();
            let t = table(1, "t");
            let rows: Vec<_> = (1000..1200).map(|n| (key(n), record(["a", "b", "c"]))).collect();
            let syncs = |work: &dyn Fn()| {
                let before = store.counters();
                work();
                let after = store.counters();
                assert!(
                    after.io_wall_s - before.io_wall_s >= after.sync_wall_s - before.sync_wall_s
                );
                after.syncs - before.syncs
            };
            let few = if sync_writes { WRITES..WRITES + 10 } else { 0..10 };
            let each = |work: &dyn Fn(u64)| syncs(&|| (0..WRITES).for_each(work));
            assert!(syncs(&|| store.insert_many(&t, &rows).unwrap()) < 10, "loading does not wait");
            let inserts = each(&|n| store.insert(&t, &key(n), &record(["a", "b", "c"])).unwrap());
            assert!(few.contains(&inserts), "{cipher:?} {sync_writes}: {inserts}");
            let updates = each(&|n| assert!(store.update(&t, &key(n), &[(1, b"x")]).unwrap()));
            assert!(few.contains(&updates), "{cipher:?} {sync_writes}: {updates}");
            let commits = each(&|n| {
                let put = &mut |transaction: &mut dyn Transaction| {
                    transaction.put(&t, &key(n), &record(["d", "e", "f"]))
                };
                store.transactional().unwrap().transaction(put).unwrap();
            });
            assert!(few.contains(&commits), "{cipher:?} {sync_writes}: {commits}");
            let updates = each(&|n| assert!(store.update(&t, &key(n), &[(1, b"y")]).unwrap()));
            assert!(
                few.contains(&updates),
                "{cipher:?} {sync_writes}, after a transaction: {updates}"
            );
            store.close().unwrap();
        }
    }
}

#[test]
fn scans_stay_in_their_table_and_in_order() {
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let store = open(&engine, cipher, dir.path());
        let (t, u) = (table(1, "t"), table(2, "u"));
        for n in 0..300 {
            store.insert(&t, &key(n), &record(["a", "b", &n.to_string()])).unwrap();
            store.insert(&u, &key(n), &record(["", "", ""])).unwrap();
        }
        for count in [0, 1, 10, 1000, 20_000, usize::MAX] {
            let mut keys = Vec::new();
            let got = store
                .scan(&t, &key(100), count, &mut |key, record| {
                    assert_eq!(record.get(0), Some(&b"a"[..]));
                    keys.push(key.to_vec());
                })
                .unwrap();
            assert_eq!(got, count.min(200));
            assert_eq!(keys, (100..100 + got as u64).map(key).collect::<Vec<_>>());
        }
        assert_eq!(store.scan(&t, b"zzz", 5, &mut |_, _| panic!("nothing there")).unwrap(), 0);
    }
}

/// Tables are sealed and stored on another thread than the one that builds them: a device that
/// fills up in the meantime is still reported. A limit on the length of files replaces the device;
/// it applies to a process, so this test runs itself.
#[test]
fn a_load_onto_a_full_device_fails() {
    const NAME: &str = "a_load_onto_a_full_device_fails";
    if std::env::var_os("SEALSTONE_FILE_LIMIT").is_none() {
        let limited =
            format!("trap '' XFSZ; ulimit -f 6000; exec \"$0\" --exact {NAME} --nocapture");
        let this = std::env::current_exe().unwrap();
        let mut child = std::process::Command::new("bash");
        let output = child
            .arg("-c")
            .arg(limited)
            .arg(this)
            .env("SEALSTONE_FILE_LIMIT", "")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let store = open(&engine, cipher, dir.path());
        let t = table(1, "t");
        let row = |n| (key(n), record(["a", &"b".repeat(2000), "c"]));
        let bulk = store.bulk().unwrap();
        let error = bulk.bulk_load(&t, &mut (0..20_000).map(row)).unwrap_err().to_string();
        assert!(error.contains("File too large"), "{cipher:?}: {error}");
        // nothing of it is there, and less still fits
        let mut found = Record::new();
        assert!(!store.read(&t, &key(0), None, &mut found).unwrap());
        assert_eq!(bulk.bulk_load(&t, &mut (0..2_000).map(row)).unwrap(), 2_000);
        assert!(store.read(&t, &key(1_999), None, &mut found).unwrap());
        store.close().unwrap();
        let sealed = open(&engine, cipher, dir.path());
        assert_eq!(sealed.scan(&t, b"", usize::MAX, &mut |_, _| ()).unwrap(), 2_000, "{cipher:?}");
    }
}

#[test]
fn bulk_loading_is_all_or_nothing() {
    for cipher in CIPHERS {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let store = open(&engine, cipher, dir.path());
        let t = table(1, "t");
        let row = |n: u64| (key(n), record(["a", "b", &n.to_string()]));
        conformance::bulk_loading_is_all_or_nothing(&store, &table(2, "u"), row);
        assert_eq!(store.bulk().unwrap().bulk_load(&t, &mut (0..20_000).map(row)).unwrap(), 20_000);
        let error = store
            .bulk()
            .unwrap()
            .bulk_load(&t, &mut [row(30_000), row(30_001), row(30_001)].into_iter());
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("row 3 of a bulk load into table t is out of order")
        );
        let mut rows = 0;
        store.scan(&t, b"", usize::MAX, &mut |_, _| rows += 1).unwrap();
        assert_eq!(rows, 20_000);
        store.close().unwrap();
        // as a load that was killed leaves it
        std::fs::write(dir.path().join("bulk-7.sst"), b"half a table").unwrap();
        drop(open(&engine, cipher, dir.path()));
        let names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("bulk-")), "{names:?}");
        let store = open(&engine, cipher, dir.path());
        let mut found = Record::new();
        assert!(store.read(&t, &key(19_999), None, &mut found).unwrap());
    }
}

#[test]
fn updates_side_by_side_lose_nothing_before_and_during_transactions() {
    let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
    let store = open(&engine, Some("aes-256"), dir.path());
    let t = table(1, "t");
    store.insert(&t, b"k", &record(["", "", ""])).unwrap();
    let rounds = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for field in 0..3 {
            let (store, t, rounds) = (&store, &t, &rounds);
            scope.spawn(move || {
                for n in 0..300 {
                    let value = n.to_string();
                    assert!(store.update(t, b"k", &[(field, value.as_bytes())]).unwrap());
                    let mut found = Record::new();
                    store.read(t, b"k", None, &mut found).unwrap();
                    assert_eq!(found.get(field), Some(value.as_bytes()));
                    if rounds.fetch_add(1, Ordering::Relaxed) == 300 {
                        store.transactional().unwrap().transaction(&mut |_| Ok(())).unwrap();
                    }
                }
            });
        }
    });
}

#[test]
fn transactions_are_atomic_and_isolated() {
    for cipher in [None, Some("aes-256")] {
        let (engine, dir) = (engine(), tempfile::tempdir().unwrap());
        let store = open(&engine, cipher, dir.path());
        let t = table(1, "t");
        conformance::transactions_are_atomic(&store, &t, 100);
    }
}

#[test]
fn the_engine_says_what_it_is() {
    let facts = engine().facts();
    assert_eq!(facts.name, "rocksdb");
    assert!(facts.version.split('.').count() == 3, "{}", facts.version);
    assert_eq!(facts.build == "bundled source", cfg!(feature = "bundled"));
    assert!(facts.settings.contains_key("compression") && facts.settings.contains_key("sync"));
    if cfg!(feature = "bundled") {
        assert!(!facts.assertions);
    }
}
