//! Counts of what a volume that is open has done since it was opened.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the volume was opened. Each request adds once, however many blocks it has.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    sealed: AtomicU64,
    opened: AtomicU64,
}

impl Counts {
    /// Adds blocks that were sealed.
    pub(crate) fn add_sealed(&self, blocks: usize) {
        self.sealed.fetch_add(blocks as u64, Ordering::Relaxed);
    }

    /// Adds blocks that were authenticated and opened.
    pub(crate) fn add_opened(&self, blocks: usize) {
        self.opened.fetch_add(blocks as u64, Ordering::Relaxed);
    }

    /// Returns the blocks that were sealed, and those that were opened.
    pub(crate) fn blocks(&self) -> (u64, u64) {
        (self.sealed.load(Ordering::Relaxed), self.opened.load(Ordering::Relaxed))
    }
}
