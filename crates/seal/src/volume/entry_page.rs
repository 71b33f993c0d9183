//! Pages of entries: 127 of what is below, and the page's own.
//!
//! A tag page has the entries of blocks, a leaf page those of tag pages. A page is stored at one of
//! two places in turn, so that the one that a crash may leave half written is never the one that
//! counts: the counter of its own entry is odd at the second place and even at the first.

use std::fmt;

use super::entry::{ENTRY_BYTES, Entry};
use super::error::VolumeError;
use super::keys::{Epoch, VolumeKeys};
use super::level::Level;

/// Length of a page of entries, in bytes.
pub const PAGE_BYTES: usize = 4096;

/// Entries on a page of what is below it.
pub const CHILDREN: usize = PAGE_BYTES / ENTRY_BYTES - 1;

/// Position of a page's own entry, in bytes; its binding is there while it is sealed.
const OWN_AT: usize = CHILDREN * ENTRY_BYTES;

/// A page of entries.
#[derive(Clone, PartialEq, Eq)]
pub struct EntryPage {
    bytes: Box<[u8; PAGE_BYTES]>,
}

impl EntryPage {
    /// Returns a page of holes, never sealed.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: Box::new([0; PAGE_BYTES]) }
    }

    /// Takes a page that was stored.
    ///
    /// - `level`, `number`: what page it must be
    /// - `own`: the entry that the page above it, or the root, has of it
    /// - `stored`: its bytes
    /// - `offset`: where they were read, for the error
    ///
    /// # Errors
    /// [`VolumeError::EntryPage`] if it is any other page, or an older state of this one.
    pub fn open(
        keys: &VolumeKeys,
        (level, number): (Level, u64),
        own: &Entry,
        stored: &[u8; PAGE_BYTES],
        offset: u64,
    ) -> Result<Self, VolumeError> {
        let refused = VolumeError::EntryPage { level, number, offset };
        let mut bytes = Box::new(*stored);
        // what is stored of its own entry is for programs that repair; what counts is above
        if bytes[OWN_AT..] != own.to_bytes() {
            return Err(refused);
        }
        bytes[OWN_AT..].copy_from_slice(&keys.binding(level.piece(), own.epoch, number));
        if !keys.is_genuine(own, &bytes[..])? {
            return Err(refused);
        }
        bytes[OWN_AT..].copy_from_slice(&own.to_bytes());
        Ok(Self { bytes })
    }

    /// Returns the entry of the child with `index`.
    ///
    /// # Panics
    /// If `index` is not below [`CHILDREN`].
    #[must_use]
    pub fn get(&self, index: usize) -> Entry {
        assert!(index < CHILDREN, "entry {index} of {CHILDREN}");
        Entry::from_bytes(self.bytes[index * ENTRY_BYTES..].first_chunk().expect("32 bytes"))
    }

    /// Puts `entry` in the place of that with `index`. The page must be sealed again before it is
    /// stored.
    ///
    /// # Panics
    /// If `index` is not below [`CHILDREN`].
    pub fn set(&mut self, index: usize, entry: &Entry) {
        assert!(index < CHILDREN, "entry {index} of {CHILDREN}");
        self.bytes[index * ENTRY_BYTES..][..ENTRY_BYTES].copy_from_slice(&entry.to_bytes());
    }

    /// Returns the page's own entry, which the page above it has of it: a hole until it is sealed
    /// for the first time.
    #[must_use]
    pub fn own(&self) -> Entry {
        Entry::from_bytes(self.bytes[OWN_AT..].first_chunk().expect("32 bytes"))
    }

    /// Seals the page as it is now, for the place that it was not at before, and returns its own
    /// entry.
    ///
    /// # Errors
    /// As [`Epoch::seal_blocks`]; the page is as before.
    pub fn seal(
        &mut self,
        epoch: &Epoch,
        (level, number): (Level, u64),
    ) -> Result<Entry, VolumeError> {
        let before = self.own();
        let odd = !before.is_hole() && before.counter.is_multiple_of(2);
        let mut bytes = self.bytes.clone();
        let own = epoch.tag(level.piece(), number, Some(odd), &mut bytes[..], OWN_AT)?;
        bytes[OWN_AT..].copy_from_slice(&own.to_bytes());
        self.bytes = bytes;
        Ok(own)
    }

    /// Returns the bytes to store.
    #[must_use]
    pub fn bytes(&self) -> &[u8; PAGE_BYTES] {
        &self.bytes
    }
}

impl Default for EntryPage {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EntryPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryPage").field("own", &self.own()).finish_non_exhaustive()
    }
}
