//! Counts of sealed and opened values, and their CPU time. Single records are timed one time in
//! sixteen, since reading the clock costs as much as sealing a short record.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::time::{ClockId, clock_gettime};
use sealstone_store::{Counters, Record};

/// Number of calls with few records of which one is timed, and counts for all.
const TIMED: u64 = 16;
/// From so many records on, every call is timed.
const MANY: usize = 64;

/// Work done so far.
#[derive(Debug, Default)]
pub(super) struct Work {
    calls: AtomicU64,
    cpu_ns: AtomicU64,
    sealed_bytes: AtomicU64,
    opened_bytes: AtomicU64,
}

impl Work {
    /// Runs `body`, which seals `records` records with `bytes` bytes of values.
    pub(super) fn seal<T>(&self, bytes: usize, records: usize, body: impl FnOnce() -> T) -> T {
        self.sealed_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.timed(records, body)
    }

    /// Runs `body`, which opens `record`.
    pub(super) fn open<T>(&self, record: &Record, body: impl FnOnce() -> T) -> T {
        self.open_many(record.bytes(), 1, body)
    }

    /// Runs `body`, which opens `records` records with `bytes` bytes of values.
    pub(super) fn open_many<T>(&self, bytes: usize, records: usize, body: impl FnOnce() -> T) -> T {
        self.opened_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.timed(records, body)
    }

    fn timed<T>(&self, records: usize, body: impl FnOnce() -> T) -> T {
        let weight = if records >= MANY { 1 } else { TIMED };
        if weight > 1 && !self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(TIMED) {
            return body();
        }
        let begin_ns = thread_cpu_ns();
        let outcome = body();
        let spent_ns = thread_cpu_ns().saturating_sub(begin_ns);
        self.cpu_ns.fetch_add(weight * spent_ns, Ordering::Relaxed);
        outcome
    }

    /// Returns the work so far as counters.
    pub(super) fn counters(&self) -> Counters {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            cipher_cpu_s: of(&self.cpu_ns) as f64 / 1e9,
            encrypted_bytes: of(&self.sealed_bytes),
            decrypted_bytes: of(&self.opened_bytes),
            ..Counters::default()
        }
    }
}

fn thread_cpu_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
