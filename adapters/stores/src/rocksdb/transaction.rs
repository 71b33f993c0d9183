//! Atomic transactions over records: RocksDB's pessimistic transactions, run again after a
//! conflict.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sealstone_rocksdb::{self as rocksdb, Code, Error};
use sealstone_store::{Record, StoreError, Table, Transaction, Transactional};

use super::record;
use super::store::{RocksStore, Scratch};
use crate::retry::{ATTEMPTS, pause};

/// Wait for each attempt so far, before the next one.
const PAUSE_STEP: Duration = Duration::from_micros(50);

impl Transactional for RocksStore {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if !self.transacting.load(Ordering::Acquire) {
            // once no update is under way, all later ones will take the locks of transactions
            let _none_under_way = self.all_stripes();
            self.transacting.store(true, Ordering::Release);
        }
        let inner = self
            .db()
            .transaction(self.sync_writes)
            .map_err(|error| self.failure("begin a transaction on", &error))?;
        let mut running = Running { store: self, inner, conflict: false };
        for attempt in 1..=ATTEMPTS {
            let outcome = body(&mut running).and_then(|()| {
                running.inner.commit().map_err(|error| running.failure("commit to", &error))
            });
            match outcome {
                Ok(()) => return Ok(()),
                // with a lock timeout of a second and deadlocks found at once, so many conflicts
                // in a row mean that something holds a lock for good
                Err(error) if !running.conflict || attempt == ATTEMPTS => return Err(error),
                Err(_) => {
                    running.conflict = false;
                    running
                        .inner
                        .rollback()
                        .map_err(|error| self.failure("roll back on", &error))?;
                    running.inner.restart();
                    pause(attempt, PAUSE_STEP);
                }
            }
        }
        unreachable!("the last attempt returns")
    }
}

impl RocksStore {
    /// Updates a record under the locks of transactions.
    pub(crate) fn update_in_transaction(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        let mut found = false;
        let mut scratch = Scratch::take();
        let Scratch { key: stored_key, value, .. } = &mut *scratch;
        record::put_key(table, key, stored_key);
        for attempt in 1..=ATTEMPTS {
            let outcome = (|| {
                let mut inner = self.db().transaction(self.sync_writes)?;
                value.clear();
                let mut merged = Ok(());
                found = inner.get_with(stored_key, true, |stored| {
                    merged = record::merge(table, stored, changes, value)
                })?;
                if let Err(error) = merged {
                    return Ok(Err(error));
                }
                if found {
                    inner.put(stored_key, value)?;
                }
                inner.commit()?;
                Ok(Ok(()))
            })();
            match outcome {
                Ok(done) => return done.map(|()| found),
                Err(Error { code: Code::Conflict, .. }) if attempt < ATTEMPTS => {
                    pause(attempt, PAUSE_STEP);
                }
                Err(error) => return Err(self.failure("write to", &error)),
            }
        }
        unreachable!("the last attempt returns")
    }
}

/// A transaction under way.
struct Running<'store> {
    store: &'store RocksStore,
    inner: rocksdb::Transaction<'store>,
    /// True if an operation failed because of another transaction.
    conflict: bool,
}

impl Running<'_> {
    fn failure(&mut self, attempt: &str, error: &Error) -> StoreError {
        self.conflict |= error.code == Code::Conflict;
        self.store.failure(attempt, error)
    }
}

impl Transaction for Running<'_> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let mut scratch = Scratch::take();
        record::put_key(table, key, &mut scratch.key);
        let mut decoded = Ok(());
        let found = self
            .inner
            .get_with(&scratch.key, for_update, |value| {
                decoded = record::decode(table, value, None, into)
            })
            .map_err(|error| self.failure("read from", &error))?;
        decoded.map(|()| found)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let mut scratch = Scratch::take();
        let Scratch { key: stored_key, value, .. } = &mut *scratch;
        record::put_key(table, key, stored_key);
        record::encode(table, record, value)?;
        self.inner.put(stored_key, value).map_err(|error| self.failure("write to", &error))
    }
}
