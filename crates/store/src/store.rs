//! The operations of an open store. Encryption is a wrapper around it or below it; users of a store see neither.

use std::time::Duration;

use crate::device::Device;
use crate::{Counters, Record, Row, StoreError, Table};

/// An open store, used by many client threads at once. Each method is one whole operation.
pub trait Store: Send + Sync {
    /// Reads record `key`: all fields, or only those listed in `fields`, into `into` (cleared first, values in
    /// the order asked). Returns whether the key was there.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication; `into` then holds nothing.
    fn read(&self, table: &Table, key: &[u8], fields: Option<&[usize]>, into: &mut Record) -> Result<bool, StoreError>;

    /// Reads up to `count` records in key order from `start` on and passes each to `each`. Returns how many.
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

    /// Writes whole records that a data set is loaded with, as `insert` does each, but without waiting for the disk.
    /// A store behind a network takes them in one message.
    ///
    /// # Errors
    /// As `insert`; some of `rows` may then be written.
    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
    }

    /// Replaces single fields of an existing record, leaving the others. Returns whether the key was there.
    ///
    /// # Errors
    /// As `insert`.
    fn update(&self, table: &Table, key: &[u8], changes: &[(usize, &[u8])]) -> Result<bool, StoreError>;

    /// Removes a record; one that is not there is no error. Durable as the engine's default is.
    ///
    /// # Errors
    /// As `insert`.
    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError>;

    /// Returns the counts of the store so far; zeros from a store that counts nothing.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Bytes the store occupies on disk now.
    ///
    /// # Errors
    /// A directory that cannot be read.
    fn disk_bytes(&self) -> Result<u64, StoreError>;

    /// Waits until background work (flushes, compactions) has ended. Nothing to do for a store without any.
    ///
    /// # Errors
    /// A background error of the engine.
    fn quiesce(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Merges what loading left in layers, so that stores with the same load have the same layout, whatever their
    /// background work did meanwhile. Nothing to do for a store without layers.
    ///
    /// # Errors
    /// I/O, a full disk.
    fn merge_layers(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Empties the store's own cache and asks the operating system to forget its files' pages. Nothing to do for a
    /// store that caches nothing.
    ///
    /// # Errors
    /// I/O.
    fn drop_caches(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns how long requests must continue after a pause before any is counted: the time in
    /// which an idle connection becomes as fast as one in use. Zero for a store that answers as
    /// fast at once as it does later.
    fn lead_in(&self) -> Duration {
        Duration::ZERO
    }

    /// Ids of the processes of this machine that do the store's work, if it is not only this process. Their CPU time
    /// counts as the store's.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Bulk loading that bypasses the write path, if the engine has it.
    fn bulk(&self) -> Option<&dyn BulkLoad> {
        None
    }

    /// Atomic transactions, if the engine has them.
    fn transactional(&self) -> Option<&dyn Transactional> {
        None
    }

    /// The block device that it is, if it is one; it then keeps no records.
    fn device(&self) -> Option<&dyn Device> {
        None
    }

    /// Returns the sink at the other end of the link to the store, which takes everything that is
    /// written, if there is one: a device of no size, each queue of which is one TCP stream.
    fn stream(&self) -> Option<&dyn Device> {
        None
    }
}

impl<S: Store + ?Sized> Store for Box<S> {
    crate::forward!(
        self => **self;
        read, scan, insert, insert_many, update, delete, counters, disk_bytes, quiesce, merge_layers, drop_caches,
        lead_in, servers, bulk, transactional, device, stream
    );
}

/// Loading many sorted records at once, bypassing log and memory table (a direct-path load).
pub trait BulkLoad {
    /// Loads `rows`, which come in strictly ascending key order. Durable on return. Returns how many rows.
    ///
    /// # Errors
    /// Keys out of order, a full disk, I/O. Nothing of `rows` is visible after an error.
    fn bulk_load(&self, table: &Table, rows: &mut dyn Iterator<Item = Row>) -> Result<u64, StoreError>;
}

/// Atomic, isolated transactions.
pub trait Transactional {
    /// Runs `body`; commits when it returns `Ok`, rolls back when it returns an error. A conflict with another
    /// transaction rolls back and runs `body` again.
    ///
    /// # Errors
    /// What `body` returned, or why the commit failed; the store is then as before.
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;
}

/// The operations inside a transaction.
pub trait Transaction {
    /// Reads a record, with `for_update` also locking it until the end. Returns whether the key was there.
    ///
    /// # Errors
    /// As `Store::read`.
    fn read(&mut self, table: &Table, key: &[u8], for_update: bool, into: &mut Record) -> Result<bool, StoreError>;

    /// Writes a whole record, visible to others after the commit.
    ///
    /// # Errors
    /// As `Store::insert`.
    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError>;
}
