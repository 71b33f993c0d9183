//! Places of blocks and of pages of entries in the file with the blocks: arithmetic alone.
//!
//! The file consists of regions of one leaf page and 127 groups, a group of one tag page and 127
//! blocks; every page has two places, side by side.

use super::entry::Entry;
use super::entry_page::{CHILDREN, PAGE_BYTES};
use super::error::VolumeError;
use super::level::Level;
use crate::limits::VOLUME_BLOCK_BYTES;

/// Both places of a page, in bytes.
const PAIR_BYTES: u64 = 2 * PAGE_BYTES as u64;
const CHILDREN_U64: u64 = CHILDREN as u64;

/// Places in the file of a volume with blocks of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    block_bytes: u64,
}

impl Places {
    /// Largest device, in bytes. Its root then has 8 MiB.
    pub const DEVICE_BYTES_MAX: u64 = 16 << 40;

    /// Returns those for blocks of `block_bytes`.
    ///
    /// # Panics
    /// If no block has that length: a bug of the caller, since a header with another does not open.
    #[must_use]
    pub fn new(block_bytes: u32) -> Self {
        assert!(VOLUME_BLOCK_BYTES.contains(&block_bytes), "blocks of {block_bytes} bytes");
        Self { block_bytes: block_bytes.into() }
    }

    /// As [`Places::new`], for a length that somebody asks for.
    ///
    /// # Errors
    /// [`VolumeError::BlockBytes`] if no block has that length.
    pub fn of(block_bytes: u32) -> Result<Self, VolumeError> {
        match VOLUME_BLOCK_BYTES.contains(&block_bytes) {
            true => Ok(Self::new(block_bytes)),
            false => Err(VolumeError::BlockBytes { found: block_bytes }),
        }
    }

    /// Returns the number of blocks of a device of `bytes`.
    ///
    /// # Errors
    /// [`VolumeError::Size`] if no device has that size.
    pub fn blocks(&self, bytes: u64) -> Result<u64, VolumeError> {
        let (block_bytes, min, max) = (self.block_bytes, self.block_bytes, Self::DEVICE_BYTES_MAX);
        if !(min..=max).contains(&bytes) || !bytes.is_multiple_of(block_bytes) {
            let block_bytes = block_bytes as u32;
            return Err(VolumeError::Size { found: bytes, min, max, block_bytes });
        }
        Ok(bytes / block_bytes)
    }

    /// Returns the length of the file of a device of `blocks`, in bytes.
    #[must_use]
    pub fn file_bytes(&self, blocks: u64) -> u64 {
        blocks.checked_sub(1).map_or(0, |last| self.block(last) + self.block_bytes)
    }

    /// Returns the number of leaf pages of a device of `blocks`.
    #[must_use]
    pub fn leaves(&self, blocks: u64) -> u64 {
        blocks.div_ceil(CHILDREN_U64 * CHILDREN_U64)
    }

    fn group_bytes(&self) -> u64 {
        PAIR_BYTES + CHILDREN_U64 * self.block_bytes
    }

    fn region_bytes(&self) -> u64 {
        PAIR_BYTES + CHILDREN_U64 * self.group_bytes()
    }

    /// Returns the number of the tag page of `block`, and the block's index on it.
    #[must_use]
    pub fn tag_page(&self, block: u64) -> (u64, usize) {
        (block / CHILDREN_U64, (block % CHILDREN_U64) as usize)
    }

    /// Returns the number of the leaf page of the tag page `page`, and the page's index on it.
    #[must_use]
    pub fn leaf_page(&self, page: u64) -> (u64, usize) {
        self.tag_page(page)
    }

    /// Returns the position of a block, in bytes from the beginning of the file.
    #[must_use]
    pub fn block(&self, block: u64) -> u64 {
        let (page, index) = self.tag_page(block);
        self.pair(Level::Tags, page) + PAIR_BYTES + index as u64 * self.block_bytes
    }

    /// Returns the position of both places of a page, of which the second follows the first.
    #[must_use]
    pub fn pair(&self, level: Level, page: u64) -> u64 {
        match level {
            Level::Leaf => page * self.region_bytes(),
            Level::Tags => {
                let (leaf, index) = self.leaf_page(page);
                self.pair(Level::Leaf, leaf) + PAIR_BYTES + index as u64 * self.group_bytes()
            }
        }
    }

    /// Returns the place of the page with the own entry `own`.
    #[must_use]
    pub fn page(&self, level: Level, page: u64, own: &Entry) -> u64 {
        self.pair(level, page) + own.counter % 2 * PAGE_BYTES as u64
    }

    /// Returns the number of blocks from `block` on, at most `blocks`, that are side by side in the
    /// file.
    #[must_use]
    pub fn together(&self, block: u64, blocks: u64) -> u64 {
        blocks.min(CHILDREN_U64 - block % CHILDREN_U64)
    }
}
