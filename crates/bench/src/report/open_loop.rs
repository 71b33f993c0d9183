//! Figures that an open loop shows in place of throughputs: at a fixed rate, latency and CPU time;
//! under a limit on latency, the rates sustained. Formatting only.

use super::index::Run;
use super::tables::{self, Table, figure, missing, words};
use crate::conclude::figures;
use crate::conclude::fixed_rate::at_rate;
use crate::conclude::sustained_rate::sustained;
use crate::results::open_loop::{AtRate, Longer, Percentile, Ratio};
use crate::results::{Cell, Results};
use crate::words::verdict::{Cell as Content, Quantity, Verdict};

/// Returns a verdict on a percentile in a few words.
fn short(ratio: &Ratio) -> String {
    let row = ratio.verdict.row();
    match row.cell {
        Content::Change if ratio.ratio < 2.0 => figures::ratio(ratio),
        Content::Change => format!("× {}", figures::digits(ratio.ratio)),
        Content::Bound if ratio.high <= 1.0 => Quantity::Latency.no_cost().into(),
        Content::Bound => format!("at most +{:.0} %", (ratio.high - 1.0) * 100.0),
        Content::Dash | Content::Word | Content::HalfWidth => row.word.into(),
    }
}

/// Returns the CPU time for a request against no encryption, in a few words.
fn cpu(at_rate: &AtRate) -> String {
    at_rate.cpu.as_ref().map_or("–".into(), figures::ratio)
}

fn against(percentile: Option<&Percentile>) -> Option<&Longer> {
    percentile?.against.as_ref()
}

/// One entry of the screen's table: text, and the verdict in it if there is one.
pub(super) type Entry = (String, Option<Verdict>);

/// Returns the names of the rows that `entries` fills, for each workload.
pub(super) fn row_names(workload: &str) -> [String; 4] {
    [
        format!("{workload} p50"),
        format!("{workload} p99"),
        "  p99 change".into(),
        "  CPU a request".into(),
    ]
}

/// Returns a cell at a fixed rate, in as many lines as `row_names` has.
pub(super) fn entries(cell: &Cell) -> [Entry; 4] {
    let Some(found) = at_rate(cell) else { return std::array::from_fn(|_| ("–".into(), None)) };
    let interval = |percentile: &Option<Percentile>| match percentile {
        Some(percentile) => figures::latency_interval(percentile),
        None => "too few".into(),
    };
    let change: Entry = match against(found.p99.as_ref()) {
        _ if !found.is_kept => {
            (format!("only {}", figures::rate(found.kept_per_s, cell.unit)), Some(Verdict::Costs))
        }
        Some(longer) => (short(&longer.ratio), Some(longer.ratio.verdict)),
        None => ("–".into(), None),
    };
    [(interval(&found.p50), None), (interval(&found.p99), None), change, (cpu(found), None)]
}

/// Explains how to read the screen's table at `rate_per_s`.
pub(super) fn key(results: &Results, rate_per_s: f64) -> String {
    let mut text = format!(
        "latency of requests at {} with 95 % intervals, from when a request was due; change: \
         against no encryption, plus is longer; CPU: CPU time for a request, plus is more",
        figures::rate(rate_per_s, crate::workload::Unit::Operations)
    );
    if results.cells.iter().filter_map(at_rate).any(|at_rate| !at_rate.is_kept) {
        text += "; only: the rate that was reached instead";
    }
    text
}

/// Tabulates every variant at the rate: latency, its change, CPU time.
pub(super) fn at_rate_table(run: &Run) -> Option<Table> {
    let rate_per_s = run.rate()?;
    let heads = [
        "#Reached",
        "#p50 (95 % interval)",
        "#p99 (95 % interval)",
        "#Change of p50",
        "#Change of p99",
        "#Difference of p99",
        "#CPU a request",
        "Verdict on p99",
    ];
    let note = "Latency of whole requests, counted from the moment they were due. Changes, \
                differences and CPU time: against no encryption, from slices that ran in \
                alternation, with 95 % intervals; plus is longer, or more.";
    let interval = |percentile: &Option<Percentile>| match percentile {
        Some(percentile) => figure(figures::latency_interval(percentile), percentile.us),
        None => missing().noted("too few requests"),
    };
    let title = format!("At {}", figures::rate(rate_per_s, crate::workload::Unit::Operations));
    Some(tables::by_workload(run, &title, note, &heads, |_, cell| {
        let Some(found) = at_rate(cell) else { return heads.iter().map(|_| missing()).collect() };
        let kept = if found.is_kept { "as asked" } else { "not what was asked" };
        let reached =
            figure(figures::rate(found.kept_per_s, cell.unit), found.kept_per_s).noted(kept);
        let ratio =
            |ratio: &Ratio| tables::judged(ratio.verdict, figures::ratio(ratio), ratio.ratio);
        let changed = |percentile: &Option<Percentile>| match against(percentile.as_ref()) {
            Some(longer) => ratio(&longer.ratio),
            None => missing(),
        };
        let difference = against(found.p99.as_ref()).map_or_else(missing, |longer| {
            let [low, high] =
                [longer.difference_low_us, longer.difference_high_us].map(figures::signed_micros);
            let difference = figures::signed_micros(longer.difference_us);
            figure(difference, longer.difference_us).noted(format!("{low} to {high}"))
        });
        let verdict = match against(found.p99.as_ref()) {
            _ if !found.is_kept => words("does not sustain the rate"),
            Some(longer) => words(&longer.ratio.words),
            None if cell.variant == 0 => words("baseline"),
            None if found.p99.is_none() => {
                let verdict = Verdict::CannotConclude;
                words(format!("{}: too few requests for a p99", verdict.word()))
            }
            None => words("nothing to compare with: the baseline does not sustain the rate"),
        };
        vec![
            reached,
            interval(&found.p50),
            interval(&found.p99),
            changed(&found.p50),
            changed(&found.p99),
            difference,
            found.cpu.as_ref().map_or_else(missing, ratio),
            verdict,
        ]
    }))
}

/// Returns the highest rate of every variant under the limit.
pub(super) fn sustained_table(run: &Run) -> Option<Table> {
    let limit = run.limit()?;
    let heads = [
        "#Sustained",
        "#95 % interval",
        "#Searches",
        "#Held at",
        "#p99 there",
        "#Change",
        "#95 % interval",
        "Verdict",
    ];
    let note = "The highest rate at which requests, from the moment they were due, had a p99 \
                within the limit. Each was then held somewhat lower for longer. Change, interval \
                and verdict: against no encryption, from searches that ran in alternation.";
    let title = format!("Rate sustained with a p99 of at most {limit}");
    Some(tables::by_workload(run, &title, note, &heads, |_, cell| {
        let Some(found) = sustained(cell) else { return heads.iter().map(|_| missing()).collect() };
        let rate = |per_s: f64| figures::rate(per_s, cell.unit);
        let searches = cell.open_loop.as_ref().map_or(0, |open_loop| open_loop.searches.len());
        let (own, interval) = match found.rate_per_s {
            Some(per_s) => (
                figure(rate(per_s), per_s).noted(if found.is_full_speed {
                    "its full speed"
                } else {
                    ""
                }),
                figure(
                    format!("{} to {}", rate(found.low_per_s), rate(found.high_per_s)),
                    found.low_per_s,
                ),
            ),
            None => (
                missing().noted("limit never met"),
                figure(format!("below {}", rate(found.high_per_s)), f64::NAN),
            ),
        };
        let held = match &found.held_p99 {
            Some(p99) => figure(figures::latency_interval(p99), p99.us)
                .noted(if found.is_confirmed { "" } else { "beyond the limit" }),
            None => missing(),
        };
        let [change, between, verdict] = match &cell.overhead {
            Some(overhead) => [
                figure(figures::change(overhead.ratio), overhead.ratio),
                figure(figures::interval(overhead), figures::lower_end(overhead)),
                words(&overhead.words),
            ],
            None => [missing(), missing(), words("baseline")],
        };
        let searches = figure(searches.to_string(), searches as f64);
        vec![
            own,
            interval,
            searches,
            found.held_per_s.map_or_else(missing, |per_s| figure(rate(per_s), per_s)),
            held,
            change,
            between,
            verdict,
        ]
    }))
}

/// Rows of Markdown: for each workload, latency and CPU time of every variant.
pub(super) fn markdown_rows(run: &Run, order: &[usize]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for workload in &run.workloads {
        let entries: Vec<[Entry; 4]> = order
            .iter()
            .map(|number| match run.cell(workload, *number) {
                Some(cell) => entries(cell),
                None => std::array::from_fn(|_| ("–".into(), None)),
            })
            .collect();
        for (at, name) in row_names(workload).into_iter().enumerate() {
            let name =
                if name.starts_with(' ') { format!("{workload} {}", name.trim()) } else { name };
            rows.push(
                std::iter::once(name)
                    .chain(entries.iter().map(|entry| entry[at].0.clone()))
                    .collect(),
            );
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(ratio: f64, half: f64, verdict: Verdict) -> Ratio {
        Ratio { ratio, low: ratio - half, high: ratio + half, verdict, words: String::new() }
    }

    #[test]
    fn verdicts_on_a_percentile_fit_a_column() {
        for (ratio, text) in [
            (ratio(1.12, 0.04, Verdict::Costs), "+12 % ± 4.0"),
            (ratio(3.4, 0.4, Verdict::Costs), "× 3.40"),
            (ratio(0.8, 0.1, Verdict::Gains), "−20 % ± 10"),
            (ratio(1.01, 0.04, Verdict::NoDifference), "no difference"),
            (ratio(1.1, 0.12, Verdict::AtMost), "at most +22 %"),
            (ratio(0.8, 0.15, Verdict::AtMost), "not longer"),
            (ratio(1.1, 2.0, Verdict::CannotConclude), "cannot conclude"),
        ] {
            assert_eq!(short(&ratio), text);
        }
    }
}
