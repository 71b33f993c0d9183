//! The findings of runs as CSV, for papers and pipelines: a row for each point, variant and
//! workload, with the conclusions that the page shows, at full precision. Nothing is computed here.
//! Not here: the samples behind them (`results::files`).

use super::ReportError;
use super::overview::of_cell;
use super::tables::below_saturation;
use crate::conclude::fixed_rate::at_rate;
use crate::conclude::sustained_rate::{is_searched, sustained};
use crate::results::open_loop::{AtRate, Percentile};
use crate::results::{Cell, Interval, Latency, Overhead, Results, Variant};
use crate::words::verdict::Quantity;
use crate::workload::Unit;

/// One row: a cell of a variant beside the cell of the plain store under the same workload.
struct Finding<'a> {
    run: &'a Results,
    variant: &'a Variant,
    plain: Option<&'a Cell>,
    sealed: &'a Cell,
}

/// One column.
struct Column {
    name: &'static str,
    entry: fn(&Finding) -> String,
}

/// The columns, in their order; docs/results.md explains each.
const COLUMNS: [Column; 44] = [
    Column { name: "machine", entry: |row| row.run.machine.label.clone() },
    Column { name: "host", entry: |row| row.run.machine.host.clone() },
    Column { name: "sealstone", entry: |row| row.run.version.clone() },
    Column { name: "started_at", entry: |row| row.run.started_at.clone() },
    Column { name: "ended_early", entry: |row| row.run.interrupted.to_string() },
    Column { name: "store", entry: |row| row.run.plan.point().store },
    Column { name: "store_version", entry: |row| row.run.engine.version.clone() },
    Column { name: "members", entry: |row| row.run.plan.point().members.to_string() },
    Column { name: "records", entry: |row| row.run.plan.point().records.to_string() },
    Column { name: "bytes", entry: |row| row.run.plan.bytes.to_string() },
    Column { name: "clients", entry: |row| row.sealed.clients.to_string() },
    Column { name: "link_mbit_s", entry: |row| row.run.plan.point().link.unwrap_or_default() },
    Column { name: "workload", entry: |row| row.sealed.workload.clone() },
    Column { name: "setting", entry: |row| conditions(row, |found| found.setting.word().into()) },
    Column {
        name: "cache_bytes",
        entry: |row| conditions(row, |found| found.cache_bytes.to_string()),
    },
    Column { name: "synced", entry: |row| conditions(row, |found| found.synced.to_string()) },
    Column { name: "target_per_s", entry: |row| optional(rate(row).map(|rate| rate.target_per_s)) },
    Column { name: "variant", entry: |row| row.variant.label.clone() },
    Column { name: "layer", entry: |row| layers(row.variant) },
    Column { name: "cipher", entry: |row| row.variant.cipher().unwrap_or("none").into() },
    Column { name: "backend", entry: |row| row.variant.backend().unwrap_or_default().into() },
    Column {
        name: "module",
        entry: |row| row.variant.choice().map_or_else(String::new, |found| found.module.clone()),
    },
    Column { name: "compared", entry: |row| compared(row).into() },
    Column { name: "ratio", entry: |row| optional(ratio(row).map(|found| found.ratio)) },
    Column { name: "low", entry: |row| optional(interval(row).map(|found| found.low)) },
    Column { name: "high", entry: |row| optional(interval(row).map(|found| found.high)) },
    Column {
        name: "verdict",
        entry: |row| ratio(row).map_or_else(String::new, |found| found.verdict.name()),
    },
    Column { name: "words", entry: words },
    Column { name: "can_be_chance", entry: |row| can_be_chance(row).to_string() },
    Column { name: "below_saturation", entry: |row| below_saturation(row.sealed).to_string() },
    Column { name: "pairs", entry: |row| of_overhead(row, |found| found.pairs.to_string()) },
    Column { name: "loads", entry: |row| of_overhead(row, |found| found.loads.to_string()) },
    Column { name: "counted_in", entry: |row| counted_in(row.sealed.unit).into() },
    Column { name: "plain_per_s", entry: |row| optional(row.plain.and_then(per_s)) },
    Column { name: "sealed_per_s", entry: |row| optional(per_s(row.sealed)) },
    Column { name: "latency_of", entry: |row| latency_of(row).into() },
    Column { name: "plain_p50_us", entry: |row| optional(latency_us(row, row.plain, P50)) },
    Column { name: "plain_p99_us", entry: |row| optional(latency_us(row, row.plain, P99)) },
    Column { name: "sealed_p50_us", entry: |row| optional(latency_us(row, Some(row.sealed), P50)) },
    Column { name: "sealed_p99_us", entry: |row| optional(latency_us(row, Some(row.sealed), P99)) },
    Column { name: "cpu_ratio", entry: |row| optional(cpu_ratio(row)) },
    Column { name: "plain_disk_bytes", entry: |row| of_plain(row, |cell| cell.disk_bytes) },
    Column { name: "sealed_disk_bytes", entry: |row| row.sealed.disk_bytes.to_string() },
    Column { name: "failed_operations", entry: |row| failed(row.sealed).to_string() },
];

/// Returns the names of the columns, in their order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.name)
}

/// Returns the findings of `runs` as CSV: the names of the columns, then a row for each cell of a
/// variant other than the plain store.
///
/// # Errors
/// As [`super::html`].
pub fn findings(runs: &[Results]) -> Result<String, ReportError> {
    super::check(runs)?;
    let mut csv = csv::Writer::from_writer(Vec::new());
    let in_memory = "memory takes every record, each of as many fields";
    csv.write_record(columns()).expect(in_memory);
    for run in runs {
        let plain = run.variants.iter().position(Variant::is_baseline);
        for sealed in run.cells.iter().filter(|cell| Some(cell.variant) != plain) {
            let beside =
                |cell: &&Cell| Some(cell.variant) == plain && cell.workload == sealed.workload;
            let plain = run.cells.iter().find(beside);
            let row = Finding { run, variant: &run.variants[sealed.variant], plain, sealed };
            csv.write_record(COLUMNS.iter().map(|column| (column.entry)(&row))).expect(in_memory);
        }
    }
    let bytes = csv.into_inner().expect("memory is written to at once");
    Ok(String::from_utf8(bytes).expect("fields of text"))
}

/// Returns the ratio by which a cell is judged: at a fixed rate, where the throughput is no result,
/// that of the 99th percentiles.
fn ratio(row: &Finding) -> Option<Overhead> {
    of_cell(Some(row.sealed))
}

fn interval(row: &Finding) -> Option<Interval> {
    ratio(row)?.interval
}

fn words(row: &Finding) -> String {
    match (ratio(row), rate(row)) {
        (_, Some(found)) if !found.is_kept => "does not sustain the rate".into(),
        (Some(found), _) => found.words,
        (None, Some(found)) if found.p99.is_none() => "too few requests for a p99".into(),
        (None, Some(_)) => "the plain store does not sustain the rate".into(),
        (None, None) => String::new(),
    }
}

fn compared(row: &Finding) -> &'static str {
    match rate(row) {
        Some(_) => "p99",
        None if is_searched(row.sealed) => "highest rate",
        None => "throughput",
    }
}

fn rate<'a>(row: &Finding<'a>) -> Option<&'a AtRate> {
    at_rate(row.sealed)
}

fn cpu_ratio(row: &Finding) -> Option<f64> {
    let of_rate = || Some(rate(row)?.cpu.as_ref()?.ratio);
    row.sealed.overhead.as_ref().map(|found| found.cpu_ratio).or_else(of_rate)
}

/// Returns whether nothing is concluded of a ratio that would be claimed alone.
fn can_be_chance(row: &Finding) -> bool {
    let quantity = if rate(row).is_some() { Quantity::Latency } else { Quantity::Throughput };
    ratio(row).is_some_and(|found| found.can_be_chance_of(quantity))
}

fn of_overhead(row: &Finding, of: fn(&Overhead) -> String) -> String {
    row.sealed.overhead.as_ref().map_or_else(String::new, of)
}

fn of_plain(row: &Finding, of: fn(&Cell) -> u64) -> String {
    row.plain.map_or_else(String::new, |cell| of(cell).to_string())
}

fn conditions(row: &Finding, of: fn(&crate::results::Conditions) -> String) -> String {
    row.sealed.conditions.as_ref().map_or_else(String::new, of)
}

fn layers(variant: &Variant) -> String {
    let names: Vec<&str> = variant.layers.keys().map(|layer| layer.name()).collect();
    names.join("+")
}

fn counted_in(unit: Unit) -> &'static str {
    match unit {
        Unit::Operations => "operations",
        Unit::Bytes => "bytes",
    }
}

/// Returns what a cell did in a second, as the table of costs shows it: the highest rate that was
/// found, or the median throughput.
fn per_s(cell: &Cell) -> Option<f64> {
    sustained(cell).map_or(Some(cell.throughput), |found| found.rate_per_s)
}

fn failed(cell: &Cell) -> u64 {
    cell.failed.values().sum()
}

/// One of the two percentiles: of all requests at a rate, and of one operation otherwise.
#[derive(Clone, Copy)]
struct Of {
    at_rate: fn(&AtRate) -> Option<&Percentile>,
    operation: fn(&Latency) -> f64,
}

const P50: Of = Of { at_rate: |found| found.p50.as_ref(), operation: |latency| latency.p50_us };
const P99: Of = Of { at_rate: |found| found.p99.as_ref(), operation: |latency| latency.p99_us };

/// Returns the operations that the percentiles are of: the most frequent one of the workload; at a
/// fixed rate all requests.
fn latency_of<'a>(row: &Finding<'a>) -> &'a str {
    if rate(row).is_some() {
        return "all requests";
    }
    let counted = row.plain.unwrap_or(row.sealed).latency.iter().rev();
    counted.max_by_key(|(_, latency)| latency.count).map_or("", |(operation, _)| operation)
}

fn latency_us(row: &Finding, cell: Option<&Cell>, of: Of) -> Option<f64> {
    let cell = cell?;
    if let Some(found) = at_rate(cell) {
        return (of.at_rate)(found).map(|percentile| percentile.us);
    }
    let latency = cell.latency.get(latency_of(row)).filter(|latency| latency.count > 0)?;
    Some((of.operation)(latency))
}

/// Formats a number so that reading it gives the same number again.
fn optional(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::files::FINDINGS_HEAD;

    /// Figures of a cell that met no cipher, or has too few pairs, are left out, not made up.
    #[test]
    fn a_figure_that_is_missing_is_empty() {
        assert!(columns().collect::<Vec<_>>().join(",").starts_with(FINDINGS_HEAD));
        assert_eq!([Some(f64::NAN), None, Some(0.5)].map(optional), ["", "", "0.5"]);
        let mut names: Vec<&str> = columns().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COLUMNS.len(), "every name once");
    }
}
