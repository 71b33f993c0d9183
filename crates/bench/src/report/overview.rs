//! The first chart: each workload in a line a variant, few enough to be seen at once with the
//! answer above them, on a wide screen and on a phone.

use super::axis::Axis;
use super::canvas::{Anchor, Ink, draw, half_px, shorten, text_px};
use super::charts::{Chart, NARROW_PX, WIDE_PX, axis_of, below_the_ticks, interval, labelled};
use super::index::Run;
use super::tables;
use crate::conclude::fixed_rate::at_rate;
use crate::results::open_loop::Ratio;
use crate::results::{Cell, Overhead, Ranked};
use crate::words::verdict::{Quantity, Verdict};

/// Variants that are drawn: the advised one and the next in order.
const VARIANTS_MAX: usize = 3;

/// Lines that are drawn: a name of a workload is one on a phone, and a variant is one.
const LINES_MAX: usize = 26;

/// Height of a line on a wide screen, of one on a phone, and of a name above lines there.
const WIDE_LINE_PX: f64 = 17.0;
const NARROW_LINE_PX: f64 = 15.0;
const NAME_PX: f64 = 17.0;

/// Distance between the lines of two workloads.
const GAP_PX: f64 = 6.0;

/// One workload, or all of them.
struct Block {
    label: String,
    /// Set for the line over all workloads.
    is_whole: bool,
    /// Each variant drawn; none where it has no figure.
    lines: Vec<Option<(Ink, Overhead)>>,
}

impl Block {
    fn is_met(&self) -> bool {
        let is_met = |(_, overhead): &(Ink, Overhead)| overhead.verdict != Verdict::NotMet;
        self.lines.iter().flatten().any(is_met)
    }
}

/// The first chart of a run.
pub(super) struct Overview {
    pub(super) charts: Vec<Chart>,
    /// Numbers of the variants that it shows, the advised one first.
    pub(super) variants: Vec<usize>,
    /// Set if every variant and workload with a figure is in it.
    pub(super) is_all: bool,
}

/// Draws the cost of the advised variant, and of those next to it, under each workload of `run`.
pub(super) fn overview(run: &Run) -> Overview {
    let order: Vec<(usize, Option<&Ranked>)> = tables::ranked(run);
    let has_figure =
        |number: usize| run.workloads.iter().any(|name| of_cell(run.cell(name, number)).is_some());
    let all: Vec<usize> =
        order.iter().map(|(number, _)| *number).filter(|number| has_figure(*number)).collect();
    let several = usize::from(run.workloads.len() > 1 && run.rate().is_none());
    let rows = run.workloads.len() + several;
    // as many variants as leave room for every workload, and one at least
    let fits = |count: &usize| rows * (1 + count) <= LINES_MAX;
    let count = (1..=VARIANTS_MAX.min(all.len())).rev().find(fits).unwrap_or(1);
    let variants: Vec<usize> = all.iter().copied().take(count).collect();
    let mut blocks: Vec<Block> = run
        .workloads
        .iter()
        .map(|name| Block {
            label: run.called(name),
            is_whole: false,
            lines: variants
                .iter()
                .map(|number| Some((run.ink(*number), of_cell(run.cell(name, *number))?)))
                .collect(),
        })
        .filter(|block| block.lines.iter().any(Option::is_some))
        .collect();
    let most = LINES_MAX / 2 - several;
    let is_cut = blocks.len() > most;
    if is_cut {
        // the costliest first
        let sign = if run.rate().is_some() { -1.0 } else { 1.0 };
        let cost = |block: &Block| {
            let lines = block.lines.iter().flatten();
            lines.map(|(_, overhead)| sign * overhead.ratio).fold(f64::INFINITY, f64::min)
        };
        blocks.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        blocks.truncate(most);
    }
    if several == 1 {
        let line = |number: &usize| {
            let ranked = order.iter().find(|(known, _)| known == number)?.1?;
            Some((run.ink(*number), ranked.overhead.clone()?))
        };
        let lines: Vec<_> = variants.iter().map(line).collect();
        if lines.iter().any(Option::is_some) {
            let label = run.words.say("all workloads");
            blocks.insert(0, Block { label, is_whole: true, lines });
        }
    }
    let charts = match blocks.iter().any(Block::is_met) {
        false => Vec::new(),
        true => {
            let drawn = |width| sheet(run, &blocks, &variants, width);
            let narrow = Some(drawn(NARROW_PX));
            vec![Chart { title: String::new(), note: String::new(), svg: drawn(WIDE_PX), narrow }]
        }
    };
    let is_all = !is_cut && variants.len() == all.len() && !charts.is_empty();
    Overview { charts, variants, is_all }
}

/// Returns what a cell costs: its throughput against the baseline, or at a fixed rate its 99th
/// percentile.
pub(super) fn of_cell(cell: Option<&Cell>) -> Option<Overhead> {
    let cell = cell?;
    if let Some(overhead) = &cell.overhead {
        return Some(overhead.clone());
    }
    let longer = at_rate(cell)?.p99.as_ref()?.against.as_ref()?;
    Some(of_ratio(&longer.ratio))
}

/// Returns `ratio` in the form of a cost, for charts.
pub(super) fn of_ratio(ratio: &Ratio) -> Overhead {
    Overhead::of_ratio(ratio.ratio, (ratio.low, ratio.high), ratio.verdict, &ratio.words)
}

/// Returns the axis of `blocks`: of throughputs, or at a fixed rate of latencies, on which more is
/// longer.
fn axis(run: &Run, blocks: &[Block], aim: usize) -> Axis {
    let met = blocks.iter().flat_map(|block| &block.lines).flatten();
    let met: Vec<&Overhead> = met
        .map(|(_, overhead)| overhead)
        .filter(|overhead| overhead.verdict != Verdict::NotMet)
        .collect();
    let axis = axis_of(&met, aim);
    if run.rate().is_some() { axis.sided("shorter", "longer") } else { axis }
}

/// Returns what the figures of `run` are ratios of.
pub(super) fn quantity(run: &Run) -> Quantity {
    if run.rate().is_some() { Quantity::Latency } else { Quantity::Throughput }
}

/// Returns the ends of the interval of `overhead`; the ratio itself where it has none.
pub(super) fn ends(overhead: &Overhead) -> (f64, f64) {
    overhead.interval.map_or((overhead.ratio, overhead.ratio), |ends| (ends.low, ends.high))
}

/// Returns `overhead` in words.
pub(super) fn value(quantity: Quantity, overhead: &Overhead) -> String {
    overhead.verdict.value(quantity, overhead.ratio, ends(overhead))
}

/// Returns the figure at the right of a line: the words of the figures above the chart.
fn at_the_right(run: &Run, overhead: &Overhead) -> String {
    run.words.say(&value(quantity(run), overhead))
}

/// Measures of one width.
struct Layout {
    width: f64,
    is_wide: bool,
    left: f64,
    right: f64,
    line_px: f64,
    name_px: f64,
}

impl Layout {
    fn new(run: &Run, blocks: &[Block], width: f64) -> Self {
        let is_wide = width >= WIDE_PX;
        let lines = || blocks.iter().flat_map(|block| &block.lines).flatten();
        let values =
            lines().map(|(_, overhead)| text_px(&at_the_right(run, overhead))).fold(0.0, f64::max);
        let labels = blocks.iter().map(|block| text_px(&block.label) * 1.08).fold(0.0, f64::max);
        Self {
            width,
            is_wide,
            left: if is_wide { labels.min(width * 0.36) + 10.0 } else { 4.0 },
            right: width - values - 12.0,
            line_px: if is_wide { WIDE_LINE_PX } else { NARROW_LINE_PX },
            name_px: if is_wide { 0.0 } else { NAME_PX },
        }
    }

    fn height(&self, block: &Block) -> f64 {
        self.name_px + self.line_px * block.lines.len() as f64 + GAP_PX
    }
}

fn sheet(run: &Run, blocks: &[Block], variants: &[usize], width: f64) -> String {
    let layout = Layout::new(run, blocks, width);
    let axis = axis(run, blocks, if layout.is_wide { 9 } else { 5 });
    let (left, right) = (layout.left, layout.right);
    let x = |value: f64| left + axis.position(value) * (right - left);
    let bottom = 4.0 + blocks.iter().map(|block| layout.height(block)).sum::<f64>();
    draw(width, bottom + 36.0, &description(run, blocks, variants), |canvas| {
        let has_text = labelled(&axis, right - left);
        for (at, (value, text)) in axis.ticks.iter().enumerate() {
            canvas.line(&[(x(*value), 4.0), (x(*value), bottom)], Ink::Grid, 1.0);
            if has_text(at) {
                let half = half_px(text);
                let middle = x(*value).clamp(half, width - half);
                canvas.text(text, (middle, bottom + 11.0), Anchor::Middle, Ink::Muted);
            }
        }
        canvas.line(&[(x(0.0), 4.0), (x(0.0), bottom)], Ink::Axis, 1.5);
        below_the_ticks(canvas, run.words, (&axis, ""), (left, right, width), bottom + 27.0);
        let mut y = 4.0;
        for block in blocks {
            name(canvas, block, &layout, y);
            for (at, line) in block.lines.iter().enumerate() {
                let middle = y + layout.name_px + layout.line_px * (at as f64 + 0.5);
                let Some((ink, overhead)) = line else { continue };
                let is_met = overhead.verdict != Verdict::NotMet;
                if is_met {
                    interval(canvas, x, &axis, middle, overhead, *ink);
                }
                let text = at_the_right(run, overhead);
                let ink = if is_met { Ink::Text } else { Ink::Muted };
                canvas.text(&text, (width - 2.0, middle), Anchor::Right, ink);
            }
            y += layout.height(block);
        }
    })
}

/// Writes the name of `block`, whose lines begin at `y`: before them, or above them on a phone.
fn name(canvas: &mut super::canvas::Canvas, block: &Block, layout: &Layout, y: f64) {
    let columns = if layout.is_wide { layout.left - 10.0 } else { layout.width } / 7.2;
    let label = shorten(&block.label, columns as usize);
    if layout.is_wide {
        let middle = y + layout.line_px * block.lines.len() as f64 / 2.0;
        let end = (layout.left - 8.0, middle);
        match (block.is_whole, block.is_met()) {
            (true, _) => canvas.bold_before(&label, end),
            (false, true) => canvas.text(&label, end, Anchor::Right, Ink::Text),
            (false, false) => canvas.text(&label, end, Anchor::Right, Ink::Muted),
        }
        return;
    }
    let at = (2.0, y + layout.name_px / 2.0 + 1.0);
    // the grid does not run through the words
    let end = text_px(&label) * 1.1 + 6.0;
    canvas.bar((0.0, at.1 - 8.0), (end, at.1 + 8.0), Ink::Surface, super::canvas::Texture::Full);
    match (block.is_whole, block.is_met()) {
        (true, _) => canvas.bold(&label, at),
        (false, true) => canvas.text(&label, at, Anchor::Left, Ink::Text),
        (false, false) => canvas.text(&label, at, Anchor::Left, Ink::Muted),
    }
}

/// Returns the chart in words, for readers who cannot see it.
fn description(run: &Run, blocks: &[Block], variants: &[usize]) -> String {
    let mut text = run.words.say("Cost of encryption by workload, with 95 % intervals");
    for block in blocks {
        let lines = block.lines.iter().zip(variants).filter_map(|(line, number)| {
            let (_, overhead) = line.as_ref()?;
            let label = &run.results.variants[*number].label;
            Some(format!("{label} {}", at_the_right(run, overhead)))
        });
        text += &format!("; {}: {}", block.label, lines.collect::<Vec<_>>().join(", "));
    }
    text
}
