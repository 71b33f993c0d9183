//! Record of an open loop: latencies slice by slice, the conclusions from them at a fixed rate, and
//! the search for the highest rate. Data of `results.json`; conclusions are drawn in `fixed_rate`
//! and `sustained_rate`.

use serde::{Deserialize, Serialize};

use crate::measure::slice_latency::SliceLatency;
use crate::words::verdict::Verdict;

/// An open loop on one variant under one workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Latency of the requests of each sample, from when they were due, in the order of the
    /// samples.
    pub slices: Vec<SliceLatency>,
    /// With a fixed rate: how it did at that rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_rate: Option<AtRate>,
    /// Searches for the highest rate, one after the other, each at the same time as the searches of
    /// the other variants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<Search>,
    /// Results of the searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained: Option<Sustained>,
}

/// Performance of a variant at the requested rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AtRate {
    /// The requested operations a second.
    pub target_per_s: f64,
    /// Operations a second that it kept up with: median over the slices.
    pub kept_per_s: f64,
    /// True if that is the requested rate. If not, requests queue up for as long as a slice lasts,
    /// and the percentiles reflect that more than the store.
    pub is_kept: bool,
    /// Requests.
    pub requests: u64,
    /// Half of the requests were as fast; absent with too few requests.
    pub p50: Option<Percentile>,
    /// 99 of 100 requests were as fast; absent with too few requests.
    pub p99: Option<Percentile>,
    /// CPU time for a request against the baseline; absent for the baseline, and with too few
    /// slices.
    pub cpu: Option<Ratio>,
}

/// A percentile of the latency of all requests of a workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Percentile {
    /// In microseconds.
    pub us: f64,
    /// Lower end of its 95 % confidence interval.
    pub low_us: f64,
    /// Upper end.
    pub high_us: f64,
    /// Against the baseline; absent for the baseline, and where one of the two did not keep up.
    pub against: Option<Longer>,
}

/// A percentile against that of the baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Longer {
    /// As a multiple: above 1 takes longer.
    pub ratio: Ratio,
    /// The difference in microseconds.
    pub difference_us: f64,
    /// Lower end of its 95 % confidence interval.
    pub difference_low_us: f64,
    /// Upper end.
    pub difference_high_us: f64,
}

/// A ratio with its interval and the conclusion from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// In words.
    pub words: String,
}

/// One search for the highest rate under the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Highest rate, in operations a second, at which the limit was met; absent if it never was.
    pub met_per_s: Option<f64>,
    /// Lowest rate above that at which it was not.
    pub missed_per_s: f64,
    /// True if it was missed there because requests queued up, not because of the latency limit
    /// alone.
    pub fell_behind: bool,
    /// The load of the stores that it ran on, as in [`crate::results::Sample::load`].
    pub load: usize,
}

/// The highest rate that a variant sustains under a limit on its 99th percentile.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sustained {
    /// Operations a second; absent if the limit was not met at any rate that was tried.
    pub rate_per_s: Option<f64>,
    /// Lower end of its 95 % confidence interval; 0 without a rate.
    pub low_per_s: f64,
    /// Upper end; without a rate, the lowest one tried.
    pub high_per_s: f64,
    /// True if it is as fast as it can be, and the latency was still within the limit there.
    pub is_full_speed: bool,
    /// Operations a second at which it was then held, for the time that the samples last.
    pub held_per_s: Option<f64>,
    /// The 99th percentile in that time.
    pub held_p99: Option<Percentile>,
    /// True if that was within the limit.
    pub is_confirmed: bool,
    /// In words.
    pub words: String,
}
