//! The boundary for databases with column families and prepared transactions (`shim/families.cc`).
//!
//! The rules of `ffi` hold here, too.

use std::ffi::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};

use sealstone_rocksdb::Error;
use sealstone_rocksdb::testing::{ForeignEnv, Sink, call, call_with_sink};

use super::bytes::{Bytes, as_bytes};

#[repr(C)]
struct RawFamilies {
    _private: [u8; 0],
}

#[repr(C)]
struct RawWrite {
    family: u32,
    key: Bytes,
    value: Bytes,
}

unsafe extern "C" {
    fn sealstone_families_open(
        env: *const c_void,
        path: *const c_char,
        path_bytes: usize,
        options: *const c_char,
        options_bytes: usize,
        count: usize,
        names: *const Bytes,
        transactions: i32,
        db: *mut *mut RawFamilies,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_close(db: *mut RawFamilies, error: *mut c_void) -> i32;
    fn sealstone_families_write(
        db: *mut RawFamilies,
        count: usize,
        writes: *const RawWrite,
        sync: i32,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_scan(
        db: *mut RawFamilies,
        family: u32,
        sink: Sink,
        context: *mut c_void,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_get(
        db: *mut RawFamilies,
        family: u32,
        key: *const u8,
        key_bytes: usize,
        sink: Sink,
        context: *mut c_void,
        found: *mut i32,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_sync_wal(db: *mut RawFamilies, error: *mut c_void) -> i32;
    fn sealstone_families_flush(db: *mut RawFamilies, family: u32, error: *mut c_void) -> i32;
    fn sealstone_families_compact(db: *mut RawFamilies, family: u32, error: *mut c_void) -> i32;
    fn sealstone_families_rewrite(
        db: *mut RawFamilies,
        tables: *mut u64,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_checkpoint(
        db: *mut RawFamilies,
        path: *const c_char,
        path_bytes: usize,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_prepare(
        db: *mut RawFamilies,
        name: *const c_char,
        name_bytes: usize,
        count: usize,
        writes: *const RawWrite,
        sync: i32,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_end(
        db: *mut RawFamilies,
        name: *const c_char,
        name_bytes: usize,
        commit: i32,
        sync: i32,
        error: *mut c_void,
    ) -> i32;
    fn sealstone_families_prepared(db: *mut RawFamilies, sink: Sink, context: *mut c_void);
}

/// One write: to which family (0 is `default`, then as named at opening), under which key, and the
/// value; absent: a removal.
#[derive(Clone, Copy, Debug)]
pub struct FamilyWrite<'a> {
    /// Index of the column family.
    pub family: u32,
    /// The key.
    pub key: &'a [u8],
    /// The value; absent: the key is removed.
    pub value: Option<&'a [u8]>,
}

/// An open database with several column families. Ends when dropped; [`FamilyDb::close`] also
/// returns the outcome.
#[derive(Debug)]
pub struct FamilyDb {
    db: NonNull<RawFamilies>,
    /// Number of families that the database has.
    families: u32,
    // ended after the database
    env: ForeignEnv,
}

// SAFETY: a RocksDB database may be used from any thread, and this one through `&mut` by one at a
// time.
unsafe impl Send for FamilyDb {}

impl FamilyDb {
    /// Opens the database in `path` with RocksDB's options text, the families `default` and
    /// `names`, and prepared transactions where `transactions` is set.
    pub(crate) fn open(
        env: ForeignEnv,
        path: &Path,
        options: &str,
        names: &[&str],
        transactions: bool,
    ) -> Result<Self, Error> {
        let mut db = ptr::null_mut();
        let name = path.as_os_str().as_bytes();
        let families: Vec<Bytes> = names.iter().map(|name| as_bytes(name.as_bytes())).collect();
        // SAFETY: rule *Slices*; `env` outlives the database because it keeps a clone.
        call(|error| unsafe {
            sealstone_families_open(
                env.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                options.as_ptr().cast(),
                options.len(),
                families.len(),
                families.as_ptr(),
                i32::from(transactions),
                &mut db,
                error,
            )
        })?;
        let db = NonNull::new(db).expect("the shim fills it in when it succeeds");
        Ok(Self { db, families: 1 + families.len() as u32, env })
    }

    /// Ends the database and returns whether its last writes succeeded. Prepared transactions stay
    /// prepared.
    ///
    /// # Errors
    /// I/O.
    pub fn close(self) -> Result<(), Error> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped and its `db` not used again, so it is closed once.
        let closed = call(|error| unsafe { sealstone_families_close(this.db.as_ptr(), error) });
        // SAFETY: dropped once, after the database that needs it, and not used again.
        unsafe { ptr::drop_in_place(&mut this.env) };
        closed
    }

    /// Returns `writes` as the shim reads them, valid as long as they are.
    fn raw(&self, writes: &[FamilyWrite<'_>]) -> Vec<RawWrite> {
        let none = Bytes { data: ptr::null(), bytes: 0 };
        let raw = |write: &FamilyWrite<'_>| {
            assert!(write.family < self.families, "no family {}", write.family);
            RawWrite {
                family: write.family,
                key: as_bytes(write.key),
                value: write.value.map_or(none, as_bytes),
            }
        };
        writes.iter().map(raw).collect()
    }

    /// Writes all of `writes`, or none of them; with `sync` they are on stable storage on return.
    ///
    /// # Errors
    /// I/O, a full disk; then a crash may still leave them.
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn write(&mut self, writes: &[FamilyWrite<'_>], sync: bool) -> Result<(), Error> {
        let raw = self.raw(writes);
        // SAFETY: rules *Owner* and *Slices*; families were checked.
        call(|error| unsafe {
            sealstone_families_write(
                self.db.as_ptr(),
                raw.len(),
                raw.as_ptr(),
                i32::from(sync),
                error,
            )
        })
    }

    /// Hands every key of `family` with its value to `found`, in order.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication.
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn scan(&mut self, family: u32, mut found: impl FnMut(&[u8], &[u8])) -> Result<(), Error> {
        assert!(family < self.families, "no family {family}");
        let mut key = Vec::new();
        let mut part = |index: usize, bytes: &[u8]| {
            if index.is_multiple_of(2) {
                key = bytes.to_vec();
            } else {
                found(&key, bytes);
            }
        };
        // SAFETY: rule *Owner*; `sink` is the context of `deliver` and outlives the call.
        call_with_sink(&mut part, |deliver, sink, error| unsafe {
            sealstone_families_scan(self.db.as_ptr(), family, deliver, sink, error)
        })
    }

    /// Returns the value of `key` in `family`, if it is there.
    ///
    /// # Errors
    /// As [`FamilyDb::scan`].
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn get(&mut self, family: u32, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        assert!(family < self.families, "no family {family}");
        let (mut value, mut there) = (None, 0);
        let mut found = |_: usize, bytes: &[u8]| value = Some(bytes.to_vec());
        // SAFETY: rules *Owner* and *Slices*; `sink` is the context of `deliver` and outlives the
        // call.
        call_with_sink(&mut found, |deliver, sink, error| unsafe {
            let db = self.db.as_ptr();
            sealstone_families_get(
                db,
                family,
                key.as_ptr(),
                key.len(),
                deliver,
                sink,
                &mut there,
                error,
            )
        })?;
        Ok(value)
    }

    /// Brings the write-ahead log to stable storage.
    ///
    /// # Errors
    /// I/O.
    pub fn sync_wal(&mut self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { sealstone_families_sync_wal(self.db.as_ptr(), error) })
    }

    /// Writes what `family` has in memory into a table file.
    ///
    /// # Errors
    /// I/O, a full disk.
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn flush(&mut self, family: u32) -> Result<(), Error> {
        assert!(family < self.families, "no family {family}");
        // SAFETY: rule *Owner*.
        call(|error| unsafe { sealstone_families_flush(self.db.as_ptr(), family, error) })
    }

    /// Merges all levels of `family` into the bottommost one, rewriting that, too.
    ///
    /// # Errors
    /// I/O, a full disk, corruption.
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn compact(&mut self, family: u32) -> Result<(), Error> {
        assert!(family < self.families, "no family {family}");
        // SAFETY: rule *Owner*.
        call(|error| unsafe { sealstone_families_compact(self.db.as_ptr(), family, error) })
    }

    /// Flushes every family and rewrites every table into its own level, as resealing does. Returns
    /// how many tables.
    ///
    /// # Errors
    /// I/O, a full disk, corruption.
    pub fn rewrite_tables(&mut self) -> Result<u64, Error> {
        let mut tables = 0;
        // SAFETY: rule *Owner*.
        call(|error| unsafe { sealstone_families_rewrite(self.db.as_ptr(), &mut tables, error) })?;
        Ok(tables)
    }

    /// Makes a copy of the database as of now in `path`, which must not exist; table files are
    /// hard-linked.
    ///
    /// # Errors
    /// I/O, an existing `path`.
    pub fn checkpoint(&mut self, path: &Path) -> Result<(), Error> {
        let name = path.as_os_str().as_bytes();
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            sealstone_families_checkpoint(self.db.as_ptr(), name.as_ptr().cast(), name.len(), error)
        })
    }

    /// Makes `writes` in a transaction called `name` and prepares it, the first phase of a commit.
    ///
    /// # Errors
    /// I/O, a lock of another transaction, a database without transactions.
    ///
    /// # Panics
    /// On a family that the database does not have.
    pub fn prepare(
        &mut self,
        name: &str,
        writes: &[FamilyWrite<'_>],
        sync: bool,
    ) -> Result<(), Error> {
        let raw = self.raw(writes);
        // SAFETY: rules *Owner* and *Slices*; families were checked.
        call(|error| unsafe {
            let db = self.db.as_ptr();
            let (text, bytes) = (name.as_ptr().cast(), name.len());
            sealstone_families_prepare(
                db,
                text,
                bytes,
                raw.len(),
                raw.as_ptr(),
                i32::from(sync),
                error,
            )
        })
    }

    /// Commits or rolls back the prepared transaction called `name`, also one of an earlier
    /// opening.
    ///
    /// # Errors
    /// I/O, an unknown transaction.
    pub fn end(&mut self, name: &str, commit: bool, sync: bool) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            let db = self.db.as_ptr();
            sealstone_families_end(
                db,
                name.as_ptr().cast(),
                name.len(),
                i32::from(commit),
                i32::from(sync),
                error,
            )
        })
    }

    /// Returns the names of the transactions that are prepared and wait for their end.
    pub fn prepared(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let mut found =
            |_: usize, name: &[u8]| names.push(String::from_utf8_lossy(name).into_owned());
        // SAFETY: rule *Owner*; `sink` is the context of `deliver` and outlives the call.
        let got = call_with_sink(&mut found, |deliver, sink, _| unsafe {
            sealstone_families_prepared(self.db.as_ptr(), deliver, sink);
            0
        });
        debug_assert!(got.is_ok(), "it cannot fail");
        names
    }
}

impl Drop for FamilyDb {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; `close` never lets this run.
        let _ = call(|error| unsafe { sealstone_families_close(self.db.as_ptr(), error) });
    }
}
