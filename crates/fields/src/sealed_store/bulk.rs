//! Bulk loading with sealed columns: rows are sealed many at a time on their way into the inner
//! store, by a separate thread while the inner store stores earlier rows. A store behind a
//! connection waits for its server most of the time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

use sealstone_store::{BulkLoad, Record, Row, Store, StoreError, Table};

use super::{Sealed, SealedTable};

/// Rows that are sealed together.
const BATCH_ROWS: usize = 1_024;

impl<S: Store> BulkLoad for Sealed<S> {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let lacks = || StoreError::Lacks { caller: "loading", ability: "bulk loading" };
        let inner = self.inner.bulk().ok_or_else(lacks)?;
        let Some(sealed) = self.table(table) else { return inner.bulk_load(table, rows) };
        thread::scope(|scope| {
            let mut sealing = SealedRows {
                store: self,
                table: sealed,
                rows,
                is_over: false,
                ready: Vec::new().into_iter(),
                is_begun: false,
                ahead: None,
                scope,
                failed: None,
            };
            let outcome = inner.bulk_load(sealed.stored(), &mut sealing);
            match sealing.failed {
                Some(error) => Err(error),
                None => outcome,
            }
        })
    }
}

/// A thread that seals.
struct Ahead {
    rows: Sender<Vec<Row>>,
    sealed: Receiver<Result<Vec<Row>, StoreError>>,
    /// Batches that it has been given and not yet given back.
    waiting: usize,
}

/// Returns `rows` as they are stored.
fn sealed_rows<S: Store>(
    store: &Sealed<S>,
    table: &SealedTable,
    rows: Vec<Row>,
) -> Result<Vec<Row>, StoreError> {
    let records = store.seal_records(table, &rows)?;
    Ok(rows.into_iter().zip(records).map(|((key, _), record)| (key, record)).collect())
}

/// Rows as they are stored.
struct SealedRows<'a, 'scope, 'env, S> {
    store: &'scope Sealed<S>,
    table: &'scope SealedTable,
    rows: &'a mut dyn Iterator<Item = Row>,
    /// True if `rows` has ended.
    is_over: bool,
    ready: std::vec::IntoIter<Row>,
    /// True if a batch has been sealed.
    is_begun: bool,
    ahead: Option<Ahead>,
    scope: &'scope Scope<'scope, 'env>,
    failed: Option<StoreError>,
}

impl<S: Store> SealedRows<'_, '_, '_, S> {
    /// Returns the next rows in the clear, none at the end.
    fn batch(&mut self) -> Vec<Row> {
        let mut batch = Vec::new();
        if !self.is_over {
            batch.reserve(BATCH_ROWS);
            batch.extend((&mut *self.rows).take(BATCH_ROWS));
            self.is_over = batch.len() < BATCH_ROWS;
        }
        batch
    }

    /// Begins a thread, if there is a processor for it.
    fn begin(&mut self) {
        if thread::available_parallelism().map_or(1, usize::from) == 1 {
            return;
        }
        let (rows, given) = channel::<Vec<Row>>();
        let (give_back, sealed) = channel();
        let (store, table) = (self.store, self.table);
        let work = move || {
            for batch in given {
                if give_back.send(sealed_rows(store, table, batch)).is_err() {
                    break;
                }
            }
        };
        // without a thread, rows are sealed on demand
        if thread::Builder::new().spawn_scoped(self.scope, work).is_ok() {
            self.ahead = Some(Ahead { rows, sealed, waiting: 0 });
        }
    }

    /// Gives the next rows to the thread.
    fn give(&mut self) {
        let batch = self.batch();
        if let Some(ahead) = self.ahead.as_mut().filter(|_| !batch.is_empty()) {
            // a thread that has panicked ends the load when it is joined
            ahead.waiting += usize::from(ahead.rows.send(batch).is_ok());
        }
    }

    /// Returns the next rows as they are stored, none at the end.
    fn sealed(&mut self) -> Result<Vec<Row>, StoreError> {
        // a load of one batch needs no thread
        if !self.is_begun {
            self.is_begun = true;
            let first = self.batch();
            let first = sealed_rows(self.store, self.table, first)?;
            if !self.is_over {
                self.begin();
                if self.ahead.is_some() {
                    self.give();
                }
            }
            return Ok(first);
        }
        if self.ahead.is_none() {
            let batch = self.batch();
            return sealed_rows(self.store, self.table, batch);
        }
        self.give();
        match &mut self.ahead {
            Some(ahead) if ahead.waiting > 0 => {
                ahead.waiting -= 1;
                ahead.sealed.recv().unwrap_or_else(|_| Ok(Vec::new()))
            }
            _ => Ok(Vec::new()),
        }
    }
}

impl<S: Store> Iterator for SealedRows<'_, '_, '_, S> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if let Some(row) = self.ready.next() {
            return Some(row);
        }
        if self.failed.is_some() {
            return None;
        }
        self.ready = match self.sealed() {
            Ok(sealed) => sealed.into_iter(),
            Err(error) => {
                self.failed = Some(error);
                // the first key there is, twice: a load out of order, of which the inner store
                // keeps nothing
                vec![(Vec::new(), Record::new()); 2].into_iter()
            }
        };
        self.ready.next()
    }
}
