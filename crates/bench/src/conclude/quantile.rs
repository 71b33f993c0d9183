//! Percentiles of the requests of many slices, with their standard errors. Not here: the latencies
//! of one slice (`measure::slice_latency`), conclusions from a percentile (`fixed_rate`).
//!
//! A percentile is over all requests of a cell together, never a mean of the percentiles of its
//! slices: a stall that hits two requests in a hundred is in the 99th percentile, however few
//! slices it falls into. Requests of one slice resemble each other, so the unit of repetition is
//! the slice. The error of a percentile follows from how far each slice departs from its share of
//! requests below it (Woodruff 1952, Journal of the American Statistical Association 47; Francisco
//! and Fuller 1991, Annals of Statistics 19): the departure of a slice divided by the slope of the
//! distribution there is the slice's contribution to the logarithm of the percentile. For two
//! variants that ran side by side, the slices of one block are subtracted first, so effects of the
//! machine on both cancel out.

use crate::conclude::statistics::Estimate;
use crate::measure::slice_latency::SliceLatency;

/// Fewest requests on the rarer side of a percentile from which anything is concluded about it.
const BEYOND_MIN: f64 = 100.0;

/// Number of times that the range over which the slope is taken is widened by the error at its end.
const STEPS: usize = 4;

/// Computes how far the requests of each slice below a latency, given by its logarithm, depart from
/// the share `share` of them, as shares of all `requests`.
fn departures(slices: &[&SliceLatency], log_us: f64, share: f64, requests: f64) -> Vec<f64> {
    slices
        .iter()
        .map(|slice| (slice.below(log_us) - share * slice.count() as f64) / requests)
        .collect()
}

/// A percentile of the requests of several slices.
#[derive(Clone, Debug)]
pub(crate) struct Quantile {
    /// Logarithm of the latency in microseconds.
    log_us: f64,
    /// Contribution of each slice to it.
    influences: Vec<f64>,
    /// The load on which each slice ran.
    loads: Vec<usize>,
}

impl Quantile {
    /// Returns the latency below which the share `share` of the requests of all `slices` falls, the
    /// slices in the order of time. `loads` holds the load of the store that each slice ran on: the
    /// effect of one load on all its slices is one observation, not many. None with fewer than a
    /// hundred requests on one side of it, or fewer slices than an interval needs.
    #[must_use]
    pub(crate) fn new(slices: &[&SliceLatency], loads: &[usize], share: f64) -> Option<Self> {
        let all = SliceLatency::sum(slices.iter().copied());
        let requests = all.count() as f64;
        let rarer = share.min(1.0 - share);
        // a count that falls short by rounding alone does not
        if requests * rarer + 1e-6 < BEYOND_MIN {
            return None;
        }
        let log_us = all.log_quantile(share)?;
        let departures = departures(slices, log_us, share, requests);
        // the slope over the range that the error reaches: a gap in the distribution there is part
        // of the uncertainty. The error is the error of the share at the end of the range, which in
        // a gap is much larger than at the percentile
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

    /// Returns the percentile, in microseconds.
    #[must_use]
    pub(crate) fn us(&self) -> f64 {
        self.log_us.exp()
    }

    /// Returns the percentile with its error: the ratio of the estimate is the latency in
    /// microseconds.
    #[must_use]
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        Estimate::from_influences(self.log_us, &self.influences, &self.loads)
    }

    /// Returns the percentile as a multiple of `base`, whose slices ran in the same blocks, in the
    /// same order.
    #[must_use]
    pub(crate) fn against(&self, base: &Self) -> Option<Estimate> {
        let pairs = self.influences.iter().zip(&base.influences);
        let influences: Vec<f64> = pairs.map(|(own, base)| own - base).collect();
        Estimate::from_influences(self.log_us - base.log_us, &influences, &self.loads)
    }

    /// Returns the percentile less `base`, in microseconds: difference, and the ends of its
    /// interval at `confidence`.
    #[must_use]
    pub(crate) fn difference_us(&self, base: &Self, confidence: f64) -> Option<(f64, f64, f64)> {
        let (own_us, base_us) = (self.us(), base.us());
        let pairs = self.influences.iter().zip(&base.influences);
        let influences: Vec<f64> = pairs.map(|(own, base)| own_us * own - base_us * base).collect();
        let difference_us = own_us - base_us;
        let half_us =
            Estimate::from_influences(0.0, &influences, &self.loads)?.half_width(confidence);
        Some((difference_us, difference_us - half_us, difference_us + half_us))
    }
}

#[cfg(test)]
mod tests;
