//! Detection of a data set that another client has loaded: it loads again, but reads instead of
//! writing. Every few rows is enough, since rows are loaded in order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sealstone_store::{BulkLoad, Record, Row, Store, StoreError, Table, Target, Transactional};

use crate::workload::Workload;

/// One row of this many is looked for, and the last of each batch.
const EACH: u64 = 32;

/// Returns whether `target` holds what `workload` loads. Ends at the first row that is missing, or
/// once `stop` is set.
///
/// # Errors
/// The store's error.
pub(super) fn is_loaded(
    workload: &dyn Workload,
    target: Target<'_>,
    stop: &AtomicBool,
) -> Result<bool, StoreError> {
    let looking = Looking {
        inner: target.records("looking for records")?,
        rows: AtomicU64::new(0),
        missing: AtomicBool::new(false),
        stop,
    };
    match workload.load(Target::from(&looking), 0, 1, &|_| {}) {
        Err(StoreError::Stopped) => Ok(false),
        other => other.map(|()| !looking.missing.load(Ordering::Relaxed)),
    }
}

/// A store that looks for what it is to write.
struct Looking<'a> {
    inner: &'a dyn Store,
    rows: AtomicU64,
    missing: AtomicBool,
    stop: &'a AtomicBool,
}

impl Looking<'_> {
    fn look(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        if self.stop.load(Ordering::Relaxed)
            || !self.inner.read(table, key, None, &mut Record::new())?
        {
            self.missing.store(true, Ordering::Relaxed);
            return Err(StoreError::Stopped);
        }
        Ok(())
    }

    fn is_due(&self) -> bool {
        self.rows.fetch_add(1, Ordering::Relaxed).is_multiple_of(EACH)
    }
}

impl Store for Looking<'_> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        self.inner.read(table, key, fields, into)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        self.inner.scan(table, start, count, each)
    }

    fn insert(&self, table: &Table, key: &[u8], _: &Record) -> Result<(), StoreError> {
        if self.is_due() { self.look(table, key) } else { Ok(()) }
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        let Some(((last, _), before)) = rows.split_last() else { return Ok(()) };
        before.iter().try_for_each(|(key, record)| self.insert(table, key, record))?;
        self.look(table, last)
    }

    fn update(&self, _: &Table, _: &[u8], _: &[(usize, &[u8])]) -> Result<bool, StoreError> {
        Err(StoreError::Lacks { caller: "looking for records", ability: "updates" })
    }

    fn delete(&self, _: &Table, _: &[u8]) -> Result<(), StoreError> {
        Err(StoreError::Lacks { caller: "looking for records", ability: "deletion" })
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        None
    }
}

impl BulkLoad for Looking<'_> {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut last = None;
        let mut count = 0;
        for (key, _) in rows {
            if self.is_due() {
                self.look(table, &key)?;
            }
            last = Some(key);
            count += 1;
        }
        last.map_or(Ok(()), |key| self.look(table, &key))?;
        Ok(count)
    }
}
