//! What a benchmark needs of a data store. Encryption is a wrapper around it or below it; a workload sees neither.

use std::path::Path;
use std::sync::Arc;

use crate::results::{EngineFacts, Variant};

/// What a field holds, inferred from a CSV or fixed by a workload. Stores with column types use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Whole numbers in decimal ASCII.
    Integer,
    /// Decimal numbers in ASCII.
    Decimal,
    /// UTF-8 text.
    Text,
}

/// A named, typed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Column name, as stored with each record by schema-free stores.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
}

/// A table: its name, and the fields of each of its records in order.
#[derive(Debug)]
pub struct Table {
    /// Small number, unique within one data set; embedded stores use it as key prefix.
    pub id: u8,
    /// Table name, such as `usertable`.
    pub name: String,
    /// Fields in order; a `Record` has one value for each.
    pub fields: Vec<Field>,
}

/// The values of one record, flat, so that a client can reuse its memory for every operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Record {
    /// An empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty record with room for `values` values of `bytes` bytes together.
    pub fn with_capacity(values: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(values) }
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes over all values of `other` and keeps the memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.bytes.clone_from(&other.bytes);
        self.ends.clone_from(&other.ends);
    }

    /// Appends a value (decimal ASCII for numbers, UTF-8 for text; empty means absent).
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it holds no value.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Value number `field`, if there is one.
    pub fn get(&self, field: usize) -> Option<&[u8]> {
        let end = *self.ends.get(field)? as usize;
        let start = if field == 0 { 0 } else { self.ends[field - 1] as usize };
        Some(&self.bytes[start..end])
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|field| self.get(field).expect("in range"))
    }

    /// All values joined, without what separates them.
    pub fn joined(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of all values together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// What went wrong in a store, worded for the person reading it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// What a store counts since it was opened. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// CPU seconds spent inside the cipher (encrypting, decrypting, authenticating).
    pub cipher_cpu_s: f64,
    /// CPU seconds spent inside file reads, writes and syncs.
    pub io_cpu_s: f64,
    /// Wall seconds, summed over threads, spent inside file reads, writes and syncs.
    pub io_wall_s: f64,
    /// Bytes read from files.
    pub read_bytes: u64,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// Bytes encrypted.
    pub encrypted_bytes: u64,
    /// Bytes decrypted.
    pub decrypted_bytes: u64,
    /// Lookups answered by the store's own cache.
    pub cache_hits: u64,
    /// Lookups that went to a file.
    pub cache_misses: u64,
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Size of the store's own cache, in bytes.
    pub cache_bytes: u64,
    /// Every table that will be used.
    pub tables: Vec<Arc<Table>>,
}

/// A data store engine: opens stores in directories, sealed or not.
pub trait Engine: Send + Sync {
    /// Name, version and build of the engine, with warnings for the reader of a report.
    fn facts(&self) -> EngineFacts;

    /// Opens (or creates) the store of `variant` in `dir`.
    ///
    /// # Errors
    /// A directory that is not this engine's, sealed with another key, in use by another process, or not writable.
    fn open(&self, variant: &Variant, dir: &Path, options: &StoreOptions) -> Result<Box<dyn Store>, StoreError>;
}

/// An open store, used by many client threads at once. Each method is one whole operation.
pub trait Store: Send + Sync {
    /// Reads record `key`: all fields, or only those listed in `fields`, into `into` (cleared first, values in
    /// the order asked). Returns whether the key was there.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication; `into` then holds nothing.
    fn read(&self, table: &Table, key: &[u8], fields: Option<&[usize]>, into: &mut Record) -> Result<bool, StoreError>;

    /// Reads up to `count` records in key order from `start` on and hands each to `each`. Returns how many.
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

    /// Writes whole records that a data set is loaded with, as `insert` does each. A store behind a network takes them in
    /// one message.
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

    /// What the store counted so far.
    fn counters(&self) -> Counters;

    /// Bytes the store occupies on disk now.
    ///
    /// # Errors
    /// A directory that cannot be read.
    fn disk_bytes(&self) -> Result<u64, StoreError>;

    /// Waits until background work (flushes, compactions) has ended.
    ///
    /// # Errors
    /// A background error of the engine.
    fn quiesce(&self) -> Result<(), StoreError>;

    /// Merges what loading left in layers, so that stores loaded alike are laid out alike, however their background
    /// work went meanwhile. Nothing to do for a store without layers.
    ///
    /// # Errors
    /// I/O, a full disk.
    fn merge_layers(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Empties the store's own cache and asks the operating system to forget its files' pages.
    ///
    /// # Errors
    /// I/O.
    fn drop_caches(&self) -> Result<(), StoreError>;

    /// Ids of the processes of this machine that do the store's work, where it is not this process alone. Their CPU time
    /// counts as the store's.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Bulk loading past the write path, where the engine has it.
    fn bulk(&self) -> Option<&dyn BulkLoad> {
        None
    }

    /// Atomic transactions, where the engine has them.
    fn transactional(&self) -> Option<&dyn Transactional> {
        None
    }
}

/// A row for bulk loading: key and record.
pub type Row = (Vec<u8>, Record);

/// Loading many sorted records at once, past log and memory table (a direct-path load).
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
