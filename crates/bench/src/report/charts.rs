//! The charts of one run: throughput, overhead, latency, CPU use, time split, size. Each is a set of small panels, one
//! for each workload, arranged side by side on a wide page and one below the other on a phone.

use unicode_width::UnicodeWidthStr;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Ink, Mark, draw, shorten, text_px};
use super::error::ReportError;
use super::figures;
use super::index::{Run, spread};
use crate::results::{Between, Cell, CpuSecond, Overhead, Variant};
use crate::verdict::Verdict;
use crate::workload::Unit;

/// Natural width of a panel: what a phone shows without scaling it down much.
pub(super) const NARROW_PX: f64 = 344.0;

/// Natural width of a chart that takes the whole column of a wide page.
const WIDE_PX: f64 = 800.0;

/// Height of a bar.
const BAR_PX: f64 = 13.0;

/// Height of the strip that shows CPU use over time.
const STRIP_PX: f64 = 38.0;

/// Points of a CPU curve; more are averaged.
const CURVE_POINTS: usize = 90;

/// Rows that one overhead chart may have before it is split into one a workload.
const FOREST_ROWS: usize = 30;

/// One chart and the text above it.
#[derive(Debug, serde::Serialize)]
pub(super) struct Chart {
    /// What it shows, such as the workload's name.
    pub(super) title: String,
    /// What to know to read it.
    pub(super) note: String,
    /// The drawing.
    pub(super) svg: String,
    /// The drawing for narrow screens, if it differs.
    pub(super) narrow: Option<String>,
}

/// One line of a panel.
struct Row {
    label: String,
    /// Figure at the right.
    value: String,
    /// Colour; a row without is a heading.
    ink: Option<Ink>,
}

/// The layout of a panel.
struct Frame {
    left: f64,
    right: f64,
    /// Vertical middle of each row's bar.
    middles: Vec<f64>,
}

impl Frame {
    fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.position(value) * (self.right - self.left)
    }
}

/// Draws `rows` over `axis`, whose ticks are followed by `unit`; `paint` draws into each row that is not a heading.
fn panel(
    (width, bar): (f64, f64),
    description: &str,
    rows: &[Row],
    (axis, unit): (&Axis, &str),
    paint: impl Fn(&Canvas, &Frame, usize) -> Result<(), ReportError>,
) -> Result<String, ReportError> {
    let widest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|text| text_px(text)).fold(0.0, f64::max);
    let labels = widest(&mut rows.iter().filter(|row| row.ink.is_some()).map(|row| &row.label));
    let values = widest(&mut rows.iter().map(|row| &row.value));
    // labels too long to fit next to the bars are put above them
    let above = labels > width * 0.36;
    let left = if above { 2.0 } else { labels + 8.0 };
    let right = width - values - 10.0;
    let row_px = bar + 9.0 + if above { 16.0 } else { 0.0 };
    let mut y = 6.0;
    let mut frame = Frame { left, right, middles: Vec::new() };
    for row in rows {
        let height = if row.ink.is_some() { row_px } else { 24.0 };
        frame.middles.push(y + height - (bar + 9.0) / 2.0);
        y += height;
    }
    let bottom = y + 2.0;
    draw(width, bottom + 36.0, description, |canvas| {
        let labelled = labelled(axis, right - left);
        for (number, (value, text)) in axis.ticks.iter().enumerate() {
            let x = frame.x(axis, *value);
            canvas.line(&[(x, 4.0), (x, bottom)], Ink::Grid, 1.0)?;
            if labelled(number) {
                // the outermost labels stay on the sheet
                let half = text_px(text) / 2.0;
                canvas.text(text, (x.clamp(half, width - half), bottom + 11.0), Anchor::Middle, Ink::Muted)?;
            }
        }
        if let Some(value) = axis.reference {
            let x = frame.x(axis, value);
            canvas.line(&[(x, 4.0), (x, bottom)], Ink::Axis, 1.5)?;
        }
        canvas.text(unit, ((left + right) / 2.0, bottom + 27.0), Anchor::Middle, Ink::Muted)?;
        for (number, row) in rows.iter().enumerate() {
            let middle = frame.middles[number];
            if row.ink.is_none() {
                canvas.bold(&shorten(&row.label, (width / 8.0) as usize), (2.0, middle), Anchor::Left, Ink::Text)?;
                continue;
            }
            paint(canvas, &frame, number)?;
            match above {
                true => {
                    let label = shorten(&row.label, (width / 7.2) as usize);
                    canvas.text(&label, (2.0, middle - bar / 2.0 - 9.0), Anchor::Left, Ink::Text)?;
                }
                false => canvas.text(&row.label, (left - 8.0, middle), Anchor::Right, Ink::Text)?,
            }
            canvas.text(&row.value, (width - 2.0, middle), Anchor::Right, Ink::Text)?;
        }
        Ok(())
    })
}

/// Which ticks of an axis `length` pixels long have room for their text: every one, or every second, or … so that
/// the reference is among them.
fn labelled(axis: &Axis, length: f64) -> impl Fn(usize) -> bool {
    let ticks = &axis.ticks;
    let kept = ticks.iter().position(|(value, _)| Some(*value) == axis.reference).unwrap_or(0);
    let x = |number: usize| axis.position(ticks[number].0) * length;
    let fits = |stride: &usize| {
        let chosen: Vec<usize> = (kept % stride..ticks.len()).step_by(*stride).collect();
        chosen.windows(2).all(|pair| {
            let room = (text_px(&ticks[pair[0]].1) + text_px(&ticks[pair[1]].1)) / 2.0 + 5.0;
            x(pair[1]) - x(pair[0]) >= room
        })
    };
    let stride = (1..=ticks.len()).find(fits).unwrap_or(1);
    move |number| number % stride == kept % stride
}

/// The sentence that says what a chart shows, for those who cannot see it.
fn describe(what: &str, of: &str, rows: &[Row]) -> String {
    let mut text = format!("{what}, {of}");
    let mut mark = ": ";
    for row in rows {
        match row.ink {
            None => text = format!("{text}; {}", row.label),
            Some(_) => text = format!("{text}{mark}{} {}", row.label, row.value),
        }
        mark = if row.ink.is_none() { ": " } else { ", " };
    }
    text
}

/// One row a cell of `workload`, with the figure that `value` finds.
fn rows_of(run: &Run, cells: &[(&Variant, &Cell)], value: impl Fn(&Cell) -> String) -> Vec<Row> {
    let row = |(variant, cell): &(&Variant, &Cell)| Row {
        label: variant.label.clone(),
        value: value(cell),
        ink: Some(run.ink(cell.variant)),
    };
    cells.iter().map(row).collect()
}

/// An axis from zero to `high` in decimal prefixes of `unit`, and the unit with the prefix.
fn from_zero(high: f64, unit: &str) -> (Axis, String) {
    let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
    let prefix = figures::prefix(high);
    let axis = Axis::linear(0.0, high, 4, |value, _| plain(value / prefix.factor));
    let gap = if unit.starts_with('B') || prefix.letter.is_empty() { "" } else { " " };
    (axis, format!("{}{gap}{unit}", prefix.letter))
}

/// A round number without needless decimals.
fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A workload's name as a heading.
pub(super) fn titled(workload: &str) -> String {
    format!("workload {workload}")
}

fn clients(cells: &[(&Variant, &Cell)]) -> String {
    cells.first().map_or(String::new(), |(_, cell)| figures::counted(cell.clients, "client"))
}

/// Median throughput by variant, with the spread of the slices.
pub(super) fn throughput(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let chart = |workload: &&str| {
        let cells = run.cells(workload);
        let unit = cells.first().map_or(Unit::Operations, |(_, cell)| cell.unit);
        let rows = rows_of(run, &cells, |cell| figures::rate(cell.throughput, cell.unit));
        let highest = |(_, cell): &(&Variant, &Cell)| spread(cell).map_or(0.0, |ends| ends.1).max(cell.throughput);
        let high = cells.iter().map(highest).fold(0.0, f64::max);
        let (axis, unit) = from_zero(high, if unit == Unit::Bytes { "B/s" } else { "ops/s" });
        let description = describe("Throughput", &titled(workload), &rows);
        let svg = panel((NARROW_PX, BAR_PX), &description, &rows, (&axis, &unit), |canvas, frame, number| {
            let cell = cells[number].1;
            let (middle, end) = (frame.middles[number], frame.x(&axis, cell.throughput));
            canvas.bar((frame.left, middle - BAR_PX / 2.0), (end, middle + BAR_PX / 2.0), run.ink(cell.variant))?;
            match spread(cell) {
                Some((low, high)) => whisker(canvas, (frame.x(&axis, low), frame.x(&axis, high)), middle),
                None => Ok(()),
            }
        })?;
        Ok(Chart { title: titled(workload), note: clients(&cells), svg, narrow: None })
    };
    run.workloads.iter().map(chart).collect()
}

/// A line with end caps, visible on a bar and next to it.
fn whisker(canvas: &Canvas, (low, high): (f64, f64), y: f64) -> Result<(), ReportError> {
    for (ink, width) in [(Ink::Surface, 3.0), (Ink::Text, 1.25)] {
        canvas.line(&[(low, y), (high, y)], ink, width)?;
        for x in [low, high] {
            canvas.line(&[(x, y - 3.5), (x, y + 3.5)], ink, width)?;
        }
    }
    Ok(())
}

/// One interval of an overhead chart.
pub(super) struct Interval {
    pub(super) label: String,
    pub(super) ink: Ink,
    pub(super) overhead: Overhead,
}

/// Throughput against the baseline by workload and variant, with 95 % intervals.
pub(super) fn overhead(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let group = |workload: &&str| {
        let intervals = run.cells(workload).into_iter().filter_map(|(variant, cell)| {
            let overhead = cell.overhead.clone()?;
            Some(Interval { label: variant.label.clone(), ink: run.ink(cell.variant), overhead })
        });
        (titled(workload), intervals.collect::<Vec<_>>())
    };
    let groups: Vec<_> = run.workloads.iter().map(group).filter(|(_, intervals)| !intervals.is_empty()).collect();
    forest(&groups, OVERHEAD)
}

/// What the charts of overheads show, for those who cannot see them.
pub(super) const OVERHEAD: &str = "Throughput against no encryption with 95 % intervals";

/// Intervals of what `about` says, in groups: one chart for all, or one per group if there are many; all have the same
/// scale.
pub(super) fn forest(groups: &[(String, Vec<Interval>)], about: &str) -> Result<Vec<Chart>, ReportError> {
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let all = || groups.iter().flat_map(|(_, intervals)| intervals);
    // an interval that says next to nothing must not flatten the others: it is cut, with an arrow
    let low = |overhead: &Overhead| overhead.low.max(overhead.ratio - 0.3);
    let high = |overhead: &Overhead| overhead.high.min(overhead.ratio + 0.3);
    let lowest = all().map(|interval| low(&interval.overhead)).fold(0.99, f64::min) - 1.0;
    let highest = all().map(|interval| high(&interval.overhead)).fold(1.01, f64::max) - 1.0;
    let margin = (highest - lowest) * 0.03;
    let axis = |aim| {
        let text = |value: f64, places: usize| {
            let text = format!("{:.*}", places.saturating_sub(2), value.abs() * 100.0);
            let sign = if value < -1e-9 {
                "−"
            } else if value > 1e-9 {
                "+"
            } else {
                ""
            };
            format!("{sign}{text}")
        };
        Axis::linear(lowest - margin, highest + margin, aim, text).against(0.0)
    };
    if all().count() + groups.len() > FOREST_ROWS {
        let chart = |(title, intervals): &(String, Vec<Interval>)| {
            let svg = intervals_panel(NARROW_PX, (about, title), &[("", intervals.as_slice())], &axis(5))?;
            Ok(Chart { title: title.clone(), note: String::new(), svg, narrow: None })
        };
        return groups.iter().map(chart).collect();
    }
    let groups: Vec<(&str, &[Interval])> =
        groups.iter().map(|(title, intervals)| (title.as_str(), intervals.as_slice())).collect();
    let names = groups.iter().map(|(title, _)| *title).collect::<Vec<_>>().join(", ");
    let svg = intervals_panel(WIDE_PX, (about, &names), &groups, &axis(9))?;
    let narrow = Some(intervals_panel(NARROW_PX, (about, &names), &groups, &axis(5))?);
    Ok(vec![Chart { title: String::new(), note: String::new(), svg, narrow }])
}

/// The verdict in its own words if they are few, otherwise in ours.
fn in_words(overhead: &Overhead) -> String {
    match overhead.words.width() {
        1..=32 => overhead.words.clone(),
        _ if overhead.verdict == Verdict::AtMost => figures::bound(overhead),
        _ => format!("{} ({})", overhead.verdict.word(), figures::overhead(overhead)),
    }
}

fn intervals_panel(
    width: f64,
    (about, title): (&str, &str),
    groups: &[(&str, &[Interval])],
    axis: &Axis,
) -> Result<String, ReportError> {
    let mut rows = Vec::new();
    let mut intervals = Vec::new();
    for (heading, members) in groups {
        if !heading.is_empty() {
            rows.push(Row { label: (*heading).to_owned(), value: String::new(), ink: None });
            intervals.push(None);
        }
        for interval in *members {
            let value = match width {
                WIDE_PX => in_words(&interval.overhead),
                _ => figures::overhead(&interval.overhead),
            };
            rows.push(Row { label: interval.label.clone(), value, ink: Some(interval.ink) });
            intervals.push(Some(interval));
        }
    }
    let description = describe(about, title, &rows);
    panel((width, BAR_PX), &description, &rows, (axis, "% of throughput"), |canvas, frame, number| {
        let Some(interval) = intervals[number] else { return Ok(()) };
        let overhead = &interval.overhead;
        let y = frame.middles[number];
        let (low, high) = (overhead.low - 1.0, overhead.high - 1.0);
        let (from, to) = (frame.x(axis, low), frame.x(axis, high));
        canvas.line(&[(from, y), (to, y)], interval.ink, 2.25)?;
        for (end, cut, arrow) in
            [(from, axis.beyond(low).0, Mark::ArrowLeft), (to, axis.beyond(high).1, Mark::ArrowRight)]
        {
            match cut {
                true => canvas.mark((end, y), arrow, 8.0, interval.ink)?,
                false => canvas.line(&[(end, y - 4.0), (end, y + 4.0)], interval.ink, 2.25)?,
            }
        }
        canvas.mark((frame.x(axis, overhead.ratio - 1.0), y), mark_of(overhead.verdict), 10.0, interval.ink)
    })
}

/// The mark of a verdict; `page` has the legend.
pub(super) fn mark_of(verdict: Verdict) -> Mark {
    match verdict {
        Verdict::Costs | Verdict::Gains => Mark::Disc,
        Verdict::NoDifference => Mark::Ring,
        Verdict::AtMost => Mark::Square,
        Verdict::CannotConclude => Mark::Diamond,
    }
}

/// Each cipher against each other one, under each workload and over all of them.
pub(super) fn between(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let results = run.results;
    let label = |variant: usize| results.variants[variant].label.as_str();
    let group = |workload: Option<&str>| {
        let of_it = results.between.iter().filter(move |between| between.workload.as_deref() == workload);
        let interval = |between: &Between| Interval {
            label: format!("{} against {}", label(between.variant), label(between.other)),
            ink: run.ink(between.variant),
            overhead: between.as_overhead(),
        };
        (workload.map_or_else(|| "over all workloads".to_owned(), titled), of_it.map(interval).collect::<Vec<_>>())
    };
    let mut groups = vec![group(None)];
    groups.extend(run.workloads.iter().map(|workload| group(Some(workload))));
    groups.retain(|(_, intervals)| !intervals.is_empty());
    forest(&groups, "Throughput of one cipher against another, with 95 % intervals")
}

/// Latency percentiles of every operation, by variant.
pub(super) fn latency(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let mut charts = Vec::new();
    for workload in &run.workloads {
        for operation in run.operations(workload) {
            let cells: Vec<_> =
                run.cells(workload).into_iter().filter(|(_, cell)| cell.latency.contains_key(operation)).collect();
            let percentiles = |cell: &Cell| {
                let latency = &cell.latency[operation];
                [latency.p50_us, latency.p95_us, latency.p99_us, latency.p999_us]
            };
            let all: Vec<f64> = cells.iter().flat_map(|(_, cell)| percentiles(cell)).filter(|us| *us > 0.0).collect();
            let (low, high) = (all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max));
            let axis = Axis::micros(low, high, 4);
            let rows = rows_of(run, &cells, |cell| figures::micros(cell.latency[operation].p99_us));
            let description = describe(&format!("99th percentile of latency of {operation}"), &titled(workload), &rows);
            let unit = (&axis, "latency, logarithmic");
            let svg = panel((NARROW_PX, BAR_PX), &description, &rows, unit, |canvas, frame, number| {
                let cell = cells[number].1;
                let (y, ink) = (frame.middles[number], run.ink(cell.variant));
                let points = percentiles(cell).map(|us| (frame.x(&axis, us), y));
                canvas.line(&[points[0], points[3]], ink, 1.5)?;
                for (point, mark) in points.into_iter().zip([Mark::Disc, Mark::Diamond, Mark::Square, Mark::Triangle]) {
                    canvas.mark(point, mark, 9.0, ink)?;
                }
                Ok(())
            })?;
            charts.push(Chart {
                title: format!("{}, {operation}", titled(workload)),
                note: clients(&cells),
                svg,
                narrow: None,
            });
        }
    }
    Ok(charts)
}

/// CPU use over time, a strip a variant.
pub(super) fn cpu(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let mut charts = Vec::new();
    for workload in &run.workloads {
        let cells: Vec<_> = run.cells(workload).into_iter().filter(|(_, cell)| !cell.cpu.is_empty()).collect();
        if cells.is_empty() {
            continue;
        }
        let seconds = || cells.iter().flat_map(|(_, cell)| &cell.cpu);
        let end_s = seconds().map(|second| second.at_s + 1.0).fold(1.0, f64::max);
        let busiest = seconds().map(|second| second.user + second.system).fold(0.0, f64::max);
        // sampling may see a little more than there is
        let cores = match run.results.machine.cores as f64 {
            cores if cores >= 1.0 && busiest <= cores * 1.25 => cores,
            _ => busiest.ceil().max(1.0),
        };
        let axis = Axis::linear(0.0, end_s, 4, |value, places| format!("{value:.places$}"));
        let rows = rows_of(run, &cells, |cell| figures::share(cell.saturation.cpu_share));
        let description = describe("Share of all cores in use", &titled(workload), &rows);
        let svg = panel((NARROW_PX, STRIP_PX), &description, &rows, (&axis, "seconds"), |canvas, frame, number| {
            let cell = cells[number].1;
            let (top, floor) = (frame.middles[number] - STRIP_PX / 2.0, frame.middles[number] + STRIP_PX / 2.0);
            let ink = run.ink(cell.variant);
            let curve = |cores_of: &dyn Fn(&CpuSecond) -> f64| -> Vec<(f64, f64)> {
                let place = |(at_s, value): (f64, f64)| {
                    (frame.x(&axis, at_s), floor - (value / cores).min(1.0) * (floor - top))
                };
                averaged(&cell.cpu, cores_of).into_iter().map(place).collect()
            };
            let kernel = curve(&|second| second.system);
            let both = curve(&|second| second.user + second.system);
            let closed = |curve: &[(f64, f64)]| {
                let mut corners = curve.to_vec();
                corners.extend([(curve[curve.len() - 1].0, floor), (curve[0].0, floor)]);
                corners
            };
            canvas.line(&[(frame.left, top), (frame.right, top)], Ink::Grid, 1.0)?;
            canvas.area(&closed(&both), ink, 0.45)?;
            canvas.area(&closed(&kernel), ink, 1.0)?;
            canvas.line(&both, ink, 1.25)?;
            canvas.line(&[(frame.left, floor), (frame.right, floor)], Ink::Axis, 1.0)
        })?;
        let note = format!("0 to {} cores", plain(cores));
        charts.push(Chart { title: titled(workload), note, svg, narrow: None });
    }
    Ok(charts)
}

/// (seconds, value) of a curve through the middles of at most `CURVE_POINTS` stretches, held level at both ends.
fn averaged(seconds: &[CpuSecond], value: &dyn Fn(&CpuSecond) -> f64) -> Vec<(f64, f64)> {
    let stretch = seconds.len().div_ceil(CURVE_POINTS).max(1);
    let mut points: Vec<(f64, f64)> = seconds
        .chunks(stretch)
        .map(|chunk| {
            let mean = chunk.iter().map(value).sum::<f64>() / chunk.len() as f64;
            ((chunk[0].at_s + chunk[chunk.len() - 1].at_s + 1.0) / 2.0, mean)
        })
        .collect();
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    points.insert(0, (seconds[0].at_s, first));
    points.push((seconds[seconds.len() - 1].at_s + 1.0, last));
    points
}

/// CPU seconds of a cell spread over what it did: microseconds for each operation, or each megabyte.
fn per_work(cell: &Cell, seconds: f64) -> f64 {
    let done: f64 = match cell.unit {
        Unit::Operations => cell.samples.iter().map(|sample| sample.operations as f64).sum(),
        Unit::Bytes => cell.samples.iter().map(|sample| sample.bytes as f64 / 1e6).sum(),
    };
    if done > 0.0 { seconds * 1e6 / done } else { 0.0 }
}

/// CPU time in the cipher, in file operations and elsewhere, for each operation or megabyte; none if the store does not
/// report it.
pub(super) fn time_split(run: &Run) -> Result<Vec<Chart>, ReportError> {
    if !run.tells_time() {
        return Ok(Vec::new());
    }
    let chart = |workload: &&str| {
        let cells = run.cells(workload);
        let total = |cell: &Cell| cell.time.cipher_s + cell.time.io_s + cell.time.other_s;
        let share = |cell: &Cell| if total(cell) > 0.0 { cell.time.cipher_s / total(cell) } else { 0.0 };
        let rows = rows_of(run, &cells, |cell| figures::share(share(cell)));
        let description = describe("Share of CPU time inside the cipher", &titled(workload), &rows);
        let high = cells.iter().map(|(_, cell)| per_work(cell, total(cell))).fold(0.0, f64::max);
        let bytes = cells.iter().any(|(_, cell)| cell.unit == Unit::Bytes);
        let (factor, time) = match high {
            _ if high >= 1e7 => (1e6, "s"),
            _ if high >= 1e4 => (1e3, "ms"),
            _ => (1.0, "µs"),
        };
        let high = if high > 0.0 { high } else { 1.0 };
        let axis = Axis::linear(0.0, high, 4, |value, _| plain(value / factor));
        let unit = format!("CPU {time} {}", if bytes { "per megabyte" } else { "per operation" });
        let svg = panel((NARROW_PX, BAR_PX), &description, &rows, (&axis, &unit), |canvas, frame, number| {
            let cell = cells[number].1;
            let y = frame.middles[number];
            let mut done_s = 0.0;
            let parts =
                [(Ink::Cipher, cell.time.cipher_s), (Ink::Io, cell.time.io_s), (Ink::Elsewhere, cell.time.other_s)];
            for (ink, seconds) in parts {
                let from = frame.x(&axis, per_work(cell, done_s));
                done_s += seconds.max(0.0);
                let to = frame.x(&axis, per_work(cell, done_s));
                canvas.bar((from, y - BAR_PX / 2.0), (to, y + BAR_PX / 2.0), ink)?;
                if to - from > 3.0 {
                    canvas.line(&[(to, y - BAR_PX / 2.0), (to, y + BAR_PX / 2.0)], Ink::Surface, 1.5)?;
                }
            }
            Ok(())
        })?;
        Ok(Chart { title: titled(workload), note: clients(&cells), svg, narrow: None })
    };
    run.workloads.iter().map(chart).collect()
}

/// Bytes on disk by variant.
pub(super) fn size(run: &Run) -> Result<Vec<Chart>, ReportError> {
    let chart = |workload: &&str| {
        let cells = run.cells(workload);
        let baseline = run.baseline_cell(workload);
        let rows = rows_of(run, &cells, |cell| match baseline {
            Some(baseline) if baseline.variant != cell.variant && baseline.disk_bytes > 0 => {
                let ratio = cell.disk_bytes as f64 / baseline.disk_bytes as f64;
                format!("{}, {}", figures::bytes(cell.disk_bytes), figures::change(ratio))
            }
            _ => figures::bytes(cell.disk_bytes),
        });
        let high = cells.iter().map(|(_, cell)| cell.disk_bytes as f64).fold(0.0, f64::max);
        let (axis, unit) = from_zero(high, "B");
        let description = describe("Size on disk", &titled(workload), &rows);
        let svg = panel((NARROW_PX, BAR_PX), &description, &rows, (&axis, &unit), |canvas, frame, number| {
            let cell = cells[number].1;
            let (middle, end) = (frame.middles[number], frame.x(&axis, cell.disk_bytes as f64));
            canvas.bar((frame.left, middle - BAR_PX / 2.0), (end, middle + BAR_PX / 2.0), run.ink(cell.variant))
        })?;
        Ok(Chart { title: titled(workload), note: String::new(), svg, narrow: None })
    };
    run.workloads.iter().map(chart).collect()
}
