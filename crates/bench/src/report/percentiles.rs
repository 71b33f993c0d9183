//! The whole distribution of latency as a percentile curve, one panel an operation. Equal distances
//! to the right mean ten times rarer, as in the plots of HdrHistogram.

use super::axis::Axis;
use super::charts::Chart;
use super::curves::{Below, Curve, Point, panel};
use super::index::Run;
use crate::results::Latency;

/// Returns a curve for each variant, for every operation whose distribution was kept.
pub(super) fn curves(run: &Run) -> Vec<Chart> {
    let mut charts = Vec::new();
    for workload in &run.workloads {
        for operation in run.operations(workload) {
            let timed: Vec<_> = run
                .cells(workload)
                .into_iter()
                .filter_map(|(variant, cell)| {
                    let latency = cell.latency.get(operation)?;
                    let kept = latency.count > 0 && latency.distribution.len() > 1;
                    kept.then(|| (variant.label.clone(), run.ink(cell.variant), points(latency)))
                })
                .collect();
            if timed.is_empty() {
                continue;
            }
            let all = || timed.iter().flat_map(|(_, _, points)| points);
            let most = all().map(|point| point.0).fold(1.0, f64::max);
            let positive = || all().map(|point| point.1).filter(|us| *us > 0.0);
            let scale = Axis::micros(
                positive().fold(f64::MAX, f64::min),
                positive().fold(0.0, f64::max),
                5,
            );
            let shares = ["0", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"];
            let ticks = shares
                .into_iter()
                .enumerate()
                .map(|(nines, text)| (nines as f64 / most, text.to_owned()));
            let below = Below {
                ticks: ticks.take_while(|(at, _)| *at <= 1.0 + 1e-9).collect(),
                words: "share of operations as fast".into(),
            };
            let curve = |(label, ink, points): (String, _, Vec<(f64, f64)>)| Curve {
                label,
                ink,
                points: points
                    .iter()
                    .map(|(nines, us)| Point { at: nines / most, value: *us, mark: None })
                    .collect(),
            };
            let title = format!("{}, {operation}", run.called(workload));
            let curves: Vec<Curve> = timed.into_iter().map(curve).collect();
            charts.push(panel(
                run.words,
                &title,
                &format!("Latency by percentile, {title}"),
                &below,
                &scale,
                &curves,
            ));
        }
    }
    charts
}

/// Returns (nines, microseconds) of a distribution.
fn points(latency: &Latency) -> Vec<(f64, f64)> {
    latency.distribution.iter().filter_map(|(share, us)| Some((nines(*share)?, *us))).collect()
}

/// Returns the number of nines: 0.9 is 1, 0.99 is 2. None for the largest value, which would be
/// infinite on this scale.
fn nines(share: f64) -> Option<f64> {
    (share < 1.0).then(|| -(1.0 - share.max(0.0)).log10())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_count_nines() {
        assert_eq!(nines(0.0), Some(0.0));
        assert!((nines(0.999).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(nines(1.0), None);
    }
}
