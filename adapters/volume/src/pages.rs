//! Pages of entries: read when they are needed, checked against the page above, and kept.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use sealstone_seal::volume::{
    CHILDREN, Entry, EntryPage, Level, PAGE_BYTES, Places, Root, VolumeKeys,
};

use crate::aligned_memory::Aligned;
use crate::disk::DiskFile;
use crate::error::Failure;
use crate::names;

/// The pages of a volume.
pub(crate) struct Pages {
    data: Arc<dyn DiskFile>,
    places: Places,
    kept: Mutex<LruCache<(Level, u64), Arc<EntryPage>>>,
    none: Arc<EntryPage>,
}

impl Pages {
    /// Returns those in `data`, of which `kept` are kept at once.
    pub(crate) fn new(data: Arc<dyn DiskFile>, places: Places, kept: NonZeroUsize) -> Self {
        let kept = Mutex::new(LruCache::new(kept));
        Self { data, places, kept, none: Arc::default() }
    }

    /// Returns the leaf page with `number`.
    ///
    /// # Errors
    /// It cannot be read, or is not the one that `root` names.
    pub(crate) fn leaf(
        &self,
        keys: &VolumeKeys,
        root: &Root,
        number: u64,
    ) -> Result<Arc<EntryPage>, Failure> {
        let own = root.leaves.get(number as usize).copied().unwrap_or(Entry::HOLE);
        self.page(keys, (Level::Leaf, number), &own)
    }

    /// Returns the tag page with `number`.
    ///
    /// # Errors
    /// As [`Pages::leaf`].
    pub(crate) fn tags(
        &self,
        keys: &VolumeKeys,
        root: &Root,
        number: u64,
    ) -> Result<Arc<EntryPage>, Failure> {
        let (leaf, index) = self.places.leaf_page(number);
        let own = self.leaf(keys, root, leaf)?.get(index);
        self.page(keys, (Level::Tags, number), &own)
    }

    /// Returns the page whose own entry is `own`.
    pub(crate) fn page(
        &self,
        keys: &VolumeKeys,
        place: (Level, u64),
        own: &Entry,
    ) -> Result<Arc<EntryPage>, Failure> {
        if own.is_hole() {
            return Ok(Arc::clone(&self.none));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&place).cloned();
        // the one that is kept may be older or newer than the page above that is looked at
        if let Some(page) = kept.filter(|page| page.own() == *own) {
            return Ok(page);
        }
        let at = self.places.page(place.0, place.1, own);
        let mut stored = Aligned::new(PAGE_BYTES);
        self.data.read(at, &mut stored).map_err(Failure::of("read", names::DATA))?;
        let stored = stored.first_chunk().expect("a page was read");
        let page = Arc::new(EntryPage::open(keys, place, own, stored, at)?);
        self.keep(place, Arc::clone(&page));
        Ok(page)
    }

    /// Keeps a page, since it is likely to be needed.
    fn keep(&self, place: (Level, u64), page: Arc<EntryPage>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).put(place, page);
    }

    /// Stores a page at the place that its own entry records.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn store(
        &self,
        (level, number): (Level, u64),
        page: EntryPage,
    ) -> Result<(), Failure> {
        let mut stored = Aligned::new(PAGE_BYTES);
        stored.copy_from_slice(page.bytes());
        let at = self.places.page(level, number, &page.own());
        self.data.write(at, &[&stored]).map_err(Failure::of("write", names::DATA))?;
        self.keep((level, number), Arc::new(page));
        Ok(())
    }

    /// Returns the first block after the stretch of holes that `block` is in, as far as pages that
    /// were never written tell; `block` itself if it is on one that was.
    pub(crate) fn after_holes(
        &self,
        keys: &VolumeKeys,
        root: &Root,
        block: u64,
    ) -> Result<u64, Failure> {
        let children = CHILDREN as u64;
        let (page, _) = self.places.tag_page(block);
        let (leaf, index) = self.places.leaf_page(page);
        if root.leaves.get(leaf as usize).is_none_or(Entry::is_hole) {
            return Ok((leaf + 1) * children * children);
        }
        if self.leaf(keys, root, leaf)?.get(index).is_hole() {
            return Ok((page + 1) * children);
        }
        Ok(block)
    }
}
