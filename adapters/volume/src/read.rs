//! Reading from a volume that is open: blocks are where the log records, or in their places, or
//! nowhere.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_seal::volume::{BlockPlace, Root};

use crate::aligned_memory::Aligned;
use crate::error::Failure;
use crate::index::{Pending, Source};
use crate::names;
use crate::volume::Volume;

/// Bytes from which on a request is read in several threads: enough to be worth starting them.
const LONG_BYTES: usize = 512 << 10;

/// State of a block.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) state: Pending,
    /// True if the log has it.
    pending: bool,
}

impl Located {
    fn is_same(&self, other: &Self) -> bool {
        self.pending == other.pending && self.state.is_same(&other.state)
    }

    /// Returns whether nothing was ever written to its place, as far as any root will say after a
    /// crash.
    pub(crate) fn is_untouched(&self) -> bool {
        !self.pending && self.state.entry.is_hole()
    }
}

impl Volume {
    /// Reads the bytes at `offset` into all of `out`.
    ///
    /// # Errors
    /// [`Failure::PastEnd`]; [`Failure::Seal`] for what was changed on the disk; of the disk. `out`
    /// is zeros then.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
        self.check_range(offset, out.len() as u64)?;
        let block_bytes = u64::from(self.block_bytes());
        let blocks = self.blocks_of(offset, out.len() as u64);
        let whole = (blocks.end - blocks.start) * block_bytes;
        let result = if whole == out.len() as u64 {
            self.read_blocks(blocks, out)
        } else {
            let mut wider = vec![0; whole as usize];
            let skip = (offset - blocks.start * block_bytes) as usize;
            self.read_blocks(blocks, &mut wider)
                .map(|()| out.copy_from_slice(&wider[skip..skip + out.len()]))
        };
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    pub(crate) fn read_blocks(&self, blocks: Range<u64>, out: &mut [u8]) -> Result<(), Failure> {
        let mut located = self.locate(blocks.clone())?;
        loop {
            let failure = match self.fetch(blocks.start, &located, out) {
                Err(Failure::Seal(error)) => Failure::Seal(error),
                result => return result,
            };
            // a checkpoint may have moved them since, and something else may be there now
            let again = self.locate(blocks.clone())?;
            if located.iter().zip(&again).all(|(one, other)| one.is_same(other)) {
                return Err(failure);
            }
            located = again;
        }
    }

    /// Returns the states of `blocks`.
    pub(crate) fn locate(&self, blocks: Range<u64>) -> Result<Vec<Located>, Failure> {
        loop {
            let (root, pending) = {
                let table = self.table();
                let pending: Vec<Option<Pending>> =
                    blocks.clone().map(|block| table.pending(block).cloned()).collect();
                (Arc::clone(&table.root), pending)
            };
            match self.locate_at(&root, blocks.start, pending) {
                // its pages may be those of a later root by now
                Err(Failure::Seal(_)) if !Arc::ptr_eq(&root, &self.table().root) => {}
                result => return result,
            }
        }
    }

    fn locate_at(
        &self,
        root: &Root,
        first: u64,
        pending: Vec<Option<Pending>>,
    ) -> Result<Vec<Located>, Failure> {
        let mut page = None;
        let mut located = Vec::with_capacity(pending.len());
        for (block, pending) in (first..).zip(pending) {
            if let Some(state) = pending {
                located.push(Located { state, pending: true });
                continue;
            }
            let (number, index) = self.places.tag_page(block);
            let tags = match &page {
                Some((kept, tags)) if *kept == number => tags,
                _ => {
                    let tags = self.pages.tags(self.epoch.keys(), root, number)?;
                    &page.insert((number, tags)).1
                }
            };
            let entry = tags.get(index);
            let source = if entry.is_hole() { Source::Hole } else { Source::InPlace };
            located.push(Located { state: Pending { entry, source }, pending: false });
        }
        Ok(located)
    }

    /// Reads and opens blocks that follow each other from `first` on, wherever they are: what is
    /// much in several threads, since each waits for the disk and then keeps a core busy.
    fn fetch(&self, first: u64, located: &[Located], out: &mut [u8]) -> Result<(), Failure> {
        let is_long = out.len() >= LONG_BYTES;
        let mut stretches = Vec::new();
        let (mut block, mut located, mut out) = (first, located, out);
        while !located.is_empty() {
            let count = self.together(block, located);
            let (states, later) = located.split_at(count);
            let (here, rest) = out.split_at_mut(count * self.block_bytes() as usize);
            stretches.push((block, states, here));
            (block, located, out) = (block + count as u64, later, rest);
        }
        if !is_long {
            let mut stretches = stretches.into_iter();
            return stretches
                .try_for_each(|(block, states, out)| self.fetch_stretch(block, states, out));
        }
        let threads = self.sizes.readers.get().min(stretches.len());
        let stretches = Mutex::new(stretches.into_iter());
        let fetch = || {
            loop {
                let next = stretches.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((block, states, out)) = next else { return Ok(()) };
                self.fetch_stretch(block, states, out)?;
            }
        };
        std::thread::scope(|scope| {
            // where no thread can be had, this one does it all
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, fetch).ok();
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let own = fetch();
            let ends = others.into_iter().map(|other| other.join().expect("no panic"));
            ends.fold(own, Result::and)
        })
    }

    /// Reads and opens blocks that are side by side.
    fn fetch_stretch(
        &self,
        first: u64,
        located: &[Located],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        if matches!(located[0].state.source, Source::Hole) {
            out.fill(0);
            return Ok(());
        }
        let mut sealed = Aligned::new(out.len());
        match &located[0].state.source {
            Source::Logged { segment, offset } => segment
                .file
                .read(*offset, &mut sealed)
                .map_err(Failure::of("read", &segment.name))?,
            _ => self
                .data
                .read(self.places.block(first), &mut sealed)
                .map_err(Failure::of("read", names::DATA))?,
        }
        let blocks: Vec<BlockPlace> = (first..)
            .zip(located)
            .map(|(number, located)| BlockPlace { number, entry: located.state.entry })
            .collect();
        self.epoch.keys().open_blocks(&blocks, &sealed, out)?;
        self.counts.add_opened(blocks.len());
        Ok(())
    }

    /// Returns how many of `located`, from the block `first` on, are side by side.
    fn together(&self, first: u64, located: &[Located]) -> usize {
        let block_bytes = u64::from(self.block_bytes());
        let follows = |index: usize| match (&located[0].state.source, &located[index].state.source)
        {
            (Source::Hole, Source::Hole) => true,
            (Source::InPlace, Source::InPlace) => {
                self.places.together(first, index as u64 + 1) > index as u64
            }
            (
                Source::Logged { segment, offset },
                Source::Logged { segment: other, offset: next },
            ) => Arc::ptr_eq(segment, other) && *next == offset + index as u64 * block_bytes,
            _ => false,
        };
        (1..located.len()).find(|index| !follows(*index)).unwrap_or(located.len())
    }
}
