//! Requirements on every store, as tests: return the answers of a store in memory, load all or
//! nothing, keep transactions whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_store::{MemoryStore, Record, Row, Store, StoreError, Table, Transaction};

pub(crate) fn key(number: u64) -> Vec<u8> {
    format!("user{number:08}").into_bytes()
}

/// Returns everything that a scan returns.
pub(crate) fn all(
    store: &dyn Store,
    table: &Table,
    start: &[u8],
    count: usize,
) -> Vec<(Vec<u8>, Record)> {
    let mut rows = Vec::new();
    let got = store
        .scan(table, start, count, &mut |key, record| rows.push((key.to_vec(), record.clone())))
        .unwrap();
    assert_eq!(got, rows.len());
    rows
}

/// A sequence that depends on nothing.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize]
    }
}

/// The values that a field, named by its number, is to take.
pub(crate) type Values = fn(usize) -> &'static [&'static [u8]];

/// Checks that the same operations on this store and on the returned store in memory give the same
/// answers. Tables have three fields at least.
pub(crate) fn answers_as_a_model(
    store: &dyn Store,
    tables: &[Arc<Table>; 2],
    values: Values,
) -> MemoryStore {
    let model = MemoryStore::new();
    let fields = tables[0].fields.len();
    let (two, last) = ([2, 0], [fields - 1]);
    let asked = [None, Some(&two[..]), Some(&last[..]), Some(&[][..])];
    let mut draws = Draws(1);
    for step in 0..1500 {
        let (table, key) = (&tables[draws.below(2) as usize], key(draws.below(60)));
        match draws.below(6) {
            0 => {
                let mut record = Record::new();
                (0..fields).for_each(|field| record.push(draws.of(values(field))));
                store.insert(table, &key, &record).unwrap();
                model.insert(table, &key, &record).unwrap();
            }
            1 => {
                let changes = [draws.below(fields as u64), draws.below(fields as u64)];
                let changes =
                    changes.map(|field| (field as usize, draws.of(values(field as usize))));
                let changed = store.update(table, &key, &changes).unwrap();
                assert_eq!(changed, model.update(table, &key, &changes).unwrap(), "step {step}");
            }
            2 => {
                let count = draws.of(&[0, 1, 7, usize::MAX]);
                let start =
                    if draws.below(2) == 0 { key } else { [key.as_slice(), b"\0"].concat() };
                assert_eq!(
                    all(store, table, &start, count),
                    all(&model, table, &start, count),
                    "step {step}"
                );
            }
            5 => {
                store.delete(table, &key).unwrap();
                model.delete(table, &key).unwrap();
            }
            _ => {
                let asked = draws.of(&asked);
                let mut found = [Record::new(), Record::new()];
                ["left", "over"].iter().for_each(|value| found[0].push(value.as_bytes()));
                let [ours, theirs] = &mut found;
                let there = store.read(table, &key, asked, ours).unwrap();
                assert_eq!(there, model.read(table, &key, asked, theirs).unwrap(), "step {step}");
                assert_eq!(ours, theirs, "step {step}");
            }
        }
    }
    assert!(!store.update(&tables[0], b"nobody", &[]).unwrap());
    assert!(!store.update(&tables[0], b"nobody", &[(0, b"x")]).unwrap());
    assert!(
        !store.read(&tables[0], b"nobody", None, &mut Record::new()).unwrap(),
        "no piece of it was left"
    );
    model
}

/// Checks that a bulk load with keys out of order leaves nothing. `t` is empty before, and has the
/// rows 0 to 2499 afterwards.
pub(crate) fn bulk_loading_is_all_or_nothing(
    store: &dyn Store,
    t: &Table,
    row: impl Fn(u64) -> Row,
) {
    let bulk = store.bulk().unwrap();
    assert_eq!(bulk.bulk_load(t, &mut (0..2500).map(&row)).unwrap(), 2500);
    assert_eq!(bulk.bulk_load(t, &mut std::iter::empty()).unwrap(), 0);
    // after a batch went through
    let error = bulk.bulk_load(t, &mut (3000..4500).chain([10]).map(&row)).unwrap_err().to_string();
    let want = format!("row 1501 of a bulk load into table {} is out of order\n", t.name);
    assert!(error.starts_with(&want), "{error}");
    let rows = all(store, t, b"", usize::MAX);
    assert_eq!(rows.len(), 2500, "what was there stays, nothing else does");
    assert_eq!(rows[2400], row(2400));
}

/// Checks that four clients that move money between accounts, in field 1 of `t`, `transfers` times
/// each, lose none; and that a failed transaction leaves nothing.
pub(crate) fn transactions_are_atomic(store: &dyn Store, t: &Table, transfers: u32) {
    let transactional = store.transactional().expect("it has transactions");
    let account = |balance: i64| -> Record {
        let mut record = Record::new();
        let balance = balance.to_string();
        (0..t.fields.len())
            .for_each(|field| record.push(if field == 1 { balance.as_bytes() } else { b"" }));
        record
    };
    let balance = |record: &Record| -> i64 {
        std::str::from_utf8(record.get(1).unwrap()).unwrap().parse().unwrap()
    };
    let accounts = 6;
    for n in 0..accounts {
        store.insert(t, &key(n), &account(100)).unwrap();
    }
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let mut draws = Draws(thread);
                for _ in 0..transfers {
                    let (from, to) = (draws.below(accounts), draws.below(accounts));
                    if from == to {
                        continue;
                    }
                    // in any order, so that two may wait for each other
                    let body = &mut |transaction: &mut dyn Transaction| {
                        let (mut a, mut b) = (Record::new(), Record::new());
                        assert!(transaction.read(t, &key(from), true, &mut a)?);
                        assert!(transaction.read(t, &key(to), true, &mut b)?);
                        transaction.put(t, &key(from), &account(balance(&a) - 1))?;
                        transaction.put(t, &key(to), &account(balance(&b) + 1))
                    };
                    store.transactional().unwrap().transaction(body).unwrap();
                }
            });
        }
    });
    let rows = all(store, t, b"", 100);
    let balances: BTreeMap<_, _> =
        rows.iter().map(|(key, record)| (key.clone(), balance(record))).collect();
    assert_eq!(balances.len() as u64, accounts);
    assert_eq!(balances.values().sum::<i64>(), accounts as i64 * 100, "{balances:?}");

    // a body that fails leaves nothing behind, and its error is returned unchanged
    let failed = transactional.transaction(&mut |transaction| {
        transaction.put(t, b"new", &account(1))?;
        let mut own = Record::new();
        assert!(transaction.read(t, b"new", false, &mut own)?);
        assert!(!store.read(t, b"new", None, &mut own)?, "others do not see it yet");
        Err(StoreError::Stopped)
    });
    assert!(matches!(failed, Err(StoreError::Stopped)));
    assert!(!store.read(t, b"new", None, &mut Record::new()).unwrap());
}
