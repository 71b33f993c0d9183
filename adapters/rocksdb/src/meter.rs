//! How much is encrypted and decrypted, and how much CPU time that takes, at next to no cost. Not here: file I/O,
//! which the shim counts (`shim/counting_fs.cc`) in the same way.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::time::{ClockId, clock_gettime};

/// For how many calls a measured one stands, by bytes. Reading the CPU clock of a thread is a system call: the two that
/// a measurement takes may cost more than a microsecond, as much as encrypting ten kilobytes. These keep them near a
/// hundredth of what is measured.
const SAMPLING: [(usize, u64); 3] = [(32 << 10, 64), (512 << 10, 8), (usize::MAX, 1)];

/// Totals since it was made. Serves many threads at once; all values only grow.
#[derive(Debug, Default)]
pub(crate) struct CipherMeter {
    encrypted_bytes: AtomicU64,
    decrypted_bytes: AtomicU64,
    cpu_ns: AtomicU64,
}

impl CipherMeter {
    /// Runs `work`, which encrypts `bytes` bytes.
    #[inline]
    pub(crate) fn encrypting<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.encrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.timed(bytes, work)
    }

    /// Runs `work`, which decrypts `bytes` bytes.
    #[inline]
    pub(crate) fn decrypting<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.decrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.timed(bytes, work)
    }

    /// Counts `bytes` bytes whose decryption was timed under another length.
    #[inline]
    pub(crate) fn decrypted(&self, bytes: usize) {
        self.decrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes encrypted.
    pub(crate) fn encrypted_bytes(&self) -> u64 {
        self.encrypted_bytes.load(Ordering::Relaxed)
    }

    /// Bytes decrypted.
    pub(crate) fn decrypted_bytes(&self) -> u64 {
        self.decrypted_bytes.load(Ordering::Relaxed)
    }

    /// CPU seconds, extrapolated from samples.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.cpu_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    #[inline]
    fn timed<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let weight = weight(bytes);
        if weight == 0 {
            return work();
        }
        let begin = thread_cpu_ns();
        let result = work();
        let spent = (thread_cpu_ns() - begin).saturating_sub(clock_cost_ns());
        self.cpu_ns.fetch_add(weight * spent, Ordering::Relaxed);
        result
    }
}

/// For how many calls of this thread this one stands: 0 for most, which are not measured.
#[inline]
fn weight(bytes: usize) -> u64 {
    thread_local!(static CALLS: [Cell<u64>; SAMPLING.len()] = std::array::from_fn(|_| Cell::new(first_call())));
    let class = SAMPLING.iter().position(|(below, _)| bytes < *below).unwrap_or(SAMPLING.len() - 1);
    let every = SAMPLING[class].1;
    let call = CALLS.with(|calls| calls[class].replace(calls[class].get() + 1));
    if call.is_multiple_of(every) { every } else { 0 }
}

/// The number that a thread's first call has. Threads that make few calls, such as the clients of one short slice, would
/// each have their first one measured and counted for many if all began at 0; so they begin all over the range.
fn first_call() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    // odd, so that a run of threads meets every remainder equally often
    THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(37)
}

fn thread_cpu_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// What one reading of the clock itself adds to a measured interval.
fn clock_cost_ns() -> u64 {
    static COST: OnceLock<u64> = OnceLock::new();
    *COST.get_or_init(|| {
        (0..64)
            .map(|_| {
                let begin = thread_cpu_ns();
                thread_cpu_ns() - begin
            })
            .min()
            .unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_comes_near_the_truth() {
        let meter = CipherMeter::default();
        let begin = thread_cpu_ns();
        let mut sum = 0u64;
        // long enough that an interruption of the machine within a sample, which counts for many calls, does not show
        for round in 0..3200u64 {
            meter.decrypting(100, || (0..40_000).for_each(|i| sum = std::hint::black_box(sum ^ (i * round))));
        }
        let whole = (thread_cpu_ns() - begin) as f64 / 1e9;
        assert_eq!((meter.decrypted_bytes(), meter.encrypted_bytes()), (320_000, 0));
        let estimate = meter.cpu_s();
        assert!((0.5..1.5).contains(&(estimate / whole)), "{estimate} of {whole}");
    }

    #[test]
    fn threads_with_few_calls_are_not_counted_for_many() {
        // 64 threads make 5 calls each: of all 320 calls, as many stand for others as there are
        let weights = (0..64).map(|_| std::thread::spawn(|| (0..5).map(|_| weight(100)).sum::<u64>()));
        let sum: u64 = weights.map(|thread| thread.join().unwrap()).sum();
        // other tests of this process may take some of the numbers meanwhile
        assert!((128..=640).contains(&sum), "{sum}");
    }

    #[test]
    fn large_calls_are_all_measured() {
        let meter = CipherMeter::default();
        let begin = thread_cpu_ns();
        let mut sum = 0u64;
        meter.encrypting(1 << 20, || (0..2_000_000).for_each(|i| sum = std::hint::black_box(sum ^ i)));
        let whole = (thread_cpu_ns() - begin) as f64 / 1e9;
        assert!((0.8..=1.01).contains(&(meter.cpu_s() / whole)));
    }
}
