//! The boundary to RocksDB: C declarations of the shim, the callbacks it makes, and small owned wrappers around its
//! objects. With the files below `ffi/`, the only one of this crate with `unsafe`; everything else is built on the wrappers.
//!
//! What crosses the boundary is described in `shim/sealstone.h`. Not here: sealing (`file_system`), settings
//! (`engine`), records (`store`).
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Owner.* Each wrapper holds the one pointer to its object, got from a `_new` or `_open` function and not null, and
//!   gives it to the matching `_free` once, in `Drop`. Lifetimes and `Arc`s keep alive what an object needs.
//! - *Slices.* Pointer and length always come from one live Rust slice, or from the shim, which promises bytes that
//!   stay valid until the next call on the same object; they are copied or borrowed no longer than that.
//! - *Threads.* `Env`, `Cache` and `Db` serve many threads at once, as the header says, hence `Sync`. The others are
//!   used through `&mut` by one thread at a time, hence only `Send`.
//! - *Panics.* No panic leaves a callback: each is caught, and told to the shim as an error or resumed once the shim has
//!   returned. Nor does an exception leave the shim: where there is no memory for an object, it gives null, and that is a
//!   panic here.

use std::any::Any;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::catalogue::raw::{RawError, RawFiles, RawUpdate};
use crate::file_system::{Failure, RawFailed, RawRead, Reader, SealedFiles, Syncer, Writer};
use crate::pace;

#[cfg(feature = "simulator")]
pub(crate) mod base;
#[cfg(feature = "simulator")]
pub(crate) mod families;

/// What RocksDB said when a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// The kind of failure.
    pub code: Code,
    /// RocksDB's own words, with file names.
    pub text: String,
}

/// Kinds of failure, as far as callers act differently on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Data that does not authenticate, does not fit its checksum or is missing.
    Corruption,
    /// A combination that this build of RocksDB cannot do.
    NotSupported,
    /// A wrong argument, also a key that is missing or wrong.
    InvalidArgument,
    /// The operating system refused.
    Io,
    /// No room left on the device.
    NoSpace,
    /// A lock of another transaction was in the way: roll back and try again.
    Conflict,
    /// Anything else.
    Other,
}

impl Code {
    /// From `Status::Code` and `Status::SubCode`.
    fn new(code: i32, subcode: i32) -> Self {
        const NO_SPACE: i32 = 4;
        match code {
            2 => Self::Corruption,
            3 => Self::NotSupported,
            4 => Self::InvalidArgument,
            5 if subcode == NO_SPACE => Self::NoSpace,
            5 => Self::Io,
            9 | 11 | 12 | 13 => Self::Conflict,
            _ => Self::Other,
        }
    }
}

mod c {
    //! The declarations of `shim/sealstone.h`, one to one and in its order.

    use std::ffi::{c_char, c_void};

    #[repr(C)]
    pub(super) struct Error {
        pub(super) code: i32,
        pub(super) subcode: i32,
        pub(super) text: *mut c_char,
        pub(super) text_bytes: usize,
    }

    pub(super) const OK: i32 = 0;
    pub(super) const DAMAGED: i32 = 1;
    pub(super) const REFUSED: i32 = 2;
    pub(super) const READ_FAILED: i32 = 3;
    pub(super) const BUG: i32 = 4;
    pub(super) const IO_FAILED: i32 = 5;

    #[repr(C)]
    pub(super) struct Message {
        pub(super) text: [u8; 1024],
        pub(super) text_bytes: usize,
    }

    #[repr(C)]
    pub(super) struct Raw {
        pub(super) file: *const c_void,
        pub(super) read: unsafe extern "C" fn(*const c_void, u64, usize, *mut u8, *mut usize) -> i32,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub(super) struct Bytes {
        pub(super) data: *const u8,
        pub(super) bytes: usize,
    }

    #[repr(C)]
    pub(super) struct Mark {
        pub(super) offset: u64,
        pub(super) bytes: [u8; 16],
        pub(super) bytes_used: usize,
    }

    pub(super) const FILES_OK: i32 = 0;
    pub(super) const FILES_NOT_FOUND: i32 = 1;

    type OnPath = unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut Message) -> i32;
    type OnTwoPaths =
        unsafe extern "C" fn(*const c_void, *const c_char, usize, *const c_char, usize, *mut Message) -> i32;

    #[repr(C)]
    pub(super) struct Files {
        pub(super) files: *const c_void,
        pub(super) read:
            unsafe extern "C" fn(*const c_void, *const c_char, usize, usize, Sink, *mut c_void, *mut Message) -> i32,
        pub(super) create:
            unsafe extern "C" fn(*const c_void, *const c_char, usize, *const u8, usize, *mut Message) -> i32,
        pub(super) update:
            unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut *mut c_void, *mut Message) -> i32,
        pub(super) write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, *mut Message) -> i32,
        pub(super) sync: unsafe extern "C" fn(*mut c_void, *mut Message) -> i32,
        pub(super) update_free: unsafe extern "C" fn(*mut c_void),
        pub(super) rename: OnTwoPaths,
        pub(super) remove: OnPath,
        pub(super) sync_directory: OnPath,
        pub(super) names:
            unsafe extern "C" fn(*const c_void, *const c_char, usize, Sink, *mut c_void, *mut Message) -> i32,
    }

    type Create = unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        *mut *mut c_void,
        *mut *mut c_void,
        *mut Bytes,
        *mut Message,
    ) -> i32;
    type Open = unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        u64,
        *const Raw,
        *mut *mut c_void,
        *mut u64,
        *mut Message,
    ) -> i32;
    type Read = unsafe extern "C" fn(*const c_void, *const Raw, u64, usize, *mut u8, *mut usize, *mut Message) -> i32;

    #[repr(C)]
    pub(super) struct SealOps {
        pub(super) release: unsafe extern "C" fn(*const c_void),
        pub(super) attach: unsafe extern "C" fn(*const c_void, *const Files),
        pub(super) create: Create,
        pub(super) append: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut Bytes, *mut Message) -> i32,
        pub(super) appended: extern "C" fn(usize),
        pub(super) finish: unsafe extern "C" fn(*mut c_void, *mut Bytes, *mut Message) -> i32,
        pub(super) writer_free: unsafe extern "C" fn(*mut c_void),
        pub(super) before_sync: unsafe extern "C" fn(*const c_void, *mut Message) -> i32,
        pub(super) synced: unsafe extern "C" fn(*const c_void, u64, *mut Mark, *mut Message) -> i32,
        pub(super) syncer_free: unsafe extern "C" fn(*mut c_void),
        pub(super) open: Open,
        pub(super) read: Read,
        pub(super) size: unsafe extern "C" fn(*const c_void, *const Raw, *mut u64, *mut Message) -> i32,
        pub(super) reader_free: unsafe extern "C" fn(*mut c_void),
        pub(super) remove: unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut i32, *mut Message) -> i32,
        pub(super) link: OnTwoPaths,
        pub(super) rename: OnTwoPaths,
        pub(super) renamed:
            unsafe extern "C" fn(*const c_void, *const c_char, usize, *const c_char, usize, i32, *mut Message) -> i32,
        pub(super) hides: unsafe extern "C" fn(*const c_void, *const c_char, usize) -> i32,
        pub(super) locked: OnPath,
        pub(super) unlocked: OnPath,
        pub(super) remove_directory: OnPath,
    }

    #[repr(C)]
    #[derive(Default)]
    pub(super) struct Io {
        pub(super) read_bytes: u64,
        pub(super) written_bytes: u64,
        pub(super) wall_ns: u64,
        pub(super) cpu_ns: u64,
    }

    pub(super) const BASE_DEFAULT: u32 = 0;
    pub(super) const BASE_MEMORY: u32 = 1;
    pub(super) const TRANSACTIONS: u32 = 1;
    pub(super) const STATISTICS: u32 = 2;

    pub(super) type Sink = unsafe extern "C" fn(*mut c_void, usize, *const u8, usize);

    #[repr(C)]
    pub(super) struct IteratorOptions {
        pub(super) readahead_bytes: u64,
        pub(super) fill_cache: i32,
        pub(super) lower: Bytes,
        pub(super) upper: Bytes,
    }

    #[repr(C)]
    pub(super) struct Entry {
        pub(super) valid: i32,
        pub(super) key: Bytes,
        pub(super) value: Bytes,
    }

    #[repr(C)]
    pub(super) struct LiveFile {
        pub(super) directory: Bytes,
        pub(super) name: Bytes,
        pub(super) number: u64,
        pub(super) bytes: u64,
        pub(super) oldest_blob: u64,
        pub(super) family: u32,
        pub(super) level: i32,
    }

    pub(super) type LiveFileSink = unsafe extern "C" fn(*mut c_void, *const LiveFile);

    pub(super) const REWRITTEN: i32 = 0;
    pub(super) const IN_USE: i32 = 1;

    /// Declares types that only the shim looks into.
    macro_rules! opaque {
        ($($name:ident),*) => { $(#[repr(C)] pub(super) struct $name { _private: [u8; 0] })* };
    }
    opaque!(Env, Cache, Db, Batch, Iterator, Transaction, TableWriter, Backup);

    unsafe extern "C" {
        pub(super) fn sealstone_text_free(text: *mut c_char);

        pub(super) fn sealstone_env_new(base: u32, count: i32, ops: *const SealOps, seal: *const c_void) -> *mut Env;
        pub(super) fn sealstone_env_free(env: *mut Env);
        pub(super) fn sealstone_env_io(env: *const Env, into: *mut Io);
        #[cfg(feature = "rust-rocksdb")]
        pub(super) fn sealstone_env_into_c(env: *mut Env) -> *mut c_void;

        pub(super) fn sealstone_cache_new(capacity_bytes: u64) -> *mut Cache;
        pub(super) fn sealstone_cache_free(cache: *mut Cache);
        pub(super) fn sealstone_cache_empty(cache: *mut Cache);

        pub(super) fn sealstone_db_open(
            env: *const Env,
            path: *const c_char,
            path_bytes: usize,
            options: *const c_char,
            options_bytes: usize,
            cache: *const Cache,
            flags: u32,
            db: *mut *mut Db,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_open_stored(
            env: *const Env,
            path: *const c_char,
            path_bytes: usize,
            strict_log: i32,
            db: *mut *mut Db,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_close(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_get(
            db: *mut Db,
            key: *const u8,
            key_bytes: usize,
            sink: Sink,
            context: *mut c_void,
            found: *mut i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_multi_get(
            db: *mut Db,
            count: usize,
            keys: *const Bytes,
            sink: Sink,
            context: *mut c_void,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_put(
            db: *mut Db,
            key: *const u8,
            key_bytes: usize,
            value: *const u8,
            value_bytes: usize,
            sync: i32,
            locked: i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_delete(
            db: *mut Db,
            key: *const u8,
            key_bytes: usize,
            sync: i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_flush(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_sync_wal(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_compact(db: *mut Db, rewrite: i32, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_verify_checksum(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_checkpoint(
            db: *mut Db,
            path: *const c_char,
            path_bytes: usize,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_ingest(
            db: *mut Db,
            count: usize,
            paths: *const Bytes,
            move_files: i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_property(
            db: *mut Db,
            name: *const c_char,
            name_bytes: usize,
            value: *mut u64,
        ) -> i32;
        pub(super) fn sealstone_db_cache_counts(db: *const Db, hits: *mut u64, misses: *mut u64);

        pub(super) fn sealstone_db_live_files(
            db: *mut Db,
            sink: LiveFileSink,
            context: *mut c_void,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_rewrite(
            db: *mut Db,
            family: u32,
            directory: *const c_char,
            directory_bytes: usize,
            name: *const c_char,
            name_bytes: usize,
            level: i32,
            outcome: *mut i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_db_move_blobs(db: *mut Db, on: i32, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_flush_all(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_sweep(db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_db_compactions(db: *const Db, begun: *mut u64, ended: *mut u64);
        pub(super) fn sealstone_db_log_directory(
            db: *mut Db,
            sink: Sink,
            context: *mut c_void,
            error: *mut Error,
        ) -> i32;
        #[cfg(test)]
        pub(super) fn sealstone_db_family_create(
            db: *mut Db,
            name: *const c_char,
            name_bytes: usize,
            error: *mut Error,
        ) -> i32;
        #[cfg(test)]
        pub(super) fn sealstone_db_family_drop(db: *mut Db, error: *mut Error) -> i32;
        #[cfg(test)]
        pub(super) fn sealstone_db_family_put(
            db: *mut Db,
            family: u32,
            key: *const u8,
            key_bytes: usize,
            value: *const u8,
            value_bytes: usize,
            error: *mut Error,
        ) -> i32;
        #[cfg(test)]
        pub(super) fn sealstone_db_family_compact(db: *mut Db, family: u32, error: *mut Error) -> i32;

        pub(super) fn sealstone_batch_new() -> *mut Batch;
        pub(super) fn sealstone_batch_free(batch: *mut Batch);
        pub(super) fn sealstone_batch_put(
            batch: *mut Batch,
            key: *const u8,
            key_bytes: usize,
            value: *const u8,
            value_bytes: usize,
        );
        pub(super) fn sealstone_batch_delete(batch: *mut Batch, key: *const u8, key_bytes: usize);
        pub(super) fn sealstone_db_write(db: *mut Db, batch: *mut Batch, sync: i32, error: *mut Error) -> i32;

        pub(super) fn sealstone_iterator_new(db: *mut Db, options: *const IteratorOptions) -> *mut Iterator;
        pub(super) fn sealstone_iterator_free(iterator: *mut Iterator);
        pub(super) fn sealstone_iterator_first(iterator: *mut Iterator, entry: *mut Entry);
        pub(super) fn sealstone_iterator_last(iterator: *mut Iterator, entry: *mut Entry);
        pub(super) fn sealstone_iterator_seek(
            iterator: *mut Iterator,
            key: *const u8,
            key_bytes: usize,
            entry: *mut Entry,
        );
        pub(super) fn sealstone_iterator_seek_for_prev(
            iterator: *mut Iterator,
            key: *const u8,
            key_bytes: usize,
            entry: *mut Entry,
        );
        pub(super) fn sealstone_iterator_next(iterator: *mut Iterator, entry: *mut Entry);
        pub(super) fn sealstone_iterator_prev(iterator: *mut Iterator, entry: *mut Entry);
        pub(super) fn sealstone_iterator_status(iterator: *const Iterator, error: *mut Error) -> i32;

        pub(super) fn sealstone_transaction_new(db: *mut Db, sync: i32) -> *mut Transaction;
        pub(super) fn sealstone_transaction_free(transaction: *mut Transaction);
        pub(super) fn sealstone_transaction_restart(db: *mut Db, transaction: *mut Transaction, sync: i32);
        pub(super) fn sealstone_transaction_get(
            transaction: *mut Transaction,
            key: *const u8,
            key_bytes: usize,
            for_update: i32,
            sink: Sink,
            context: *mut c_void,
            found: *mut i32,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_transaction_put(
            transaction: *mut Transaction,
            key: *const u8,
            key_bytes: usize,
            value: *const u8,
            value_bytes: usize,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_transaction_delete(
            transaction: *mut Transaction,
            key: *const u8,
            key_bytes: usize,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_transaction_commit(transaction: *mut Transaction, error: *mut Error) -> i32;
        pub(super) fn sealstone_transaction_rollback(transaction: *mut Transaction, error: *mut Error) -> i32;

        pub(super) fn sealstone_table_writer_open(
            db: *mut Db,
            path: *const c_char,
            path_bytes: usize,
            writer: *mut *mut TableWriter,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_table_writer_free(writer: *mut TableWriter);
        pub(super) fn sealstone_table_writer_put(
            writer: *mut TableWriter,
            key: *const u8,
            key_bytes: usize,
            value: *const u8,
            value_bytes: usize,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_table_writer_bytes(writer: *mut TableWriter) -> u64;
        pub(super) fn sealstone_table_writer_finish(writer: *mut TableWriter, error: *mut Error) -> i32;

        pub(super) fn sealstone_backup_open(
            env: *const Env,
            path: *const c_char,
            path_bytes: usize,
            backup: *mut *mut Backup,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_backup_free(backup: *mut Backup);
        pub(super) fn sealstone_backup_create(backup: *mut Backup, db: *mut Db, error: *mut Error) -> i32;
        pub(super) fn sealstone_backup_verify(backup: *mut Backup, id: u32, checksums: i32, error: *mut Error) -> i32;
        pub(super) fn sealstone_backup_restore(
            backup: *mut Backup,
            path: *const c_char,
            path_bytes: usize,
            error: *mut Error,
        ) -> i32;
        pub(super) fn sealstone_backup_latest(backup: *mut Backup) -> u32;

        pub(super) fn sealstone_version(major: *mut i32, minor: *mut i32, patch: *mut i32);
    }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

/// Makes a call that fills in an error when it fails, and takes the error over.
fn call(function: impl FnOnce(*mut c::Error) -> i32) -> Result<(), Error> {
    let mut raw = c::Error { code: 0, subcode: 0, text: ptr::null_mut(), text_bytes: 0 };
    if function(&mut raw) == 0 {
        return Ok(());
    }
    let text = if raw.text.is_null() {
        "out of memory".to_owned()
    } else {
        // SAFETY: the shim promises `text_bytes` readable bytes at `text`, which is not null.
        let bytes = unsafe { std::slice::from_raw_parts(raw.text.cast::<u8>(), raw.text_bytes) };
        let text = String::from_utf8_lossy(bytes).into_owned();
        // SAFETY: ours to free, once; `bytes` is not used any more.
        unsafe { c::sealstone_text_free(raw.text) };
        text
    };
    Err(Error { code: Code::new(raw.code, raw.subcode), text })
}

/// What a panic says where the shim has no memory for an object.
const NO_MEMORY: &str = "not enough memory for an object of RocksDB";

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn as_bytes(slice: &[u8]) -> c::Bytes {
    c::Bytes { data: slice.as_ptr(), bytes: slice.len() }
}

/// A slice of what the shim points at.
///
/// # Safety
/// `bytes.data` points to `bytes.bytes` readable bytes that live and do not change for `'a`.
unsafe fn from_bytes<'a>(bytes: c::Bytes) -> &'a [u8] {
    if bytes.bytes == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(bytes.data, bytes.bytes) }
}

/// Where found values go.
struct Sink<'a> {
    /// Gets the position of the key, and the value, which lives during the call only.
    found: &'a mut dyn FnMut(usize, &[u8]),
    /// A panic of `found`, to go on once the shim has returned.
    panic: Option<Box<dyn Any + Send>>,
}

/// Passes a found value to the `Sink` that `context` points at.
///
/// # Safety
/// `context` points at a `Sink` that lives and is used by nobody else during the call, `value` at `value_bytes`
/// readable bytes.
unsafe extern "C" fn deliver(context: *mut c_void, index: usize, value: *const u8, value_bytes: usize) {
    // SAFETY: promised by the caller.
    let (sink, value) =
        unsafe { (&mut *context.cast::<Sink<'_>>(), from_bytes(c::Bytes { data: value, bytes: value_bytes })) };
    if sink.panic.is_none() {
        sink.panic = catch_unwind(AssertUnwindSafe(|| (sink.found)(index, value))).err();
    }
}

/// Makes a call that hands found values to `found`, through `deliver` and the context given.
fn call_with_sink(
    found: &mut dyn FnMut(usize, &[u8]),
    function: impl FnOnce(*mut c_void, *mut c::Error) -> i32,
) -> Result<(), Error> {
    let mut sink = Sink { found, panic: None };
    let result = call(|error| function((&raw mut sink).cast(), error));
    if let Some(panic) = sink.panic {
        resume_unwind(panic);
    }
    result
}

// ---- environments ---------------------------------------------------------------------------------------------------

/// On what an environment stores its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The operating system's files.
    Files,
    /// Memory: gone with the environment.
    Memory,
}

/// What an environment counted below the seal since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Wall time inside reads, writes and syncs, summed over threads.
    pub wall_ns: u64,
    /// CPU time of the same, extrapolated from samples.
    pub cpu_ns: u64,
}

/// An environment of RocksDB: where and how files are stored, and what seals them, which the shim shares.
#[derive(Debug)]
pub(crate) struct Env(NonNull<c::Env>, Option<Arc<SealedFiles>>);

// SAFETY: a RocksDB Env may be used from any thread.
unsafe impl Send for Env {}
// SAFETY: a RocksDB Env serves many threads at once, and so do the shim's file systems and `SealedFiles`.
unsafe impl Sync for Env {}

impl Env {
    /// An environment on `base` that counts where `count` is set, and seals where `seal` is given.
    pub(crate) fn new(base: Base, count: bool, seal: Option<SealedFiles>) -> Self {
        let base = match base {
            Base::Files => c::BASE_DEFAULT,
            Base::Memory => c::BASE_MEMORY,
        };
        let kept = seal.map(Arc::new);
        let seal = kept.as_ref().map_or(ptr::null(), |seal| Arc::into_raw(Arc::clone(seal)).cast());
        // SAFETY: the operations fit the type behind `seal`; the shim copies them and takes `seal` over.
        let env = unsafe { c::sealstone_env_new(base, i32::from(count), &SEAL_OPS, seal) };
        Self(NonNull::new(env).expect(NO_MEMORY), kept)
    }

    /// What seals its files, where they are sealed.
    pub(crate) fn sealed_files(&self) -> Option<&Arc<SealedFiles>> {
        self.1.as_ref()
    }

    /// Before a call that writes into a log.
    #[inline]
    fn about_to_write(&self) {
        if let Some(files) = &self.1 {
            files.prepare_logs();
        }
    }

    /// What was counted so far.
    pub(crate) fn io(&self) -> IoCounts {
        let mut io = c::Io::default();
        // SAFETY: rule *Owner*; `io` is ours.
        unsafe { c::sealstone_env_io(self.0.as_ptr(), &mut io) };
        IoCounts { read_bytes: io.read_bytes, written_bytes: io.written_bytes, wall_ns: io.wall_ns, cpu_ns: io.cpu_ns }
    }

    /// The environment of the crate `rocksdb`.
    #[cfg(feature = "rust-rocksdb")]
    pub(crate) fn into_rust_rocksdb(mut self) -> rocksdb::Env {
        let env = self.0.as_ptr();
        self.1 = None;
        std::mem::forget(self);
        // SAFETY: `env` was ours alone and is given away; the result is a `rocksdb_env_t` with one owner, which
        // `rocksdb::Env` ends with `rocksdb_env_destroy`.
        unsafe {
            let handle = c::sealstone_env_into_c(env);
            assert!(!handle.is_null(), "{NO_MEMORY}");
            rocksdb::Env::from_raw(handle.cast())
        }
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_env_free(self.0.as_ptr()) }
    }
}

// ---- callbacks of the sealed file system ----------------------------------------------------------------------------

/// The functions that the shim calls; `seal` is an `Arc<SealedFiles>`, a writer a `Box<Writer>`, a reader a
/// `Box<Reader>`.
static SEAL_OPS: c::SealOps = c::SealOps {
    release: seal_release,
    attach: seal_attach,
    create: seal_create,
    append: seal_append,
    appended: seal_appended,
    finish: seal_finish,
    writer_free: seal_writer_free,
    before_sync: seal_before_sync,
    synced: seal_synced,
    syncer_free: seal_syncer_free,
    open: seal_open,
    read: seal_read,
    size: seal_size,
    reader_free: seal_reader_free,
    remove: seal_remove,
    link: seal_link,
    rename: seal_rename,
    renamed: seal_renamed,
    hides: seal_hides,
    locked: seal_locked,
    unlocked: seal_unlocked,
    remove_directory: seal_remove_directory,
};

/// The file as it is stored, read through the shim.
struct ShimFile<'a>(&'a c::Raw);

impl RawRead for ShimFile<'_> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed> {
        let mut got = 0;
        // SAFETY: the shim's own function with its own file; `into` is writable for its whole length.
        let code = unsafe { (self.0.read)(self.0.file, offset, into.len(), into.as_mut_ptr(), &mut got) };
        if code != 0 || got > into.len() { Err(RawFailed) } else { Ok(got) }
    }
}

/// Runs the body of a callback; tells the shim of failures and panics.
///
/// # Safety
/// `message` points to a writable `Message`.
unsafe fn guarded(message: *mut c::Message, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return c::OK,
        Ok(Err(Failure::Raw)) => return c::READ_FAILED,
        Ok(Err(Failure::Damaged(text))) => (c::DAMAGED, text),
        Ok(Err(Failure::Refused(text))) => (c::REFUSED, text),
        Ok(Err(Failure::Io(text))) => (c::IO_FAILED, text),
        Err(_) => (c::BUG, "a bug in sealstone: a sealing function panicked, please report it".to_owned()),
    };
    // SAFETY: promised by the caller.
    let message = unsafe { &mut *message };
    let mut bytes = text.len().min(message.text.len());
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    message.text[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
    message.text_bytes = bytes;
    code
}

/// # Safety
/// `seal` is from `Arc::into_raw` and not used afterwards.
unsafe extern "C" fn seal_release(seal: *const c_void) {
    // SAFETY: promised by the caller: the shim calls this once, at the end of the file system.
    let seal = unsafe { Arc::from_raw(seal.cast::<SealedFiles>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(seal)));
}

/// The text that the shim points at.
///
/// # Safety
/// `data` points to `bytes` readable bytes.
unsafe fn text(data: *const std::ffi::c_char, bytes: usize) -> String {
    // SAFETY: promised by the caller; copied before it returns.
    String::from_utf8_lossy(unsafe { from_bytes(c::Bytes { data: data.cast(), bytes }) }).into_owned()
}

/// # Safety
/// As `shim/sealstone.h` says of `attach`.
unsafe extern "C" fn seal_attach(seal: *const c_void, files: *const c::Files) {
    // SAFETY: `seal` lives as long as the file system, and `files` until `release`, before which the last use is.
    let seal = unsafe { &*seal.cast::<SealedFiles>() };
    let _ = catch_unwind(AssertUnwindSafe(|| seal.catalogues().attach(Box::new(ShimFiles(files)))));
}

/// Makes a callback that is told of one path.
macro_rules! on_path {
    ($callback:ident, $operation:literal, $method:ident) => {
        /// # Safety
        #[doc = concat!("As `shim/sealstone.h` says of `", $operation, "`.")]
        unsafe extern "C" fn $callback(
            seal: *const c_void,
            name: *const std::ffi::c_char,
            name_bytes: usize,
            message: *mut c::Message,
        ) -> i32 {
            // SAFETY: `message` is the shim's; `seal` lives as long as the file system, `name` during the call.
            unsafe {
                guarded(message, || Ok((*seal.cast::<SealedFiles>()).catalogues().$method(&text(name, name_bytes))?))
            }
        }
    };
}
on_path!(seal_locked, "locked", locked);
on_path!(seal_unlocked, "unlocked", unlocked);
on_path!(seal_remove_directory, "remove_directory", remove_directory);

/// Makes a callback that is told of two paths.
macro_rules! on_two_paths {
    ($callback:ident, $operation:literal, $method:ident) => {
        /// # Safety
        #[doc = concat!("As `shim/sealstone.h` says of `", $operation, "`.")]
        unsafe extern "C" fn $callback(
            seal: *const c_void,
            from: *const std::ffi::c_char,
            from_bytes: usize,
            to: *const std::ffi::c_char,
            to_bytes: usize,
            message: *mut c::Message,
        ) -> i32 {
            // SAFETY: `message` is the shim's; `seal` lives as long as the file system, the names during the call.
            unsafe {
                guarded(message, || {
                    let seal = &*seal.cast::<SealedFiles>();
                    Ok(seal.catalogues().$method(&text(from, from_bytes), &text(to, to_bytes))?)
                })
            }
        }
    };
}
on_two_paths!(seal_link, "link", link);
on_two_paths!(seal_rename, "rename", rename);

/// # Safety
/// As `shim/sealstone.h` says of `renamed`.
unsafe extern "C" fn seal_renamed(
    seal: *const c_void,
    from: *const std::ffi::c_char,
    from_bytes: usize,
    to: *const std::ffi::c_char,
    to_bytes: usize,
    done: i32,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: as in `seal_rename`.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            Ok(seal.catalogues().renamed(&text(from, from_bytes), &text(to, to_bytes), done != 0)?)
        })
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `remove`.
unsafe extern "C" fn seal_remove(
    seal: *const c_void,
    name: *const std::ffi::c_char,
    name_bytes: usize,
    now: *mut i32,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `now` are the shim's; `seal` lives as long as the file system, `name` during the call.
    unsafe {
        guarded(message, || {
            *now = i32::from((*seal.cast::<SealedFiles>()).catalogues().remove(&text(name, name_bytes))?);
            Ok(())
        })
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `hides`.
unsafe extern "C" fn seal_hides(seal: *const c_void, name: *const std::ffi::c_char, name_bytes: usize) -> i32 {
    // SAFETY: `seal` lives as long as the file system, `name` during the call.
    let (seal, name) = unsafe { (&*seal.cast::<SealedFiles>(), text(name, name_bytes)) };
    catch_unwind(AssertUnwindSafe(|| seal.catalogues().hides(&name))).map_or(0, i32::from)
}

/// The stored files that the catalogues are kept on, through the shim.
struct ShimFiles(*const c::Files);

// SAFETY: the shim's functions serve any number of threads at once, as `shim/sealstone.h` says.
unsafe impl Send for ShimFiles {}
// SAFETY: as above.
unsafe impl Sync for ShimFiles {}

impl ShimFiles {
    fn calls(&self) -> &c::Files {
        // SAFETY: the shim promises that it lives until `release`, which drops `self`.
        unsafe { &*self.0 }
    }
}

/// Calls a function of `c::Files`; true if what it is about is there.
fn files_call(function: impl FnOnce(*mut c::Message) -> i32) -> Result<bool, RawError> {
    let mut message = c::Message { text: [0; 1024], text_bytes: 0 };
    match function(&mut message) {
        c::FILES_OK => Ok(true),
        c::FILES_NOT_FOUND => Ok(false),
        _ => {
            let bytes = &message.text[..message.text_bytes.min(message.text.len())];
            Err(RawError(String::from_utf8_lossy(bytes).into_owned()))
        }
    }
}

fn must_exist(path: &str, found: bool) -> Result<(), RawError> {
    if found { Ok(()) } else { Err(RawError(format!("{path}: no such file or directory"))) }
}

fn chars(path: &str) -> (*const std::ffi::c_char, usize) {
    (path.as_ptr().cast(), path.len())
}

/// Makes a call that hands bytes to `take`.
fn files_sink(
    take: &mut dyn FnMut(&[u8]),
    function: impl FnOnce(*mut c_void, *mut c::Message) -> i32,
) -> Result<bool, RawError> {
    let mut found = |_: usize, bytes: &[u8]| take(bytes);
    let mut sink = Sink { found: &mut found, panic: None };
    let result = files_call(|message| function((&raw mut sink).cast(), message));
    if let Some(panic) = sink.panic {
        resume_unwind(panic);
    }
    result
}

impl RawFiles for ShimFiles {
    fn read(&self, path: &str, bytes: usize) -> Result<Option<Vec<u8>>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        let mut content = Vec::new();
        // SAFETY: the shim's own function with its own files; `path` lives during the call.
        let found = files_sink(&mut |piece| content.extend_from_slice(piece), |sink, message| unsafe {
            (calls.read)(calls.files, name, name_bytes, bytes, deliver, sink, message)
        })?;
        Ok(found.then_some(content))
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        // SAFETY: as in `read`; `bytes` lives during the call.
        let found = files_call(|message| unsafe {
            (calls.create)(calls.files, name, name_bytes, bytes.as_ptr(), bytes.len(), message)
        })?;
        must_exist(path, found)
    }

    fn update(&self, path: &str) -> Result<Box<dyn RawUpdate>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        let mut update = ptr::null_mut();
        // SAFETY: as in `read`; `update` is ours to be filled in.
        let found =
            files_call(|message| unsafe { (calls.update)(calls.files, name, name_bytes, &mut update, message) })?;
        must_exist(path, found)?;
        Ok(Box::new(ShimUpdate { update, write: calls.write, sync: calls.sync, free: calls.update_free }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), RawError> {
        let (calls, (one, one_bytes), (other, other_bytes)) = (self.calls(), chars(from), chars(to));
        // SAFETY: as in `read`.
        let found =
            files_call(|message| unsafe { (calls.rename)(calls.files, one, one_bytes, other, other_bytes, message) })?;
        must_exist(from, found)
    }

    fn remove(&self, path: &str) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        // SAFETY: as in `read`.
        files_call(|message| unsafe { (calls.remove)(calls.files, name, name_bytes, message) }).map(|_| ())
    }

    fn sync_directory(&self, directory: &str) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(directory));
        // SAFETY: as in `read`.
        let found = files_call(|message| unsafe { (calls.sync_directory)(calls.files, name, name_bytes, message) })?;
        must_exist(directory, found)
    }

    fn names(&self, directory: &str) -> Result<Option<Vec<String>>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(directory));
        let mut names = Vec::new();
        // SAFETY: as in `read`.
        let found =
            files_sink(&mut |found| names.push(String::from_utf8_lossy(found).into_owned()), |sink, message| unsafe {
                (calls.names)(calls.files, name, name_bytes, deliver, sink, message)
            })?;
        Ok(found.then_some(names))
    }
}

/// A stored file that is written in place.
struct ShimUpdate {
    update: *mut c_void,
    write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, *mut c::Message) -> i32,
    sync: unsafe extern "C" fn(*mut c_void, *mut c::Message) -> i32,
    free: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the object belongs to whoever holds it, and may be used from any one thread at a time.
unsafe impl Send for ShimUpdate {}

impl RawUpdate for ShimUpdate {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RawError> {
        // SAFETY: `update` is the shim's, ours alone; `bytes` lives during the call.
        let found =
            files_call(|message| unsafe { (self.write)(self.update, offset, bytes.as_ptr(), bytes.len(), message) })?;
        must_exist("a catalogue", found)
    }

    fn sync(&mut self) -> Result<(), RawError> {
        // SAFETY: as in `write`.
        let found = files_call(|message| unsafe { (self.sync)(self.update, message) })?;
        must_exist("a catalogue", found)
    }
}

impl Drop for ShimUpdate {
    fn drop(&mut self) {
        // SAFETY: ours to be given up, once.
        unsafe { (self.free)(self.update) }
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `create`.
unsafe extern "C" fn seal_create(
    seal: *const c_void,
    name: *const std::ffi::c_char,
    name_bytes: usize,
    writer: *mut *mut c_void,
    syncer: *mut *mut c_void,
    stored: *mut c::Bytes,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` is the shim's; inside: `seal` lives as long as the file system, `name` during the call, and
    // `writer`, `syncer` and `stored` are the shim's to be written.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            let made = Box::new(seal.create(&text(name, name_bytes))?);
            let sync = made.syncer()?;
            *stored = as_bytes(made.stored());
            *syncer = sync.map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)).cast());
            *writer = Box::into_raw(made).cast();
            Ok(())
        })
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `append`.
unsafe extern "C" fn seal_append(
    writer: *mut c_void,
    data: *const u8,
    bytes: usize,
    stored: *mut c::Bytes,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `stored` are the shim's; `writer` is from `seal_create`, used by one thread at a time,
    // and `data` lives during the call.
    unsafe {
        guarded(message, || {
            let writer = &mut *writer.cast::<Writer>();
            *stored = as_bytes(writer.append(from_bytes(c::Bytes { data, bytes }))?);
            Ok(())
        })
    }
}

/// As `shim/sealstone.h` says of `appended`.
extern "C" fn seal_appended(bytes: usize) {
    // what went wrong in waiting is no reason not to write
    let _ = catch_unwind(|| pace::wrote(bytes));
}

/// # Safety
/// As `shim/sealstone.h` says of `finish`.
unsafe extern "C" fn seal_finish(writer: *mut c_void, stored: *mut c::Bytes, message: *mut c::Message) -> i32 {
    // SAFETY: as in `seal_append`.
    unsafe {
        guarded(message, || {
            let writer = &mut *writer.cast::<Writer>();
            *stored = as_bytes(writer.finish()?);
            Ok(())
        })
    }
}

/// # Safety
/// `writer` is from `seal_create` and not used afterwards.
unsafe extern "C" fn seal_writer_free(writer: *mut c_void) {
    // SAFETY: promised by the caller.
    let writer = unsafe { Box::from_raw(writer.cast::<Writer>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(writer)));
}

/// # Safety
/// As `shim/sealstone.h` says of `before_sync`.
unsafe extern "C" fn seal_before_sync(syncer: *const c_void, message: *mut c::Message) -> i32 {
    // SAFETY: `message` is the shim's; `syncer` is from `seal_create` and shared only by reference.
    unsafe { guarded(message, || (*syncer.cast::<Syncer>()).before()) }
}

/// # Safety
/// As `shim/sealstone.h` says of `synced`.
unsafe extern "C" fn seal_synced(
    syncer: *const c_void,
    stored_bytes: u64,
    mark: *mut c::Mark,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `mark` are the shim's; `syncer` is from `seal_create` and shared only by reference.
    unsafe {
        guarded(message, || {
            if let Some(made) = (*syncer.cast::<Syncer>()).synced(stored_bytes)? {
                *mark = c::Mark { offset: made.offset, bytes: made.bytes, bytes_used: made.bytes.len() };
            }
            Ok(())
        })
    }
}

/// # Safety
/// `syncer` is from `seal_create` and not used afterwards.
unsafe extern "C" fn seal_syncer_free(syncer: *mut c_void) {
    // SAFETY: promised by the caller.
    let syncer = unsafe { Box::from_raw(syncer.cast::<Syncer>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(syncer)));
}

/// # Safety
/// As `shim/sealstone.h` says of `open`.
unsafe extern "C" fn seal_open(
    seal: *const c_void,
    name: *const std::ffi::c_char,
    name_bytes: usize,
    stored_bytes: u64,
    raw: *const c::Raw,
    reader: *mut *mut c_void,
    page_bytes: *mut u64,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message`, `reader` and `page_bytes` are the shim's; `seal` lives as long as the file system, `name` and
    // `raw` during the call.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            let name = from_bytes(c::Bytes { data: name.cast(), bytes: name_bytes });
            let made = seal.open(&String::from_utf8_lossy(name), stored_bytes, &ShimFile(&*raw))?;
            *page_bytes = made.page_bytes();
            *reader = Box::into_raw(Box::new(made)).cast();
            Ok(())
        })
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `read`.
unsafe extern "C" fn seal_read(
    reader: *const c_void,
    raw: *const c::Raw,
    offset: u64,
    bytes: usize,
    into: *mut u8,
    got: *mut usize,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `got` are the shim's; `reader` is from `seal_open` and shared only by reference; `into`
    // is writable for `bytes` bytes that nobody else looks at, and initialised by the shim's caller or about to be
    // written as plain bytes.
    unsafe {
        guarded(message, || {
            let reader = &*reader.cast::<Reader>();
            let into = if bytes == 0 { &mut [][..] } else { std::slice::from_raw_parts_mut(into, bytes) };
            *got = reader.read(&ShimFile(&*raw), offset, into)?;
            Ok(())
        })
    }
}

/// # Safety
/// As `shim/sealstone.h` says of `size`.
unsafe extern "C" fn seal_size(
    reader: *const c_void,
    raw: *const c::Raw,
    bytes: *mut u64,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: as in `seal_read`.
    unsafe {
        guarded(message, || {
            *bytes = (*reader.cast::<Reader>()).size(&ShimFile(&*raw))?;
            Ok(())
        })
    }
}

/// # Safety
/// `reader` is from `seal_open` and not used afterwards.
unsafe extern "C" fn seal_reader_free(reader: *mut c_void) {
    // SAFETY: promised by the caller.
    let reader = unsafe { Box::from_raw(reader.cast::<Reader>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(reader)));
}

// ---- caches ---------------------------------------------------------------------------------------------------------

/// A block cache (LRU).
#[derive(Debug)]
pub(crate) struct Cache(NonNull<c::Cache>);

// SAFETY: a RocksDB cache may be used from any thread.
unsafe impl Send for Cache {}
// SAFETY: a RocksDB cache serves many threads at once.
unsafe impl Sync for Cache {}

impl Cache {
    /// A cache for `capacity_bytes` bytes.
    pub(crate) fn new(capacity_bytes: u64) -> Self {
        // SAFETY: no requirements.
        let cache = unsafe { c::sealstone_cache_new(capacity_bytes) };
        Self(NonNull::new(cache).expect(NO_MEMORY))
    }

    /// Drops every entry that nobody is using.
    pub(crate) fn empty(&self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_cache_empty(self.0.as_ptr()) }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_cache_free(self.0.as_ptr()) }
    }
}

// ---- databases ------------------------------------------------------------------------------------------------------

/// What a compaction does with table files that lie in the bottommost level already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottommost {
    /// They stay as they are, where nothing from above has to be merged into them.
    Leave,
    /// They are rewritten, and with a sealed environment re-encrypted.
    Rewrite,
}

/// An open RocksDB database. Ends (and gives up its lock) when dropped; [`Db::close`] also says how that went.
///
/// Keys and values are any bytes. All methods may be called from many threads at once.
#[derive(Debug)]
pub struct Db {
    db: NonNull<c::Db>,
    transactions: bool,
    cache: Option<Arc<Cache>>,
    env: Arc<Env>,
    dir: PathBuf,
}

/// A table or blob file of the newest version of a database.
#[derive(Clone, Debug)]
pub(crate) struct LiveFile {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Its name in there.
    pub(crate) name: String,
    /// The number in its name, never used twice.
    pub(crate) number: u64,
    /// Its length.
    #[cfg(test)]
    pub(crate) bytes: u64,
    /// Which column family it belongs to.
    pub(crate) family: u32,
    /// What it is.
    pub(crate) kind: LiveKind,
}

/// What a live file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveKind {
    /// A table.
    Table {
        /// Its level.
        level: i32,
        /// Number of the oldest blob file that it refers to, if any.
        oldest_blob: Option<u64>,
    },
    /// Values outside tables.
    Blob,
}

/// What came of rewriting a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// A new file holds its content.
    Done,
    /// A compaction has it at the moment.
    InUse,
    /// It is no longer there, or on another level.
    Gone,
}

// SAFETY: a RocksDB database may be used from any thread.
unsafe impl Send for Db {}
// SAFETY: a RocksDB database serves many threads at once.
unsafe impl Sync for Db {}

impl Db {
    /// Opens the database in `path` with RocksDB's options text `options`; with `transactions` as a TransactionDB.
    pub(crate) fn open(
        env: Arc<Env>,
        path: &Path,
        options: &str,
        cache: Option<Arc<Cache>>,
        transactions: bool,
    ) -> Result<Self, Error> {
        let mut db = ptr::null_mut();
        let name = path_bytes(path);
        let flags = c::STATISTICS | if transactions { c::TRANSACTIONS } else { 0 };
        let cache_pointer = cache.as_ref().map_or(ptr::null(), |cache| cache.0.as_ptr().cast_const());
        // SAFETY: rule *Slices*; `env` and `cache` outlive the database because it keeps their `Arc`s.
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

    /// Opens the existing database in `path` with the options and all the column families that it was last opened with.
    /// `strict_log`: damage in the middle of a log is an error in any case.
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

    /// Ends the database: syncs its log, so that no part of it can be cut off later unnoticed, and says whether its last
    /// writes went well. Dropping it does the same without saying.
    ///
    /// # Errors
    /// I/O.
    pub fn close(self) -> Result<(), Error> {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped and its `db` not used again, so it is closed once.
        let closed = call(|error| unsafe { c::sealstone_db_close(this.db.as_ptr(), error) });
        // SAFETY: the fields are dropped once, after the database that needs them, and not used again.
        unsafe {
            ptr::drop_in_place(&mut this.cache);
            ptr::drop_in_place(&mut this.env);
            ptr::drop_in_place(&mut this.dir);
        }
        closed
    }

    /// The directory it was opened in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The environment it stores its files in.
    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    /// Its block cache, where it was opened with one.
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    /// Whether it was opened for transactions.
    pub fn has_transactions(&self) -> bool {
        self.transactions
    }

    /// Looks `key` up and hands its value to `found`, during the call. Returns whether it was there.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication.
    pub fn get_with(&self, key: &[u8], mut found: impl FnMut(&[u8])) -> Result<bool, Error> {
        let mut there = 0;
        // SAFETY: rules *Owner* and *Slices*; `sink` is the context that `deliver` expects and outlives the call.
        call_with_sink(&mut |_, value| found(value), |sink, error| unsafe {
            c::sealstone_db_get(self.db.as_ptr(), key.as_ptr(), key.len(), deliver, sink, &mut there, error)
        })?;
        Ok(there != 0)
    }

    /// The value of `key`, if it is there.
    ///
    /// # Errors
    /// As [`Db::get_with`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = None;
        self.get_with(key, |found| value = Some(found.to_vec()))?;
        Ok(value)
    }

    /// The values of several keys, in their order, read together.
    ///
    /// # Errors
    /// As [`Db::get_with`].
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let names: Vec<c::Bytes> = keys.iter().map(|key| as_bytes(key)).collect();
        let mut values = vec![None; keys.len()];
        let mut found = |index: usize, value: &[u8]| values[index] = Some(value.to_vec());
        // SAFETY: as in `get_with`; `names` holds as many slices as said.
        call_with_sink(&mut found, |sink, error| unsafe {
            c::sealstone_db_multi_get(self.db.as_ptr(), names.len(), names.as_ptr(), deliver, sink, error)
        })?;
        Ok(values)
    }

    /// Writes `value` under `key`, new or not. With `sync` it is on stable storage on return; without, a crash of the
    /// machine (not of the process) may lose it.
    ///
    /// # Errors
    /// I/O, a full disk, a lock held too long by a transaction.
    pub fn put(&self, key: &[u8], value: &[u8], sync: bool) -> Result<(), Error> {
        self.put_locked(key, value, sync, self.transactions)
    }

    /// As [`Db::put`]; without `locked` it pays no heed to transactions.
    pub(crate) fn put_locked(&self, key: &[u8], value: &[u8], sync: bool, locked: bool) -> Result<(), Error> {
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
            c::sealstone_db_delete(self.db.as_ptr(), key.as_ptr(), key.len(), i32::from(sync), error)
        })
    }

    /// Writes all of `batch`, or nothing of it.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn write(&self, batch: &mut WriteBatch, sync: bool) -> Result<(), Error> {
        self.env.about_to_write();
        // SAFETY: rule *Owner* for both.
        call(|error| unsafe { c::sealstone_db_write(self.db.as_ptr(), batch.0.as_ptr(), i32::from(sync), error) })
    }

    /// Writes what is in memory into table files.
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

    /// Writes what is in memory into table files and merges all levels into the bottommost one.
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

    /// Makes a copy of the database as of now in `path`, which must not exist; table files are hard-linked.
    ///
    /// # Errors
    /// I/O, an existing `path`.
    pub fn checkpoint(&self, path: &Path) -> Result<(), Error> {
        let name = path_bytes(path);
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe { c::sealstone_db_checkpoint(self.db.as_ptr(), name.as_ptr().cast(), name.len(), error) })
    }

    /// Takes over table files made by a [`TableWriter`]; `move_files` links them instead of copying.
    ///
    /// # Errors
    /// I/O, files that overlap each other; nothing is taken over then.
    pub fn ingest(&self, files: &[&Path], move_files: bool) -> Result<(), Error> {
        let names: Vec<c::Bytes> = files.iter().map(|path| as_bytes(path_bytes(path))).collect();
        // SAFETY: rules *Owner* and *Slices*; `names` holds as many slices as said.
        call(|error| unsafe {
            c::sealstone_db_ingest(self.db.as_ptr(), names.len(), names.as_ptr(), i32::from(move_files), error)
        })
    }

    /// An integer property, such as `rocksdb.num-running-compactions`; absent where RocksDB has no such property.
    pub fn property(&self, name: &str) -> Option<u64> {
        let mut value = 0;
        // SAFETY: rules *Owner* and *Slices*.
        let known = unsafe { c::sealstone_db_property(self.db.as_ptr(), name.as_ptr().cast(), name.len(), &mut value) };
        (known != 0).then_some(value)
    }

    /// Data block lookups since opening that the block cache answered, and that it did not.
    pub(crate) fn cache_counts(&self) -> (u64, u64) {
        let (mut hits, mut misses) = (0, 0);
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_db_cache_counts(self.db.as_ptr(), &mut hits, &mut misses) };
        (hits, misses)
    }

    /// An iterator over `range` as of now, standing nowhere yet.
    pub fn iterator(&self, range: Range<'_>) -> Iterator<'_> {
        let bound = |bound: Option<&[u8]>| bound.map_or(c::Bytes { data: ptr::null(), bytes: 0 }, as_bytes);
        let options = c::IteratorOptions {
            readahead_bytes: range.readahead_bytes,
            fill_cache: i32::from(range.fill_cache),
            lower: bound(range.lower),
            upper: bound(range.upper),
        };
        // SAFETY: rules *Owner* and *Slices*; the shim copies the bounds.
        let iterator = unsafe { c::sealstone_iterator_new(self.db.as_ptr(), &options) };
        let iterator = NonNull::new(iterator).expect(NO_MEMORY);
        let none = c::Bytes { data: ptr::null(), bytes: 0 };
        Iterator { iterator, entry: c::Entry { valid: 0, key: none, value: none }, db: PhantomData }
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Code::NotSupported`] where the database was not opened for transactions.
    pub fn transaction(&self, sync: bool) -> Result<Transaction<'_>, Error> {
        if !self.transactions {
            let text = "the database was not opened for transactions".to_owned();
            return Err(Error { code: Code::NotSupported, text });
        }
        // SAFETY: rule *Owner*; it was opened with transactions.
        let transaction = unsafe { c::sealstone_transaction_new(self.db.as_ptr(), i32::from(sync)) };
        Ok(Transaction { transaction: NonNull::new(transaction).expect(NO_MEMORY), sync, db: self })
    }

    /// Begins a table file at `path` with this database's options, to be ingested later.
    ///
    /// # Errors
    /// I/O.
    pub fn table_writer(&self, path: &Path) -> Result<TableWriter<'_>, Error> {
        let name = path_bytes(path);
        let mut writer = ptr::null_mut();
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_table_writer_open(self.db.as_ptr(), name.as_ptr().cast(), name.len(), &mut writer, error)
        })?;
        let writer = NonNull::new(writer).expect("the shim fills it in when it succeeds");
        Ok(TableWriter { writer, db: PhantomData })
    }
}

// ---- rewriting files of an open database ----------------------------------------------------------------------------

/// Where live files go.
#[derive(Default)]
struct LiveFiles {
    files: Vec<LiveFile>,
    /// A panic of taking one in, to go on once the shim has returned.
    panic: Option<Box<dyn Any + Send>>,
}

/// Adds a file to the `LiveFiles` that `context` points at.
///
/// # Safety
/// `context` points at a `LiveFiles` that nobody else uses during the call, `file` at a file of the shim.
unsafe extern "C" fn add_live_file(context: *mut c_void, file: *const c::LiveFile) {
    // SAFETY: promised by the caller; the shim's bytes are valid during the call.
    let (into, file, directory, name) = unsafe {
        let file = &*file;
        (&mut *context.cast::<LiveFiles>(), file, from_bytes(file.directory), from_bytes(file.name))
    };
    let add = || {
        let kind = match file.level {
            level @ 0.. => LiveKind::Table { level, oldest_blob: (file.oldest_blob != 0).then_some(file.oldest_blob) },
            _ => LiveKind::Blob,
        };
        into.files.push(LiveFile {
            directory: PathBuf::from(std::ffi::OsStr::from_bytes(directory)),
            name: String::from_utf8_lossy(name).into_owned(),
            number: file.number,
            #[cfg(test)]
            bytes: file.bytes,
            family: file.family,
            kind,
        });
    };
    if into.panic.is_none() {
        into.panic = catch_unwind(AssertUnwindSafe(add)).err();
    }
}

impl Db {
    /// Every table and blob file of its newest version.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        let mut live = LiveFiles::default();
        // SAFETY: rule *Owner*; `live` is the context that `add_live_file` expects and outlives the call.
        let got = call(|error| unsafe {
            c::sealstone_db_live_files(self.db.as_ptr(), add_live_file, (&raw mut live).cast(), error)
        });
        if let Some(panic) = live.panic {
            resume_unwind(panic);
        }
        got.map(|()| live.files)
    }

    /// Begins a column family with the options of the default one, as the last of its families.
    #[cfg(test)]
    pub(crate) fn create_family(&self, name: &str) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*; no other thread uses the families meanwhile, as tests see to.
        call(|error| unsafe {
            c::sealstone_db_family_create(self.db.as_ptr(), name.as_ptr().cast(), name.len(), error)
        })
    }

    /// Ends the last column family, which must not be the only one.
    #[cfg(test)]
    pub(crate) fn drop_family(&self) -> Result<(), Error> {
        // SAFETY: as in `create_family`.
        call(|error| unsafe { c::sealstone_db_family_drop(self.db.as_ptr(), error) })
    }

    /// Writes into the column family with index `family`.
    #[cfg(test)]
    pub(crate) fn put_in(&self, family: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*; the shim checks `family`.
        call(|error| unsafe {
            c::sealstone_db_family_put(
                self.db.as_ptr(),
                family,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            )
        })
    }

    /// Merges all levels of the column family with index `family`.
    #[cfg(test)]
    pub(crate) fn compact_family(&self, family: u32) -> Result<(), Error> {
        // SAFETY: rule *Owner*; the shim checks `family`.
        call(|error| unsafe { c::sealstone_db_family_compact(self.db.as_ptr(), family, error) })
    }

    /// Rewrites the table `file`, got from [`Db::live_files`], on its own level, in this thread. Blobs are not rewritten.
    ///
    /// # Errors
    /// I/O, a full disk, damage.
    pub(crate) fn rewrite(&self, file: &LiveFile) -> Result<Rewrite, Error> {
        let LiveKind::Table { level, .. } = file.kind else { return Ok(Rewrite::Gone) };
        let directory = path_bytes(&file.directory);
        let mut outcome = 0;
        // SAFETY: rules *Owner* and *Slices*; the family is one of this database, since the file is.
        call(|error| unsafe {
            c::sealstone_db_rewrite(
                self.db.as_ptr(),
                file.family,
                directory.as_ptr().cast(),
                directory.len(),
                file.name.as_ptr().cast(),
                file.name.len(),
                level,
                &mut outcome,
                error,
            )
        })?;
        Ok(match outcome {
            c::REWRITTEN => Rewrite::Done,
            c::IN_USE => Rewrite::InUse,
            _ => Rewrite::Gone,
        })
    }

    /// While `on`, whoever rewrites a table moves its values out of blob files into new ones.
    ///
    /// # Errors
    /// I/O: RocksDB writes changed options down.
    pub(crate) fn move_blobs(&self, on: bool) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_move_blobs(self.db.as_ptr(), i32::from(on), error) })
    }

    /// Writes what is in memory into table files, for all column families; if there was anything, a new log begins.
    ///
    /// # Errors
    /// I/O, a full disk.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_flush_all(self.db.as_ptr(), error) })
    }

    /// Looks through the directories and removes every file that is not needed, also those that an earlier opening left.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn sweep(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_sweep(self.db.as_ptr(), error) })
    }

    /// How many compactions were begun since opening, and how many of the first of them have all ended.
    pub(crate) fn compactions(&self) -> (u64, u64) {
        let (mut begun, mut ended) = (0, 0);
        // SAFETY: rule *Owner*; two integers of ours.
        unsafe { c::sealstone_db_compactions(self.db.as_ptr(), &mut begun, &mut ended) };
        (begun, ended)
    }

    /// The directory of its logs.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn log_dir(&self) -> Result<PathBuf, Error> {
        let mut dir = PathBuf::new();
        // SAFETY: rule *Owner*; `sink` is the context that `deliver` expects and outlives the call.
        call_with_sink(
            &mut |_, found| dir = PathBuf::from(std::ffi::OsStr::from_bytes(found)),
            |sink, error| unsafe { c::sealstone_db_log_directory(self.db.as_ptr(), deliver, sink, error) },
        )?;
        Ok(if dir.as_os_str().is_empty() { self.dir.clone() } else { dir })
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; `close` never lets this run.
        let _ = call(|error| unsafe { c::sealstone_db_close(self.db.as_ptr(), error) });
    }
}

// ---- write batches --------------------------------------------------------------------------------------------------

/// Writes that take effect together.
#[derive(Debug)]
pub struct WriteBatch(NonNull<c::Batch>);

// SAFETY: a write batch is plain memory; rule *Threads*.
unsafe impl Send for WriteBatch {}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        // SAFETY: no requirements.
        Self(NonNull::new(unsafe { c::sealstone_batch_new() }).expect(NO_MEMORY))
    }

    /// Adds a write.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        // SAFETY: rules *Owner* and *Slices*.
        unsafe {
            c::sealstone_batch_put(self.0.as_ptr(), key.as_ptr(), key.len(), value.as_ptr(), value.len());
        }
    }

    /// Adds a removal.
    pub fn delete(&mut self, key: &[u8]) {
        // SAFETY: rules *Owner* and *Slices*.
        unsafe { c::sealstone_batch_delete(self.0.as_ptr(), key.as_ptr(), key.len()) }
    }
}

impl Default for WriteBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_batch_free(self.0.as_ptr()) }
    }
}

// ---- iterators ------------------------------------------------------------------------------------------------------

/// What an iterator runs over, and how.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// First key, inclusive.
    pub lower: Option<&'a [u8]>,
    /// Last key, exclusive.
    pub upper: Option<&'a [u8]>,
    /// Bytes to read ahead; 0 lets RocksDB decide.
    pub readahead_bytes: u64,
    /// Whether what is read goes into the block cache.
    pub fill_cache: bool,
}

impl Default for Range<'_> {
    fn default() -> Self {
        Self { lower: None, upper: None, readahead_bytes: 0, fill_cache: true }
    }
}

/// A position in a database as of the iterator's making.
pub struct Iterator<'db> {
    iterator: NonNull<c::Iterator>,
    entry: c::Entry,
    db: PhantomData<&'db Db>,
}

// SAFETY: an iterator may move between threads; rule *Threads*.
unsafe impl Send for Iterator<'_> {}

impl Iterator<'_> {
    /// Goes to the first entry.
    pub fn first(&mut self) {
        // SAFETY: rule *Owner*; the entry is ours.
        unsafe { c::sealstone_iterator_first(self.iterator.as_ptr(), &mut self.entry) }
    }

    /// Goes to the last entry.
    pub fn last(&mut self) {
        // SAFETY: as in `first`.
        unsafe { c::sealstone_iterator_last(self.iterator.as_ptr(), &mut self.entry) }
    }

    /// Goes to the first entry whose key is `key` or greater.
    pub fn seek(&mut self, key: &[u8]) {
        // SAFETY: as in `first`; rule *Slices*.
        unsafe { c::sealstone_iterator_seek(self.iterator.as_ptr(), key.as_ptr(), key.len(), &mut self.entry) }
    }

    /// Goes to the last entry whose key is `key` or smaller.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        // SAFETY: as in `seek`.
        unsafe {
            c::sealstone_iterator_seek_for_prev(self.iterator.as_ptr(), key.as_ptr(), key.len(), &mut self.entry);
        }
    }

    /// Goes to the next entry; stays past the end.
    pub fn advance(&mut self) {
        if self.entry.valid != 0 {
            // SAFETY: as in `first`; it stands on an entry.
            unsafe { c::sealstone_iterator_next(self.iterator.as_ptr(), &mut self.entry) }
        }
    }

    /// Goes to the entry before; stays before the beginning.
    pub fn back(&mut self) {
        if self.entry.valid != 0 {
            // SAFETY: as in `first`; it stands on an entry.
            unsafe { c::sealstone_iterator_prev(self.iterator.as_ptr(), &mut self.entry) }
        }
    }

    /// Key and value where it stands; nothing past either end and after a failure, which [`Iterator::status`] tells.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        if self.entry.valid == 0 {
            return None;
        }
        // SAFETY: the shim's bytes are valid until the iterator moves, which needs `&mut self`.
        Some(unsafe { (from_bytes(self.entry.key), from_bytes(self.entry.value)) })
    }

    /// Whether it came here without failure.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication: the iterator then stopped early.
    pub fn status(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_iterator_status(self.iterator.as_ptr(), error) })
    }
}

impl Drop for Iterator<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_iterator_free(self.iterator.as_ptr()) }
    }
}

// ---- transactions ---------------------------------------------------------------------------------------------------

/// A pessimistic transaction: what it writes and what it reads for update is locked until it ends. Dropped without a
/// commit, it is rolled back.
#[derive(Debug)]
pub struct Transaction<'db> {
    transaction: NonNull<c::Transaction>,
    sync: bool,
    db: &'db Db,
}

// SAFETY: a transaction may move between threads; rule *Threads*.
unsafe impl Send for Transaction<'_> {}

impl Transaction<'_> {
    /// Looks `key` up, own writes included, and hands the value to `found`; `for_update` locks it. Returns whether it
    /// was there.
    ///
    /// # Errors
    /// [`Code::Conflict`] where another transaction holds the lock; I/O, corruption, failed authentication.
    pub fn get_with(&mut self, key: &[u8], for_update: bool, mut found: impl FnMut(&[u8])) -> Result<bool, Error> {
        let mut there = 0;
        // SAFETY: rules *Owner* and *Slices*; `sink` is the context that `deliver` expects and outlives the call.
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
            c::sealstone_transaction_delete(self.transaction.as_ptr(), key.as_ptr(), key.len(), error)
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

    /// Begins anew, as a transaction of its own; what was not committed is rolled back.
    pub fn restart(&mut self) {
        // SAFETY: rule *Owner* for both; it was begun on this database.
        unsafe {
            c::sealstone_transaction_restart(self.db.db.as_ptr(), self.transaction.as_ptr(), i32::from(self.sync));
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_transaction_free(self.transaction.as_ptr()) }
    }
}

// ---- table files ----------------------------------------------------------------------------------------------------

/// Writes a table file outside the database, to be taken over by [`Db::ingest`].
#[derive(Debug)]
pub struct TableWriter<'db> {
    writer: NonNull<c::TableWriter>,
    db: PhantomData<&'db Db>,
}

// SAFETY: a table writer may move between threads; rule *Threads*.
unsafe impl Send for TableWriter<'_> {}

impl TableWriter<'_> {
    /// Adds an entry; keys come in strictly ascending order.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for a key out of order; I/O, a full disk.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_table_writer_put(
                self.writer.as_ptr(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            )
        })
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_table_writer_bytes(self.writer.as_ptr()) }
    }

    /// Ends the file and brings it to stable storage.
    ///
    /// # Errors
    /// I/O, a full disk, an empty file.
    pub fn finish(self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_table_writer_finish(self.writer.as_ptr(), error) })
    }
}

impl Drop for TableWriter<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_table_writer_free(self.writer.as_ptr()) }
    }
}

// ---- backups --------------------------------------------------------------------------------------------------------

/// A directory of backups, stored through the same environment as the database and so sealed like it.
#[derive(Debug)]
pub struct Backups {
    backup: NonNull<c::Backup>,
    // ended after the engine
    _env: Arc<Env>,
}

// SAFETY: a backup engine may move between threads; rule *Threads*.
unsafe impl Send for Backups {}

impl Backups {
    /// Opens or begins the backups in `path`.
    pub(crate) fn open(env: Arc<Env>, path: &Path) -> Result<Self, Error> {
        let name = path_bytes(path);
        let mut backup = ptr::null_mut();
        // SAFETY: rule *Slices*; the environment outlives the engine, which keeps its `Arc`.
        call(|error| unsafe {
            c::sealstone_backup_open(env.0.as_ptr(), name.as_ptr().cast(), name.len(), &mut backup, error)
        })?;
        let backup = NonNull::new(backup).expect("the shim fills it in when it succeeds");
        Ok(Self { backup, _env: env })
    }

    /// Backs `db` up as of now; table files that an earlier backup holds are not copied again. Returns its number.
    ///
    /// # Errors
    /// I/O, a full disk.
    pub fn create(&mut self, db: &Db) -> Result<u32, Error> {
        // SAFETY: rule *Owner* for both.
        call(|error| unsafe { c::sealstone_backup_create(self.backup.as_ptr(), db.db.as_ptr(), error) })?;
        Ok(self.latest())
    }

    /// Checks sizes and contents of backup `id`.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&mut self, id: u32) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_backup_verify(self.backup.as_ptr(), id, 1, error) })
    }

    /// Restores the newest backup into `path`.
    ///
    /// # Errors
    /// I/O, damage, no backup.
    pub fn restore(&mut self, path: &Path) -> Result<(), Error> {
        let name = path_bytes(path);
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_backup_restore(self.backup.as_ptr(), name.as_ptr().cast(), name.len(), error)
        })
    }

    /// Number of the newest backup, 0 where there is none.
    pub fn latest(&mut self) -> u32 {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_backup_latest(self.backup.as_ptr()) }
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_backup_free(self.backup.as_ptr()) }
    }
}

// ---- the library ----------------------------------------------------------------------------------------------------

/// Version of the RocksDB that is loaded: major, minor, patch.
pub fn version() -> (i32, i32, i32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three integers of ours.
    unsafe { c::sealstone_version(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}
