//! The check that a volume is whole: every page of entries, every block in its place, and the log.
//! Changes nothing.

use std::sync::Arc;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::volume::{BlockPlace, CHILDREN, Entry, EntryPage, Level, Places};

use crate::aligned::Aligned;
use crate::disk::Disk;
use crate::error::Failure;
use crate::found::Found;
use crate::index::{Pending, Source};
use crate::names;
use crate::sizes::Sizes;

/// Findings that are kept; more are only counted.
const FINDINGS_MAX: usize = 100;

/// The outcome of a check.
#[derive(Clone, Debug, Default)]
pub struct Verification {
    /// Number of the root.
    pub generation: u64,
    /// Size of the device, in bytes.
    pub size_bytes: u64,
    /// Blocks that were opened.
    pub blocks: u64,
    /// Their bytes.
    pub data_bytes: u64,
    /// Pages of entries that were checked.
    pub pages: u64,
    /// Frames since the volume was made.
    pub frames: u64,
    /// Blocks of the log that are not in place.
    pub pending: u64,
    /// Failures, the first ones in words.
    pub findings: Vec<String>,
    /// Number of failures.
    pub failures: u64,
}

impl Verification {
    /// Returns whether nothing was found.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.failures == 0
    }

    fn add(&mut self, failure: &Failure) {
        self.failures += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(failure.to_string());
        }
    }
}

/// Checks a volume that no process has open.
///
/// - `progress`: gets the number of leaf pages done, and of all
///
/// # Errors
/// The volume does not open at all: see [`crate::Volume::attach`].
pub fn verify(
    disk: &dyn Disk,
    keys: &dyn KeySource,
    backend: Backend,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verification, Failure> {
    let _lock = crate::volume::lock(disk)?;
    let found = Found::read(disk, keys, backend, Sizes::default())?;
    let block_bytes = found.keys.block_bytes();
    let mut check = Check {
        places: Places::new(block_bytes),
        report: Verification {
            generation: found.root.generation,
            size_bytes: found.root.blocks * u64::from(block_bytes),
            frames: found.recovered.frames,
            pending: found.recovered.index.len() as u64,
            ..Verification::default()
        },
        found: &found,
    };
    let leaves = found.root.leaves.len() as u64;
    for leaf in 0..leaves {
        progress(leaf, leaves);
        check.leaf(leaf)?;
    }
    check.pending()?;
    progress(leaves, leaves);
    Ok(check.report)
}

struct Check<'a> {
    found: &'a Found,
    places: Places,
    report: Verification,
}

impl Check<'_> {
    /// Returns a page, or reports that it is damaged.
    fn page(
        &mut self,
        place: (Level, u64),
        own: &Entry,
    ) -> Result<Option<Arc<EntryPage>>, Failure> {
        if own.is_hole() {
            return Ok(None);
        }
        match self.found.pages.page(&self.found.keys, place, own) {
            Ok(page) => {
                self.report.pages += 1;
                Ok(Some(page))
            }
            Err(failure @ Failure::Seal(_)) => {
                self.report.add(&failure);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn leaf(&mut self, number: u64) -> Result<(), Failure> {
        let own = self.found.root.leaves[number as usize];
        let Some(leaf) = self.page((Level::Leaf, number), &own)? else { return Ok(()) };
        for index in 0..CHILDREN {
            let tags = number * CHILDREN as u64 + index as u64;
            if let Some(page) = self.page((Level::Tags, tags), &leaf.get(index))? {
                self.blocks(tags * CHILDREN as u64, &page)?;
            }
        }
        Ok(())
    }

    /// Opens the blocks of a tag page that are in their places and count.
    fn blocks(&mut self, first: u64, page: &EntryPage) -> Result<(), Failure> {
        let counts = |index: &usize| {
            let block = first + *index as u64;
            !page.get(*index).is_hole()
                && block < self.found.root.blocks
                && !self.found.recovered.index.contains_key(&block)
        };
        let present: Vec<usize> = (0..CHILDREN).filter(counts).collect();
        for run in present.chunk_by(|one, next| one + 1 == *next) {
            let blocks: Vec<BlockPlace> = run
                .iter()
                .map(|index| BlockPlace { number: first + *index as u64, entry: page.get(*index) })
                .collect();
            let mut sealed = self.room(blocks.len());
            let at = self.places.block(blocks[0].number);
            self.found.data.read(at, &mut sealed).map_err(Failure::of("read", names::DATA))?;
            self.open(&blocks, &sealed)?;
        }
        Ok(())
    }

    fn pending(&mut self) -> Result<(), Failure> {
        for (number, Pending { entry, source }) in &self.found.recovered.index {
            let mut sealed = self.room(1);
            match source {
                Source::Hole => continue,
                Source::InPlace => {
                    let at = self.places.block(*number);
                    self.found
                        .data
                        .read(at, &mut sealed)
                        .map_err(Failure::of("read", names::DATA))?;
                }
                Source::Logged { segment, offset } => {
                    let read = segment.file.read(*offset, &mut sealed);
                    read.map_err(Failure::of("read", &segment.name))?;
                }
            }
            self.open(&[BlockPlace { number: *number, entry: *entry }], &sealed)?;
        }
        Ok(())
    }

    fn room(&self, blocks: usize) -> Aligned {
        Aligned::new(blocks * self.found.keys.block_bytes() as usize)
    }

    /// Opens blocks, and if one is damaged, each for itself.
    fn open(&mut self, blocks: &[BlockPlace], sealed: &[u8]) -> Result<(), Failure> {
        let mut out = vec![0; sealed.len()];
        let bytes = sealed.len() / blocks.len();
        match self.found.keys.open_blocks(blocks, sealed, &mut out) {
            Ok(()) => {
                self.report.blocks += blocks.len() as u64;
                self.report.data_bytes += sealed.len() as u64;
                Ok(())
            }
            Err(error) if blocks.len() == 1 => {
                self.report.add(&error.into());
                Ok(())
            }
            Err(_) => blocks
                .iter()
                .zip(sealed.chunks_exact(bytes))
                .try_for_each(|(block, sealed)| self.open(std::slice::from_ref(block), sealed)),
        }
    }
}
