//! Conclusions from recorded slices: estimates with intervals, verdicts, rates sustained,
//! saturation.
//!
//! `ratios` pairs each slice with the baseline's slice of the same position, `statistics` turns
//! ratios into an interval, `judgement` an interval into words: the one function that makes every
//! verdict, defined in `docs/method.md`. Results of earlier versions are judged by today's rules,
//! since everything is drawn from the recorded slices.
//!
//! With a target rate the throughput is fixed. Each slice then keeps a small histogram of its
//! requests (`measure::slice_latency`), `quantile` makes percentiles of many slices, and
//! `fixed_rate` compares latencies. Under a limit on latency, `sustained_rate` derives one rate
//! from many searches; a search replaces a slice.

pub mod figures;
pub(crate) mod fixed_rate;
pub(crate) mod judgement;
pub(crate) mod median_gap;
pub(crate) mod quantile;
pub(crate) mod ratios;
pub mod regression;
pub mod saturation;
pub(crate) mod statistics;
pub(crate) mod sustained_rate;
#[cfg(test)]
pub(crate) mod testing;

pub use judgement::judge;
pub use statistics::{Estimate, median};
