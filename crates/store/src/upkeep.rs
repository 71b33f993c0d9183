//! Upkeep of an open store between its operations: its counters and size, its background work, its
//! caches and its processes.

use std::time::Duration;

use crate::{Counters, StoreError};

/// Care of an open store. A layer around a store leaves it alone, so that what a store does not
/// have may have a default. Only a sealed volume, which is below a store, has its own beside that.
pub trait Upkeep: Send + Sync {
    /// Returns the counts of the store so far; zeros from a store that counts nothing.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Bytes the store occupies on disk now.
    ///
    /// # Errors
    /// A directory that cannot be read.
    fn disk_bytes(&self) -> Result<u64, StoreError>;

    /// Waits until background work (flushes, compactions) has ended. Nothing to do for a store
    /// without any.
    ///
    /// # Errors
    /// A background error of the engine.
    fn quiesce(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Merges what loading left in layers, so that stores with the same load have the same layout,
    /// whatever their background work did during it. Nothing to do for a store without layers.
    ///
    /// # Errors
    /// I/O, a full disk.
    fn merge_layers(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Empties the store's own cache and makes the operating system drop its files' pages. Does
    /// nothing for a store that caches nothing.
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

    /// Ids of the processes of this machine that do the store's work, if it is not only this
    /// process. Their CPU time counts as the store's.
    fn servers(&self) -> Vec<u32> {
        Vec::new()
    }
}
