//! Rules for the versions of a block that a read may return. Concurrent writes may reach the device
//! in any order; a write acknowledged before another was submitted may not reappear after it.

use std::ops::RangeInclusive;

/// Record of the writes to each block of one device.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// The version that was handed over last.
    issued: u64,
    /// Every version below this one was replaced by a write that was acknowledged.
    floor: u64,
    /// Versions that were handed over and not acknowledged, in ascending order.
    under_way: Vec<u64>,
}

/// A write that was handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    pub(super) version: u64,
    /// Version that will be the floor once the write is acknowledged.
    floor: u64,
}

impl Ledger {
    /// Returns `blocks` blocks, all in version 0.
    pub(super) fn new(blocks: u64) -> Self {
        Self { blocks: vec![Block::default(); blocks as usize] }
    }

    /// Notes a write to `block` that is about to be handed over.
    pub(super) fn issue(&mut self, block: u64) -> Issued {
        let block = &mut self.blocks[block as usize];
        block.issued += 1;
        let version = block.issued;
        // writes under way may come after it
        let floor = block.under_way.first().copied().unwrap_or(version);
        block.under_way.push(version);
        Issued { version, floor }
    }

    /// Notes that a write to `block` was acknowledged.
    pub(super) fn acknowledge(&mut self, block: u64, write: Issued) {
        let block = &mut self.blocks[block as usize];
        block.under_way.retain(|version| *version != write.version);
        block.floor = block.floor.max(write.floor);
    }

    /// Returns the oldest version that a read of `block` may return that is handed over now.
    pub(super) fn floor(&self, block: u64) -> u64 {
        self.blocks[block as usize].floor
    }

    /// Returns the versions that a read of `block` may have returned if it was handed over when the
    /// floor was `floor` and is done now.
    pub(super) fn readable(&self, block: u64, floor: u64) -> RangeInclusive<u64> {
        floor..=self.blocks[block as usize].issued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_was_acknowledged_replaces_what_was_there() {
        let mut ledger = Ledger::new(2);
        assert_eq!(ledger.readable(1, ledger.floor(1)), 0..=0);
        let first = ledger.issue(1);
        assert_eq!(
            ledger.readable(1, ledger.floor(1)),
            0..=1,
            "before and after it are both possible"
        );
        ledger.acknowledge(1, first);
        assert_eq!(ledger.readable(1, ledger.floor(1)), 1..=1);
        assert_eq!(ledger.readable(0, ledger.floor(0)), 0..=0);
    }

    #[test]
    fn writes_at_the_same_time_may_come_in_any_order() {
        let mut ledger = Ledger::new(1);
        let writes = [ledger.issue(0), ledger.issue(0), ledger.issue(0)];
        writes.into_iter().rev().for_each(|write| ledger.acknowledge(0, write));
        assert_eq!(ledger.readable(0, ledger.floor(0)), 1..=3, "the first may have been done last");
        let after = ledger.issue(0);
        ledger.acknowledge(0, after);
        assert_eq!(ledger.readable(0, ledger.floor(0)), 4..=4);
    }
}
