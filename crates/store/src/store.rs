//! Operations on the records of an open store. Encryption is a wrapper around it or below it; users
//! of a store see neither.

use std::sync::Arc;

use crate::{Record, Row, StoreError, Table};

/// Records of an open store, used by many client threads at once: six operations, each of them
/// whole, and two abilities. No method has a default, so that a store around another one cannot
/// forget to pass one on.
pub trait Store: Send + Sync {
    /// Reads record `key`: all fields, or only the fields in `fields`, into `into` (cleared first,
    /// values in the requested order). Returns whether the key was there.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication; `into` then holds nothing.
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError>;

    /// Reads up to `count` records in key order from `start` on and passes each to `each`. Returns
    /// how many.
    ///
    /// # Errors
    /// As `read`.
    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError>;

    /// Writes a whole record, new or not; durable as the engine's default is.
    ///
    /// # Errors
    /// As `read`, and a full disk.
    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError>;

    /// Writes whole records that a data set is loaded with, as `insert` does each, but without
    /// waiting for the disk. A store behind a network takes them in one message; one without
    /// anything to gain inserts them one by one.
    ///
    /// # Errors
    /// As `insert`; some of `rows` may then be written.
    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError>;

    /// Replaces single fields of an existing record, leaving the others. Returns whether the key
    /// was there.
    ///
    /// # Errors
    /// As `insert`.
    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError>;

    /// Removes a record; one that is not there is no error. Durable as the engine's default is.
    ///
    /// # Errors
    /// As `insert`.
    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError>;

    /// Bulk loading that bypasses the write path, if the engine has it.
    fn bulk(&self) -> Option<&dyn BulkLoad>;

    /// Atomic transactions, if the engine has them.
    fn transactional(&self) -> Option<&dyn Transactional>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        (**self).read(table, key, fields, into)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        (**self).scan(table, start, count, each)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        (**self).insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        (**self).insert_many(table, rows)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        (**self).update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        (**self).delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        (**self).bulk()
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        (**self).transactional()
    }
}

/// Loading many sorted records at once, bypassing log and memory table (a direct-path load).
pub trait BulkLoad {
    /// Loads `rows`, which come in strictly ascending key order. Durable on return. Returns how
    /// many rows.
    ///
    /// # Errors
    /// Keys out of order, a full disk, I/O. Nothing of `rows` is visible after an error.
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError>;
}

/// Atomic, isolated transactions.
pub trait Transactional {
    /// Runs `body`; commits when it returns `Ok`, rolls back when it returns an error. A conflict
    /// with another transaction rolls back and runs `body` again.
    ///
    /// # Errors
    /// The error of `body`, or the reason why the commit failed; the store is then unchanged.
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// The operations inside a transaction.
pub trait Transaction {
    /// Reads a record, with `for_update` also locking it until the end. Returns whether the key was
    /// there.
    ///
    /// # Errors
    /// As `Store::read`.
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError>;

    /// Writes a whole record, visible to others after the commit.
    ///
    /// # Errors
    /// As `Store::insert`.
    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError>;
}
