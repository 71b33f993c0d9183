//! Writing to a volume that is open: to the log, or at once to places where nothing was.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use sealstone_seal::volume::frame::{Data, Record};
use sealstone_seal::volume::{Level, PAGE_BYTES};

use crate::aligned_memory::Aligned;
use crate::error::Failure;
use crate::names;
use crate::read::Located;
use crate::volume::Volume;

impl Volume {
    /// Writes `data` at `offset`. It is durable after the next [`Volume::flush`]; after a crash
    /// before that every piece of `Sizes::request_bytes` is wholly there or not at all.
    ///
    /// # Errors
    /// [`Failure::PastEnd`]; that the disk is full; [`Failure::Poisoned`]; of the disk. The blocks
    /// of the piece that failed read as before.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), Failure> {
        self.check_range(offset, data.len() as u64)?;
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(self.sizes.request_bytes as usize));
            self.write_piece(at, piece)?;
            at += piece.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn write_piece(&self, offset: u64, data: &[u8]) -> Result<(), Failure> {
        self.make_room()?;
        let block_bytes = u64::from(self.block_bytes());
        let blocks = self.blocks_of(offset, data.len() as u64);
        let _entered = self.in_flight.enter(blocks.clone());
        let mut sealed = Aligned::new(((blocks.end - blocks.start) * block_bytes) as usize);
        let skip = (offset - blocks.start * block_bytes) as usize;
        if sealed.len() != data.len() {
            // a block of which only a part is written is read first
            let (first, last) = (blocks.start, blocks.end - 1);
            let one = block_bytes as usize;
            self.read_blocks(first..first + 1, &mut sealed[..one])?;
            if last > first {
                let at = sealed.len() - one;
                self.read_blocks(last..last + 1, &mut sealed[at..])?;
            }
        }
        sealed[skip..skip + data.len()].copy_from_slice(data);
        self.write_blocks(blocks, sealed)
    }

    /// Writes whole blocks, which nobody else writes at the same time.
    fn write_blocks(&self, blocks: Range<u64>, mut sealed: Aligned) -> Result<(), Failure> {
        let located = self.locate(blocks.clone())?;
        let numbers: Vec<u64> = blocks.clone().collect();
        let entries = self.epoch.seal_blocks(&numbers, &mut sealed)?;
        self.counts.add_sealed(numbers.len());
        let at_once = self.at_once(&located);
        let block_bytes = self.block_bytes() as usize;
        let records: Vec<Record> = numbers
            .iter()
            .zip(&entries)
            .zip(&at_once)
            .map(|((block, entry), at_once)| {
                let data = if *at_once { Data::InPlace } else { Data::Logged };
                Record { block: *block, entry: *entry, data }
            })
            .collect();
        let is_any_at_once = at_once.contains(&true);
        if is_any_at_once {
            self.place_at_once(blocks.start, &at_once, &sealed)?;
        }
        self.reserve(blocks.start, &located, &at_once)?;
        let logged: Vec<u8>;
        let logged = if is_any_at_once {
            let kept = sealed.chunks_exact(block_bytes).zip(&at_once);
            logged = kept
                .filter(|(_, at_once)| !**at_once)
                .flat_map(|(data, _)| data)
                .copied()
                .collect();
            &logged[..]
        } else {
            &sealed[..]
        };
        match self.append(&records, logged) {
            // there is room where the log is, once that is in place
            Err(failure) if failure.is_full() => {
                self.checkpoint()?;
                self.append(&records, logged)
            }
            result => result,
        }
    }

    /// Appends a frame, and makes its blocks visible.
    pub(crate) fn append(&self, records: &[Record], data: &[u8]) -> Result<(), Failure> {
        let mut log = self.lock_log();
        self.check_poison()?;
        let block_bytes = self.block_bytes().into();
        let states = log.append(&*self.disk, &self.epoch, records, data, block_bytes);
        let states = states.map_err(|failure| self.poison_unless_full(failure))?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.fresh.extend(states);
        Ok(())
    }

    /// Returns which blocks go to their places at once: untouched ones, where enough are side by
    /// side.
    fn at_once(&self, located: &[Located]) -> Vec<bool> {
        let block_bytes = u64::from(self.block_bytes());
        let mut at_once = vec![false; located.len()];
        let mut begin = 0;
        while begin < located.len() {
            let untouched =
                located[begin..].iter().take_while(|block| block.is_untouched()).count();
            if untouched as u64 * block_bytes >= self.sizes.at_once_bytes {
                at_once[begin..begin + untouched].fill(true);
            }
            begin += untouched.max(1);
        }
        at_once
    }

    /// Writes the blocks that go to their places at once, unsynced.
    fn place_at_once(&self, first: u64, at_once: &[bool], sealed: &[u8]) -> Result<(), Failure> {
        let block_bytes = self.block_bytes() as usize;
        let mut begin = 0;
        while begin < at_once.len() {
            let count = at_once[begin..].iter().take_while(|at_once| **at_once).count();
            let block = first + begin as u64;
            let count = self.places.together(block, count as u64) as usize;
            if count > 0 {
                let piece = &sealed[begin * block_bytes..(begin + count) * block_bytes];
                self.data
                    .write(self.places.block(block), &[piece])
                    .map_err(Failure::of("write", names::DATA))?;
                // before their frame is in the log: a flush that sees the frame syncs these first
                self.unsynced_places.store(true, Ordering::Release);
            }
            begin += count.max(1);
        }
        Ok(())
    }

    /// Reserves the places of blocks that will be needed at the next checkpoint, so that a full
    /// disk is an error now and not then.
    fn reserve(&self, first: u64, located: &[Located], at_once: &[bool]) -> Result<(), Failure> {
        let block_bytes = u64::from(self.block_bytes());
        let mut begin = 0;
        while begin < located.len() {
            let block = first + begin as u64;
            let run = located[begin..].iter().zip(&at_once[begin..]);
            let wanted =
                run.take_while(|(block, at_once)| block.state.entry.is_hole() && !**at_once);
            let count = self.places.together(block, wanted.count() as u64);
            if count > 0 {
                self.reserve_at(self.places.block(block), count * block_bytes)?;
                let page = self.places.tag_page(block).0;
                let root = Arc::clone(&self.table().root);
                let leaf = self.places.leaf_page(page).0;
                if root.leaves[leaf as usize].is_hole() {
                    self.reserve_at(self.places.pair(Level::Leaf, leaf), 2 * PAGE_BYTES as u64)?;
                }
                if self.pages.tags(self.epoch.keys(), &root, page)?.own().is_hole() {
                    self.reserve_at(self.places.pair(Level::Tags, page), 2 * PAGE_BYTES as u64)?;
                }
            }
            begin += count.max(1) as usize;
        }
        Ok(())
    }

    fn reserve_at(&self, at: u64, bytes: u64) -> Result<(), Failure> {
        self.data.reserve(at, bytes).map_err(Failure::of("reserve space in", names::DATA))
    }
}
