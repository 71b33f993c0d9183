//! Histograms of the latencies of a slice, by operation. Not here: their form in results
//! (`buckets`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::measure::buckets::Buckets;
use crate::measure::slice_latency::SliceLatency;
use crate::workload::{Recorder, intern};

/// Latencies are distinguished from here on, in nanoseconds.
const SHORTEST_NS: u64 = 32;

/// Longest latency that is distinguished, in nanoseconds: 5 minutes. A longer one counts as this
/// one.
const LONGEST_NS: u64 = 300_000_000_000;

/// Shares of the distribution that the chart shows.
const SHARES: [f64; 17] = [
    0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999,
    0.99999, 1.0,
];

/// A histogram of latencies in nanoseconds, three significant digits (HdrHistogram).
#[derive(Clone)]
pub(crate) struct LatencyHistogram(Histogram<u32>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self(
            Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, 3)
                .expect("bounds are constants that fit"),
        )
    }
}

impl LatencyHistogram {
    /// Counts one latency.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Adds the counts of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0 += &other.0;
    }

    /// Percentiles and distribution, in microseconds; all zero for an empty histogram.
    pub(crate) fn latency(&self) -> Latency {
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

    /// Returns all that was counted.
    pub(crate) fn buckets(&self) -> Buckets {
        Buckets(
            self.0
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_at_value().into()))
                .collect(),
        )
    }

    /// Adds the counts of `buckets`.
    pub(crate) fn add(&mut self, buckets: &Buckets) {
        for (ns, count) in &buckets.0 {
            self.0.saturating_record_n(*ns, u32::try_from(*count).unwrap_or(u32::MAX));
        }
    }

    /// Returns the same with less detail, as it is kept of every slice.
    pub(crate) fn slice(&self) -> SliceLatency {
        SliceLatency::new(
            self.0
                .iter_recorded()
                .map(|step| (step.value_iterated_to() as f64 / 1e3, step.count_at_value().into())),
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
    /// Forgets everything but the memory. With `open_loop`, service times will be kept in addition
    /// to the times since an operation was due.
    pub fn clear(&mut self, open_loop: bool) {
        for (_, histogram) in
            self.response.iter_mut().chain(&mut self.service).chain(&mut self.requests)
        {
            histogram.0.reset();
        }
        self.open_loop = open_loop;
        self.late = Duration::ZERO;
    }

    /// Sets how long after its due time the next operation begins; zero in a closed loop.
    pub(crate) fn set_late(&mut self, late: Duration) {
        self.late = late;
    }

    /// Adds everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (into, from) in [
            (&mut self.response, &other.response),
            (&mut self.service, &other.service),
            (&mut self.requests, &other.requests),
        ] {
            for (operation, histogram) in
                from.iter().filter(|(_, histogram)| !histogram.0.is_empty())
            {
                slot(into, operation).merge(histogram);
            }
        }
        self.open_loop |= other.open_loop;
    }

    /// Records a whole request of an open loop, from when it was due until now.
    pub(crate) fn record_request(&mut self, due: Instant) {
        slot(&mut self.requests, "request").record(due.elapsed());
    }

    /// Returns the latency of whole requests of an open loop, as it is kept of every slice.
    pub fn requests(&self) -> SliceLatency {
        self.requests.first().map(|(_, histogram)| histogram.slice()).unwrap_or_default()
    }

    /// Returns the latency by operation, as it is kept of every slice.
    pub fn slice(&self) -> BTreeMap<&'static str, SliceLatency> {
        let used = self.response.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| (*operation, histogram.slice())).collect()
    }

    /// Returns the histograms themselves, by operation.
    pub fn histograms(&self) -> BTreeMap<String, Buckets> {
        let used = self.response.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| ((*operation).to_owned(), histogram.buckets())).collect()
    }

    /// Returns the histograms of service times, by operation; none in a closed loop.
    pub fn service_histograms(&self) -> BTreeMap<String, Buckets> {
        let used = self.service.iter().filter(|(_, histogram)| !histogram.0.is_empty());
        used.map(|(operation, histogram)| ((*operation).to_owned(), histogram.buckets())).collect()
    }

    /// Adds the counts of `response` and of `service`.
    pub fn add(
        &mut self,
        response: &BTreeMap<String, Buckets>,
        service: &BTreeMap<String, Buckets>,
    ) {
        for (into, from) in [(&mut self.response, response), (&mut self.service, service)] {
            for (operation, buckets) in from {
                slot(into, intern(operation)).add(buckets);
            }
        }
    }

    /// Returns the latency by operation: in an open loop from the moment an operation was due,
    /// otherwise from its start.
    pub fn response(&self) -> BTreeMap<String, Latency> {
        table(&self.response)
    }

    /// Returns the latency by operation from its start; empty in a closed loop, where it is the
    /// same as `response`.
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

fn slot<'a>(
    list: &'a mut Vec<(&'static str, LatencyHistogram)>,
    operation: &'static str,
) -> &'a mut LatencyHistogram {
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

/// Latency of one kind of operation, in microseconds. With a target rate: from the moment it was
/// due.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Operations.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// 50th percentile.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Largest.
    pub max_us: f64,
    /// (share 0..1, microseconds) pairs of the distribution, for the chart.
    pub distribution: Vec<(f64, f64)>,
    /// 95 % confidence intervals of percentiles: share 0..1, lower and upper end in microseconds. A
    /// percentile with too few operations beyond it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<(f64, f64, f64)>,
}

impl Latency {
    /// Returns the ends of the 95 % interval of the percentile with share `share`, in microseconds.
    #[must_use]
    pub fn interval_us(&self, share: f64) -> Option<(f64, f64)> {
        self.intervals
            .iter()
            .find(|(of, ..)| *of == share)
            .map(|(_, low_us, high_us)| (*low_us, *high_us))
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
        for (found, want) in
            [(latency.p50_us, 5_000.0), (latency.p95_us, 9_500.0), (latency.p99_us, 9_900.0)]
        {
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
}
