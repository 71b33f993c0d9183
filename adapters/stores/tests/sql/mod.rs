//! What a store on a server of SQL must do, whichever server it is: the answers of a store in memory, every workload,
//! loads that are all or nothing, transactions. Not here: how one server fails (`postgres.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sealstone_bench::plan::Plan;
use sealstone_bench::workload::{self, Position, Recorder};
use sealstone_store::{Field, Kind, MemoryStore, Record, Row, Store, StoreError, StoreOptions, Table, Transaction};

pub(crate) fn options(tables: &[Arc<Table>]) -> StoreOptions {
    StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false }
}

/// A table with a field of every kind, one of them with a name that must be quoted.
pub(crate) fn table(id: u8, name: &str) -> Arc<Table> {
    let field = |(name, kind): (&str, Kind)| Field { name: name.into(), kind };
    let fields = [("text", Kind::Text), ("Whole", Kind::Integer), ("a.$b\"`", Kind::Decimal), ("bytes", Kind::Bytes)];
    Arc::new(Table { id, name: name.into(), fields: fields.map(field).into() })
}

pub(crate) fn record(values: [&[u8]; 4]) -> Record {
    let mut record = Record::new();
    values.iter().for_each(|value| record.push(value));
    record
}

pub(crate) fn record_of(whole: &[u8]) -> Record {
    record([b"", whole, b"", b""])
}

pub(crate) fn key(number: u64) -> Vec<u8> {
    format!("user{number:08}").into_bytes()
}

/// A sequence that depends on nothing.
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// A value for a field of the table above.
    fn value(&mut self, field: usize) -> &'static [u8] {
        const TEXTS: [&[u8]; 6] = [b"", b"7", b"a\tb\\N\r\n'\"", b"\\N", "\u{ac00}\u{1f600}".as_bytes(), b" x "];
        const WHOLES: [&[u8]; 6] = [b"", b"0", b"7", b"-3", b"9223372036854775807", b"-9223372036854775808"];
        const DECIMALS: [&[u8]; 6] = [b"", b"2.50", b"-0.5", b"10", b"0.00001", b"12345678901234567890.1"];
        const BYTES: [&[u8]; 6] = [b"", b"\xff\x00\x80\r\n", b"\\x00", b"plain", b"\x1a\x00", b"\\\\"];
        let values = [TEXTS, WHOLES, DECIMALS, BYTES][field];
        values[self.below(values.len() as u64) as usize]
    }

    fn record(&mut self) -> Record {
        let values = [self.value(0), self.value(1), self.value(2), self.value(3)];
        record(values)
    }
}

pub(crate) fn all(store: &dyn Store, table: &Table, start: &[u8], count: usize) -> Vec<(Vec<u8>, Record)> {
    let mut rows = Vec::new();
    let got = store.scan(table, start, count, &mut |key, record| rows.push((key.to_vec(), record.clone()))).unwrap();
    assert_eq!(got, rows.len());
    rows
}

/// The same operations on this store and on one in memory return the same answers.
pub(crate) fn answers_as_a_model(store: &dyn Store, tables: &[Arc<Table>]) {
    let model = MemoryStore::new();
    let mut draws = Draws(1);
    for step in 0..1500 {
        let (table, key) = (&tables[draws.below(2) as usize], key(draws.below(60)));
        match draws.below(6) {
            0 => {
                let record = draws.record();
                store.insert(table, &key, &record).unwrap();
                model.insert(table, &key, &record).unwrap();
            }
            1 => {
                let fields = [draws.below(4) as usize, draws.below(4) as usize];
                let changes = fields.map(|field| (field, draws.value(field)));
                let changed = store.update(table, &key, &changes).unwrap();
                assert_eq!(changed, model.update(table, &key, &changes).unwrap(), "step {step}");
            }
            5 => {
                store.delete(table, &key).unwrap();
                model.delete(table, &key).unwrap();
            }
            2 => {
                let count = [0, 1, 7, usize::MAX][draws.below(4) as usize];
                let start = if draws.below(2) == 0 { key.clone() } else { [key.as_slice(), b"\0"].concat() };
                assert_eq!(all(store, table, &start, count), all(&model, table, &start, count), "step {step}");
            }
            _ => {
                let fields = [None, Some(&[2, 0][..]), Some(&[3][..]), Some(&[][..])][draws.below(4) as usize];
                let mut found = [record([b"left", b"over", b"", b""]), Record::new()];
                let [ours, theirs] = &mut found;
                let there = store.read(table, &key, fields, ours).unwrap();
                assert_eq!(there, model.read(table, &key, fields, theirs).unwrap(), "step {step}");
                assert_eq!(ours, theirs, "step {step}");
            }
        }
    }
    assert!(!store.update(&tables[0], b"nobody", &[]).unwrap());
    assert!(!store.update(&tables[0], b"nobody", &[(0, b"x")]).unwrap());
    assert!(!store.read(&tables[0], b"nobody", None, &mut Record::new()).unwrap(), "no piece of it was left");
    // a change to what is there already is a change
    store.insert(&tables[0], &key(1), &record_of(b"7")).unwrap();
    assert!(store.update(&tables[0], &key(1), &[(1, b"7")]).unwrap());
    // keys are sorted by their bytes, not as a language sorts them
    let odd = ["a", "B", "b", "_", "~", "\u{e4}", "\u{ac00}", "a b", "ab", "a-b", "A"];
    for name in odd {
        store.insert(&tables[1], name.as_bytes(), &record_of(b"1")).unwrap();
        model.insert(&tables[1], name.as_bytes(), &record_of(b"1")).unwrap();
    }
    assert_eq!(all(store, &tables[1], b"", 1000), all(&model, &tables[1], b"", 1000));
}

/// What a column would not return unchanged is refused before it is sent.
pub(crate) fn refuses_what_does_not_fit(store: &dyn Store, t: &Table) {
    for (field, odd) in [(1, &b"007"[..]), (1, b"seven"), (2, b"1e3"), (0, b"\xff")] {
        let error = store.update(t, b"x", &[(field, odd)]).unwrap_err().to_string();
        assert!(error.starts_with("cannot write to table t: "), "{error}");
    }
    assert!(matches!(store.insert(t, b"x", &Record::new()), Err(StoreError::Shape { .. })));
    assert!(matches!(store.insert(t, &[b'k'; 2000], &record_of(b"1")), Err(StoreError::Shape { .. })));
    assert!(!store.read(t, b"x", None, &mut Record::new()).unwrap());
}

pub(crate) fn bulk_loading_is_all_or_nothing(store: &dyn Store, t: &Table) {
    let bulk = store.bulk().unwrap();
    let row = |n: u64| -> Row { (key(n), record([b"a\t\\", n.to_string().as_bytes(), b"1.25", b"\xff\0"])) };
    assert_eq!(bulk.bulk_load(t, &mut (0..2500).map(row)).unwrap(), 2500);
    assert_eq!(bulk.bulk_load(t, &mut std::iter::empty()).unwrap(), 0);
    let error = bulk.bulk_load(t, &mut (3000..4500).chain([10]).map(row)).unwrap_err().to_string();
    assert!(error.starts_with("row 1501 of a bulk load into table t is out of order\n"), "{error}");
    let rows = all(store, t, b"", usize::MAX);
    assert_eq!(rows.len(), 2500, "what was there stays, nothing else does");
    assert_eq!(rows[2400], row(2400));
    assert!(store.disk_bytes().unwrap() > 100_000);
    // what is loaded again is replaced, also twice in one batch
    let mut again: Vec<Row> = (2000..2600).map(row).collect();
    again[0].1 = record_of(b"-1");
    again.push((key(2599), record_of(b"-2")));
    store.insert_many(t, &again).unwrap();
    let rows = all(store, t, b"", usize::MAX);
    assert_eq!((rows.len(), &rows[2000].1, &rows[2599].1), (2600, &record_of(b"-1"), &record_of(b"-2")));
}

struct Nobody;

impl Recorder for Nobody {
    fn record(&mut self, _: &'static str, _: Instant) {}
}

/// Opens a store with these tables.
pub(crate) type Opener<'a> = dyn Fn(&[Arc<Table>]) -> Box<dyn Store> + 'a;

/// `open` opens a store for some tables, in which only those of the last workload's data set are filled.
pub(crate) fn every_workload_finds_its_data_again(open: &Opener<'_>, empty: &dyn Fn(&[Arc<Table>])) {
    let plan = Plan { records: vec![400], operations: 300, bytes: 200_000, rounds: 1, seed: 7, ..Plan::default() };
    let names = ["a", "b", "c", "d", "e", "f", "oltp", "batch-load", "batch-scan"];
    let mut loaded: Vec<&str> = Vec::new();
    for workload in workload::build(&plan.data(), &names).unwrap() {
        let spec = workload.spec();
        let store = open(workload.tables());
        if !loaded.contains(&spec.dataset) {
            workload.load(&*store, 0, 1, &|_| ()).unwrap();
            store.merge_layers().unwrap();
            loaded.push(spec.dataset);
        }
        if spec.name == "batch-load" {
            // what a slice loads is loaded into an empty store
            empty(workload.tables());
        }
        let before = store.counters();
        let position = Position { variant: 0, round: 0, slice: 0, slices: 1, client: 0, clients: 1 };
        let mut client = workload.client(position);
        for _ in position.share(workload.operations()) {
            client.next(&*store, &mut Nobody).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
        }
        drop(client);
        store.quiesce().unwrap();
        workload.check(&*store).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
        let now = store.counters();
        assert!(now.cache_hits >= before.cache_hits && now.written_bytes >= before.written_bytes);
    }
}

pub(crate) fn transactions_are_atomic_and_isolated(store: &dyn Store, t: &Table) {
    let transactional = store.transactional().expect("it has transactions");
    let accounts = 6;
    for n in 0..accounts {
        store.insert(t, &key(n), &record_of(b"100")).unwrap();
    }
    let balance = |record: &Record| -> i64 { std::str::from_utf8(record.get(1).unwrap()).unwrap().parse().unwrap() };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let mut draws = Draws(thread);
                for _ in 0..40 {
                    let (from, to) = (draws.below(accounts), draws.below(accounts));
                    if from == to {
                        continue;
                    }
                    // in any order, so that two may wait for each other
                    let body = &mut |transaction: &mut dyn Transaction| {
                        let (mut a, mut b) = (Record::new(), Record::new());
                        assert!(transaction.read(t, &key(from), true, &mut a)?);
                        assert!(transaction.read(t, &key(to), true, &mut b)?);
                        let moved = |record: &Record, by: i64| (balance(record) + by).to_string().into_bytes();
                        transaction.put(t, &key(from), &record_of(&moved(&a, -1)))?;
                        transaction.put(t, &key(to), &record_of(&moved(&b, 1)))
                    };
                    store.transactional().unwrap().transaction(body).unwrap();
                }
            });
        }
    });
    let rows = all(store, t, b"", 100);
    let balances: BTreeMap<_, _> = rows.iter().map(|(key, record)| (key.clone(), balance(record))).collect();
    assert_eq!(balances.values().sum::<i64>(), accounts as i64 * 100, "{balances:?}");

    // a body that fails leaves nothing behind, and its error is returned unchanged
    let failed = transactional.transaction(&mut |transaction| {
        transaction.put(t, b"new", &record_of(b"1"))?;
        let mut own = Record::new();
        assert!(transaction.read(t, b"new", false, &mut own)?);
        assert!(!store.read(t, b"new", None, &mut own)?, "others do not see it yet");
        Err(StoreError::Stopped)
    });
    assert!(matches!(failed, Err(StoreError::Stopped)));
    assert!(!store.read(t, b"new", None, &mut Record::new()).unwrap());

    // two that wait for each other: one of them is run again
    let (runs, met) = (AtomicU64::new(0), std::sync::Barrier::new(2));
    let crossed = |first: u64, second: u64| {
        let mut is_first = true;
        let body = &mut |transaction: &mut dyn Transaction| {
            runs.fetch_add(1, Ordering::Relaxed);
            let mut found = Record::new();
            transaction.read(t, &key(first), true, &mut found)?;
            if std::mem::take(&mut is_first) {
                met.wait();
            }
            transaction.read(t, &key(second), true, &mut found)?;
            transaction.put(t, &key(second), &record_of(b"0"))
        };
        store.transactional().unwrap().transaction(body).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| crossed(0, 1));
        scope.spawn(|| crossed(1, 0));
    });
    assert_eq!(runs.load(Ordering::Relaxed), 3, "run again after the deadlock");
}
