//! CPU time of this process and of the servers it measures, second by second. Judges nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};
use serde::{Deserialize, Serialize};

/// CPU seconds of processes, all threads together, since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// In user code.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// Returns the CPU time of this process so far.
    pub fn now() -> Self {
        Self::usage(UsageWho::RUSAGE_SELF)
    }

    /// Returns the CPU time so far of this process and of the processes `servers`, as far as they
    /// live. The time of a server is precise to a hundredth of a second.
    pub fn with(servers: &[u32]) -> Self {
        Self::now().plus(Self::of_all(servers))
    }

    /// Returns the CPU time so far of the processes `servers` alone, as far as they live.
    pub fn of_all(servers: &[u32]) -> Self {
        servers.iter().map(|pid| Self::of(*pid)).fold(Self::default(), Self::plus)
    }

    /// Returns the CPU time of this process so far, and of its children that have ended.
    pub fn with_ended_children() -> Self {
        Self::now().plus(Self::of_ended_children())
    }

    /// Returns the CPU time of the children of this process that have ended.
    pub fn of_ended_children() -> Self {
        Self::usage(UsageWho::RUSAGE_CHILDREN)
    }

    fn usage(who: UsageWho) -> Self {
        // the call fails for bad arguments only
        let usage = getrusage(who).expect("getrusage of this process");
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) }
    }

    /// Returns the CPU time of process `pid`; none if there is no such process (proc(5),
    /// `/proc/PID/stat`).
    fn of(pid: u32) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ticks_a_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        // the name in brackets may contain blanks and brackets; after it the state is the 3rd
        // field, user time the 14th
        let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut ticks =
            behind_name.split_whitespace().skip(11).map(|ticks| ticks.parse().unwrap_or(0.0));
        let mut seconds = || ticks.next().unwrap_or(0.0) / ticks_a_second;
        Self { user_s: seconds(), system_s: seconds() }
    }

    /// Returns both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { user_s: self.user_s + other.user_s, system_s: self.system_s + other.system_s }
    }

    /// Returns the time used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_s: (self.user_s - earlier.user_s).max(0.0),
            system_s: (self.system_s - earlier.system_s).max(0.0),
        }
    }

    /// Returns user and system time together, in seconds.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }
}

/// One reading of the sampler: wall seconds since the slice began, CPU time used in it until then.
pub(crate) type CpuReading = (f64, CpuTime);

/// Interval at which the sampler reads; getrusage takes about a microsecond.
const SAMPLING: Duration = Duration::from_millis(100);

/// Starts a thread in `scope` that reads the CPU time until `done` is set, and returns its
/// readings.
///
/// `servers` are the processes whose CPU time counts with this one's; `begin` is when the slice
/// began, `cpu` the CPU time at that moment. Unpark the thread to end it at once.
pub(crate) fn sample_cpu<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    servers: &'scope [u32],
    begin: Instant,
    cpu: CpuTime,
    done: &'scope AtomicBool,
) -> ScopedJoinHandle<'scope, Vec<CpuReading>> {
    scope.spawn(move || {
        let mut readings = Vec::new();
        let mut due = begin + SAMPLING;
        loop {
            thread::park_timeout(due.saturating_duration_since(Instant::now()));
            if done.load(Ordering::Acquire) {
                return readings;
            }
            let now = Instant::now();
            if now >= due {
                readings.push((
                    now.duration_since(begin).as_secs_f64(),
                    CpuTime::with(servers).since(cpu),
                ));
                due += SAMPLING;
            }
        }
    })
}

/// CPU use over the measured slices of a cell laid end to end, without the gaps between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuTimeline {
    readings: Vec<CpuReading>,
}

impl CpuTimeline {
    /// Appends a slice of `elapsed_s` wall seconds that used `total`, with the `readings` taken in
    /// it.
    pub(crate) fn push(&mut self, readings: &[CpuReading], elapsed_s: f64, total: CpuTime) {
        let (begin_s, base) = self.readings.last().copied().unwrap_or_default();
        let within = readings.iter().filter(|(at_s, _)| *at_s < elapsed_s);
        for (at_s, used) in within.copied().chain([(elapsed_s, total)]) {
            let used = CpuTime {
                user_s: base.user_s + used.user_s,
                system_s: base.system_s + used.system_s,
            };
            self.readings.push((begin_s + at_s, used));
        }
    }

    /// Cores busy in each second; the last one may be shorter, and is left out if it is too short
    /// to be meaningful.
    pub(crate) fn seconds(&self) -> Vec<CpuSecond> {
        let Some(&(end_s, _)) = self.readings.last() else { return Vec::new() };
        let mut seconds = Vec::new();
        let (mut from_s, mut from) = (0.0, CpuTime::default());
        while from_s < end_s {
            let to_s = f64::min(from_s + 1.0, end_s);
            let to = self.at(to_s);
            let used = to.since(from);
            let length_s = to_s - from_s;
            if length_s >= 0.2 || seconds.is_empty() {
                seconds.push(CpuSecond {
                    at_s: from_s,
                    user: used.user_s / length_s,
                    system: used.system_s / length_s,
                });
            }
            (from_s, from) = (to_s, to);
        }
        seconds
    }

    /// Returns the CPU time used until `at_s`, straight lines between readings.
    fn at(&self, at_s: f64) -> CpuTime {
        let next = self.readings.partition_point(|(reading_s, _)| *reading_s < at_s);
        let (to_s, to) = self.readings[next.min(self.readings.len() - 1)];
        let (from_s, from) =
            if next == 0 { (0.0, CpuTime::default()) } else { self.readings[next - 1] };
        let share =
            if to_s > from_s { ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0) } else { 1.0 };
        let between = |a: f64, b: f64| a + (b - a) * share;
        CpuTime {
            user_s: between(from.user_s, to.user_s),
            system_s: between(from.system_s, to.system_s),
        }
    }
}

/// CPU use in one second, in cores.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CpuSecond {
    /// Seconds since the cell's first sample began.
    pub at_s: f64,
    /// Cores busy in user code.
    pub user: f64,
    /// Cores busy in the kernel.
    pub system: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_join_into_whole_seconds() {
        let mut timeline = CpuTimeline::default();
        // four slices of 0.5 s, two cores busy in the first two and one in the others
        for cores in [2.0, 2.0, 1.0, 1.0] {
            let used = |s: f64| CpuTime { user_s: cores * s * 0.75, system_s: cores * s * 0.25 };
            timeline.push(&[(0.1, used(0.1)), (0.3, used(0.3))], 0.5, used(0.5));
        }
        let seconds = timeline.seconds();
        assert_eq!(seconds.len(), 2);
        for (second, cores) in seconds.iter().zip([2.0, 1.0]) {
            assert!(
                (second.user - cores * 0.75).abs() < 1e-9
                    && (second.system - cores * 0.25).abs() < 1e-9
            );
        }
        assert!(CpuTimeline::default().seconds().is_empty());
    }

    #[test]
    fn a_server_counts_with_this_process() {
        let mut server =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = CpuTime::with(&[server.id()]);
        let alone = CpuTime::now();
        let used = || {
            CpuTime::with(&[server.id()]).since(before).total_s()
                - CpuTime::now().since(alone).total_s()
        };
        // however busy the machine is, the loop gets its turn some time
        while used() < 0.05 {
            thread::sleep(Duration::from_millis(10));
        }
        let children = CpuTime::with_ended_children();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(CpuTime::with_ended_children().since(children).total_s() >= 0.04);
        assert_eq!(CpuTime::of(server.id()), CpuTime::default());
    }

    #[test]
    fn the_sampler_stops_when_asked() {
        let done = AtomicBool::new(false);
        let readings = thread::scope(|scope| {
            let sampler = sample_cpu(scope, &[], Instant::now(), CpuTime::now(), &done);
            thread::sleep(Duration::from_millis(250));
            done.store(true, Ordering::Release);
            sampler.thread().unpark();
            sampler.join().unwrap()
        });
        assert!((1..=3).contains(&readings.len()), "{} readings", readings.len());
    }
}
