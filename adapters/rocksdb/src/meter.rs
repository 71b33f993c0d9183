//! Metering of the amount encrypted and decrypted and of the CPU time that takes, at next to no
//! cost. Not here: file I/O, which the shim counts (`shim/counting_fs.cc`) in the same way.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::time::{ClockId, clock_gettime};
use sealstone_file::counts::Counts;

/// Number of calls that a measured call represents, by bytes. Reading the CPU clock of a thread is
/// a system call: the two that a measurement takes may cost more than a microsecond, as much as
/// encrypting ten kilobytes. These numbers keep the cost near a hundredth of the measured time.
const SAMPLING: [(usize, u64); 3] = [(32 << 10, 64), (512 << 10, 8), (usize::MAX, 1)];

/// Amount that was encrypted and decrypted, and the time that took. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CipherWork {
    /// Bytes encrypted.
    pub encrypted_bytes: u64,
    /// Bytes verified, of which those asked for were decrypted.
    pub decrypted_bytes: u64,
    /// CPU seconds, extrapolated from samples.
    pub cpu_s: f64,
}

/// Totals since it was made. Serves many threads at once.
#[derive(Debug, Default)]
pub(crate) struct CipherMeter {
    encrypted_bytes: AtomicU64,
    decrypted_bytes: AtomicU64,
    cpu_ns: AtomicU64,
    failures: AtomicU64,
}

impl CipherMeter {
    /// Runs `work`, which encrypts `bytes` bytes.
    #[inline]
    pub(crate) fn encrypting<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.encrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.timed(bytes, work)
    }

    /// Runs `work`, which decrypts `bytes` bytes, and counts a failure.
    #[inline]
    pub(crate) fn decrypting<T, E>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.decrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let outcome = self.timed(bytes, work);
        if outcome.is_err() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// Counts `bytes` bytes whose decryption was timed under another length.
    #[inline]
    pub(crate) fn decrypted(&self, bytes: usize) {
        self.decrypted_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns all of it.
    pub(crate) fn work(&self) -> CipherWork {
        CipherWork {
            encrypted_bytes: self.encrypted_bytes.load(Ordering::Relaxed),
            decrypted_bytes: self.decrypted_bytes.load(Ordering::Relaxed),
            cpu_s: self.cpu_ns.load(Ordering::Relaxed) as f64 / 1e9,
        }
    }

    /// Returns the same for those who look after the store.
    pub(crate) fn counts(&self) -> Counts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counts {
            // pages are sealed in runs, and not counted
            blocks_sealed: None,
            blocks_opened: None,
            bytes_sealed: of(&self.encrypted_bytes),
            bytes_opened: of(&self.decrypted_bytes),
            failures: of(&self.failures),
        }
    }

    #[inline]
    fn timed<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.timed_by(thread_cpu_ns, clock_cost_ns, bytes, work)
    }

    /// Times a call. `clock` returns the time of this thread in nanoseconds; reading it takes
    /// `clock_cost` of them.
    #[inline]
    fn timed_by<T>(
        &self,
        clock: impl Fn() -> u64,
        clock_cost: impl Fn() -> u64,
        bytes: usize,
        work: impl FnOnce() -> T,
    ) -> T {
        let weight = weight(bytes);
        if weight == 0 {
            return work();
        }
        let begin = clock();
        let result = work();
        let spent = (clock() - begin).saturating_sub(clock_cost());
        self.cpu_ns.fetch_add(weight * spent, Ordering::Relaxed);
        result
    }
}

/// Returns the number of calls of this thread that the current call represents: 0 for most, which
/// are not measured.
#[inline]
fn weight(bytes: usize) -> u64 {
    type Calls = [Cell<u64>; SAMPLING.len()];
    thread_local!(static CALLS: Calls = std::array::from_fn(|_| Cell::new(first_call())));
    let class = SAMPLING.iter().position(|(below, _)| bytes < *below).unwrap_or(SAMPLING.len() - 1);
    let every = SAMPLING[class].1;
    let call = CALLS.with(|calls| calls[class].replace(calls[class].get() + 1));
    if call.is_multiple_of(every) { every } else { 0 }
}

/// The number of a thread's first call. Threads that make few calls, such as the clients of one
/// short slice, would each have their first call measured and counted for many if all began at 0;
/// so they begin anywhere in the range.
fn first_call() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    // odd, so that a run of threads meets every remainder equally often
    THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(37)
}

fn thread_cpu_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Measures what a single reading of the clock itself adds to a measured interval.
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

    /// A thread's clock that moves only when the test moves it, and by the cost of reading it.
    struct Clock(Cell<u64>);

    impl Clock {
        const COST_NS: u64 = 300;

        fn read(&self) -> u64 {
            self.0.set(self.0.get() + Self::COST_NS);
            self.0.get()
        }
    }

    #[test]
    fn sampling_comes_near_the_truth() {
        let (meter, clock) = (CipherMeter::default(), Clock(Cell::new(0)));
        let mut whole_ns = 0;
        for call in 0..64_000u64 {
            // calls of 200 to 1,200 ns, out of step with the measured calls
            let call_ns = 200 + call.wrapping_mul(2_654_435_761) % 1_001;
            whole_ns += call_ns;
            let work = || clock.0.set(clock.0.get() + call_ns);
            meter.timed_by(|| clock.read(), || Clock::COST_NS, 100, work);
        }
        let ratio = meter.work().cpu_s / (whole_ns as f64 / 1e9);
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn bytes_are_counted_apart() {
        let meter = CipherMeter::default();
        (0..100).for_each(|_| meter.decrypting(100, || Ok::<(), ()>(())).unwrap());
        meter.encrypting(7, || ());
        meter.decrypted(1);
        let work = meter.work();
        assert_eq!((work.decrypted_bytes, work.encrypted_bytes), (10_001, 7));
    }

    #[test]
    fn threads_with_few_calls_are_not_counted_for_many() {
        // 64 threads make 5 calls each: of all 320 calls, as many stand for others as there are
        let weights =
            (0..64).map(|_| std::thread::spawn(|| (0..5).map(|_| weight(100)).sum::<u64>()));
        let sum: u64 = weights.map(|thread| thread.join().unwrap()).sum();
        // other tests of this process may take some of the numbers concurrently
        assert!((128..=640).contains(&sum), "{sum}");
    }

    #[test]
    fn large_calls_are_all_measured() {
        let (meter, clock) = (CipherMeter::default(), Clock(Cell::new(0)));
        for _ in 0..5 {
            meter.timed_by(
                || clock.read(),
                || Clock::COST_NS,
                1 << 20,
                || clock.0.set(clock.0.get() + 200_000),
            );
        }
        assert_eq!(meter.work().cpu_s, 0.001);
    }

    #[test]
    fn the_clock_of_a_thread_is_its_cpu_time() {
        let begin = thread_cpu_ns();
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(thread_cpu_ns() - begin < 100_000_000, "sleep is not CPU time");
        assert!(clock_cost_ns() < 1_000_000);
    }
}
