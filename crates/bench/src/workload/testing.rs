//! Helpers that the tests of workloads share: a store that records its requests, a recorder that
//! keeps names, a chi-square test.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Client, Done, Position, Recorder, Workload, build};
use crate::study::plan::Plan;
use sealstone_store::{
    BulkLoad, MemoryStore, Record, Row, Store, StoreError, Table, Target, Transaction,
    Transactional,
};

/// Returns a small plan.
pub(super) fn plan() -> Plan {
    Plan {
        records: vec![1_000],
        operations: 1_000,
        bytes: 400_000,
        rounds: 2,
        seed: 42,
        ..Plan::default()
    }
}

/// Returns the workload called `name`.
pub(super) fn make(plan: &Plan, name: &str) -> Box<dyn Workload> {
    build(&plan.data(), &[name]).unwrap().pop().unwrap()
}

/// Returns the only client of the only slice of a round.
pub(super) fn alone(variant: usize, round: usize) -> Position {
    Position { variant, round, slice: 0, slices: 1, client: 0, clients: 1 }
}

/// Loads all of `workload` into `store`, in `parts` parts. Returns the rows reported as progress.
pub(super) fn load<'a>(
    workload: &dyn Workload,
    target: impl Into<Target<'a>>,
    parts: usize,
) -> u64 {
    let target = target.into();
    let rows = std::cell::Cell::new(0);
    (0..parts).for_each(|part| {
        workload.load(target, part, parts, &|more| rows.set(rows.get() + more)).unwrap()
    });
    rows.get()
}

/// Runs `count` operations.
pub(super) fn run<'a>(
    client: &mut dyn Client,
    target: impl Into<Target<'a>>,
    count: u64,
) -> (Names, Done) {
    let target = target.into();
    let mut names = Names::default();
    let mut sum = Done::default();
    for _ in 0..count {
        let done = client.next(target, &mut names).unwrap();
        sum.rows += done.rows;
        sum.bytes += done.bytes;
    }
    (names, sum)
}

/// The names of the operations recorded, in order.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<&'static str>);

impl Names {
    pub(super) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|recorded| **recorded == name).count()
    }
}

impl Recorder for Names {
    fn record(&mut self, operation: &'static str, start: Instant) {
        assert!(start <= Instant::now());
        self.0.push(operation);
    }
}

/// A memory store that records its requests, with configurable abilities.
#[derive(Default)]
pub(super) struct Journal {
    pub(super) store: MemoryStore,
    pub(super) calls: Mutex<Vec<String>>,
    /// Offers neither bulk loading nor transactions.
    pub(super) plain: bool,
}

impl Journal {
    fn note(&self, call: &str, table: &Table, key: &[u8], more: &str) {
        let key = String::from_utf8_lossy(key);
        let space = if more.is_empty() { "" } else { " " };
        self.calls.lock().unwrap().push(format!("{call} {} {key}{space}{more}", table.name));
    }

    /// Returns the requests received since the last call of this function.
    pub(super) fn take(&self) -> Vec<String> {
        let mut calls: MutexGuard<_> = self.calls.lock().unwrap();
        std::mem::take(&mut calls)
    }
}

fn text(record: &Record) -> String {
    record.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join("|")
}

impl Store for Journal {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        self.note("read", table, key, &format!("{fields:?}"));
        self.store.read(table, key, fields, into)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        self.note("scan", table, start, &count.to_string());
        self.store.scan(table, start, count, each)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.note("insert", table, key, &text(record));
        self.store.insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        for (field, value) in changes {
            self.note("update", table, key, &format!("{field} {}", String::from_utf8_lossy(value)));
        }
        self.store.update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.note("delete", table, key, "");
        self.store.delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        (!self.plain).then_some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        (!self.plain).then_some(self)
    }
}

impl BulkLoad for Journal {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut rows = rows.inspect(|(key, record)| self.note("bulk", table, key, &text(record)));
        self.store.bulk_load(table, &mut rows)
    }
}

impl Transactional for Journal {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.calls.lock().unwrap().push("begin".into());
        self.store.transaction(&mut |transaction| body(&mut Noting { journal: self, transaction }))
    }
}

struct Noting<'a> {
    journal: &'a Journal,
    transaction: &'a mut dyn Transaction,
}

impl Transaction for Noting<'_> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        self.journal.note(if for_update { "lock" } else { "read" }, table, key, "");
        self.transaction.read(table, key, for_update, into)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.journal.note("put", table, key, &text(record));
        self.transaction.put(table, key, record)
    }
}

/// Asserts that `counts` could come from `probabilities`: the p-value of Pearson's chi-square test
/// is above one in a thousand. Cells with an expected count below five are put together.
#[track_caller]
pub(super) fn assert_distributed(counts: &[u64], probabilities: &[f64]) {
    assert_eq!(counts.len(), probabilities.len());
    let total: f64 = probabilities.iter().sum();
    assert!((total - 1.0).abs() < 1e-9, "probabilities add up to {total}");
    let draws: u64 = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut few_counted, mut few_expected) = (0.0, 0.0);
    let mut add = |counted: f64, expected: f64| {
        statistic += (counted - expected).powi(2) / expected;
        cells += 1;
    };
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let expected = probability * draws as f64;
        if expected >= 5.0 {
            add(count as f64, expected);
        } else {
            few_counted += count as f64;
            few_expected += expected;
        }
    }
    if few_expected >= 5.0 {
        add(few_counted, few_expected);
    } else {
        assert!(
            few_counted <= few_expected + 20.0,
            "{few_counted} draws of what hardly ever happens"
        );
    }
    let p = 1.0 - ChiSquared::new(f64::from(cells - 1)).unwrap().cdf(statistic);
    assert!(
        p > 0.001,
        "chi-square {statistic:.1} over {cells} cells of {draws} draws: p = {p:.2e}"
    );
}

/// Counts how often each number below `cells` came.
pub(super) fn tally(numbers: impl IntoIterator<Item = u64>, cells: usize) -> Vec<u64> {
    let mut counts = vec![0; cells];
    numbers.into_iter().for_each(|number| counts[number as usize] += 1);
    counts
}

/// Returns the path of a thousand made-up records, of the same shape as the health checks of 2016
/// that Korea's National Health Insurance Service publishes: 34 columns with Hangul names, empty
/// values among them, and sentinels such as 999.
pub(super) fn health_checks() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/health-checks.csv")
}

#[test]
fn the_chi_square_test_rejects_what_it_must() {
    assert_distributed(&[510, 490], &[0.5, 0.5]);
    assert!(std::panic::catch_unwind(|| assert_distributed(&[600, 400], &[0.5, 0.5])).is_err());
    assert!(
        std::panic::catch_unwind(|| assert_distributed(&[500, 470, 30], &[0.5, 0.499, 0.001]))
            .is_err()
    );
}
