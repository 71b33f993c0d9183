//! Limit on how fast a single thread may write to sealed files: it applies to resealing only,
//! whereas RocksDB's own rate limiter would also limit other writers.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest sleep between two looks at whether to stop.
const NAP: Duration = Duration::from_millis(20);

thread_local!(static CURRENT: RefCell<Option<Arc<Pace>>> = const { RefCell::new(None) });

/// The limit on one thread. While a file is being rewritten no compaction can have it, so it must
/// not be held for long: within a file the limit may be exceeded, and the thread makes up for that
/// by waiting once the file is done.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Bytes a second overall; 0: no limit.
    rate_bytes_s: u64,
    stopped: AtomicBool,
    file_bytes: AtomicU64,
    due: Mutex<Due>,
}

/// The time at which the next byte is due.
#[derive(Debug)]
struct Due {
    /// By the overall limit.
    over_all: Instant,
    /// By the limit within the file.
    in_file: Instant,
    /// The limit within the file, in bytes a second.
    in_file_bytes_s: f64,
}

impl Pace {
    /// Limits to `rate_bytes_s` bytes a second; 0: no limit.
    pub(crate) fn new(rate_bytes_s: u64) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            rate_bytes_s,
            stopped: AtomicBool::new(false),
            file_bytes: AtomicU64::new(0),
            due: Mutex::new(Due {
                over_all: now,
                in_file: now,
                in_file_bytes_s: rate_bytes_s as f64,
            }),
        })
    }

    /// Makes it the limit on this thread, until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Entered {
        CURRENT.set(Some(Arc::clone(self)));
        Entered(())
    }

    /// Begins a file of about `bytes` bytes, which is to take no longer than `held`.
    pub(crate) fn begin(&self, bytes: u64, held: Duration) {
        self.file_bytes.store(0, Ordering::Relaxed);
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        // unused allowance is not saved
        let now = Instant::now();
        due.over_all = due.over_all.max(now);
        due.in_file = now;
        due.in_file_bytes_s = (self.rate_bytes_s as f64).max(bytes as f64 / held.as_secs_f64());
    }

    /// Ends the file: waits for as long as it ran ahead of the limit.
    pub(crate) fn end(&self) {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner).over_all;
        self.file_bytes.store(0, Ordering::Relaxed);
        self.wait_until(due);
    }

    /// Bytes of the file so far.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes.load(Ordering::Relaxed)
    }

    /// Stops all waiting.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Returns whether the pace was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn wrote(&self, bytes: usize) {
        self.file_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if self.rate_bytes_s == 0 {
            return;
        }
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.over_all += Duration::from_secs_f64(bytes as f64 / self.rate_bytes_s as f64);
        let in_file_bytes_s = due.in_file_bytes_s;
        due.in_file += Duration::from_secs_f64(bytes as f64 / in_file_bytes_s);
        let until = due.in_file;
        drop(due);
        self.wait_until(until);
    }

    fn wait_until(&self, due: Instant) {
        while !self.is_stopped() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(NAP));
        }
    }
}

/// Ends the limit on this thread when dropped.
#[derive(Debug)]
pub(crate) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Waits, where this thread is limited, after `bytes` bytes were written to a sealed file.
pub(crate) fn wrote(bytes: usize) {
    CURRENT.with_borrow(|pace| {
        if let Some(pace) = pace {
            pace.wrote(bytes);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_over_files_that_run_ahead() {
        let pace = Pace::new(1_000_000);
        let _limited = pace.enter();
        let begin = Instant::now();
        // two files of 100 kB, each to be done within 20 ms: the waiting comes after them
        for _ in 0..2 {
            pace.begin(100_000, Duration::from_millis(20));
            let file = Instant::now();
            (0..10).for_each(|_| wrote(10_000));
            assert!(file.elapsed() >= Duration::from_millis(19));
            assert_eq!(pace.file_bytes(), 100_000);
            pace.end();
        }
        assert!(begin.elapsed() >= Duration::from_millis(199), "{:?}", begin.elapsed());
    }

    #[test]
    fn others_and_the_stopped_do_not_wait() {
        let pace = Pace::new(1);
        let entered = pace.enter();
        pace.stop();
        pace.begin(1_000_000, Duration::from_secs(1_000_000));
        let begin = Instant::now();
        wrote(1_000_000);
        pace.end();
        drop(entered);
        wrote(usize::MAX);
        assert!(begin.elapsed() < Duration::from_secs(60));
    }
}
