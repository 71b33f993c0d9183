//! The charts of one run: cost, cipher against cipher, latency, CPU time, size, CPU use. Figures
//! with one scale under every workload are one chart of all workloads; only figures that differ in
//! shape are a set of small panels.

use unicode_width::UnicodeWidthStr;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Ink, Mark, Texture, draw, half_px, shorten, text_px};
use super::index::Run;
use super::language::Words;
use crate::conclude::figures;
use crate::results::{Between, Cell, CpuSecond, Interval as Ends, Overhead};
use crate::words::verdict::{self, Verdict};

/// Natural width of a panel, and of a chart on a phone.
pub(super) const NARROW_PX: f64 = 344.0;

/// Natural width of a chart that takes the whole column of a wide page.
pub(super) const WIDE_PX: f64 = 1000.0;

/// Height of a bar.
const BAR_PX: f64 = 12.0;

/// Height of the strip that shows CPU use over time.
const STRIP_PX: f64 = 38.0;

/// Points of a CPU curve; more are averaged.
const CURVE_POINTS: usize = 90;

/// Number of rows of a chart from which they are drawn closer together.
const MANY_ROWS: usize = 40;

/// Pairs of ciphers under all workloads that are drawn; of more only the mean over all workloads
/// is.
const PAIRS_DRAWN: usize = 30;

/// Multiple of the baseline's CPU time at which a bar is cut off.
const CPU_CUT: f64 = 4.0;

/// One chart and the text above it.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Chart {
    /// Subject of the chart, if its group shows several.
    pub(super) title: String,
    /// Note on how to read it.
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
    /// Set where there is nothing to compare: the row is grey.
    is_grey: bool,
}

impl Row {
    fn heading(label: impl Into<String>) -> Self {
        Self { label: label.into(), value: String::new(), ink: None, is_grey: false }
    }

    fn of(label: impl Into<String>, value: impl Into<String>, ink: Ink) -> Self {
        Self { label: label.into(), value: value.into(), ink: Some(ink), is_grey: false }
    }

    fn text_ink(&self) -> Ink {
        if self.is_grey { Ink::Muted } else { Ink::Text }
    }

    /// Returns the same in the language of `words`.
    fn in_words(&self, words: &Words) -> Self {
        let (label, value) = (words.say(&self.label), words.say(&self.value));
        Self { label, value, ..*self }
    }
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

/// Draws `rows` over `axis`, whose ticks are followed by `unit`, in the language of `words`;
/// `paint` draws into each row that is not a heading, and `about` describes it to readers who
/// cannot see it.
fn panel(
    words: &Words,
    (width, bar): (f64, f64),
    about: &str,
    rows: &[Row],
    (axis, unit): (&Axis, &str),
    paint: impl Fn(&mut Canvas, &Frame, usize),
) -> String {
    let rows: Vec<Row> = rows.iter().map(|row| row.in_words(words)).collect();
    let rows = rows.as_slice();
    let description = describe(&words.say(about), rows);
    let widest = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| text_px(text)).fold(0.0, f64::max)
    };
    let entries = || rows.iter().filter(|row| row.ink.is_some());
    let labels = widest(&mut entries().map(|row| &row.label));
    let values = widest(&mut entries().map(|row| &row.value));
    // labels too long to fit next to the bars are put above them
    let above = labels > width * 0.36;
    let left = if above { 2.0 } else { labels + 8.0 };
    let right = width - values - 10.0;
    let gap = if rows.len() > MANY_ROWS { 4.0 } else { 9.0 };
    let row_px = bar + gap + if above { 16.0 } else { 0.0 };
    let mut y = 6.0;
    let mut frame = Frame { left, right, middles: Vec::new() };
    for row in rows {
        let height = if row.ink.is_some() { row_px } else { 26.0 };
        frame.middles.push(y + height - (bar + gap) / 2.0);
        y += height;
    }
    let bottom = y + 2.0;
    draw(width, bottom + 36.0, &description, |canvas| {
        let labelled = labelled(axis, right - left);
        for (number, (value, text)) in axis.ticks.iter().enumerate() {
            let x = frame.x(axis, *value);
            canvas.line(&[(x, 4.0), (x, bottom)], Ink::Grid, 1.0);
            if labelled(number) {
                // the outermost labels stay on the sheet
                let half = half_px(text);
                canvas.text(
                    text,
                    (x.clamp(half, width - half), bottom + 11.0),
                    Anchor::Middle,
                    Ink::Muted,
                );
            }
        }
        if let Some(value) = axis.reference {
            let x = frame.x(axis, value);
            canvas.line(&[(x, 4.0), (x, bottom)], Ink::Axis, 1.5);
        }
        below_the_ticks(canvas, words, (axis, unit), (left, right, width), bottom + 27.0);
        for (number, row) in rows.iter().enumerate() {
            let middle = frame.middles[number];
            if row.ink.is_none() {
                let label = shorten(&row.label, (width / 8.0) as usize);
                // the grid does not run through the words
                let end = text_px(&label) * 1.1 + 6.0;
                canvas.bar((0.0, middle - 9.0), (end, middle + 8.0), Ink::Surface, Texture::Full);
                match row.is_grey {
                    true => canvas.text(&label, (2.0, middle), Anchor::Left, Ink::Muted),
                    false => canvas.bold(&label, (2.0, middle)),
                }
                continue;
            }
            paint(canvas, &frame, number);
            match above {
                true => {
                    let label = shorten(&row.label, (width / 7.2) as usize);
                    let at = (2.0, middle - bar / 2.0 - 9.0);
                    canvas.text(&label, at, Anchor::Left, row.text_ink());
                }
                false => {
                    canvas.text(&row.label, (left - 8.0, middle), Anchor::Right, row.text_ink());
                }
            }
            canvas.text(&row.value, (width - 2.0, middle), Anchor::Right, row.text_ink());
        }
    })
}

/// Writes below the ticks of `axis` what they count, at the height `y`: the sides of the reference
/// in words, or `unit` where it has none.
pub(super) fn below_the_ticks(
    canvas: &mut Canvas,
    words: &Words,
    (axis, unit): (&Axis, &str),
    (left, right, width): (f64, f64, f64),
    y: f64,
) {
    let (Some((below, above)), Some(reference)) = (&axis.sides, axis.reference) else {
        let unit = words.say(unit);
        canvas.text(&unit, ((left + right) / 2.0, y), Anchor::Middle, Ink::Muted);
        return;
    };
    let (below, above) = (format!("← {}", words.say(below)), format!("{} →", words.say(above)));
    // either side of the reference, and on the sheet
    let x = left + axis.position(reference) * (right - left);
    let from = (x + 8.0).min(width - text_px(&above) - 2.0);
    let to = (x - 8.0).min(from - 16.0).max(text_px(&below) + 2.0);
    canvas.text(&below, (to, y), Anchor::Right, Ink::Text);
    canvas.text(&above, (from.max(to + 16.0), y), Anchor::Left, Ink::Text);
}

/// Selects the ticks of an axis `length` pixels long that have room for their text: every tick, or
/// every second, or … so that the reference is among them.
pub(super) fn labelled(axis: &Axis, length: f64) -> impl Fn(usize) -> bool {
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

/// Returns a chart that fills the page, drawn by `panel` for a wide page and for a phone.
pub(super) fn across_the_page(panel: impl Fn(f64) -> String) -> Vec<Chart> {
    let narrow = Some(panel(NARROW_PX));
    vec![Chart { title: String::new(), note: String::new(), svg: panel(WIDE_PX), narrow }]
}

/// Returns the sentence that describes a chart, for readers who cannot see it.
fn describe(what: &str, rows: &[Row]) -> String {
    let mut text = what.to_owned();
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

/// Returns a row for every cell, under a heading for each workload; `value` is the figure at the
/// right of a row.
fn rows_of<'a>(
    run: &Run<'a>,
    value: impl Fn(&Cell) -> String,
) -> (Vec<Row>, Vec<Option<&'a Cell>>) {
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for workload in &run.workloads {
        rows.push(Row::heading(run.called(workload)));
        cells.push(None);
        for (variant, cell) in run.cells(workload) {
            rows.push(Row::of(&variant.label, value(cell), run.ink(cell.variant)));
            cells.push(Some(cell));
        }
    }
    (rows, cells)
}

/// Returns a round number without needless decimals.
fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

/// One interval of a chart of ratios.
pub(super) struct Interval {
    pub(super) label: String,
    pub(super) ink: Ink,
    pub(super) overhead: Overhead,
}

/// Intervals with a heading.
pub(super) struct Intervals {
    pub(super) heading: String,
    pub(super) members: Vec<Interval>,
}

/// Returns the throughput against the baseline by workload and variant, with 95 % intervals.
pub(super) fn cost(run: &Run) -> Vec<Chart> {
    let group = |workload: &&str| {
        let members = run.cells(workload).into_iter().filter_map(|(variant, cell)| {
            let overhead = cell.overhead.clone()?;
            Some(Interval { label: variant.label.clone(), ink: run.ink(cell.variant), overhead })
        });
        Intervals { heading: run.called(workload), members: members.collect() }
    };
    intervals(run.words, run.workloads.iter().map(group).collect(), COST)
}

/// Description of the charts of costs, for readers who cannot see them.
pub(super) const COST: &str = "Throughput against no encryption with 95 % intervals";

/// Charts each cipher against each other cipher, under each workload and over all of them.
pub(super) fn between(run: &Run) -> Vec<Chart> {
    let results = run.results;
    let label = |variant: usize| results.variants[variant].label.as_str();
    let group = |workload: Option<&str>| {
        let of_it =
            results.between.iter().filter(move |between| between.workload.as_deref() == workload);
        let interval = |between: &Between| Interval {
            label: format!("{} against {}", label(between.variant), label(between.other)),
            // neither of the two
            ink: Ink::Text,
            overhead: between.as_overhead(),
        };
        Intervals {
            heading: workload
                .map_or_else(|| "over all workloads".to_owned(), |name| run.called(name)),
            members: of_it.map(interval).collect(),
        }
    };
    let mut groups = vec![group(None)];
    if results.between.len() <= PAIRS_DRAWN {
        groups.extend(run.workloads.iter().map(|workload| group(Some(workload))));
    }
    let about = "Throughput of one cipher against another, with 95 % intervals";
    intervals(run.words, groups, about)
}

/// Draws one chart of all `groups` that have members, described by `about`.
pub(super) fn intervals(words: &Words, mut groups: Vec<Intervals>, about: &str) -> Vec<Chart> {
    groups.retain(|group| !group.members.is_empty());
    if groups.is_empty() {
        return Vec::new();
    }
    let overheads =
        groups.iter().flat_map(|group| &group.members).map(|interval| &interval.overhead);
    let overheads: Vec<&Overhead> =
        overheads.filter(|overhead| overhead.verdict != Verdict::NotMet).collect();
    let axis = |aim| axis_of(&overheads, aim);
    across_the_page(|width| {
        let axis = axis(if width < WIDE_PX { 5 } else { 9 });
        intervals_panel(words, width, about, &groups, &axis)
    })
}

/// Returns the drawn part of the interval of `overhead`: if there is none, only the mark.
pub(super) fn shown(overhead: &Overhead) -> Ends {
    overhead.interval.unwrap_or(Ends { low: overhead.ratio, high: overhead.ratio })
}

/// Returns an axis that holds the intervals of `overheads`, with about `aim` ticks and no
/// difference as its reference.
pub(super) fn axis_of(overheads: &[&Overhead], aim: usize) -> Axis {
    // a nearly meaningless interval must not flatten the others: it is cut, with an arrow
    let low = |overhead: &&Overhead| shown(overhead).low.max(overhead.ratio - 0.3);
    let high = |overhead: &&Overhead| shown(overhead).high.min(overhead.ratio + 0.3);
    let lowest = overheads.iter().map(low).fold(0.99, f64::min) - 1.0;
    let highest = overheads.iter().map(high).fold(1.01, f64::max) - 1.0;
    let margin = (highest - lowest) * 0.03;
    let text = |value: f64, places: usize| format!("{} %", percent(value, places));
    Axis::linear(lowest - margin, highest + margin, aim, text)
        .against(0.0)
        .sided("slower", "faster")
}

/// Returns a change of a share as the label of a tick.
pub(super) fn percent(value: f64, places: usize) -> String {
    let sign = match value {
        _ if value < -1e-9 => "−",
        _ if value > 1e-9 => "+",
        _ => "",
    };
    format!("{sign}{:.*}", places.saturating_sub(2), value.abs() * 100.0)
}

/// Returns the verdict in its own words if they are few, otherwise in ours.
pub(super) fn in_words(overhead: &Overhead) -> String {
    match overhead.words.width() {
        _ if overhead.verdict == Verdict::NotMet => overhead.verdict.word().into(),
        1..=32 => overhead.words.clone(),
        _ if overhead.verdict == Verdict::AtMost => figures::bound(overhead),
        _ => format!("{} ({})", overhead.verdict.word(), figures::overhead(overhead)),
    }
}

fn intervals_panel(
    words: &Words,
    width: f64,
    about: &str,
    groups: &[Intervals],
    axis: &Axis,
) -> String {
    let (mut rows, mut intervals) = (Vec::new(), Vec::new());
    let is_met = |interval: &Interval| interval.overhead.verdict != Verdict::NotMet;
    for group in groups {
        let is_grey = !group.members.iter().any(is_met);
        rows.push(Row { is_grey, ..Row::heading(&group.heading) });
        intervals.push(None);
        for interval in &group.members {
            let value = match width {
                WIDE_PX => in_words(&interval.overhead),
                _ if interval.overhead.verdict == Verdict::NotMet => {
                    interval.overhead.verdict.word().into()
                }
                _ => figures::overhead(&interval.overhead),
            };
            let is_grey = !is_met(interval);
            rows.push(Row { is_grey, ..Row::of(&interval.label, value, interval.ink) });
            // a workload that met no cipher is a grey line of text, without a mark that could be
            // read as a cost or a gain
            intervals.push(is_met(interval).then_some(interval));
        }
    }
    panel(
        words,
        (width, BAR_PX),
        about,
        &rows,
        (axis, "% of throughput"),
        |canvas, frame, number| {
            let Some(Interval { ink, overhead, .. }) = intervals[number] else { return };
            let y = frame.middles[number];
            interval(canvas, |value| frame.x(axis, value), axis, y, overhead, *ink);
        },
    )
}

/// Draws `overhead` at the height `y`: its interval, cut with an arrow at the ends of `axis`, and
/// the mark of its verdict; `x`: where a value of the axis is.
pub(super) fn interval(
    canvas: &mut Canvas,
    x: impl Fn(f64) -> f64,
    axis: &Axis,
    y: f64,
    overhead: &Overhead,
    ink: Ink,
) {
    if let Some(Ends { low, high }) = overhead.interval {
        let (low, high) = (low - 1.0, high - 1.0);
        let (from, to) = (x(low), x(high));
        canvas.line(&[(from, y), (to, y)], ink, 2.25);
        let (left, right) = (axis.beyond(low).0, axis.beyond(high).1);
        for (end, cut, arrow) in [(from, left, Mark::ArrowLeft), (to, right, Mark::ArrowRight)] {
            match cut {
                true => canvas.mark((end, y), arrow, 8.0, ink),
                false => canvas.line(&[(end, y - 4.0), (end, y + 4.0)], ink, 2.25),
            }
        }
    }
    canvas.mark((x(overhead.ratio - 1.0), y), mark_of(overhead.verdict), 10.0, ink);
}

/// Returns the mark of a verdict; `page` has the legend.
pub(super) fn mark_of(verdict: Verdict) -> Mark {
    match verdict.row().mark {
        Some(verdict::Mark::Disc) => Mark::Disc,
        Some(verdict::Mark::Ring) => Mark::Ring,
        Some(verdict::Mark::Square) => Mark::Square,
        Some(verdict::Mark::Diamond) | None => Mark::Diamond,
    }
}

/// Returns the latency percentiles of every operation, by variant, on one scale.
pub(super) fn latency(run: &Run) -> Vec<Chart> {
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for workload in &run.workloads {
        for operation in run.operations(workload) {
            rows.push(Row::heading(format!("{}, {operation}", run.called(workload))));
            points.push(None);
            for (variant, cell) in run.cells(workload) {
                let Some(latency) = cell.latency.get(operation) else { continue };
                rows.push(Row::of(
                    &variant.label,
                    figures::micros(latency.p99_us),
                    run.ink(cell.variant),
                ));
                points.push(Some([
                    latency.p50_us,
                    latency.p95_us,
                    latency.p99_us,
                    latency.p999_us,
                ]));
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let all = || points.iter().flatten().flatten().copied().filter(|us| *us > 0.0);
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let about = "99th percentile of latency";
    across_the_page(|width| {
        let axis = Axis::micros(low, high, if width < WIDE_PX { 4 } else { 12 });
        panel(
            run.words,
            (width, BAR_PX),
            about,
            &rows,
            (&axis, "latency, logarithmic"),
            |canvas, frame, number| {
                let (Some(times), Some(ink)) = (points[number], rows[number].ink) else { return };
                let places = times.map(|us| (frame.x(&axis, us), frame.middles[number]));
                canvas.line(&[places[0], places[3]], ink, 1.5);
                for (place, mark) in places.into_iter().zip([
                    Mark::Disc,
                    Mark::Diamond,
                    Mark::Square,
                    Mark::Triangle,
                ]) {
                    canvas.mark(place, mark, 8.0, ink);
                }
            },
        )
    })
}

/// Returns the CPU time for the same work, as a share of the baseline's, divided into cipher, file
/// operations and the rest; none if the store does not report it.
pub(super) fn time_split(run: &Run) -> Vec<Chart> {
    if !run.tells_time() {
        return Vec::new();
    }
    let against_baseline = |cell: &Cell| {
        let ratio = cell.overhead.as_ref().map_or(1.0, |overhead| overhead.cpu_ratio);
        if ratio.is_finite() { ratio } else { 1.0 }
    };
    let (rows, cells) = rows_of(run, |cell| match cell.overhead {
        Some(_) => figures::change(against_baseline(cell)),
        None => "100 %".into(),
    });
    let most =
        cells.iter().flatten().map(|cell| against_baseline(cell)).fold(1.0, f64::max).min(CPU_CUT);
    let about = "CPU time for the same work, against no encryption";
    across_the_page(|width| {
        let axis = Axis::linear(0.0, most, if width < WIDE_PX { 4 } else { 8 }, |value, _| {
            plain(value * 100.0)
        });
        let axis = axis.against(1.0);
        let unit = "% of the CPU time without encryption";
        let dimensions = (width, BAR_PX);
        panel(run.words, dimensions, about, &rows, (&axis, unit), |canvas, frame, number| {
            let (Some(cell), Some(ink)) = (cells[number], rows[number].ink) else { return };
            let y = frame.middles[number];
            let time = &cell.time;
            let parts = [
                (Texture::Full, time.cipher_s),
                (Texture::Striped, time.io_s),
                (Texture::Pale, time.other_s),
            ];
            let total: f64 = parts.iter().map(|part| part.1).sum();
            let scale = if total > 0.0 { against_baseline(cell) / total } else { 0.0 };
            let mut done = 0.0;
            for (texture, seconds) in parts {
                let from = frame.x(&axis, done);
                done += seconds.max(0.0) * scale;
                canvas.bar(
                    (from, y - BAR_PX / 2.0),
                    (frame.x(&axis, done), y + BAR_PX / 2.0),
                    ink,
                    texture,
                );
            }
            if done > most {
                canvas.mark((frame.right, y), Mark::ArrowRight, 8.0, ink);
            }
        })
    })
}

/// Variants with their colour and their size on disk as a multiple of the baseline's.
type Grown = Vec<(String, Ink, f64)>;

/// Bytes on disk against the baseline; workloads with the same figures share their rows.
pub(super) fn size(run: &Run) -> Vec<Chart> {
    let mut groups: Vec<(Vec<&str>, Grown)> = Vec::new();
    for workload in &run.workloads {
        let Some(baseline) = run.baseline_cell(workload).filter(|cell| cell.disk_bytes > 0) else {
            continue;
        };
        let cells =
            run.cells(workload).into_iter().filter(|(_, cell)| cell.variant != baseline.variant);
        let grown = |(variant, cell): (&crate::results::Variant, &Cell)| {
            let ratio = cell.disk_bytes as f64 / baseline.disk_bytes as f64;
            (variant.label.clone(), run.ink(cell.variant), ratio)
        };
        let grown: Grown = cells.map(grown).collect();
        let same = |(_, known): &&mut (_, Grown)| {
            let said = |all: &Grown| -> Vec<(String, String)> {
                all.iter()
                    .map(|(label, _, ratio)| (label.clone(), figures::change(*ratio)))
                    .collect()
            };
            said(known) == said(&grown)
        };
        match groups.iter_mut().find(same) {
            _ if grown.is_empty() => {}
            Some((workloads, _)) => workloads.push(workload),
            None => groups.push((vec![workload], grown)),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let (mut rows, mut ratios) = (Vec::new(), Vec::new());
    for (workloads, grown) in &groups {
        let heading = match workloads.len() {
            all if all == run.workloads.len() => "every workload".to_owned(),
            _ => workloads.iter().map(|name| run.called(name)).collect::<Vec<_>>().join(", "),
        };
        rows.push(Row::heading(heading));
        ratios.push(1.0);
        for (label, ink, ratio) in grown {
            rows.push(Row::of(label, figures::change(*ratio), *ink));
            ratios.push(*ratio);
        }
    }
    let lowest = ratios.iter().copied().fold(1.0, f64::min) - 1.0;
    let highest = ratios.iter().copied().fold(1.01, f64::max).min(CPU_CUT) - 1.0;
    let about = "Size on disk against no encryption";
    across_the_page(|width| {
        let axis = Axis::linear(lowest, highest, 5, percent).against(0.0);
        panel(
            run.words,
            (width, BAR_PX),
            about,
            &rows,
            (&axis, "% of the size on disk"),
            |canvas, frame, number| {
                let Some(ink) = rows[number].ink else { return };
                let (zero, end) = (frame.x(&axis, 0.0), frame.x(&axis, ratios[number] - 1.0));
                let y = frame.middles[number];
                let (from, to) = (zero.min(end), zero.max(end));
                canvas.bar((from, y - BAR_PX / 2.0), (to, y + BAR_PX / 2.0), ink, Texture::Full);
            },
        )
    })
}

/// Returns the CPU use over time, a panel a workload, a strip a variant.
pub(super) fn cpu(run: &Run) -> Vec<Chart> {
    let mut charts = Vec::new();
    for workload in &run.workloads {
        let cells: Vec<_> =
            run.cells(workload).into_iter().filter(|(_, cell)| !cell.cpu.is_empty()).collect();
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
        let row = |(variant, cell): &(&crate::results::Variant, &Cell)| {
            Row::of(
                &variant.label,
                figures::share(cell.saturation.cpu_share),
                run.ink(cell.variant),
            )
        };
        let rows: Vec<Row> = cells.iter().map(row).collect();
        let about = format!("Share of all cores in use, {}", run.called(workload));
        let svg = panel(
            run.words,
            (NARROW_PX, STRIP_PX),
            &about,
            &rows,
            (&axis, "seconds"),
            |canvas, frame, number| {
                let cell = cells[number].1;
                let (top, floor) = (
                    frame.middles[number] - STRIP_PX / 2.0,
                    frame.middles[number] + STRIP_PX / 2.0,
                );
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
                canvas.line(&[(frame.left, top), (frame.right, top)], Ink::Grid, 1.0);
                canvas.pale(&closed(&both), ink);
                canvas.area(&closed(&kernel), ink);
                canvas.line(&both, ink, 1.25);
                canvas.line(&[(frame.left, floor), (frame.right, floor)], Ink::Axis, 1.0);
            },
        );
        let note = format!("0 to {} cores", plain(cores));
        charts.push(Chart { title: run.called(workload), note, svg, narrow: None });
    }
    charts
}

/// Returns (seconds, value) of a curve through the middles of at most `CURVE_POINTS` stretches,
/// held level at both ends.
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
