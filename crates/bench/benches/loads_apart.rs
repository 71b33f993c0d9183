//! Differences between separately loaded stores with the same content, and the coverage of
//! intervals: from the results of plain stores against each other, the standard deviation between
//! loads, and how many 95 % intervals over the loads of a default comparison exclude "no
//! difference". One in twenty may. A difference of throughput may be claimed in one of a hundred
//! comparisons.
//!
//! `sealstone compare --ciphers none,none,none,none --workloads a,c,c-cold --rounds 72 --out
//! plain`, then `cargo bench -p sealstone-bench --bench loads_apart -- plain/results.json`

use std::collections::BTreeMap;
use std::path::PathBuf;

use sealstone_bench::compare::merge;
use sealstone_bench::conclude::Estimate;
use sealstone_bench::conclude::judge;
use sealstone_bench::results::{Cell, Results, Sample};
use sealstone_bench::words::{CONFIDENCE, Verdict};
use sealstone_bench::workload::Unit;

/// Loads of which an interval is made: as many as in a default comparison.
const LOADS: usize = 5;

/// Figure of a slice that is compared.
type Figure = fn(&Sample, Unit) -> f64;

/// Intervals, and how many of them miss.
#[derive(Default)]
struct Count {
    all: usize,
    missed: usize,
}

impl Count {
    fn add(&mut self, estimate: Option<Estimate>) {
        let Some((low, high)) = estimate.map(|estimate| estimate.interval(CONFIDENCE)) else {
            return;
        };
        self.all += 1;
        self.missed += usize::from(low > 1.0 || high < 1.0);
    }

    fn words(&self) -> String {
        format!("{} of {}", self.missed, self.all)
    }
}

/// Logarithms of the ratios of two cells' slices of the same blocks, by load.
fn ratios(one: &Cell, other: &Cell, figure: Figure) -> Vec<Vec<f64>> {
    let mut loads: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (a, b) in one.samples.iter().zip(&other.samples) {
        loads.entry(a.load).or_default().push((figure(a, one.unit) / figure(b, other.unit)).ln());
    }
    loads.into_values().collect()
}

/// Returns the part of the variance of the means of loads that the scatter of their slices does not
/// explain, for one store.
fn between(loads: &[Vec<f64>]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = |values: &[f64]| {
        let centre = mean(values);
        values.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
            / (values.len() as f64 - 1.0).max(1.0)
    };
    let means: Vec<f64> = loads.iter().map(|pairs| mean(pairs)).collect();
    let within: Vec<f64> = loads.iter().map(|pairs| variance(pairs) / pairs.len() as f64).collect();
    (variance(&means) - mean(&within)) / 2.0
}

/// Returns the estimate of each series of [`LOADS`] loads.
fn over_loads(loads: &[Vec<f64>]) -> Vec<Option<Estimate>> {
    loads.chunks_exact(LOADS).map(Estimate::from_loads).collect()
}

/// Counts the comparisons of all other variants with each of them that claim a difference: as many
/// as there are series of [`LOADS`] loads, for every variant as the baseline. `margin`: the share
/// that counts as no difference.
fn claims(run: &Results, margin: f64) -> (usize, usize) {
    let (mut all, mut claimed) = (0, 0);
    for baseline in 0..run.variants.len() {
        let mut series: Vec<Vec<Option<Estimate>>> = Vec::new();
        for one in run.cells.iter().filter(|cell| cell.variant != baseline) {
            let is_base = |cell: &&Cell| cell.variant == baseline && cell.workload == one.workload;
            let Some(base) = run.cells.iter().find(is_base) else { continue };
            series.push(over_loads(&ratios(one, base, |sample, unit| sample.throughput(unit))));
        }
        for at in 0..series.first().map_or(0, Vec::len) {
            let estimates: Vec<Option<Estimate>> = series.iter().map(|some| some[at]).collect();
            let is_claim = |verdict| matches!(verdict, Verdict::Costs | Verdict::Gains);
            all += 1;
            claimed +=
                usize::from(judge(&estimates, margin).iter().any(|found| is_claim(found.verdict)));
        }
    }
    (claimed, all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    println!("| workload | of | loads | between loads | intervals over {LOADS} loads that miss |");
    println!("|---|---|---|---|---|");
    let figures: [(&str, Figure); 2] = [
        ("throughput", |sample, unit| sample.throughput(unit)),
        ("CPU time", |sample, unit| sample.cpu_s_a_unit(unit)),
    ];
    for run in merge::read(&files)?.runs() {
        for workload in &run.plan.workloads {
            let cells: Vec<&Cell> =
                run.cells.iter().filter(|cell| cell.workload == *workload).collect();
            for (name, figure) in figures {
                let mut over = Count::default();
                let (mut variances, mut loads) = (Vec::new(), 0);
                for (at, one) in cells.iter().enumerate() {
                    for other in &cells[..at] {
                        let found = ratios(one, other, figure);
                        variances.push(between(&found));
                        over_loads(&found).into_iter().for_each(|estimate| over.add(estimate));
                        loads = found.len();
                    }
                }
                let variance = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
                let sd = if variance > 0.0 {
                    format!("{:.2} %", 100.0 * variance.sqrt())
                } else {
                    "none seen".into()
                };
                println!("| {workload} | {name} | {loads} | {sd} | {} |", over.words());
            }
        }
        let (claimed, all) = claims(&run, run.plan.margin);
        println!("\na difference of throughput is claimed in {claimed} of {all} comparisons");
    }
    Ok(())
}
