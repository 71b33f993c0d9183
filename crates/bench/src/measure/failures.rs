//! Operations that fail while something is measured: how many may fail, and the names they are
//! counted by.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use sealstone_store::{
    BulkLoad, Record, Row, Store, StoreError, Table, Target, Transaction, Transactional,
};

/// Number of failures of each operation of a store.
pub(crate) type Failures = BTreeMap<&'static str, u64>;

/// Adds the counts of `more` to `to`.
pub(crate) fn add(to: &mut Failures, more: &Failures) {
    for (operation, count) in more {
        *to.entry(operation).or_default() += count;
    }
}

/// Counts in words: `3 (insert 1, read 2)`.
pub(crate) fn words<'a>(counts: impl Iterator<Item = (&'a str, u64)> + Clone) -> String {
    let sum: u64 = counts.clone().map(|(_, count)| count).sum();
    let each: Vec<String> =
        counts.map(|(operation, count)| format!("{operation} {count}")).collect();
    format!("{sum} ({})", each.join(", "))
}

/// Number of operations that may still fail, and the failures so far, shared by the clients of a
/// slice.
#[derive(Debug)]
pub(crate) struct Allowance {
    left: AtomicU64,
    any: bool,
    passed: Mutex<Failures>,
}

impl Allowance {
    pub(crate) fn new(operations: u64) -> Self {
        Self { left: AtomicU64::new(operations), any: operations > 0, passed: Mutex::default() }
    }

    /// Returns the records of `target` as a client uses them, so that a failed operation can be
    /// named; none where nothing may fail, and of a block device, whose workloads have one
    /// operation each.
    pub(crate) fn watch<'a>(&self, target: Target<'a>) -> Option<Watched<'a>> {
        match target {
            Target::Records(inner) if self.any => {
                Some(Watched { inner, last: AtomicUsize::new(0) })
            }
            _ => None,
        }
    }

    /// Lets `operation` fail with `error`, if that is allowed, and counts it. Wrong results of the
    /// store, and operations it can never do, are not allowed: they affect all figures.
    ///
    /// # Errors
    /// `error`.
    pub(crate) fn pass(
        &self,
        operation: &'static str,
        error: StoreError,
    ) -> Result<(), StoreError> {
        let take = |left: u64| left.checked_sub(1);
        let is_passed = matches!(error, StoreError::Engine(_))
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if !is_passed {
            return Err(error);
        }
        *self
            .passed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(operation)
            .or_default() += 1;
        Ok(())
    }

    /// Returns the failures that were let pass.
    pub(crate) fn into_passed(self) -> Failures {
        self.passed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names of the operations on a store; [`Watched`] records the index.
const OPERATIONS: [&str; 7] =
    ["read", "scan", "insert", "update", "transaction", "bulk load", "delete"];

/// A store that records its last operation. Each client has its own.
pub(crate) struct Watched<'a> {
    inner: &'a dyn Store,
    last: AtomicUsize,
}

impl<'a> Watched<'a> {
    /// Returns the name of the last operation.
    pub(crate) fn last(&self) -> &'static str {
        OPERATIONS[self.last.load(Ordering::Relaxed)]
    }

    fn asked(&self, operation: usize) -> &'a dyn Store {
        self.last.store(operation, Ordering::Relaxed);
        self.inner
    }
}

impl Store for Watched<'_> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        self.asked(0).read(table, key, fields, into)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        self.asked(1).scan(table, start, count, each)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.asked(2).insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        self.asked(2).insert_many(table, rows)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        self.asked(3).update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.asked(6).delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        self.inner.bulk().map(|_| self as &dyn BulkLoad)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        self.inner.transactional().map(|_| self as &dyn Transactional)
    }
}

impl BulkLoad for Watched<'_> {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let bulk = self.asked(5).bulk();
        bulk.ok_or(StoreError::Lacks { caller: "loading", ability: "bulk loading" })?
            .bulk_load(table, rows)
    }
}

impl Transactional for Watched<'_> {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let able = self.asked(4).transactional();
        able.ok_or(StoreError::Lacks { caller: "a workload", ability: "atomic transactions" })?
            .transaction(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_engine_refuses_may_fail_and_only_so_often() {
        let allowance = Allowance::new(2);
        assert!(allowance.pass("read", StoreError::Differs("another value".into())).is_err());
        for operation in ["read", "scan"] {
            allowance.pass(operation, StoreError::engine("busy")).unwrap();
        }
        assert_eq!(
            allowance.pass("read", StoreError::engine("gone")).unwrap_err().to_string(),
            "gone"
        );
        assert_eq!(allowance.into_passed(), Failures::from([("read", 1), ("scan", 1)]));
        assert!(Allowance::new(0).pass("read", StoreError::engine("busy")).is_err());
    }

    #[test]
    fn what_was_asked_for_last_is_known() {
        let store = sealstone_store::MemoryStore::new();
        assert!(Allowance::new(0).watch(Target::from(&store)).is_none());
        let watched = Allowance::new(1).watch(Target::from(&store)).unwrap();
        let table = Table { id: 1, name: "t".into(), fields: Vec::new() };
        watched.insert(&table, b"k", &Record::new()).unwrap();
        assert_eq!(watched.last(), "insert");
        watched.transactional().unwrap().transaction(&mut |_| Ok(())).unwrap();
        assert_eq!(watched.last(), "transaction");
        let counts = [("insert", 1), ("read", 2)];
        assert_eq!(words(counts.into_iter()), "3 (insert 1, read 2)");
    }
}
