//! Further requirements on a store on any SQL server, besides those on every store (`conformance`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sealstone_store::{
    Field, Kind, Record, Row, Store, StoreError, StoreOptions, Table, Transaction, Upkeep,
};

use crate::conformance::{self, all, key};

pub(crate) fn options(tables: &[Arc<Table>]) -> StoreOptions {
    StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false }
}

/// Returns a table with a field of every kind, one of them with a name that must be quoted.
pub(crate) fn table(id: u8, name: &str) -> Arc<Table> {
    let field = |(name, kind): (&str, Kind)| Field { name: name.into(), kind };
    let fields = [
        ("text", Kind::Text),
        ("Whole", Kind::Integer),
        ("a.$b\"`", Kind::Decimal),
        ("bytes", Kind::Bytes),
    ];
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

/// Returns values that fields of the table above take.
fn values(field: usize) -> &'static [&'static [u8]] {
    const TEXTS: [&[u8]; 6] =
        [b"", b"7", b"a\tb\\N\r\n'\"", b"\\N", "\u{ac00}\u{1f600}".as_bytes(), b" x "];
    const WHOLES: [&[u8]; 6] =
        [b"", b"0", b"7", b"-3", b"9223372036854775807", b"-9223372036854775808"];
    const DECIMALS: [&[u8]; 6] =
        [b"", b"2.50", b"-0.5", b"10", b"0.00001", b"12345678901234567890.1"];
    const BYTES: [&[u8]; 6] = [b"", b"\xff\x00\x80\r\n", b"\\x00", b"plain", b"\x1a\x00", b"\\\\"];
    const VALUES: [[&[u8]; 6]; 4] = [TEXTS, WHOLES, DECIMALS, BYTES];
    &VALUES[field]
}

pub(crate) fn answers_as_a_model(store: &dyn Store, tables: &[Arc<Table>; 2]) {
    let model = conformance::answers_as_a_model(store, tables, values);
    // a change to the existing value is a change
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

/// Checks that a value that a column would not return unchanged is refused before it is sent.
pub(crate) fn refuses_what_does_not_fit(store: &dyn Store, t: &Table) {
    for (field, odd) in [(1, &b"007"[..]), (1, b"seven"), (2, b"1e3"), (0, b"\xff")] {
        let error = store.update(t, b"x", &[(field, odd)]).unwrap_err().to_string();
        assert!(error.starts_with("cannot write to table t: "), "{error}");
    }
    assert!(matches!(store.insert(t, b"x", &Record::new()), Err(StoreError::Shape { .. })));
    assert!(matches!(
        store.insert(t, &[b'k'; 2000], &record_of(b"1")),
        Err(StoreError::Shape { .. })
    ));
    assert!(!store.read(t, b"x", None, &mut Record::new()).unwrap());
}

pub(crate) fn bulk_loading_is_all_or_nothing(store: &(impl Store + Upkeep), t: &Table) {
    let row = |n: u64| -> Row {
        (key(n), record([b"a\t\\", n.to_string().as_bytes(), b"1.25", b"\xff\0"]))
    };
    conformance::bulk_loading_is_all_or_nothing(store, t, row);
    assert!(store.disk_bytes().unwrap() > 100_000);
    // records that are loaded again are replaced, also twice in one batch
    let mut again: Vec<Row> = (2000..2600).map(row).collect();
    again[0].1 = record_of(b"-1");
    again.push((key(2599), record_of(b"-2")));
    store.insert_many(t, &again).unwrap();
    let rows = all(store, t, b"", usize::MAX);
    assert_eq!(
        (rows.len(), &rows[2000].1, &rows[2599].1),
        (2600, &record_of(b"-1"), &record_of(b"-2"))
    );
}

pub(crate) fn transactions_are_atomic_and_isolated(store: &dyn Store, t: &Table) {
    conformance::transactions_are_atomic(store, t, 40);

    // two that wait for each other: one of them is run again, or both where a busy server ends both
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
    let runs = runs.load(Ordering::Relaxed);
    assert!((3..=4).contains(&runs), "{runs} runs: run again after the deadlock");
}
