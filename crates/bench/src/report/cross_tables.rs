//! The tables of several runs side by side, and of stores against each other.

use std::iter::once;

use super::canvas::Ink;
use super::index::Run;
use super::tables::{
    Datum, Table, below_saturation, columns, dagger, figure, head, judged, missing, verdict, words,
};
use crate::conclude::figures;
use crate::conclude::fixed_rate::at_rate;
use crate::results::open_loop::AtRate;
use crate::results::{Against, Cell, Overhead};
use crate::words::axes::varied;
use crate::workload::Unit;

/// Overheads of several runs side by side: a row for each workload and variant, a column for each
/// run.
pub(super) fn across(runs: &[Run]) -> Table {
    let heads: Vec<String> = runs.iter().map(|run| format!("#{}", run.label)).collect();
    let mut rows = Vec::new();
    for (workload, labels) in pairs(runs) {
        for (position, label) in labels.iter().enumerate() {
            let ink = runs.iter().find_map(|run| {
                measured(run, workload, label).map(|(cell, _)| run.ink(cell.variant))
            });
            let name = Datum { ink: ink.map(Ink::name), ..head(*label) };
            let called = runs.first().map_or(workload.into(), |run| run.called(workload));
            let mut row = vec![Datum { again: position > 0, ..head(called) }, name];
            row.extend(runs.iter().map(|run| match measured(run, workload, label) {
                Some((cell, _)) if at_rate(cell).is_some() => {
                    at_rate(cell).map_or_else(missing, of_rate)
                }
                Some((cell, Some(overhead))) => verdict(overhead, below_saturation(cell)),
                Some((cell, None)) => {
                    let rate = figures::rate(cell.throughput, cell.unit);
                    Datum { note: "baseline".into(), ..figure(rate, cell.throughput) }
                }
                None => missing(),
            }));
            rows.push(row);
        }
    }
    Table {
        title: "Overhead of each run".into(),
        note: format!(
            "Each run against its own baseline, with 95 % confidence intervals; minus is slower.{}",
            dagger(&runs.iter().collect::<Vec<_>>())
        ),
        columns: columns(
            ["Workload", "Variant"].into_iter().chain(heads.iter().map(String::as_str)),
        ),
        rows,
        ..Table::default()
    }
}

/// Returns the content shown for a cell at a fixed rate, where the throughput is not informative.
fn of_rate(found: &AtRate) -> Datum {
    match found.p99.as_ref().map(|p99| (p99, &p99.against)) {
        _ if !found.is_kept => figure(figures::rate(found.kept_per_s, Unit::Operations), f64::NAN)
            .noted("rate not reached"),
        Some((_, Some(longer))) => {
            judged(longer.ratio.verdict, figures::ratio(&longer.ratio), longer.ratio.ratio)
                .noted("p99")
        }
        Some((p99, None)) => figure(figures::micros(p99.us), p99.us).noted("p99"),
        None => missing().noted("too few requests"),
    }
}

/// Stores set against one of them: a row for each workload and variant.
pub(super) fn against(ratios: &[Against]) -> Table {
    let axes = varied(ratios.iter().flat_map(|one| [&one.point, &one.other]).collect::<Vec<_>>());
    let row = |one: &Against| {
        vec![
            head(one.workload.as_str()),
            head(one.variant.as_str()),
            words(one.point.words(&axes)),
            words(match one.other_variant.as_str() {
                variant if variant == one.variant => one.other.words(&axes),
                variant => format!("{}, {variant}", one.other.words(&axes)),
            }),
            figure(format!("× {}", figures::digits(one.ratio)), one.ratio),
            figure(
                format!("{} to {}", figures::digits(one.low), figures::digits(one.high)),
                one.low,
            ),
        ]
    };
    Table {
        title: "Stores against each other".into(),
        note: "Throughput as a multiple of the other store's, with 95 % confidence intervals. The \
               two were not measured in alternation, so a change of the machine between them is in \
               these figures."
            .into(),
        columns: columns(["Workload", "Variant", "Store", "Against", "#Throughput", "#Interval"]),
        rows: ratios.iter().map(row).collect(),
        ..Table::default()
    }
}

/// Returns every workload of the runs with every label measured under it, in order of appearance.
pub(super) fn pairs<'a>(runs: &[Run<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for workload in &run.workloads {
            let place = found.iter().position(|(name, _)| name == workload).unwrap_or_else(|| {
                found.push((workload, Vec::new()));
                found.len() - 1
            });
            for (variant, _) in run.cells(workload) {
                if !found[place].1.contains(&variant.label.as_str()) {
                    found[place].1.push(&variant.label);
                }
            }
        }
    }
    found
}

/// Returns what a run measured for the variant called `label` under `workload`.
pub(super) fn measured<'a>(
    run: &Run<'a>,
    workload: &str,
    label: &str,
) -> Option<(&'a Cell, Option<&'a Overhead>)> {
    let variant = run.results.variants.iter().position(|variant| variant.label == label)?;
    let cell = run.cell(workload, variant)?;
    Some((cell, cell.overhead.as_ref()))
}

/// Returns a table of words: named rows under `heads`.
pub(super) fn of_words(
    title: &str,
    heads: &[&str],
    rows: impl Iterator<Item = (String, Vec<String>)>,
) -> Table {
    Table {
        title: title.into(),
        columns: columns(["Run"].into_iter().chain(heads.iter().copied())),
        rows: rows
            .map(|(name, values)| once(head(name)).chain(values.into_iter().map(words)).collect())
            .collect(),
        ..Table::default()
    }
}
