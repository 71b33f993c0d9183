//! Checkpoints: what is in the log is put in place, and a new root records that. Readers and
//! writers go on while it runs.
//!
//! In this order, each step on stable storage before the next: the log and the mark that records
//! how long it is; blocks, tag pages and leaf pages; the root. Pages go to the place of the two
//! that they were not at, so that until the root is there the one before it is whole.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use sealstone_seal::volume::{EntryPage, Level, Root, Run};

use crate::aligned_memory::Aligned;
use crate::error::Failure;
use crate::index::{Index, Pending, Source};
use crate::log::Closed;
use crate::names;
use crate::volume::Volume;

/// Bytes that are put in place by one write at most.
const PIECE_BYTES: usize = 1 << 20;

/// Blocks that follow each other, with their states.
type Piece<'a> = Vec<(u64, &'a Pending)>;

/// New states of blocks on one tag page, by their index on it.
type States<'a> = Vec<(usize, &'a Pending)>;

impl Volume {
    /// Puts in place what is in the log, and frees it.
    ///
    /// # Errors
    /// The disk is full, a page of entries is damaged: the log stays as it is, and counts. A sync
    /// failed: then nothing is written any more. [`Failure::Anchor`]: everything is in place, but
    /// not recorded; the next checkpoint tries again.
    pub fn checkpoint(&self) -> Result<(), Failure> {
        let _alone = self.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_poison()?;
        if !self.is_pending() {
            return self.anchored.record(self.generation());
        }
        self.checkpoint_of(self.blocks())
    }

    /// Makes the device larger, to `bytes`.
    ///
    /// # Errors
    /// A size that no device has, or that is smaller; as [`Volume::checkpoint`].
    pub fn grow(&self, bytes: u64) -> Result<(), Failure> {
        let _alone = self.checkpointing.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_poison()?;
        let blocks = self.places.blocks(bytes)?;
        let size = self.size_bytes();
        if blocks < self.blocks() {
            return Err(Failure::Smaller { bytes, size });
        }
        let file_bytes = self.places.file_bytes(blocks);
        self.data.set_bytes(file_bytes).map_err(Failure::of("lengthen", names::DATA))?;
        // twice, so that the root before the last has this size, too
        self.checkpoint_of(blocks)?;
        self.checkpoint_of(blocks)
    }

    fn blocks(&self) -> u64 {
        self.table().root.blocks
    }

    /// Runs a checkpoint after which the device has `blocks`. The caller holds the lock.
    fn checkpoint_of(&self, blocks: u64) -> Result<(), Failure> {
        let (closed, root, old) = {
            let mut log = self.lock_log();
            let closed =
                log.close(&*self.disk).map_err(|failure| self.poison_unless_full(failure))?;
            let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
            // what an earlier checkpoint could not put in place is older than the rest
            let mut old = (*table.old).clone();
            old.append(&mut table.fresh);
            table.old = Arc::new(old);
            (closed, Arc::clone(&table.root), Arc::clone(&table.old))
        };
        match self.place(&root, &old, &closed, blocks) {
            Ok(root) => {
                let mut log = self.lock_log();
                let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
                table.root = Arc::new(root);
                table.old = Arc::default();
                drop(table);
                log.recycle(&*self.disk, closed)?;
                drop(log);
                self.anchored.record(self.generation())
            }
            Err(failure) => {
                self.lock_log().reopen(closed);
                Err(failure)
            }
        }
    }

    /// Puts `old` in place and brings the root that records it to stable storage.
    fn place(
        &self,
        root: &Root,
        old: &Index,
        closed: &Closed,
        blocks: u64,
    ) -> Result<Root, Failure> {
        // from here on a frame may no longer be judged by what is in place
        self.flush()?;
        self.marks.sync().map_err(|failure| self.poison(failure))?;
        self.place_blocks(old)?;
        let mut next = self.place_entries(root, old, blocks)?;
        let sync = self.data.sync().map_err(Failure::of("sync", names::DATA));
        sync.map_err(|failure| self.poison(failure))?;
        next.generation += 1;
        next.salts = self.epoch.keys().salts().to_vec();
        let (segment, frame) = (closed.segment, closed.frame);
        next.runs = vec![Run { epoch: self.epoch.number(), segment, frame }];
        // whether it is there after a failure nobody knows, and the pages of both are at stake
        self.roots
            .write(self.epoch.keys().file(), &next)
            .map_err(|failure| self.poison_unless_full(failure))?;
        Ok(next)
    }

    /// Copies blocks from the log to their places, as they are sealed, and frees those of holes:
    /// several pieces at once, since each waits for the disk most of the time.
    fn place_blocks(&self, old: &Index) -> Result<(), Failure> {
        let pieces = self.pieces(old);
        let next = AtomicUsize::new(0);
        let copy = || {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.place_piece(piece)?;
            }
            Ok(())
        };
        let threads = self.sizes.copiers.get().min(pieces.len());
        std::thread::scope(|scope| {
            // where no thread can be had, this one does it all
            let start = |_| std::thread::Builder::new().spawn_scoped(scope, copy).ok();
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let own = copy();
            let ends = others.into_iter().map(|other| other.join().expect("no panic"));
            ends.fold(own, Result::and)
        })
    }

    /// Returns the blocks that are not in their places in pieces that one write puts there.
    fn pieces<'a>(&self, old: &'a Index) -> Vec<Piece<'a>> {
        let most = PIECE_BYTES / self.block_bytes() as usize;
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        let elsewhere = old.iter().filter(|(_, state)| !matches!(state.source, Source::InPlace));
        for (block, state) in elsewhere {
            let is_hole = |state: &Pending| matches!(state.source, Source::Hole);
            let continued = pieces.last_mut().filter(|piece| {
                let (first, before) = piece[0];
                let count = block - first + 1;
                count as usize == piece.len() + 1
                    && count as usize <= most
                    && is_hole(before) == is_hole(state)
                    && self.places.together(first, count) == count
            });
            match continued {
                Some(piece) => piece.push((*block, state)),
                None => pieces.push(vec![(*block, state)]),
            }
        }
        pieces
    }

    /// Copies blocks that follow each other, or frees their places.
    fn place_piece(&self, piece: &[(u64, &Pending)]) -> Result<(), Failure> {
        let (first, state) = piece[0];
        let block_bytes = self.block_bytes() as usize;
        let at = self.places.block(first);
        if matches!(state.source, Source::Hole) {
            let bytes = (piece.len() * block_bytes) as u64;
            return self.data.punch(at, bytes).map_err(Failure::of("free space in", names::DATA));
        }
        let mut sealed = Aligned::new(piece.len() * block_bytes);
        let is_next = |one: &(u64, &Pending), other: &(u64, &Pending)| {
            one.1.source.is_followed_by(&other.1.source, block_bytes as u64)
        };
        let mut rest = &mut sealed[..];
        // what one request wrote is side by side in the log
        for stretch in piece.chunk_by(is_next) {
            let (here, later) = rest.split_at_mut(stretch.len() * block_bytes);
            let Source::Logged { segment, offset } = &stretch[0].1.source else {
                unreachable!("a piece has blocks of one kind")
            };
            segment.file.read(*offset, here).map_err(Failure::of("read", &segment.name))?;
            rest = later;
        }
        self.data.write(at, &[&sealed]).map_err(Failure::of("write", names::DATA))
    }

    /// Stores the pages that have entries of `old`, and returns the root above them.
    fn place_entries(&self, root: &Root, old: &Index, blocks: u64) -> Result<Root, Failure> {
        let keys = self.epoch.keys();
        let mut next = root.clone();
        next.blocks = blocks;
        next.leaves
            .resize(self.places.leaves(blocks) as usize, sealstone_seal::volume::Entry::HOLE);
        let mut pages: BTreeMap<u64, BTreeMap<u64, States<'_>>> = BTreeMap::new();
        for (block, state) in old {
            let (page, index) = self.places.tag_page(*block);
            let (leaf, _) = self.places.leaf_page(page);
            pages.entry(leaf).or_default().entry(page).or_default().push((index, state));
        }
        for (number, pages) in pages {
            let mut leaf = EntryPage::clone(&*self.pages.leaf(keys, root, number)?);
            for (page, states) in pages {
                let (_, index) = self.places.leaf_page(page);
                let place = (Level::Tags, page);
                let mut tags =
                    EntryPage::clone(&*self.pages.page(keys, place, &leaf.get(index))?);
                states.iter().for_each(|(index, state)| tags.set(*index, &state.entry));
                leaf.set(index, &tags.seal(&self.epoch, place)?);
                self.pages.store(place, tags)?;
            }
            let place = (Level::Leaf, number);
            next.leaves[number as usize] = leaf.seal(&self.epoch, place)?;
            self.pages.store(place, leaf)?;
        }
        Ok(next)
    }
}
