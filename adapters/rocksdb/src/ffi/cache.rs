//! Block caches, which databases share.
//!
//! The rules of `ffi` hold here, too.

use std::ptr::NonNull;

use super::c;
use super::call::NO_MEMORY;

/// A block cache (LRU).
#[derive(Debug)]
pub(crate) struct Cache(pub(super) NonNull<c::Cache>);

// SAFETY: a RocksDB cache may be used from any thread.
unsafe impl Send for Cache {}
// SAFETY: a RocksDB cache serves many threads at once.
unsafe impl Sync for Cache {}

impl Cache {
    /// Returns a cache for `capacity_bytes` bytes.
    pub(crate) fn new(capacity_bytes: u64) -> Self {
        // SAFETY: no requirements.
        let cache = unsafe { c::sealstone_cache_new(capacity_bytes) };
        Self(NonNull::new(cache).expect(NO_MEMORY))
    }

    /// Drops every entry that is not in use.
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
