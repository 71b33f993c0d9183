//! Environments: the place of a database's files, and the layers that count and seal them.
//!
//! The rules of `ffi` hold here, too.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::c;
use super::call::NO_MEMORY;
use super::sealed_fs::SEAL_OPS;
use crate::file_system::SealedFiles;

/// Storage that an environment keeps its files on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The operating system's files.
    Files,
    /// Memory: gone with the environment.
    Memory,
}

/// Counts of the I/O of an environment below the seal since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoCounts {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Syncs of files and directories.
    pub syncs: u64,
    /// Wall time inside these syncs, summed over threads.
    pub sync_ns: u64,
    /// Wall time inside reads, writes and syncs, summed over threads.
    pub wall_ns: u64,
    /// CPU time of the same, extrapolated from samples.
    pub cpu_ns: u64,
}

/// An environment of RocksDB: where and how files are stored, and what seals them, which the shim
/// shares.
#[derive(Debug)]
pub(crate) struct Env(pub(super) NonNull<c::Env>, pub(super) Option<Arc<SealedFiles>>);

// SAFETY: a RocksDB Env may be used from any thread.
unsafe impl Send for Env {}
// SAFETY: a RocksDB Env serves many threads at once, and so do the shim's file systems and
// `SealedFiles`.
unsafe impl Sync for Env {}

impl Env {
    /// Returns an environment on `base` that counts where `count` is set, and seals where `seal` is
    /// given.
    pub(crate) fn new(base: Base, count: bool, seal: Option<SealedFiles>) -> Self {
        let base = match base {
            Base::Files => c::BASE_DEFAULT,
            Base::Memory => c::BASE_MEMORY,
        };
        let kept = seal.map(Arc::new);
        let seal = kept.as_ref().map_or(ptr::null(), |seal| Arc::into_raw(Arc::clone(seal)).cast());
        // SAFETY: the operations fit the type behind `seal`; the shim copies them and takes `seal`
        // over.
        let env = unsafe { c::sealstone_env_new(base, i32::from(count), &SEAL_OPS, seal) };
        Self(NonNull::new(env).expect(NO_MEMORY), kept)
    }

    /// Returns the layer that seals its files, if they are sealed.
    pub(crate) fn sealed_files(&self) -> Option<&Arc<SealedFiles>> {
        self.1.as_ref()
    }

    /// Prepares for a call that writes into a log; to be called before it.
    #[inline]
    pub(super) fn about_to_write(&self) {
        if let Some(files) = &self.1 {
            files.prepare_logs();
        }
    }

    /// Returns the counts so far.
    pub(crate) fn io(&self) -> IoCounts {
        let mut io = c::Io::default();
        // SAFETY: rule *Owner*; `io` is ours.
        unsafe { c::sealstone_env_io(self.0.as_ptr(), &mut io) };
        let c::Io { read_bytes, written_bytes, syncs, sync_ns, wall_ns, cpu_ns } = io;
        IoCounts { read_bytes, written_bytes, syncs, sync_ns, wall_ns, cpu_ns }
    }

    /// Returns the `rocksdb_env_t` of RocksDB's C interface; its owner ends it with
    /// `rocksdb_env_destroy`.
    #[cfg(any(feature = "plugin", feature = "rust-rocksdb"))]
    pub(crate) fn into_c(mut self) -> NonNull<std::ffi::c_void> {
        let env = self.0.as_ptr();
        self.1 = None;
        std::mem::forget(self);
        // SAFETY: `env` was ours alone and is given away.
        let handle = unsafe { c::sealstone_env_into_c(env) };
        NonNull::new(handle).expect(NO_MEMORY)
    }

    /// Returns the environment of the crate `rocksdb`.
    #[cfg(feature = "rust-rocksdb")]
    pub(crate) fn into_rust_rocksdb(self) -> rocksdb::Env {
        // SAFETY: a `rocksdb_env_t` with one owner, which `rocksdb::Env` ends.
        unsafe { rocksdb::Env::from_raw(self.into_c().as_ptr().cast()) }
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_env_free(self.0.as_ptr()) }
    }
}
