//! Latency slice by slice, and percentiles of many slices with what they can be trusted to. Not here: how latencies
//! are measured (`measure`), what is concluded from them (`at_rate`).
//!
//! A percentile is that of all requests of a cell together, never a mean of the percentiles of its slices: a stall
//! that hits two requests in a hundred is in the 99th percentile, however few slices it falls into. Requests of one
//! slice resemble each other, so the unit of repetition is the slice. The error of a percentile follows from how far
//! each slice departs from its share of requests below it (Woodruff 1952, Journal of the American Statistical
//! Association 47; Francisco and Fuller 1991, Annals of Statistics 19): the departure of a slice divided by the slope
//! of the distribution there is what the slice adds to the logarithm of the percentile. Of two variants that ran side
//! by side, the slices of one block are subtracted first, so what the machine did to both cancels out.

use std::fmt::Write;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::statistics::Estimate;

/// Fewest requests on the rarer side of a percentile from which anything is concluded about it.
const BEYOND_MIN: f64 = 100.0;

/// Fewest requests from which anything is concluded about a 99th percentile.
pub const REQUESTS_P99: u64 = 10_000;

/// Buckets in which a latency doubles: neighbouring ones differ by 2.2 %, and within one a straight line is drawn.
const BUCKETS_A_DOUBLING: f64 = 32.0;

/// Latency at which the buckets begin, in microseconds.
const SHORTEST_US: f64 = 0.032;

/// Latencies of the requests of one slice. Written as text: `bucket:requests` for each bucket that
/// has any, where bucket b holds latencies from 0.032 × 2^(b/32) microseconds on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceLatency {
    /// Ascending.
    buckets: Vec<(u16, u64)>,
}

impl SliceLatency {
    /// Counts `requests` (latency in microseconds, how many had it), in any order.
    #[must_use]
    pub fn new(requests: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let bucket = |us: f64| ((us / SHORTEST_US).max(1.0).log2() * BUCKETS_A_DOUBLING) as u16;
        Self::merged(requests.into_iter().map(|(us, count)| (bucket(us), count)))
    }

    /// All requests of `slices` together.
    #[must_use]
    pub fn sum<'a>(slices: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::merged(slices.into_iter().flat_map(|slice| slice.buckets.iter().copied()))
    }

    fn merged(counts: impl IntoIterator<Item = (u16, u64)>) -> Self {
        let mut dense: Vec<u64> = Vec::new();
        for (bucket, count) in counts {
            let at = usize::from(bucket);
            if dense.len() <= at {
                dense.resize(at + 1, 0);
            }
            dense[at] = dense[at].saturating_add(count);
        }
        let buckets = (0u16..).zip(dense).filter(|(_, count)| *count > 0).collect();
        Self { buckets }
    }

    /// Requests.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Logarithm of the latency in microseconds below which the share `share` of the requests lies; none without any.
    fn log_quantile(&self, share: f64) -> Option<f64> {
        let wanted = share * self.count() as f64;
        let mut before = 0.0;
        let mut found = None;
        for (bucket, count) in &self.buckets {
            let within = ((wanted - before) / *count as f64).clamp(0.0, 1.0);
            found = Some((f64::from(*bucket) + within) / BUCKETS_A_DOUBLING * 2f64.ln() + SHORTEST_US.ln());
            before += *count as f64;
            if before >= wanted {
                break;
            }
        }
        found
    }

    /// The latency below which the share `share` of the requests lies, in microseconds; none without any request.
    #[must_use]
    pub fn quantile_us(&self, share: f64) -> Option<f64> {
        self.log_quantile(share).map(f64::exp)
    }

    /// Requests below a latency, given by its logarithm.
    fn below(&self, log_us: f64) -> f64 {
        let place = (log_us - SHORTEST_US.ln()) / 2f64.ln() * BUCKETS_A_DOUBLING;
        let part = |(bucket, count): &(u16, u64)| *count as f64 * (place - f64::from(*bucket)).clamp(0.0, 1.0);
        self.buckets.iter().map(part).sum()
    }
}

impl Serialize for SliceLatency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for (bucket, count) in &self.buckets {
            let gap = if text.is_empty() { "" } else { " " };
            write!(text, "{gap}{bucket}:{count}").expect("writing to memory does not fail");
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for SliceLatency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let pair = |word: &str| {
            let (bucket, count) = word.split_once(':')?;
            Some((bucket.parse().ok()?, count.parse().ok()?))
        };
        let read = |word: &str| pair(word).ok_or_else(|| D::Error::custom(format!("{word:?} is not bucket:requests")));
        Ok(Self::merged(text.split_whitespace().map(read).collect::<Result<Vec<_>, _>>()?))
    }
}

/// Number of times that the range over which the slope is taken is widened by the error at its end.
const STEPS: usize = 4;

/// Computes how far the requests of each slice below a latency, given by its logarithm, depart from
/// the share `share` of them, as shares of all `requests`.
fn departures(slices: &[&SliceLatency], log_us: f64, share: f64, requests: f64) -> Vec<f64> {
    slices.iter().map(|slice| (slice.below(log_us) - share * slice.count() as f64) / requests).collect()
}

/// A percentile of the requests of several slices.
#[derive(Clone, Debug)]
pub struct Quantile {
    /// Logarithm of the latency in microseconds.
    log_us: f64,
    /// Contribution of each slice to it.
    influences: Vec<f64>,
    /// The load on which each slice ran.
    loads: Vec<usize>,
}

impl Quantile {
    /// The latency below which the share `share` of the requests of all `slices` lies, in the order of time.
    /// `loads` are those of the stores that the slices ran on: what one load does to all of its slices is one thing
    /// known, not many. None with fewer than a hundred requests on one side of it, or fewer slices than an interval
    /// needs.
    #[must_use]
    pub fn new(slices: &[&SliceLatency], loads: &[usize], share: f64) -> Option<Self> {
        let all = SliceLatency::sum(slices.iter().copied());
        let requests = all.count() as f64;
        let rarer = share.min(1.0 - share);
        // a count that falls short by rounding alone does not
        if requests * rarer + 1e-6 < BEYOND_MIN {
            return None;
        }
        let log_us = all.log_quantile(share)?;
        let departures = departures(slices, log_us, share, requests);
        // the slope over the range that the error reaches: a gap in the distribution there is part of what is not
        // known. The error is that of the share at the end of the range, which in a gap is much larger than at the
        // percentile
        let reached = |side: f64, sign: f64| {
            let error = |by: f64| {
                let at = share + sign * by;
                let departures = self::departures(slices, all.log_quantile(at)?, at, requests);
                Some(Estimate::from_influences(0.0, &departures, loads)?.standard_error)
            };
            let mut reach: f64 = 0.0;
            for _ in 0..STEPS {
                reach = reach.max((2.0 * error(reach)?).clamp(0.1 * rarer, 0.75 * side));
            }
            Some(share + sign * reach)
        };
        let (low, high) = (reached(share, -1.0)?, reached(1.0 - share, 1.0)?);
        let slope = (high - low) / (all.log_quantile(high)? - all.log_quantile(low)?).max(1e-9);
        Some(Self {
            log_us,
            influences: departures.iter().map(|departure| -departure / slope).collect(),
            loads: loads.to_vec(),
        })
    }

    /// The percentile, in microseconds.
    #[must_use]
    pub fn us(&self) -> f64 {
        self.log_us.exp()
    }

    /// It with its error: the ratio of the estimate is the latency in microseconds.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        Estimate::from_influences(self.log_us, &self.influences, &self.loads)
    }

    /// It as a multiple of `base`, whose slices ran in the same blocks, in the same order.
    #[must_use]
    pub fn against(&self, base: &Self) -> Option<Estimate> {
        let pairs = self.influences.iter().zip(&base.influences);
        let influences: Vec<f64> = pairs.map(|(own, base)| own - base).collect();
        Estimate::from_influences(self.log_us - base.log_us, &influences, &self.loads)
    }

    /// It less `base`, in microseconds: difference, and the ends of its interval at `confidence`.
    #[must_use]
    pub fn difference_us(&self, base: &Self, confidence: f64) -> Option<(f64, f64, f64)> {
        let (own_us, base_us) = (self.us(), base.us());
        let pairs = self.influences.iter().zip(&base.influences);
        let influences: Vec<f64> = pairs.map(|(own, base)| own_us * own - base_us * base).collect();
        let difference_us = own_us - base_us;
        let half_us = Estimate::from_influences(0.0, &influences, &self.loads)?.half_width(confidence);
        Some((difference_us, difference_us - half_us, difference_us + half_us))
    }
}

#[cfg(test)]
mod tests;
