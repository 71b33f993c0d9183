//! Use of time by client threads: running, waiting for a CPU, or sleeping. The reason for sleeping
//! is another matter (`saturation`).

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// Kernel's counts for one thread so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadTime {
    cpu_s: f64,
    /// Ready to run, and no CPU was free.
    queued_s: f64,
    /// Number of times that it went to sleep.
    sleeps: u64,
}

impl ThreadTime {
    /// Returns the time of this thread. The time that it was ready is 0 on a kernel that does not
    /// count it (`CONFIG_SCHED_INFO`).
    pub(crate) fn now() -> Self {
        // time on a CPU and time ready, in nanoseconds (the kernel's
        // Documentation/scheduler/sched-stats.rst)
        let counted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let queued_ns: f64 =
            counted.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
        // the call fails for bad arguments only
        let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("getrusage of this thread");
        let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Self {
            cpu_s: cpu_us as f64 / 1e6,
            queued_s: queued_ns / 1e9,
            sleeps: u64::try_from(usage.voluntary_context_switches()).unwrap_or(0),
        }
    }
}

/// Time of client threads by how it was spent, summed over all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientTime {
    /// Wall seconds from the common start until each ended.
    pub wall_s: f64,
    /// Seconds on a CPU.
    pub cpu_s: f64,
    /// Seconds ready to run while no CPU was free.
    pub queued_s: f64,
    /// Number of times that a thread went to sleep.
    pub sleeps: u64,
}

impl ClientTime {
    /// Returns the time of one thread that took `wall` between two readings.
    pub(crate) fn of(wall: Duration, before: ThreadTime, after: ThreadTime) -> Self {
        Self {
            wall_s: wall.as_secs_f64(),
            cpu_s: (after.cpu_s - before.cpu_s).max(0.0),
            queued_s: (after.queued_s - before.queued_s).max(0.0),
            sleeps: after.sleeps.saturating_sub(before.sleeps),
        }
    }

    /// Adds the times of another thread.
    pub(crate) fn add(&mut self, other: Self) {
        self.wall_s += other.wall_s;
        self.cpu_s += other.cpu_s;
        self.queued_s += other.queued_s;
        self.sleeps += other.sleeps;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn timed(work: impl FnOnce()) -> ClientTime {
        let (begin, before) = (Instant::now(), ThreadTime::now());
        work();
        ClientTime::of(begin.elapsed(), before, ThreadTime::now())
    }

    #[test]
    fn sleep_is_neither_work_nor_readiness() {
        let slept = timed(|| (0..20).for_each(|_| std::thread::sleep(Duration::from_millis(5))));
        assert!(slept.wall_s >= 0.1 && slept.sleeps >= 20, "{slept:?}");
        assert!(slept.cpu_s < 0.05, "{slept:?}");
        let worked = timed(|| {
            let begin = ThreadTime::now();
            while ThreadTime::now().cpu_s - begin.cpu_s < 0.05 {
                std::hint::spin_loop();
            }
        });
        assert!(worked.cpu_s >= 0.05 && worked.wall_s >= 0.04, "{worked:?}");
    }
}
