//! An open store: records in RocksDB, sealed or not.

use std::cell::Cell;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use sealstone_rocksdb::{Bottommost, Db, DirectoryError, Error, Range, explain_failure};
use sealstone_store::{
    BulkLoad, Counters, Record, Row, Store, StoreError, Table, Transactional, Upkeep,
};

use super::record;

/// Bytes that a full scan reads ahead, and a compaction too.
pub(super) const READAHEAD_BYTES: u64 = 2 << 20;
/// Updates of different keys rarely wait for each other.
const STRIPES: usize = 256;
/// Scans of at least this many rows read ahead from the start and pass the block cache by.
const LONG_SCAN_ROWS: usize = 10_000;
/// A table file made for bulk loading ends at about this size, in bytes.
const BULK_FILE_BYTES: u64 = 64 << 20;
/// Prefix of the names of bulk files until the database takes them over.
const BULK_PREFIX: &str = "bulk-";
/// Interval at which `quiesce` checks.
const POLL: Duration = Duration::from_millis(20);

/// RocksDB's own threads failed; it reports no details.
#[derive(Debug, thiserror::Error)]
#[error("background work of the store in {} failed\ncheck whether the device is full or damaged",
    dir.display())]
struct Background {
    dir: PathBuf,
}

/// A store in a RocksDB database.
pub struct RocksStore {
    db: Db,
    dir: PathBuf,
    /// An update reads, changes and writes under one of these, so that no other update of the same
    /// key is lost.
    stripes: Box<[Mutex<()>]>,
    hasher: RandomState,
    /// Set once a transaction was ever begun: from then on single writes respect the locks of
    /// transactions.
    pub(super) transacting: AtomicBool,
    bulk_files: AtomicU64,
    /// True if a write waits until its log record is on the disk.
    pub(super) sync_writes: bool,
}

impl RocksStore {
    pub(super) fn new(db: Db, dir: &Path, sync_writes: bool) -> Self {
        remove_left_over(dir);
        Self {
            db,
            dir: dir.to_owned(),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::new(),
            transacting: AtomicBool::new(false),
            bulk_files: AtomicU64::new(0),
            sync_writes,
        }
    }

    /// Returns the database itself.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Closes the store and reports whether its last writes succeeded.
    ///
    /// # Errors
    /// I/O.
    pub fn close(self) -> Result<(), StoreError> {
        let Self { db, dir, .. } = self;
        db.close().map_err(|error| StoreError::engine(explain_failure("close", &dir, &error)))
    }

    pub(super) fn failure(&self, attempt: &str, error: &Error) -> StoreError {
        StoreError::engine(explain_failure(attempt, &self.dir, error))
    }

    /// Takes every lock on updates, so that none is under way.
    pub(super) fn all_stripes(&self) -> Vec<MutexGuard<'_, ()>> {
        self.stripes
            .iter()
            .map(|stripe| stripe.lock().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    fn stripe(&self, key: &[u8]) -> MutexGuard<'_, ()> {
        let index = self.hasher.hash_one(key) as usize % STRIPES;
        self.stripes[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the files of the store, with their lengths; a file that vanishes in the meantime is
    /// left out.
    fn files(&self) -> Result<Vec<(PathBuf, u64)>, StoreError> {
        let cannot = |source| io_error("read directory", &self.dir, source);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            if let Ok(facts) = entry.metadata()
                && facts.is_file()
            {
                files.push((entry.path(), facts.len()));
            }
        }
        Ok(files)
    }

    fn put(
        &self,
        table: &Table,
        key: &[u8],
        record: &Record,
        sync: bool,
    ) -> Result<(), StoreError> {
        let mut scratch = Scratch::take();
        record::put_key(table, key, &mut scratch.key);
        record::encode(table, record, &mut scratch.value)?;
        let locked = self.transacting.load(Ordering::Acquire);
        self.db
            .put_locked(&scratch.key, &scratch.value, sync, locked)
            .map_err(|error| self.failure("write to", &error))
    }

    fn property(&self, name: &str) -> u64 {
        self.db.property(name).unwrap_or(0)
    }
}

impl Store for RocksStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let mut scratch = Scratch::take();
        record::put_key(table, key, &mut scratch.key);
        let mut decoded = Ok(());
        let found = self
            .db
            .get_with(&scratch.key, |value| decoded = record::decode(table, value, fields, into))
            .map_err(|error| self.failure("read from", &error))?;
        decoded.map(|()| found)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        let mut scratch = Scratch::take();
        record::put_key(table, start, &mut scratch.key);
        // the keys of the next table are not of this one
        let after = table.id.checked_add(1).map(|next| [next]);
        let long = count >= LONG_SCAN_ROWS;
        let mut rows = self.db.iterator(Range {
            upper: after.as_ref().map(|after| after.as_slice()),
            readahead_bytes: if long { READAHEAD_BYTES } else { 0 },
            fill_cache: !long,
            ..Range::default()
        });
        let Scratch { key: first, record: row, .. } = &mut *scratch;
        rows.seek(first);
        let mut done = 0;
        while done < count {
            let Some((key, value)) = rows.entry() else { break };
            record::decode(table, value, None, row)?;
            each(&key[1..], row);
            done += 1;
            if done < count {
                rows.advance();
            }
        }
        rows.status().map_err(|error| self.failure("read from", &error))?;
        Ok(done)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.put(table, key, record, self.sync_writes)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.put(table, key, record, false))
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        let mut scratch = Scratch::take();
        record::put_key(table, key, &mut scratch.key);
        let stripe = self.stripe(&scratch.key);
        if self.transacting.load(Ordering::Acquire) {
            drop(stripe);
            return self.update_in_transaction(table, key, changes);
        }
        let Scratch { key, value, .. } = &mut *scratch;
        let mut merged = Ok(());
        let found = self
            .db
            .get_with(key, |stored| merged = record::merge(table, stored, changes, value))
            .map_err(|error| self.failure("read from", &error))?;
        merged?;
        if found {
            self.db
                .put_locked(key, value, self.sync_writes, false)
                .map_err(|error| self.failure("write to", &error))?;
        }
        Ok(found)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        let mut scratch = Scratch::take();
        record::put_key(table, key, &mut scratch.key);
        // not between the reading and the writing of an update, which would bring the record back
        let _stripe = self.stripe(&scratch.key);
        self.db
            .delete(&scratch.key, self.sync_writes)
            .map_err(|error| self.failure("write to", &error))
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        self.db.has_transactions().then_some(self)
    }
}

impl Upkeep for RocksStore {
    fn counters(&self) -> Counters {
        let (io, cipher) = (self.db.io(), self.db.cipher_work());
        let (cache_hits, cache_misses) = self.db.cache_counts();
        Counters {
            cipher_cpu_s: cipher.cpu_s,
            io_cpu_s: io.cpu_ns as f64 / 1e9,
            io_wall_s: io.wall_ns as f64 / 1e9,
            syncs: io.syncs,
            sync_wall_s: io.sync_ns as f64 / 1e9,
            read_bytes: io.read_bytes,
            written_bytes: io.written_bytes,
            encrypted_bytes: cipher.encrypted_bytes,
            decrypted_bytes: cipher.decrypted_bytes,
            cache_hits,
            cache_misses,
        }
    }

    fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.files()?.iter().map(|(_, bytes)| bytes).sum())
    }

    fn quiesce(&self) -> Result<(), StoreError> {
        const WORK: [&str; 4] = [
            "rocksdb.num-running-compactions",
            "rocksdb.num-running-flushes",
            "rocksdb.compaction-pending",
            "rocksdb.mem-table-flush-pending",
        ];
        while WORK.iter().any(|name| self.property(name) > 0) {
            if self.property("rocksdb.background-errors") > 0 {
                return Err(StoreError::engine(Background { dir: self.dir.clone() }));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    fn merge_layers(&self) -> Result<(), StoreError> {
        self.db.compact(Bottommost::Leave).map_err(|error| self.failure("compact", &error))
    }

    fn drop_caches(&self) -> Result<(), StoreError> {
        // data still in memory would be read from there
        self.db.flush().map_err(|error| self.failure("flush", &error))?;
        self.db.empty_cache();
        for (path, _) in self.files()? {
            let cannot = |source| io_error("drop from the page cache", &path, source);
            match File::open(&path) {
                Ok(file) => {
                    // dirty pages stay, so write them first
                    file.sync_data().map_err(cannot)?;
                    posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
                        .map_err(|error| cannot(error.into()))?;
                }
                // compaction may remove files concurrently
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(cannot(error)),
            }
        }
        Ok(())
    }
}

impl BulkLoad for RocksStore {
    /// Writes table files and links them into the database, all at once.
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut files = BulkFiles { paths: Vec::new() };
        let loaded = self.write_tables(table, rows, &mut files)?;
        let paths: Vec<&Path> = files.paths.iter().map(PathBuf::as_path).collect();
        if !paths.is_empty() {
            self.db.ingest(&paths, true).map_err(|error| self.failure("bulk-load into", &error))?;
        }
        Ok(loaded)
    }
}

impl RocksStore {
    fn write_tables(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
        files: &mut BulkFiles,
    ) -> Result<u64, StoreError> {
        let failure = |error: Error| self.failure("bulk-load into", &error);
        let mut scratch = Scratch::take();
        let mut last_key = Vec::new();
        let mut writer = None;
        let mut loaded = 0;
        for (key, row) in rows {
            let Scratch { key: stored_key, value, .. } = &mut *scratch;
            record::put_key(table, &key, stored_key);
            value.clear();
            record::encode(table, &row, value)?;
            if loaded > 0 && *stored_key <= last_key {
                return Err(StoreError::Order { table: table.name.clone(), row: loaded + 1 });
            }
            let current = match &mut writer {
                Some(current) => current,
                None => {
                    let number = self.bulk_files.fetch_add(1, Ordering::Relaxed);
                    let path = self.dir.join(format!("{BULK_PREFIX}{number}.sst"));
                    files.paths.push(path.clone());
                    writer.insert(self.db.table_writer(&path).map_err(failure)?)
                }
            };
            current.put(stored_key, value).map_err(failure)?;
            loaded += 1;
            last_key.clone_from(stored_key);
            if current.bytes() >= BULK_FILE_BYTES
                && let Some(full) = writer.take()
            {
                full.finish().map_err(failure)?;
            }
        }
        if let Some(rest) = writer {
            rest.finish().map_err(failure)?;
        }
        Ok(loaded)
    }
}

fn io_error(attempt: &'static str, path: &Path, source: std::io::Error) -> StoreError {
    StoreError::engine(DirectoryError::Io { attempt, path: path.to_owned(), source })
}

/// Removes what a killed bulk load left behind. The database is open, and so locked: no other load
/// is running.
fn remove_left_over(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(BULK_PREFIX))
    {
        // a leftover does no harm: RocksDB does not use its name
        let _ = fs::remove_file(entry.path());
    }
}

/// Table files on their way into a database; leftovers are removed in the end.
struct BulkFiles {
    paths: Vec<PathBuf>,
}

impl Drop for BulkFiles {
    fn drop(&mut self) {
        for path in &self.paths {
            // after a move into the database it no longer exists
            let _ = fs::remove_file(path);
        }
    }
}

/// Memory that a thread uses again for each operation; empty when taken.
#[derive(Default)]
pub(super) struct Scratch {
    /// A stored key.
    pub(super) key: Vec<u8>,
    /// A stored record.
    pub(super) value: Vec<u8>,
    /// A record read.
    pub(super) record: Record,
}

thread_local!(static SPARE: Cell<Option<Box<Scratch>>> = const { Cell::new(None) });

impl Scratch {
    /// This thread's, or new.
    pub(super) fn take() -> Lent {
        let mut scratch = SPARE.take().unwrap_or_default();
        scratch.key.clear();
        scratch.value.clear();
        Lent(scratch)
    }
}

/// Returns its memory to the thread when dropped.
pub(super) struct Lent(Box<Scratch>);

impl Deref for Lent {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        SPARE.set(Some(std::mem::take(&mut self.0)));
    }
}
