//! Pessimistic transactions. Not here: prepared ones (`dev/simulator/src/ffi/families.rs`).
//!
//! The rules of `ffi` hold here, too.

use std::ptr::NonNull;

use super::c;
use super::call::{NO_MEMORY, call, call_with_sink, deliver};
use super::database::Db;
use super::error::{Code, Error};

/// A pessimistic transaction: records that it writes or reads for update are locked until it ends.
/// Dropped without a commit, it is rolled back.
#[derive(Debug)]
pub struct Transaction<'db> {
    transaction: NonNull<c::Transaction>,
    sync: bool,
    db: &'db Db,
}

// SAFETY: a transaction may move between threads; rule *Threads*.
unsafe impl Send for Transaction<'_> {}

impl Transaction<'_> {
    /// Looks `key` up, own writes included, and hands the value to `found`; `for_update` locks it.
    /// Returns whether it was there.
    ///
    /// # Errors
    /// [`Code::Conflict`] where another transaction holds the lock; I/O, corruption, failed
    /// authentication.
    pub fn get_with(
        &mut self,
        key: &[u8],
        for_update: bool,
        mut found: impl FnMut(&[u8]),
    ) -> Result<bool, Error> {
        let mut there = 0;
        // SAFETY: rules *Owner* and *Slices*; `sink` is the context that `deliver` expects and
        // outlives the call.
        call_with_sink(&mut |_, value| found(value), |sink, error| unsafe {
            c::sealstone_transaction_get(
                self.transaction.as_ptr(),
                key.as_ptr(),
                key.len(),
                i32::from(for_update),
                deliver,
                sink,
                &mut there,
                error,
            )
        })?;
        Ok(there != 0)
    }

    /// Writes `value` under `key`, seen by others after the commit.
    ///
    /// # Errors
    /// [`Code::Conflict`] where another transaction holds the lock.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_transaction_put(
                self.transaction.as_ptr(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            )
        })
    }

    /// Removes `key`, seen by others after the commit.
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn delete(&mut self, key: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_transaction_delete(
                self.transaction.as_ptr(),
                key.as_ptr(),
                key.len(),
                error,
            )
        })
    }

    /// Makes its writes durable as the database's are, all together, and gives up its locks.
    ///
    /// # Errors
    /// I/O, a full disk; nothing is written then.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.db.env.about_to_write();
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_transaction_commit(self.transaction.as_ptr(), error) })
    }

    /// Forgets its writes and gives up its locks.
    ///
    /// # Errors
    /// A transaction that has ended already.
    pub fn rollback(&mut self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_transaction_rollback(self.transaction.as_ptr(), error) })
    }

    /// Starts again, as a separate transaction; uncommitted changes are rolled back.
    pub fn restart(&mut self) {
        // SAFETY: rule *Owner* for both; it was begun on this database.
        unsafe {
            c::sealstone_transaction_restart(
                self.db.db.as_ptr(),
                self.transaction.as_ptr(),
                i32::from(self.sync),
            );
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_transaction_free(self.transaction.as_ptr()) }
    }
}

impl Db {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Code::NotSupported`] where the database was not opened for transactions.
    pub fn transaction(&self, sync: bool) -> Result<Transaction<'_>, Error> {
        if !self.has_transactions() {
            let text = "the database was not opened for transactions".to_owned();
            return Err(Error { code: Code::NotSupported, text });
        }
        // SAFETY: rule *Owner*; it was opened with transactions.
        let transaction =
            unsafe { c::sealstone_transaction_new(self.db.as_ptr(), i32::from(sync)) };
        Ok(Transaction { transaction: NonNull::new(transaction).expect(NO_MEMORY), sync, db: self })
    }
}
