//! Bulk loading with sealed columns: rows are sealed many at a time on their way into the inner store.

use sealstone_store::{BulkLoad, Record, Row, Store, StoreError, Table};

use super::{Sealed, SealedTable};

/// Rows that are sealed together.
const BATCH_ROWS: usize = 1_024;

impl<S: Store> BulkLoad for Sealed<S> {
    fn bulk_load(&self, table: &Table, rows: &mut dyn Iterator<Item = Row>) -> Result<u64, StoreError> {
        let lacks = || StoreError::Lacks { caller: "loading", ability: "bulk loading" };
        let inner = self.inner.bulk().ok_or_else(lacks)?;
        let Some(sealed) = self.table(table) else { return inner.bulk_load(table, rows) };
        let mut sealing = SealedRows { store: self, table: sealed, rows, ready: Vec::new().into_iter(), failed: None };
        let outcome = inner.bulk_load(sealed.stored(), &mut sealing);
        match sealing.failed {
            Some(error) => Err(error),
            None => outcome,
        }
    }
}

/// Rows as they are stored.
struct SealedRows<'a, S> {
    store: &'a Sealed<S>,
    table: &'a SealedTable,
    rows: &'a mut dyn Iterator<Item = Row>,
    ready: std::vec::IntoIter<Row>,
    failed: Option<StoreError>,
}

impl<S: Store> Iterator for SealedRows<'_, S> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if let Some(row) = self.ready.next() {
            return Some(row);
        }
        if self.failed.is_none() {
            let batch: Vec<Row> = (&mut *self.rows).take(BATCH_ROWS).collect();
            match self.store.seal_rows(self.table, &batch) {
                Ok(sealed) => {
                    self.ready = sealed.into_iter();
                    return self.ready.next();
                }
                Err(error) => {
                    self.failed = Some(error);
                    // the first key there is, twice: a load out of order, of which the inner store keeps nothing
                    self.ready = vec![(Vec::new(), Record::new()); 2].into_iter();
                    return self.ready.next();
                }
            }
        }
        None
    }
}
