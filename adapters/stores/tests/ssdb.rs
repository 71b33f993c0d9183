//! SSDB as a store: on a server of the program that `SEALSTONE_SSDB_SERVER` names, otherwise a
//! SKIP. The commands that it shares with Redis are tried on a real Redis.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_servers::testing::is_installed;
use sealstone_servers::{REDIS_PROGRAM, SSDB_PROGRAM, SsdbOptions, start_redis, start_ssdb};
use sealstone_store::{Field, Kind, Record, Store, StoreError, StoreOptions, Table, Upkeep};
use sealstone_stores::{Redis, RedisDialect, RedisOptions, RedisStore};

fn table(name: &str) -> Arc<Table> {
    let field = |name: &str| Field { name: name.into(), kind: Kind::Text };
    Arc::new(Table { id: 1, name: name.into(), fields: vec![field("field0"), field("field1")] })
}

fn record(one: &str, two: &str) -> Record {
    let mut record = Record::new();
    record.push(one.as_bytes());
    record.push(two.as_bytes());
    record
}

fn key(number: u32) -> Vec<u8> {
    format!("user{number}").into_bytes()
}

fn hash(key: &[u8]) -> i32 {
    key.iter().fold(0, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte)))
}

fn connect(uri: &str) -> Redis {
    Redis::connect(&RedisOptions {
        uri: uri.into(),
        dialect: RedisDialect::Ssdb,
        ..RedisOptions::default()
    })
    .unwrap()
}

fn open(server: &Redis, table: &Arc<Table>) -> RedisStore {
    server.open_store(&StoreOptions {
        cache_bytes: 0,
        tables: vec![table.clone()],
        sync_writes: false,
    })
}

/// Checks what needs only the commands that both have: records written, read, changed, and scanned
/// in the order of the index.
fn shared_commands_work(store: &RedisStore, table: &Table) {
    let mut model = BTreeMap::new();
    for number in 0..300 {
        let record = record(&number.to_string(), "");
        store.insert(table, &key(number), &record).unwrap();
        model.insert((hash(&key(number)), key(number)), record);
    }
    let rows: Vec<_> = (300..2500).map(|number| (key(number), record("many", "rows"))).collect();
    store.insert_many(table, &rows).unwrap();
    model.extend(rows.into_iter().map(|(key, record)| ((hash(&key), key), record)));
    for number in (0..300).step_by(7) {
        assert!(store.update(table, &key(number), &[(1, b"\r\nnew")]).unwrap());
        model.insert((hash(&key(number)), key(number)), record(&number.to_string(), "\r\nnew"));
    }
    let mut found = Record::new();
    for ((_, key), wanted) in model.iter().step_by(11) {
        assert!(store.read(table, key, None, &mut found).unwrap());
        assert_eq!(found, *wanted);
        assert!(store.read(table, key, Some(&[1]), &mut found).unwrap());
        assert_eq!(found.get(0), wanted.get(1));
        assert!(store.read(table, key, Some(&[]), &mut found).unwrap());
    }
    assert!(!store.read(table, b"nobody", None, &mut found).unwrap());
    for start in [&b""[..], &key(17), &key(2400)] {
        let from = if start.is_empty() { i32::MIN } else { hash(start) };
        let mut rows = Vec::new();
        store
            .scan(table, start, 100, &mut |key, record| rows.push((key.to_vec(), record.clone())))
            .unwrap();
        let wanted = model.range((from, Vec::new())..).take(100);
        let wanted: Vec<_> =
            wanted.map(|((_, key), record)| (key.clone(), record.clone())).collect();
        assert_eq!(rows, wanted);
    }
    assert!(store.disk_bytes().is_ok() && store.transactional().is_none());
}

#[test]
fn the_commands_of_ssdb_that_redis_has_work() {
    if !is_installed(&REDIS_PROGRAM, "the_commands_of_ssdb_that_redis_has_work") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = start_redis(dir.path(), sealstone_servers::RedisOptions::default()).unwrap();
    let usertable = table("usertable");
    let store = open(&connect(&format!("ssdb://{}", server.address())), &usertable);
    shared_commands_work(&store, &usertable);
    // only the index of YCSB's table has an order that integers can give
    let other = table("other");
    let store = open(store.server(), &other);
    store.insert(&other, b"a", &record("1", "2")).unwrap();
    let error = store.scan(&other, b"", 1, &mut |_, _| ()).unwrap_err();
    assert!(matches!(error, StoreError::Lacks { .. }), "{error}");
}

#[test]
fn a_real_ssdb_works() {
    if !is_installed(&SSDB_PROGRAM, "a_real_ssdb_works") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let running = start_ssdb(dir.path(), SsdbOptions::default()).unwrap();
    let server = connect(&running.uri());
    assert!(!server.holds_keys().unwrap());
    let usertable = table("usertable");
    let store = open(&server, &usertable);
    shared_commands_work(&store, &usertable);
    assert!(!store.update(&usertable, b"nobody", &[(0, b"x")]).unwrap());
    assert!(
        !store.read(&usertable, b"nobody", None, &mut Record::new()).unwrap(),
        "no piece of it was left"
    );
    store.delete(&usertable, &key(1)).unwrap();
    assert!(!store.read(&usertable, &key(1), None, &mut Record::new()).unwrap());
    store.remove(&[usertable]).unwrap();
    assert!(!server.holds_keys().unwrap());
}
