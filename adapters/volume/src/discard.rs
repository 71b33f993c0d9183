//! Discarding on a volume that is open: ranges that become zeros, and whose space is returned.

use std::ops::Range;
use std::sync::Arc;

use sealstone_seal::volume::Entry;
use sealstone_seal::volume::frame::{Data, RECORDS_MAX, Record};

use crate::error::Failure;
use crate::index::Index;
use crate::volume::Volume;

impl Volume {
    /// Makes `bytes` at `offset` zeros, and returns the space of whole blocks at the next
    /// checkpoint.
    ///
    /// # Errors
    /// As [`Volume::write`]; part of the range may be zeros then.
    pub fn discard(&self, offset: u64, bytes: u64) -> Result<(), Failure> {
        self.check_range(offset, bytes)?;
        let block_bytes = u64::from(self.block_bytes());
        let end = offset + bytes;
        let whole = offset.div_ceil(block_bytes)..end / block_bytes;
        if whole.start >= whole.end {
            return self.write(offset, &vec![0; bytes as usize]);
        }
        self.write(offset, &vec![0; (whole.start * block_bytes - offset) as usize])?;
        self.write(whole.end * block_bytes, &vec![0; (end - whole.end * block_bytes) as usize])?;
        let mut block = whole.start;
        while block < whole.end {
            let next = self.after_holes(block)?;
            if next > block {
                block = next;
                continue;
            }
            let count = (whole.end - block).min(RECORDS_MAX as u64);
            self.discard_blocks(block..block + count)?;
            block += count;
        }
        Ok(())
    }

    /// Returns the offset from which on there may be data, at or after `offset`; all before it is
    /// zeros. May be beyond the end of the device.
    ///
    /// # Errors
    /// As [`Volume::read`].
    pub(crate) fn data_from(&self, offset: u64) -> Result<u64, Failure> {
        let block_bytes = u64::from(self.block_bytes());
        let mut block = offset / block_bytes;
        let blocks = self.size_bytes() / block_bytes;
        while block < blocks {
            let next = self.after_holes(block)?;
            if next == block {
                break;
            }
            block = next;
        }
        Ok((block * block_bytes).max(offset))
    }

    /// Returns the first block after the stretch of holes at `block`, as far as a look at few pages
    /// shows; `block` if it may be none.
    pub(crate) fn after_holes(&self, block: u64) -> Result<u64, Failure> {
        loop {
            let root = Arc::clone(&self.table().root);
            let next = match self.pages.after_holes(self.epoch.keys(), &root, block) {
                Err(Failure::Seal(_)) if !Arc::ptr_eq(&root, &self.table().root) => continue,
                result => result?,
            };
            let table = self.table();
            if !Arc::ptr_eq(&root, &table.root) {
                continue;
            }
            let first =
                |index: &Index| index.range(block..next.max(block)).next().map(|one| *one.0);
            let pending = [first(&table.fresh), first(&table.old)].into_iter().flatten().min();
            return Ok(pending.unwrap_or(next));
        }
    }

    fn discard_blocks(&self, blocks: Range<u64>) -> Result<(), Failure> {
        self.make_room()?;
        let _entered = self.in_flight.enter(blocks.clone());
        let located = self.locate(blocks.clone())?;
        let records: Vec<Record> = blocks
            .zip(&located)
            .filter(|(_, located)| !located.state.entry.is_hole())
            .map(|(block, _)| Record { block, entry: Entry::HOLE, data: Data::Hole })
            .collect();
        if records.is_empty() { Ok(()) } else { self.append(&records, &[]) }
    }
}
