//! Writes that are under way: of two that touch the same block, one waits for the other. So nobody
//! writes to a block in its place while somebody else seals another state of it.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};

/// Blocks that are being written.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    ranges: Mutex<Vec<Range<u64>>>,
    ended: Condvar,
}

impl InFlight {
    /// Waits until nobody writes to one of `blocks`, and keeps others from it until the returned
    /// value is dropped.
    pub(crate) fn enter(&self, blocks: Range<u64>) -> Entered<'_> {
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        while ranges.iter().any(|other| blocks.start < other.end && other.start < blocks.end) {
            ranges = self.ended.wait(ranges).unwrap_or_else(PoisonError::into_inner);
        }
        ranges.push(blocks.clone());
        Entered { all: self, blocks }
    }
}

/// A write that is under way.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    all: &'a InFlight,
    blocks: Range<u64>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut ranges = self.all.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        let own = ranges.iter().position(|range| *range == self.blocks);
        ranges.swap_remove(own.expect("it was put there"));
        drop(ranges);
        self.all.ended.notify_all();
    }
}
