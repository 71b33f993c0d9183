//! Check that the stores of a plan fit on the disk and their caches in memory.

use super::{Plan, PlanError, check_memory};
use crate::study::machine;
use crate::workload::SizedBy;

impl Plan {
    /// Checks that the stores fit on the disk and a cache that was set fits in memory.
    ///
    /// - `stores`: how many copies of each data set there are: one a variant, or one for each
    ///   member of its replica set
    /// - `datasets`: sizes of the data sets that will be loaded
    ///
    /// # Errors
    /// `PlanError::Space`, `PlanError::Memory`.
    pub(crate) fn check_room(&self, stores: usize, datasets: &[SizedBy]) -> Result<(), PlanError> {
        // log-structured stores hold up to about twice their data while they compact
        let data = self.data();
        let bytes =
            |dataset: &SizedBy| dataset.stored_bytes(&data).saturating_mul(2 * stores as u64);
        let need_bytes = match self.keep {
            Some(_) => datasets.iter().map(bytes).fold(0, u64::saturating_add),
            None => datasets.iter().map(bytes).max().unwrap_or(0),
        };
        let dir = self.stores_dir();
        if let Some(free_bytes) = machine::free_bytes(dir)
            && need_bytes > free_bytes
        {
            return Err(PlanError::Space { dir: dir.to_owned(), need_bytes, free_bytes });
        }
        self.cache.map_or(Ok(()), |cache_bytes| check_memory(cache_bytes, stores))
    }
}
