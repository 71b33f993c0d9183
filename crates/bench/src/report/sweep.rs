//! Throughput and cost along a numeric axis with several measured values: a line for each variant,
//! a panel for each workload. Runs that differ in anything but that axis have separate panels.

use super::axis::Axis as Scale;
use super::canvas::Mark;
use super::charts::{Chart, mark_of, percent, shown};
use super::curves::{Below, Curve, Point, panel};
use super::index::{Run, spread};
use crate::compare::merge;
use crate::conclude::figures;
use crate::results::{Cell, Machine};
use crate::words::axes::{Axis, varied};
use crate::workload::Unit;

/// Panels of one axis.
pub(super) struct Sweep {
    /// The axis.
    pub(super) axis: &'static Axis,
    /// Throughput, from zero.
    pub(super) throughput: Vec<Chart>,
    /// Ratio to the baseline, with its interval.
    pub(super) cost: Vec<Chart>,
}

/// Returns the sweeps of `runs`: one for each numeric axis along which otherwise equal runs differ.
pub(super) fn sweeps(runs: &[Run]) -> Vec<Sweep> {
    let points: Vec<_> = runs.iter().map(|run| run.results.plan.point()).collect();
    let axes = varied(&points);
    let mut sweeps = Vec::new();
    for axis in &axes {
        let Some(number) = axis.number else { continue };
        let others: Vec<&Axis> =
            axes.iter().copied().filter(|other| other.name != axis.name).collect();
        let mut sweep = Sweep { axis, throughput: Vec::new(), cost: Vec::new() };
        for (place, members) in alike(runs, &others) {
            let at = |run: &Run| number(&run.results.plan.point());
            let stops: Vec<u64> = {
                let mut stops: Vec<u64> = members.iter().map(|run| at(run)).collect();
                stops.sort_unstable();
                stops.dedup();
                stops
            };
            // values usually grow by factors: they are spaced evenly by their logarithms
            let logarithm = |stop: u64| (stop.max(1) as f64).ln();
            let (first, last) = (logarithm(stops[0]), logarithm(stops[stops.len() - 1]));
            let place_of = |run: &Run| (logarithm(at(run)) - first) / (last - first).max(1e-9);
            let below = |unit: &str| Below {
                ticks: stops
                    .iter()
                    .map(|stop| {
                        (
                            (logarithm(*stop) - first) / (last - first).max(1e-9),
                            figures::count(*stop),
                        )
                    })
                    .collect(),
                words: format!("{}; {}", axis.name, unit.trim_start()),
            };
            for workload in workloads(&members) {
                let called = members[0].called(workload);
                let title = if place.is_empty() { called } else { format!("{called}, {place}") };
                let words = members[0].words;
                let (throughput, unit) = throughput(&members, workload, &place_of);
                if throughput.iter().all(|curve| curve.points.len() < 2) {
                    continue;
                }
                let about = format!("{title} by {}", axis.name);
                let high = ends(&throughput).map(|(_, high)| high).fold(0.0, f64::max);
                let prefix = figures::prefix(high);
                let scale =
                    Scale::linear(0.0, high, 4, |value, _| figures::digits(value / prefix.factor));
                let unit = format!("{}{unit}", prefix.letter);
                sweep.throughput.push(panel(
                    words,
                    &title,
                    &about,
                    &below(&unit),
                    &scale,
                    &throughput,
                ));
                let cost = cost(&members, workload, &place_of);
                if !cost.is_empty() {
                    let low = ends(&cost).map(|(low, _)| low).fold(-0.01, f64::min);
                    let high = ends(&cost).map(|(_, high)| high).fold(0.01, f64::max);
                    let scale = Scale::linear(low, high, 5, percent).against(0.0);
                    sweep.cost.push(panel(
                        words,
                        &title,
                        &about,
                        &below("% of throughput"),
                        &scale,
                        &cost,
                    ));
                }
            }
        }
        if !sweep.throughput.is_empty() {
            sweeps.push(sweep);
        }
    }
    sweeps
}

/// Runs on one machine at one place on `axes`, with that place in words.
fn alike<'r, 'a>(runs: &'r [Run<'a>], axes: &[&Axis]) -> Vec<(String, Vec<&'r Run<'a>>)> {
    let several = !merge::is_one_machine(runs.iter().map(|run| run.results).collect::<Vec<_>>());
    let mut found: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let place = run.results.plan.point().words(axes);
        let Machine { label, host, .. } = &run.results.machine;
        let machine = if host.is_empty() { label.clone() } else { format!("{label} ({host})") };
        let place = match (several, place.is_empty()) {
            (false, _) => place,
            (true, true) => machine,
            (true, false) => format!("{machine}, {place}"),
        };
        match found.iter_mut().find(|(known, _)| *known == place) {
            Some((_, members)) => members.push(run),
            None => found.push((place, vec![run])),
        }
    }
    found
}

fn workloads<'a>(runs: &[&Run<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in runs.iter().flat_map(|run| &run.workloads) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}

/// Ends of the intervals of all points.
fn ends(curves: &[Curve]) -> impl Iterator<Item = (f64, f64)> {
    curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter_map(|point| point.mark.map(|(_, low, high)| (low, high)))
}

/// Returns a curve for each variant of `workload`, of what `point` finds in its cells.
fn curves(
    runs: &[&Run],
    workload: &str,
    mut point: impl FnMut(&Run, &Cell) -> Option<Point>,
) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for run in runs {
        for (variant, cell) in run.cells(workload) {
            let Some(point) = point(run, cell) else { continue };
            match curves.iter_mut().find(|curve| curve.label == variant.label) {
                Some(curve) => curve.points.push(point),
                None => {
                    let (label, ink) = (variant.label.clone(), run.ink(cell.variant));
                    curves.push(Curve { label, ink, points: vec![point] });
                }
            }
        }
    }
    curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.at.total_cmp(&b.at)));
    curves
}

fn throughput(
    runs: &[&Run],
    workload: &str,
    at: &dyn Fn(&Run) -> f64,
) -> (Vec<Curve>, &'static str) {
    let mut unit = Unit::Operations;
    let curves = curves(runs, workload, |run, cell| {
        unit = cell.unit;
        let (low, high) = spread(cell).unwrap_or((cell.throughput, cell.throughput));
        Some(Point { at: at(run), value: cell.throughput, mark: Some((Mark::Disc, low, high)) })
    });
    (curves, if unit == Unit::Bytes { "B/s" } else { " ops/s" })
}

fn cost(runs: &[&Run], workload: &str, at: &dyn Fn(&Run) -> f64) -> Vec<Curve> {
    curves(runs, workload, |run, cell| {
        let overhead = cell.overhead.as_ref()?;
        let ends = shown(overhead);
        let [value, low, high] = [overhead.ratio, ends.low, ends.high].map(|ratio| ratio - 1.0);
        // a nearly meaningless interval must not flatten the others
        let mark = (mark_of(overhead.verdict), low.max(value - 0.3), high.min(value + 0.3));
        Some(Point { at: at(run), value, mark: Some(mark) })
    })
}
