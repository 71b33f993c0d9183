//! The limit of the work that compressed data of one file may cause: a small file can contain very
//! much, in many places.
//!
//! Not here: the limit of one stream (`stream`).

/// Work that every file may cause, in bytes read and made.
const FREE_BYTES: u64 = 1 << 30;
/// Work that each byte of a file adds to that.
const BYTES_PER_BYTE: u64 = 32;
/// Work that an attempt is counted as besides, in bytes, from the time it takes.
const ATTEMPT_BYTES: u64 = 16 << 10;
/// The same for one that found whole data: there may be much of it in small pieces.
const WHOLE_BYTES: u64 = 512;

/// Work done for one file.
#[derive(Default)]
pub(super) struct Work {
    done: u64,
}

impl Work {
    /// Returns the number of bytes that may still be made, at the offset `at` of the file; None if
    /// nothing may be tried any more.
    pub(super) fn left(&self, at: u64) -> Option<u64> {
        let allowed = FREE_BYTES + BYTES_PER_BYTE.saturating_mul(at).min(u64::MAX / 2);
        allowed.checked_sub(self.done).filter(|left| *left >= ATTEMPT_BYTES)
    }

    /// Counts `bytes` more of an attempt that was counted.
    pub(super) fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes);
    }

    /// Counts an attempt that read or made `bytes` bytes, and found whole data or not.
    pub(super) fn count(&mut self, bytes: u64, is_whole: bool) {
        let besides = if is_whole { WHOLE_BYTES } else { ATTEMPT_BYTES };
        self.done = self.done.saturating_add(bytes.saturating_add(besides));
    }
}
