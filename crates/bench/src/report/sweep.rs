//! Throughput and cost along a numeric axis with several measured values: a line for each variant, a panel for each
//! workload. Runs that differ in anything but that axis have separate panels.

use super::axis::Axis as Scale;
use super::canvas::{Anchor, Ink, Mark, apart, draw, shorten, text_px};
use super::charts::{Chart, NARROW_PX, mark_of, titled};
use super::error::ReportError;
use super::figures;
use super::index::{Run, spread};
use crate::axes::{Axis, varied};
use crate::results::Cell;
use crate::workload::Unit;

const HEIGHT_PX: f64 = 236.0;

/// Upper and lower edge of the lines.
const TOP_PX: f64 = 8.0;
const BOTTOM_PX: f64 = 196.0;

/// Columns of a label before it is cut.
const LABEL_COLUMNS: usize = 17;

/// One measured value of a line.
struct Dot {
    /// Its position on the axis.
    at: u64,
    value: f64,
    low: f64,
    high: f64,
    mark: Mark,
}

/// One variant along the axis.
struct Line {
    label: String,
    ink: Ink,
    dots: Vec<Dot>,
}

/// Panels of one axis.
pub(super) struct Sweep {
    /// The axis.
    pub(super) axis: &'static Axis,
    /// Throughput, from zero.
    pub(super) throughput: Vec<Chart>,
    /// Ratio to the baseline, with its interval.
    pub(super) cost: Vec<Chart>,
}

/// The sweeps of `runs`: one for each numeric axis along which otherwise equal runs differ.
pub(super) fn sweeps(runs: &[Run]) -> Result<Vec<Sweep>, ReportError> {
    let points: Vec<_> = runs.iter().map(|run| run.results.plan.point()).collect();
    let axes = varied(&points);
    let mut sweeps = Vec::new();
    for axis in &axes {
        let Some(number) = axis.number else { continue };
        let others: Vec<&Axis> = axes.iter().copied().filter(|other| other.name != axis.name).collect();
        let mut sweep = Sweep { axis, throughput: Vec::new(), cost: Vec::new() };
        for (place, members) in alike(runs, &others) {
            let at = |run: &Run| number(&run.results.plan.point());
            for workload in workloads(&members) {
                let title = if place.is_empty() { titled(workload) } else { format!("{}, {place}", titled(workload)) };
                let (throughput, unit) = throughput(&members, workload, &at);
                let cost = cost(&members, workload, &at);
                if throughput.iter().all(|line| line.dots.len() < 2) {
                    continue;
                }
                let high = dots(&throughput).map(|dot| dot.high).fold(0.0, f64::max);
                let prefix = figures::prefix(high);
                let scale = Scale::linear(0.0, high, 4, |value, _| figures::digits(value / prefix.factor));
                let unit = format!("{}{unit}", prefix.letter);
                sweep.throughput.push(panel(&title, (axis, &unit), &throughput, &scale)?);
                if !cost.is_empty() {
                    let low = dots(&cost).map(|dot| dot.low).fold(-0.01, f64::min);
                    let high = dots(&cost).map(|dot| dot.high).fold(0.01, f64::max);
                    let percent = |value: f64, _| figures::digits(value * 100.0).replace('-', "\u{2212}");
                    let scale = Scale::linear(low, high, 5, percent).against(0.0);
                    sweep.cost.push(panel(&title, (axis, "% of throughput"), &cost, &scale)?);
                }
            }
        }
        if !sweep.throughput.is_empty() {
            sweeps.push(sweep);
        }
    }
    Ok(sweeps)
}

/// Runs on one machine at one place on `axes`, with that place in words.
fn alike<'r, 'a>(runs: &'r [Run<'a>], axes: &[&Axis]) -> Vec<(String, Vec<&'r Run<'a>>)> {
    let several = runs.windows(2).any(|pair| pair[0].results.machine.label != pair[1].results.machine.label);
    let mut found: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let place = run.results.plan.point().words(axes);
        let place = match (several, place.is_empty()) {
            (false, _) => place,
            (true, true) => run.results.machine.label.clone(),
            (true, false) => format!("{}, {place}", run.results.machine.label),
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

fn dots(lines: &[Line]) -> impl Iterator<Item = &Dot> {
    lines.iter().flat_map(|line| &line.dots)
}

/// A line for each variant of `workload`, of what `dot` finds in its cells.
fn lines(runs: &[&Run], workload: &str, mut dot: impl FnMut(&Run, &Cell) -> Option<Dot>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for run in runs {
        for (variant, cell) in run.cells(workload) {
            let Some(dot) = dot(run, cell) else { continue };
            match lines.iter_mut().find(|line| line.label == variant.label) {
                Some(line) => line.dots.push(dot),
                None => {
                    lines.push(Line { label: variant.label.clone(), ink: run.ink(cell.variant), dots: vec![dot] });
                }
            }
        }
    }
    lines.iter_mut().for_each(|line| line.dots.sort_by_key(|dot| dot.at));
    lines
}

fn throughput(runs: &[&Run], workload: &str, at: &dyn Fn(&Run) -> u64) -> (Vec<Line>, &'static str) {
    let mut unit = Unit::Operations;
    let lines = lines(runs, workload, |run, cell| {
        unit = cell.unit;
        let (low, high) = spread(cell).unwrap_or((cell.throughput, cell.throughput));
        Some(Dot { at: at(run), value: cell.throughput, low, high, mark: Mark::Disc })
    });
    (lines, if unit == Unit::Bytes { "B/s" } else { " ops/s" })
}

fn cost(runs: &[&Run], workload: &str, at: &dyn Fn(&Run) -> u64) -> Vec<Line> {
    lines(runs, workload, |run, cell| {
        let overhead = cell.overhead.as_ref()?;
        let mark = mark_of(overhead.verdict);
        let [value, low, high] = [overhead.ratio, overhead.low, overhead.high].map(|ratio| ratio - 1.0);
        // an interval that says next to nothing must not flatten the others
        Some(Dot { at: at(run), value, low: low.max(value - 0.3), high: high.min(value + 0.3), mark })
    })
}

fn panel(title: &str, (axis, unit): (&Axis, &str), lines: &[Line], scale: &Scale) -> Result<Chart, ReportError> {
    let mut stops: Vec<u64> = dots(lines).map(|dot| dot.at).collect();
    stops.sort_unstable();
    stops.dedup();
    let widest = |texts: &mut dyn Iterator<Item = String>| texts.map(|text| text_px(&text)).fold(0.0, f64::max);
    let left = widest(&mut scale.ticks.iter().map(|(_, text)| text.clone())) + 6.0;
    let label = |line: &Line| shorten(&line.label, LABEL_COLUMNS);
    let right = NARROW_PX - widest(&mut lines.iter().map(label)) - 22.0;
    // values usually grow by factors: they are spaced evenly by their logarithms
    let (first, last) = ((stops[0].max(1) as f64).ln(), (stops[stops.len() - 1].max(1) as f64).ln());
    let x = |at: u64| left + 8.0 + ((at.max(1) as f64).ln() - first) / (last - first).max(1e-9) * (right - left - 8.0);
    let y = |value: f64| BOTTOM_PX - scale.position(value) * (BOTTOM_PX - TOP_PX);
    let ends: Vec<(f64, f64)> =
        lines.iter().map(|line| line.dots.last().map_or((left, BOTTOM_PX), |dot| (x(dot.at), y(dot.value)))).collect();
    let heights = apart(&ends.iter().map(|end| end.1).collect::<Vec<_>>(), (TOP_PX, HEIGHT_PX));
    let names = lines.iter().map(|line| line.label.as_str()).collect::<Vec<_>>().join(", ");
    let description = format!("{title} by {}: lines of {names}; the tables have the figures", axis.name);
    let svg = draw(NARROW_PX, HEIGHT_PX, &description, |canvas| {
        for (value, text) in &scale.ticks {
            let ink = if scale.reference == Some(*value) { Ink::Axis } else { Ink::Grid };
            canvas.line(&[(left, y(*value)), (right, y(*value))], ink, 1.0)?;
            canvas.text(text, (left - 6.0, y(*value)), Anchor::Right, Ink::Muted)?;
        }
        let mut free = f64::MIN;
        for stop in &stops {
            let (x, text) = (x(*stop), figures::count(*stop));
            canvas.line(&[(x, BOTTOM_PX), (x, BOTTOM_PX + 4.0)], Ink::Axis, 1.0)?;
            if x - text_px(&text) / 2.0 > free {
                canvas.text(&text, (x, BOTTOM_PX + 12.0), Anchor::Middle, Ink::Muted)?;
                free = x + text_px(&text) / 2.0 + 4.0;
            }
        }
        let below = format!("{}; {}", axis.name, unit.trim_start());
        canvas.text(&below, ((left + right) / 2.0, BOTTOM_PX + 28.0), Anchor::Middle, Ink::Muted)?;
        for (number, line) in lines.iter().enumerate() {
            let points: Vec<(f64, f64)> = line.dots.iter().map(|dot| (x(dot.at), y(dot.value))).collect();
            canvas.line(&points, line.ink, 1.75)?;
            for (dot, point) in line.dots.iter().zip(&points) {
                canvas.line(&[(point.0, y(dot.low)), (point.0, y(dot.high))], line.ink, 0.75)?;
                canvas.mark(*point, dot.mark, 8.0, line.ink)?;
            }
            let end = ends[number];
            canvas.line(&[(end.0 + 4.0, end.1), (right + 14.0, heights[number])], line.ink, 0.75)?;
            canvas.text(&label(line), (right + 18.0, heights[number]), Anchor::Left, Ink::Text)?;
        }
        Ok(())
    })?;
    Ok(Chart { title: title.to_owned(), note: String::new(), svg, narrow: None })
}
