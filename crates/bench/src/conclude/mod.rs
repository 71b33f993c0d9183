//! Conclusions from recorded slices: estimates with intervals, verdicts, rates sustained, saturation. Not here: which
//! cipher to take (`advise`).

pub(crate) mod at_rate;
pub mod figures;
pub mod judgement;
pub(crate) mod median_gap;
pub mod quantile;
pub(crate) mod ratios;
pub mod regression;
pub mod saturation;
pub mod statistics;
pub(crate) mod sustained_rate;
#[cfg(test)]
pub(crate) mod testing;
