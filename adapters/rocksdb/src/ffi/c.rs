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
type OnTwoPaths = unsafe extern "C" fn(
    *const c_void,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut Message,
) -> i32;

#[repr(C)]
pub(super) struct Files {
    pub(super) files: *const c_void,
    pub(super) look: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        *mut u64,
        Sink,
        *mut c_void,
        *mut Message,
    ) -> i32,
    pub(super) read: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        usize,
        Sink,
        *mut c_void,
        *mut Message,
    ) -> i32,
    pub(super) create: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        *const u8,
        usize,
        *mut Message,
    ) -> i32,
    pub(super) update: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        *mut *mut c_void,
        *mut Message,
    ) -> i32,
    pub(super) write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, *mut Message) -> i32,
    pub(super) sync: unsafe extern "C" fn(*mut c_void, *mut Message) -> i32,
    pub(super) update_free: unsafe extern "C" fn(*mut c_void),
    pub(super) rename: OnTwoPaths,
    pub(super) remove: OnPath,
    pub(super) sync_directory: OnPath,
    pub(super) names: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        Sink,
        *mut c_void,
        *mut Message,
    ) -> i32,
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
type Read = unsafe extern "C" fn(
    *const c_void,
    *const Raw,
    u64,
    usize,
    *mut u8,
    *mut usize,
    *mut Message,
) -> i32;

#[repr(C)]
pub(super) struct SealOps {
    pub(super) release: unsafe extern "C" fn(*const c_void),
    pub(super) attach: unsafe extern "C" fn(*const c_void, *const Files),
    pub(super) create: Create,
    pub(super) append:
        unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut Bytes, *mut Message) -> i32,
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
    pub(super) remove:
        unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut i32, *mut Message) -> i32,
    pub(super) link: OnTwoPaths,
    pub(super) rename: OnTwoPaths,
    pub(super) renamed: unsafe extern "C" fn(
        *const c_void,
        *const c_char,
        usize,
        *const c_char,
        usize,
        i32,
        *mut Message,
    ) -> i32,
    pub(super) hides: unsafe extern "C" fn(*const c_void, *const c_char, usize) -> i32,
    pub(super) list: OnPath,
    pub(super) locked: OnPath,
    pub(super) unlocked: OnPath,
    pub(super) remove_directory: OnPath,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct Io {
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) syncs: u64,
    pub(super) sync_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) cpu_ns: u64,
}

pub(super) const BASE_DEFAULT: u32 = 0;
pub(super) const BASE_MEMORY: u32 = 1;
pub(super) const TRANSACTIONS: u32 = 1;
pub(super) const STATISTICS: u32 = 2;
pub(super) const UNCHECKED: u32 = 4;

pub(super) type Sink = unsafe extern "C" fn(*mut c_void, usize, *const u8, usize);

#[cfg(feature = "plugin")]
pub(super) type Opener =
    unsafe extern "C" fn(*const c_char, usize, *mut *const c_void, Sink, *mut c_void) -> i32;

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

    pub(super) fn sealstone_env_new(
        base: u32,
        count: i32,
        ops: *const SealOps,
        seal: *const c_void,
    ) -> *mut Env;
    pub(super) fn sealstone_env_free(env: *mut Env);
    pub(super) fn sealstone_env_io(env: *const Env, into: *mut Io);
    #[cfg(any(feature = "plugin", feature = "rust-rocksdb"))]
    pub(super) fn sealstone_env_into_c(env: *mut Env) -> *mut c_void;

    #[cfg(feature = "plugin")]
    pub(super) fn sealstone_register(
        scheme: *const c_char,
        scheme_bytes: usize,
        ops: *const SealOps,
        open: Opener,
        error: *mut Error,
    ) -> i32;

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
    pub(super) fn sealstone_db_open_for_reading(
        env: *const Env,
        path: *const c_char,
        path_bytes: usize,
        count: usize,
        families: *const Bytes,
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
    pub(super) fn sealstone_db_write(
        db: *mut Db,
        batch: *mut Batch,
        sync: i32,
        error: *mut Error,
    ) -> i32;

    pub(super) fn sealstone_iterator_new(
        db: *mut Db,
        options: *const IteratorOptions,
    ) -> *mut Iterator;
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
    pub(super) fn sealstone_transaction_restart(
        db: *mut Db,
        transaction: *mut Transaction,
        sync: i32,
    );
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
    pub(super) fn sealstone_transaction_commit(
        transaction: *mut Transaction,
        error: *mut Error,
    ) -> i32;
    pub(super) fn sealstone_transaction_rollback(
        transaction: *mut Transaction,
        error: *mut Error,
    ) -> i32;

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
    pub(super) fn sealstone_table_writer_finish(writer: *mut TableWriter, error: *mut Error)
    -> i32;

    pub(super) fn sealstone_backup_open(
        env: *const Env,
        path: *const c_char,
        path_bytes: usize,
        backup: *mut *mut Backup,
        error: *mut Error,
    ) -> i32;
    pub(super) fn sealstone_backup_free(backup: *mut Backup);
    pub(super) fn sealstone_backup_create(
        backup: *mut Backup,
        db: *mut Db,
        error: *mut Error,
    ) -> i32;
    pub(super) fn sealstone_backup_verify(
        backup: *mut Backup,
        id: u32,
        checksums: i32,
        error: *mut Error,
    ) -> i32;
    pub(super) fn sealstone_backup_restore(
        backup: *mut Backup,
        path: *const c_char,
        path_bytes: usize,
        error: *mut Error,
    ) -> i32;
    pub(super) fn sealstone_backup_latest(backup: *mut Backup) -> u32;

    pub(super) fn sealstone_version(major: *mut i32, minor: *mut i32, patch: *mut i32);
    pub(super) fn sealstone_headers_version(major: *mut i32, minor: *mut i32);
}
