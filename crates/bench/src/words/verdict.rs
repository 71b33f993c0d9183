//! The verdicts on a ratio, and the thresholds between them. `docs/method.md` defines both. Not here: which verdict a
//! ratio gets (`conclude::judgement`).

use serde::{Deserialize, Serialize};

/// Confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest pairs of slices from which anything is concluded.
pub const FEWEST_PAIRS: usize = 6;

/// Fewest requests from which anything is concluded about a 99th percentile.
pub const REQUESTS_P99: u64 = 10_000;

/// The margin within which a ratio counts as no difference, where nobody asks for another one: a share.
pub const MARGIN: f64 = 0.02;

/// Differences up to this share are never claimed: two stores with the same content differ that much by how their files
/// and memory happen to be laid out.
pub const LAYOUT: f64 = 0.01;

/// The largest bound on a cost that is worth stating: a share. Beyond it the answer is that nothing can be concluded.
pub const BOUND_MAX: f64 = 0.10;

/// Quantity that a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Work in a time: less of it is a cost.
    Throughput,
    /// A percentile of latencies: a longer one is a cost. It depends on few requests, and near saturation it grows much
    /// more than the work that causes it, so every threshold is [`Quantity::scale`] times that for throughputs.
    Latency,
}

impl Quantity {
    /// By how much its thresholds (margin, layout, largest bound, wide interval) exceed those for throughputs.
    #[must_use]
    pub fn scale(self) -> f64 {
        match self {
            Self::Throughput => 1.0,
            Self::Latency => 5.0,
        }
    }

    /// Returns whether a ratio is on the side of a cost.
    pub(crate) fn is_worse(self, ratio: f64) -> bool {
        match self {
            Self::Throughput => ratio < 1.0,
            Self::Latency => ratio > 1.0,
        }
    }

    /// Returns whether an interval is wholly beyond the effect of layout, so that alone it would be
    /// a claim.
    pub(crate) fn is_apart(self, low: f64, high: f64) -> bool {
        let layout = 1.0 + self.scale() * LAYOUT;
        high * layout < 1.0 || low > layout
    }

    /// An interval of ratios in words, such as `between 3.0 % slower and 8.1 % faster`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> String {
        let (below, above) = match self {
            Self::Throughput => ("slower", "faster"),
            Self::Latency => ("shorter", "longer"),
        };
        let percent = |ratio: f64| one_place(ratio - 1.0);
        match (low < 1.0, high < 1.0) {
            (true, true) => format!("between {} and {} % {below}", percent(high), percent(low)),
            (false, false) => format!("between {} and {} % {above}", percent(low), percent(high)),
            _ => format!("between {} % {below} and {} % {above}", percent(low), percent(high)),
        }
    }
}

/// The verdict on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Equivalent: the whole interval lies within the margin.
    NoDifference,
    /// Slower, beyond what layout does, after the correction for the number of ratios.
    Costs,
    /// Faster, likewise.
    Gains,
    /// Not shown to differ, nor to be equivalent; but the interval bounds the cost.
    AtMost,
    /// The interval is too wide to say anything.
    CannotConclude,
    /// No byte passed a cipher, so there is no question: whatever differs is not what a cipher costs.
    NotMet,
}

impl Verdict {
    /// Every verdict on a ratio, in the order in which a legend shows them.
    pub const ALL: [Self; 5] = [Self::NoDifference, Self::Costs, Self::Gains, Self::AtMost, Self::CannotConclude];

    /// In a word or two, for tables and legends.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NoDifference => "no difference",
            Self::Costs => "costs",
            Self::Gains => "gains",
            Self::AtMost => "costs at most",
            Self::CannotConclude => "cannot conclude",
            Self::NotMet => "met no cipher",
        }
    }

    /// Returns whether a difference is claimed.
    #[must_use]
    pub fn is_claim(self) -> bool {
        matches!(self, Self::Costs | Self::Gains)
    }
}

/// An interval of ratios of throughputs in words, such as `between 3.0 % slower and 8.1 % faster`.
#[must_use]
pub fn between(low: f64, high: f64) -> String {
    Quantity::Throughput.between(low, high)
}

/// A share in percent with one place, without its sign.
pub(crate) fn one_place(share: f64) -> String {
    format!("{:.1}", share.abs() * 100.0)
}
