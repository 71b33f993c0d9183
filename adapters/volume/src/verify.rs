//! The check that a volume is whole: every page of entries, every block in its place, and the log.
//! Changes nothing.

use std::sync::Arc;

use sealstone_anchor::{Anchor, AnchorCheck};
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::volume::{BlockPlace, CHILDREN, Entry, EntryPage, Level, Places};

use crate::aligned_memory::Aligned;
use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::index::{Pending, Source};
use crate::names;
use crate::segment::Segment;
use crate::sizes::Sizes;
use crate::state_on_disk::Found;
use crate::volume_anchor::{self, mark};

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
    /// Result of the check against the anchor, if there is one.
    pub anchor: Option<AnchorCheck>,
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
/// - `anchor`: records the state that was found, if that is whole
/// - `progress`: gets the number of leaf pages done, and of all
///
/// # Errors
/// The volume does not open at all: see [`crate::Volume::attach`]; the anchor cannot be read or
/// written.
pub fn verify(
    disk: &dyn Disk,
    keys: &dyn KeySource,
    anchor: Option<&dyn Anchor>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verification, Failure> {
    let _lock = crate::volume::lock(disk)?;
    let found = Found::read(disk, keys, Backend::auto(), Sizes::default())?;
    let newest = mark(found.keys.file().info().file_id, found.root.generation);
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
    // before hours of checking, not after
    let remembered = match anchor.map(|anchor| volume_anchor::check(anchor, &newest)) {
        Some(Err(failure @ Failure::Seal(_))) => {
            check.report.add(&failure);
            None
        }
        checked => checked.transpose()?.map(|remembered| (anchor, remembered)),
    };
    let leaves = found.root.leaves.len() as u64;
    for leaf in 0..leaves {
        progress(leaf, leaves);
        check.leaf(leaf);
    }
    check.pending();
    check.log(disk);
    progress(leaves, leaves);
    let mut report = check.report;
    if let Some((Some(anchor), remembered)) = remembered {
        if report.is_whole() && remembered != Some(newest) {
            anchor.write(&newest)?;
        }
        let check = AnchorCheck::new(anchor.describe(), remembered.as_ref(), Some(&newest));
        report.anchor = Some(check);
    }
    Ok(report)
}

struct Check<'a> {
    found: &'a Found,
    places: Places,
    report: Verification,
}

impl Check<'_> {
    /// Opens each segment of the log, those without frames too: an opening for writing does.
    fn log(&mut self, disk: &dyn Disk) {
        let names = match crate::log::segments(disk) {
            Ok(names) => names,
            Err(failure) => return self.report.add(&failure),
        };
        for name in names {
            if let Err(failure) = Segment::open(disk, name) {
                self.report.add(&failure);
            }
        }
    }

    /// Returns a page, or reports that it is damaged or does not read.
    fn page(&mut self, place: (Level, u64), own: &Entry) -> Option<Arc<EntryPage>> {
        if own.is_hole() {
            return None;
        }
        match self.found.pages.page(&self.found.keys, place, own) {
            Ok(page) => {
                self.report.pages += 1;
                Some(page)
            }
            Err(failure) => {
                self.report.add(&failure);
                None
            }
        }
    }

    fn leaf(&mut self, number: u64) {
        let own = self.found.root.leaves[number as usize];
        let Some(leaf) = self.page((Level::Leaf, number), &own) else { return };
        for index in 0..CHILDREN {
            let tags = number * CHILDREN as u64 + index as u64;
            if let Some(page) = self.page((Level::Tags, tags), &leaf.get(index)) {
                self.blocks(tags * CHILDREN as u64, &page);
            }
        }
    }

    /// Opens the blocks of a tag page that are in their places and count.
    fn blocks(&mut self, first: u64, page: &EntryPage) {
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
            self.in_place(&blocks);
        }
    }

    /// Opens the blocks that the log has.
    fn pending(&mut self) {
        for (number, Pending { entry, source }) in &self.found.recovered.index {
            let block = BlockPlace { number: *number, entry: *entry };
            match source {
                Source::Hole => {}
                Source::InPlace => self.in_place(&[block]),
                Source::Logged { segment, offset } => {
                    self.open(&[block], (&*segment.file, &segment.name, *offset));
                }
            }
        }
    }

    /// Opens blocks that follow each other in their places; if one is damaged, each for itself.
    fn in_place(&mut self, blocks: &[BlockPlace]) {
        let at = self.places.block(blocks[0].number);
        self.open(blocks, (&*self.found.data, names::DATA, at));
    }

    fn open(&mut self, blocks: &[BlockPlace], (file, name, at): (&dyn DiskFile, &str, u64)) {
        let block_bytes = u64::from(self.found.keys.block_bytes());
        match self.opened(blocks, (file, name, at)) {
            Ok(bytes) => {
                self.report.blocks += blocks.len() as u64;
                self.report.data_bytes += bytes;
            }
            Err(failure) if blocks.len() == 1 => self.report.add(&failure),
            Err(_) => {
                for (block, at) in blocks.iter().zip((at..).step_by(block_bytes as usize)) {
                    self.open(std::slice::from_ref(block), (file, name, at));
                }
            }
        }
    }

    /// Reads and opens blocks, and returns their bytes.
    fn opened(
        &self,
        blocks: &[BlockPlace],
        (file, name, at): (&dyn DiskFile, &str, u64),
    ) -> Result<u64, Failure> {
        let bytes = blocks.len() * self.found.keys.block_bytes() as usize;
        let mut sealed = Aligned::new(bytes);
        file.read(at, &mut sealed).map_err(Failure::of("read", name))?;
        self.found.keys.open_blocks(blocks, &sealed, &mut vec![0; bytes])?;
        Ok(bytes as u64)
    }
}
