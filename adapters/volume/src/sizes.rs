//! Sizes that a volume works with.

use std::num::NonZeroUsize;

/// Sizes that a volume works with. None of them is part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Length of a segment of the log, in bytes.
    pub segment_bytes: u64,
    /// Bytes of the log from which on a checkpoint is due; at twice as many a write waits for it.
    pub checkpoint_bytes: u64,
    /// Blocks in the log from which on a checkpoint is due, likewise.
    pub checkpoint_blocks: usize,
    /// Bytes in blocks that were never written, side by side, that go to their place at once.
    pub at_once_bytes: u64,
    /// Longest write that is all or nothing, in bytes.
    pub request_bytes: u64,
    /// Pages of entries that are kept in memory, 4 KiB each.
    pub pages: NonZeroUsize,
    /// Threads that read one long request.
    pub readers: NonZeroUsize,
    /// Threads that put blocks in place at a checkpoint.
    pub copiers: NonZeroUsize,
}

impl Sizes {
    /// Returns these, with nothing done at the same time: the same requests then ask the same of
    /// the disk.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { readers: NonZeroUsize::MIN, copiers: NonZeroUsize::MIN, ..self }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            checkpoint_bytes: 256 << 20,
            checkpoint_blocks: 1 << 18,
            at_once_bytes: 64 << 10,
            request_bytes: 1 << 20,
            pages: NonZeroUsize::new(16 << 10).expect("it is not zero"),
            readers: NonZeroUsize::new(2).expect("it is not zero"),
            copiers: NonZeroUsize::new(4).expect("it is not zero"),
        }
    }
}
