//! An open database: reading, writing, and operations on all of it. Not here: objects that work on
//! a part of it (`iterator`, `transaction`, `table_writer`, `backup`), rewriting single files
//! (`rewrite`).
//!
//! The rules of `ffi` hold here, too.

use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::c;
use super::cache::Cache;
use super::call::{as_bytes, call, call_with_sink, deliver, path_bytes};
use super::env::{Env, IoCounts};
use super::error::Error;
use crate::meter::CipherWork;

/// Treatment by a compaction of table files that are already in the bottommost level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottommost {
    /// They stay unchanged, where nothing from above must be merged into them.
    Leave,
    /// They are rewritten, and with a sealed environment re-encrypted.
    Rewrite,
}

/// An open RocksDB database. Ends (and gives up its lock) when dropped; [`Db::close`] also returns
/// the outcome.
///
/// Keys and values are any bytes. All methods may be called from many threads at once.
#[derive(Debug)]
pub struct Db {
    pub(super) db: NonNull<c::Db>,
    transactions: bool,
    cache: Option<Arc<Cache>>,
    pub(super) env: Arc<Env>,
    dir: PathBuf,
}

// SAFETY: a RocksDB database may be used from any thread.
unsafe impl Send for Db {}
// SAFETY: a RocksDB database serves many threads at once.
unsafe impl Sync for Db {}

/// Abilities of a database, besides RocksDB's own options.
pub(crate) struct Abilities {
    /// True for a TransactionDB.
    pub(crate) transactions: bool,
    /// True if reads compare RocksDB's own checksum of each block.
    pub(crate) block_checksums: bool,
}

impl Db {
    /// Opens the database in `path` with RocksDB's options text `options`.
    pub(crate) fn open(
        env: Arc<Env>,
        path: &Path,
        options: &str,
        cache: Option<Arc<Cache>>,
        Abilities { transactions, block_checksums }: Abilities,
    ) -> Result<Self, Error> {
        let mut db = ptr::null_mut();
        let name = path_bytes(path);
        let flags = c::STATISTICS
            | if transactions { c::TRANSACTIONS } else { 0 }
            | if block_checksums { 0 } else { c::UNCHECKED };
        let cache_pointer =
            cache.as_ref().map_or(ptr::null(), |cache| cache.0.as_ptr().cast_const());
        // SAFETY: rule *Slices*; `env` and `cache` outlive the database because it keeps their
        // `Arc`s.
        call(|error| unsafe {
            c::sealstone_db_open(
                env.0.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                options.as_ptr().cast(),
                options.len(),
                cache_pointer,
                flags,
                &mut db,
                error,
            )
        })?;
        let db = NonNull::new(db).expect("the shim fills it in when it succeeds");
        Ok(Self { db, transactions, cache, env, dir: path.to_owned() })
    }

    /// Opens the existing database in `path` with the options and all the column families that it
    /// was last opened with. `strict_log`: damage in the middle of a log is an error in any case.
    pub(crate) fn open_stored(env: Arc<Env>, path: &Path, strict_log: bool) -> Result<Self, Error> {
        let mut db = ptr::null_mut();
        let name = path_bytes(path);
        // SAFETY: rule *Slices*; `env` outlives the database because it keeps its `Arc`.
        call(|error| unsafe {
            c::sealstone_db_open_stored(
                env.0.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                i32::from(strict_log),
                &mut db,
                error,
            )
        })?;
        let db = NonNull::new(db).expect("the shim fills it in when it succeeds");
        Ok(Self { db, transactions: false, cache: None, env, dir: path.to_owned() })
    }

    /// Opens the existing database in `path` for reading only: writes nothing and takes no lock.
    /// Reads are of the last of `families`, which are opened with the default one.
    pub(crate) fn open_for_reading(
        env: Arc<Env>,
        path: &Path,
        families: &[&str],
    ) -> Result<Self, Error> {
        let mut db = ptr::null_mut();
        let name = path_bytes(path);
        let families: Vec<c::Bytes> =
            families.iter().map(|family| as_bytes(family.as_bytes())).collect();
        // SAFETY: rule *Slices*; `families` holds as many slices as stated; `env` outlives the
        // database because it keeps its `Arc`.
        call(|error| unsafe {
            c::sealstone_db_open_for_reading(
                env.0.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                families.len(),
                families.as_ptr(),
                &mut db,
                error,
            )
        })?;
        let db = NonNull::new(db).expect("the shim fills it in when it succeeds");
        Ok(Self { db, transactions: false, cache: None, env, dir: path.to_owned() })
    }

    /// Ends the database: syncs its log, so that no part of it can be cut off later unnoticed, and
    /// returns whether its last writes succeeded. Dropping it does the same without a report.
    ///
    /// # Errors
    /// I/O.
    pub fn close(self) -> Result<(), Error> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped and its `db` not used again, so it is closed once.
        let closed = call(|error| unsafe { c::sealstone_db_close(this.db.as_ptr(), error) });
        // SAFETY: the fields are dropped once, after the database that needs them, and not used
        // again.
        unsafe {
            ptr::drop_in_place(&mut this.cache);
            ptr::drop_in_place(&mut this.env);
            ptr::drop_in_place(&mut this.dir);
        }
        closed
    }

    /// Returns the directory it was opened in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the environment it stores its files in.
    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    /// Returns the counts of what all databases of the environment have read and written below the
    /// seal so far.
    pub fn io(&self) -> IoCounts {
        self.env.io()
    }

    /// Returns the counts of what the seal has encrypted and decrypted so far, for all databases of
    /// the environment; zero without a seal.
    pub fn cipher_work(&self) -> CipherWork {
        self.env.sealed_files().map(|files| files.cipher_work()).unwrap_or_default()
    }

    /// Empties its block cache, where it was opened with its own cache.
    pub fn empty_cache(&self) {
        if let Some(cache) = &self.cache {
            cache.empty();
        }
    }

    /// Returns whether the database was opened for transactions.
    pub fn has_transactions(&self) -> bool {
        self.transactions
    }

    /// Looks `key` up and hands its value to `found`, during the call. Returns whether it was
    /// there.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication.
    pub fn get_with(&self, key: &[u8], mut found: impl FnMut(&[u8])) -> Result<bool, Error> {
        let mut there = 0;
        // SAFETY: rules *Owner* and *Slices*; `sink` is the context that `deliver` expects and
        // outlives the call.
        call_with_sink(&mut |_, value| found(value), |sink, error| unsafe {
            c::sealstone_db_get(
                self.db.as_ptr(),
                key.as_ptr(),
                key.len(),
                deliver,
                sink,
                &mut there,
                error,
            )
        })?;
        Ok(there != 0)
    }

    /// Returns the value of `key`, if it is there.
    ///
    /// # Errors
    /// As [`Db::get_with`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = None;
        self.get_with(key, |found| value = Some(found.to_vec()))?;
        Ok(value)
    }

    /// Returns the values of several keys, in their order, read together.
    ///
    /// # Errors
    /// As [`Db::get_with`].
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let names: Vec<c::Bytes> = keys.iter().map(|key| as_bytes(key)).collect();
        let mut values = vec![None; keys.len()];
        let mut found = |index: usize, value: &[u8]| values[index] = Some(value.to_vec());
        // SAFETY: as in `get_with`; `names` holds as many slices as stated.
        call_with_sink(&mut found, |sink, error| unsafe {
            c::sealstone_db_multi_get(
                self.db.as_ptr(),
                names.len(),
                names.as_ptr(),
                deliver,
                sink,
                error,
            )
        })?;
        Ok(values)
    }

    /// Writes `value` under `key`, new or not. With `sync` it is on stable storage on return;
    /// without, a crash of the machine (not of the process) may lose it.
    ///
    /// # Errors
    /// I/O, a full disk, a lock held too long by a transaction.
    pub fn put(&self, key: &[u8], value: &[u8], sync: bool) -> Result<(), Error> {
        self.put_locked(key, value, sync, self.transactions)
    }

    /// As [`Db::put`]; without `locked` it ignores transactions: for databases in which none is in
    /// progress.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn put_locked(
        &self,
        key: &[u8],
        value: &[u8],
        sync: bool,
        locked: bool,
    ) -> Result<(), Error> {
        self.env.about_to_write();
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_db_put(
                self.db.as_ptr(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                i32::from(sync),
                i32::from(locked),
                error,
            )
        })
    }

    /// Removes `key`, if it is there.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn delete(&self, key: &[u8], sync: bool) -> Result<(), Error> {
        self.env.about_to_write();
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_db_delete(
                self.db.as_ptr(),
                key.as_ptr(),
                key.len(),
                i32::from(sync),
                error,
            )
        })
    }

    /// Writes data in memory into table files.
    ///
    /// # Errors
    /// I/O, a full disk.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_flush(self.db.as_ptr(), error) })
    }

    /// Brings the write-ahead log to stable storage.
    ///
    /// # Errors
    /// I/O.
    pub fn sync_wal(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_sync_wal(self.db.as_ptr(), error) })
    }

    /// Writes data in memory into table files and merges all levels into the bottommost one.
    ///
    /// # Errors
    /// I/O, a full disk, corruption.
    pub fn compact(&self, bottommost: Bottommost) -> Result<(), Error> {
        let rewrite = i32::from(bottommost == Bottommost::Rewrite);
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_compact(self.db.as_ptr(), rewrite, error) })
    }

    /// Reads every table file and checks RocksDB's own checksums.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify_checksum(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_verify_checksum(self.db.as_ptr(), error) })
    }

    /// Makes a copy of the database as of now in `path`, which must not exist; table files are
    /// hard-linked.
    ///
    /// # Errors
    /// I/O, an existing `path`.
    pub fn checkpoint(&self, path: &Path) -> Result<(), Error> {
        let name = path_bytes(path);
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_db_checkpoint(self.db.as_ptr(), name.as_ptr().cast(), name.len(), error)
        })
    }

    /// Returns an integer property, such as `rocksdb.num-running-compactions`; absent where RocksDB
    /// has no such property.
    pub fn property(&self, name: &str) -> Option<u64> {
        let mut value = 0;
        // SAFETY: rules *Owner* and *Slices*.
        let known = unsafe {
            c::sealstone_db_property(self.db.as_ptr(), name.as_ptr().cast(), name.len(), &mut value)
        };
        (known != 0).then_some(value)
    }

    /// Returns the data block lookups since opening that the block cache answered, and the lookups
    /// that missed it.
    pub fn cache_counts(&self) -> (u64, u64) {
        let (mut hits, mut misses) = (0, 0);
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_db_cache_counts(self.db.as_ptr(), &mut hits, &mut misses) };
        (hits, misses)
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; `close` never lets this run.
        let _ = call(|error| unsafe { c::sealstone_db_close(self.db.as_ptr(), error) });
    }
}
