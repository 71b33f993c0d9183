//! Iterators: a database in the order of its keys, as of one moment.
//!
//! The rules of `ffi` hold here, too.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::c;
use super::call::{NO_MEMORY, as_bytes, call, from_bytes};
use super::database::Db;
use super::error::Error;

/// Range of an iterator, and its settings.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// First key, inclusive.
    pub lower: Option<&'a [u8]>,
    /// Last key, exclusive.
    pub upper: Option<&'a [u8]>,
    /// Bytes to read ahead; 0 lets RocksDB decide.
    pub readahead_bytes: u64,
    /// True if read blocks go into the block cache.
    pub fill_cache: bool,
}

impl Default for Range<'_> {
    fn default() -> Self {
        Self { lower: None, upper: None, readahead_bytes: 0, fill_cache: true }
    }
}

/// A position in a database as of the iterator's making.
pub struct Iterator<'db> {
    iterator: NonNull<c::Iterator>,
    entry: c::Entry,
    db: PhantomData<&'db Db>,
}

// SAFETY: an iterator may move between threads; rule *Threads*.
unsafe impl Send for Iterator<'_> {}

impl Iterator<'_> {
    /// Goes to the first entry.
    pub fn first(&mut self) {
        // SAFETY: rule *Owner*; the entry is ours.
        unsafe { c::sealstone_iterator_first(self.iterator.as_ptr(), &mut self.entry) }
    }

    /// Goes to the last entry.
    pub fn last(&mut self) {
        // SAFETY: as in `first`.
        unsafe { c::sealstone_iterator_last(self.iterator.as_ptr(), &mut self.entry) }
    }

    /// Goes to the first entry whose key is `key` or greater.
    pub fn seek(&mut self, key: &[u8]) {
        // SAFETY: as in `first`; rule *Slices*.
        unsafe {
            c::sealstone_iterator_seek(
                self.iterator.as_ptr(),
                key.as_ptr(),
                key.len(),
                &mut self.entry,
            )
        }
    }

    /// Goes to the last entry whose key is `key` or smaller.
    pub fn seek_for_prev(&mut self, key: &[u8]) {
        // SAFETY: as in `seek`.
        unsafe {
            c::sealstone_iterator_seek_for_prev(
                self.iterator.as_ptr(),
                key.as_ptr(),
                key.len(),
                &mut self.entry,
            );
        }
    }

    /// Goes to the next entry; stays past the end.
    pub fn advance(&mut self) {
        if self.entry.valid != 0 {
            // SAFETY: as in `first`; it is on an entry.
            unsafe { c::sealstone_iterator_next(self.iterator.as_ptr(), &mut self.entry) }
        }
    }

    /// Goes to the entry before; stays before the beginning.
    pub fn back(&mut self) {
        if self.entry.valid != 0 {
            // SAFETY: as in `first`; it is on an entry.
            unsafe { c::sealstone_iterator_prev(self.iterator.as_ptr(), &mut self.entry) }
        }
    }

    /// Returns the key and value at its position; nothing past either end and after a failure,
    /// which [`Iterator::status`] reports.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        if self.entry.valid == 0 {
            return None;
        }
        // SAFETY: the shim's bytes are valid until the iterator moves, which needs `&mut self`.
        Some(unsafe { (from_bytes(self.entry.key), from_bytes(self.entry.value)) })
    }

    /// Checks that the iterator got here without failure.
    ///
    /// # Errors
    /// I/O, corruption, failed authentication: the iterator then stopped early.
    pub fn status(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_iterator_status(self.iterator.as_ptr(), error) })
    }
}

impl Drop for Iterator<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_iterator_free(self.iterator.as_ptr()) }
    }
}

impl Db {
    /// Returns an iterator over `range` as of now, not positioned yet.
    pub fn iterator(&self, range: Range<'_>) -> Iterator<'_> {
        let bound =
            |bound: Option<&[u8]>| bound.map_or(c::Bytes { data: ptr::null(), bytes: 0 }, as_bytes);
        let options = c::IteratorOptions {
            readahead_bytes: range.readahead_bytes,
            fill_cache: i32::from(range.fill_cache),
            lower: bound(range.lower),
            upper: bound(range.upper),
        };
        // SAFETY: rules *Owner* and *Slices*; the shim copies the bounds.
        let iterator = unsafe { c::sealstone_iterator_new(self.db.as_ptr(), &options) };
        let iterator = NonNull::new(iterator).expect(NO_MEMORY);
        let none = c::Bytes { data: ptr::null(), bytes: 0 };
        Iterator { iterator, entry: c::Entry { valid: 0, key: none, value: none }, db: PhantomData }
    }
}
