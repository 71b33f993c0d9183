//! Progress of resealing, reported by the working thread to the thread that waits for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::pace::Pace;

/// Interval of progress reports, and of retries for files that are not free yet.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// Progress of resealing.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The file being rewritten; empty between files.
    pub file: String,
    /// Bytes that need no more work.
    pub done_bytes: u64,
    /// Bytes that needed work at the beginning, or have come to need it since.
    pub total_bytes: u64,
}

/// State that the worker shares with the thread that waits for it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) done_bytes: AtomicU64,
    pub(super) total_bytes: AtomicU64,
    /// Name and bytes of the current file.
    file: Mutex<(String, u64)>,
}

impl Shared {
    pub(super) fn progress(&self, pace: &Pace) -> Progress {
        let (file, bytes) = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let total_bytes = self.total_bytes.load(Ordering::Acquire);
        let done_bytes = self.done_bytes.load(Ordering::Acquire) + pace.file_bytes().min(bytes);
        Progress { file, done_bytes: done_bytes.min(total_bytes), total_bytes }
    }

    pub(super) fn begin(&self, file: &str, bytes: u64) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = (file.to_owned(), bytes);
    }

    pub(super) fn end(&self, done_bytes: u64) {
        self.begin("", 0);
        self.done_bytes.fetch_add(done_bytes, Ordering::AcqRel);
    }
}
