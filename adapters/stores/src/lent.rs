//! Resources that a store keeps for as long as it is open: servers of its own, or its data on other
//! servers.

use sealstone_store::StoreError;

/// Resource of a store. It ends with the value.
pub trait Lent: Send + Sync {
    /// Processes of this machine that do the store's work.
    fn pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Starts its servers again, with empty caches. Returns whether it did: the servers of others
    /// are left alone.
    ///
    /// # Errors
    /// A server that does not start.
    fn restart(&self) -> Result<bool, StoreError> {
        Ok(false)
    }
}
