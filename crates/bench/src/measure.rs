//! Counts taken while a slice runs: latencies, CPU time of the process, CPU use second by second.
//! It does not decide what runs, and judges nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

use crate::buckets::Buckets;
use crate::latency::SliceLatency;
use crate::results::{CpuSecond, Latency};
use crate::workload::{Recorder, interned};

/// Latencies are distinguished from here on, in nanoseconds.
const SHORTEST_NS: u64 = 32;

/// Longest latency that is distinguished, in nanoseconds: 5 minutes. A longer one counts as this one.
const LONGEST_NS: u64 = 300_000_000_000;

/// Shares of the distribution that the chart shows.
const SHARES: [f64; 17] =
    [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 1.0];

/// A histogram of latencies in nanoseconds, three significant digits (HdrHistogram).
#[derive(Clone)]
pub struct LatencyHistogram(Histogram<u32>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, 3).expect("bounds are constants that fit"))
    }
}

impl LatencyHistogram {
    /// Counts one latency.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Percentiles and distribution, in microseconds; all zero for an empty histogram.
    pub fn latency(&self) -> Latency {
        if self.0.is_empty() {
            return Latency::default();
        }
        let at = |share: f64| self.0.value_at_quantile(share) as f64 / 1e3;
        Latency {
            count: self.0.len(),
            mean_us: self.0.mean() / 1e3,
            p50_us: at(0.5),
            p95_us: at(0.95),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: self.0.max() as f64 / 1e3,
            distribution: SHARES.iter().map(|&share| (share, at(share))).collect(),
            intervals: Vec::new(),
        }
    }

    /// All that was counted.
    pub fn buckets(&self) -> Buckets {
        Buckets(self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value().into())).collect())
    }

    /// Counts again what is in `buckets`.
    pub fn add(&mut self, buckets: &Buckets) {
        for (ns, count) in &buckets.0 {
            self.0.saturating_record_n(*ns, u32::try_from(*count).unwrap_or(u32::MAX));
        }
    }

    /// The same with less detail, as it is kept of every slice.
    pub fn slice(&self) -> SliceLatency {
        SliceLatency::new(
            self.0.iter_recorded().map(|step| (step.value_iterated_to() as f64 / 1e3, step.count_at_value().into())),
        )
    }
}

/// Latencies by operation, of one client or of many merged.
#[derive(Clone, Default)]
pub struct Latencies {
    // few operations: a list searched by the address of the name is quicker than a map
    response: Vec<(&'static str, LatencyHistogram)>,
    service: Vec<(&'static str, LatencyHistogram)>,
    /// One entry at most: whole requests, of whatever operations.
    requests: Vec<(&'static str, LatencyHistogram)>,
    open_loop: bool,
    late: Duration,
}

impl Latencies {
    /// Forgets everything but the memory. With `open_loop`, service times will be kept in addition to the times since
    /// an operation was due.
    pub fn clear(&mut self, open_loop: bool) {
        for (_, histogram) in self.response.iter_mut().chain(&mut self.service).chain(&mut self.requests) {
            histogram.0.reset();
        }
        self.open_loop = open_loop;
        self.late = Duration::ZERO;
    }

    /// Sets how long after its due time the next operation begins; zero in a closed loop.
    pub fn set_late(&mut self, late: Duration) {
        self.late = late;
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.requests, &other.requests),
        ] {
            for (operation, histogram) in from.iter().filter(|(_, histogram)| !histogram.0.is_empty()) {
                slot(into, operation).merge(histogram);
            }
        }
        self.open_loop |= other.open_loop;
    }

    /// Records a whole request of an open loop, from when it was due until now.
    pub fn record_request(&mut self, due: Instant) {
        slot(&mut self.requests, "request").record(due.elapsed());
    }

    /// Latency of whole requests of an open loop, as it is kept of every slice.
    pub fn requests(&self) -> SliceLatency {
        self.requests.first().map(|(_, histogram)| histogram.slice()).unwrap_or_default()
    }

    /// Latency by operation, as it is kept of every slice.
    pub fn slice(&self) -> BTreeMap<&'static str, SliceLatency> {
        let used = self.response.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| (*operation, histogram.slice())).collect()
    }

    /// The histograms themselves, by operation.
    pub fn histograms(&self) -> BTreeMap<String, Buckets> {
        let used = self.response.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| ((*operation).to_owned(), histogram.buckets())).collect()
    }

    /// Those of service times, by operation; none in a closed loop.
    pub fn service_histograms(&self) -> BTreeMap<String, Buckets> {
        let used = self.service.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| ((*operation).to_owned(), histogram.buckets())).collect()
    }

    /// Counts again what is in `response` and in `service`.
    pub fn add(&mut self, response: &BTreeMap<String, Buckets>, service: &BTreeMap<String, Buckets>) {
        for (into, from) in [(&mut self.response, response), (&mut self.service, service)] {
            for (operation, buckets) in from {
                slot(into, interned(operation)).add(buckets);
            }
        }
    }

    /// Latency by operation: in an open loop from the moment an operation was due, otherwise from its start.
    pub fn response(&self) -> BTreeMap<String, Latency> {
        table(&self.response)
    }

    /// Latency by operation from its start; empty in a closed loop, where it is the same as `response`.
    pub fn service(&self) -> BTreeMap<String, Latency> {
        table(&self.service)
    }
}

impl Recorder for Latencies {
    fn record(&mut self, operation: &'static str, start: Instant) {
        let service = start.elapsed();
        slot(&mut self.response, operation).record(service + self.late);
        if self.open_loop {
            slot(&mut self.service, operation).record(service);
        }
    }
}

fn slot<'a>(list: &'a mut Vec<(&'static str, LatencyHistogram)>, operation: &'static str) -> &'a mut LatencyHistogram {
    let same = |name: &str| std::ptr::eq(name, operation) || name == operation;
    let at = list.iter().position(|(name, _)| same(name)).unwrap_or_else(|| {
        list.push((operation, LatencyHistogram::default()));
        list.len() - 1
    });
    &mut list[at].1
}

fn table(list: &[(&'static str, LatencyHistogram)]) -> BTreeMap<String, Latency> {
    let used = list.iter().filter(|(_, histogram)| !histogram.0.is_empty());
    used.map(|(operation, histogram)| ((*operation).to_owned(), histogram.latency())).collect()
}

/// CPU seconds of processes, all threads together, since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    /// In user code.
    pub user_s: f64,
    /// In the kernel.
    pub system_s: f64,
}

impl CpuTime {
    /// CPU time of this process so far.
    pub fn now() -> Self {
        Self::usage(UsageWho::RUSAGE_SELF)
    }

    /// CPU time so far of this process and of the processes `servers`, as far as they live. What a server used is known
    /// to a hundredth of a second.
    pub fn with(servers: &[u32]) -> Self {
        Self::now().plus(Self::of_all(servers))
    }

    /// CPU time so far of the processes `servers` alone, as far as they live.
    pub fn of_all(servers: &[u32]) -> Self {
        servers.iter().map(|pid| Self::of(*pid)).fold(Self::default(), Self::plus)
    }

    /// CPU time of this process so far, and of its children that have ended.
    pub fn with_ended_children() -> Self {
        Self::now().plus(Self::usage(UsageWho::RUSAGE_CHILDREN))
    }

    fn usage(who: UsageWho) -> Self {
        // the call fails for bad arguments only
        let usage = getrusage(who).expect("getrusage of this process");
        let seconds = |time: nix::sys::time::TimeVal| time.num_microseconds() as f64 / 1e6;
        Self { user_s: seconds(usage.user_time()), system_s: seconds(usage.system_time()) }
    }

    /// CPU time of process `pid`; none if there is no such process (proc(5), `/proc/PID/stat`).
    fn of(pid: u32) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let ticks_a_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
        // the name in brackets may contain blanks and brackets; after it the state is the 3rd field, user time the 14th
        let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut ticks = behind_name.split_whitespace().skip(11).map(|ticks| ticks.parse().unwrap_or(0.0));
        let mut seconds = || ticks.next().unwrap_or(0.0) / ticks_a_second;
        Self { user_s: seconds(), system_s: seconds() }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { user_s: self.user_s + other.user_s, system_s: self.system_s + other.system_s }
    }

    /// Returns what was used since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self { user_s: (self.user_s - earlier.user_s).max(0.0), system_s: (self.system_s - earlier.system_s).max(0.0) }
    }

    /// User and system together, in seconds.
    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }
}

/// One reading of the sampler: wall seconds since the slice began, CPU time used in it until then.
pub type CpuReading = (f64, CpuTime);

/// Interval at which the sampler reads; getrusage takes about a microsecond.
const SAMPLING: Duration = Duration::from_millis(100);

/// Starts a thread in `scope` that reads the CPU time until `done` is set, and returns its readings.
///
/// `servers` are the processes whose CPU time counts with this one's; `begin` is when the slice began, `cpu` the CPU
/// time at that moment. Unpark the thread to end it at once.
pub fn sample_cpu<'scope>(
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
                readings.push((now.duration_since(begin).as_secs_f64(), CpuTime::with(servers).since(cpu)));
                due += SAMPLING;
            }
        }
    })
}

/// CPU use over the measured slices of a cell laid end to end, without the gaps between them.
#[derive(Clone, Debug, Default)]
pub struct CpuTimeline {
    readings: Vec<CpuReading>,
}

impl CpuTimeline {
    /// Appends a slice of `elapsed_s` wall seconds that used `total`, with the `readings` taken in it.
    pub fn push(&mut self, readings: &[CpuReading], elapsed_s: f64, total: CpuTime) {
        let (begin_s, base) = self.readings.last().copied().unwrap_or_default();
        let within = readings.iter().filter(|(at_s, _)| *at_s < elapsed_s);
        for (at_s, used) in within.copied().chain([(elapsed_s, total)]) {
            let used = CpuTime { user_s: base.user_s + used.user_s, system_s: base.system_s + used.system_s };
            self.readings.push((begin_s + at_s, used));
        }
    }

    /// Cores busy in each second; the last one may be shorter, and is left out if it is too short to be meaningful.
    pub fn seconds(&self) -> Vec<CpuSecond> {
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

    /// CPU time used until `at_s`, straight lines between readings.
    fn at(&self, at_s: f64) -> CpuTime {
        let next = self.readings.partition_point(|(reading_s, _)| *reading_s < at_s);
        let (to_s, to) = self.readings[next.min(self.readings.len() - 1)];
        let (from_s, from) = if next == 0 { (0.0, CpuTime::default()) } else { self.readings[next - 1] };
        let share = if to_s > from_s { ((at_s - from_s) / (to_s - from_s)).clamp(0.0, 1.0) } else { 1.0 };
        let between = |a: f64, b: f64| a + (b - a) * share;
        CpuTime { user_s: between(from.user_s, to.user_s), system_s: between(from.system_s, to.system_s) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut histogram = LatencyHistogram::default();
        for us in 1..=10_000u64 {
            histogram.record(Duration::from_micros(us));
        }
        let latency = histogram.latency();
        assert_eq!(latency.count, 10_000);
        for (found, want) in [(latency.p50_us, 5_000.0), (latency.p95_us, 9_500.0), (latency.p99_us, 9_900.0)] {
            assert!((found / want - 1.0).abs() < 2e-3, "{found} for {want}");
        }
        assert!((latency.max_us / 10_000.0 - 1.0).abs() < 2e-3);
        assert!(latency.distribution.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }

    #[test]
    fn a_histogram_survives_its_text() {
        let mut histogram = LatencyHistogram::default();
        for ns in (1..2_000_000u64).step_by(37) {
            histogram.record(Duration::from_nanos(ns * ns % 40_000_000));
        }
        let text = serde_json::to_string(&histogram.buckets()).unwrap();
        let mut again = LatencyHistogram::default();
        again.add(&serde_json::from_str(&text).unwrap());
        assert_eq!(again.buckets(), histogram.buckets());
        let (again, all) = (again.latency(), histogram.latency());
        assert_eq!((again.count, again.p50_us, again.p99_us), (all.count, all.p50_us, all.p99_us));
        assert!(serde_json::from_str::<Buckets>("\"12:3 x\"").is_err());
    }

    #[test]
    fn a_latency_beyond_the_range_counts_as_the_longest() {
        let mut histogram = LatencyHistogram::default();
        histogram.record(Duration::from_secs(100_000));
        histogram.record(Duration::ZERO);
        let latency = histogram.latency();
        assert_eq!(latency.count, 2);
        assert!(latency.max_us >= 299e6);
    }

    #[test]
    fn lateness_counts_as_latency_and_not_as_service() {
        let mut latencies = Latencies::default();
        latencies.clear(true);
        latencies.set_late(Duration::from_millis(50));
        latencies.record("read", Instant::now());
        assert!(latencies.response()["read"].p50_us >= 50_000.0);
        assert!(latencies.service()["read"].p50_us < 50_000.0);
        let mut all = Latencies::default();
        all.merge(&latencies);
        all.merge(&latencies);
        assert_eq!((all.response()["read"].count, all.service()["read"].count), (2, 2));
        all.clear(false);
        assert!(all.response().is_empty() && all.service().is_empty());
    }

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
            assert!((second.user - cores * 0.75).abs() < 1e-9 && (second.system - cores * 0.25).abs() < 1e-9);
        }
        assert!(CpuTimeline::default().seconds().is_empty());
    }

    #[test]
    fn a_server_counts_with_this_process() {
        let mut server = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = CpuTime::with(&[server.id()]);
        let alone = CpuTime::now();
        let used = || CpuTime::with(&[server.id()]).since(before).total_s() - CpuTime::now().since(alone).total_s();
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
