//! Differences between separately loaded stores with the same content, and the coverage of
//! intervals: from the results of plain stores against each other, the standard deviation between
//! loads, and how many 95 % intervals exclude "no difference", of single loads and over loads. One
//! in twenty may.
//!
//! `sealstone compare --ciphers none,none,none,none --workloads a,c,c-cold --rounds 24 --out
//! plain`, then `cargo bench -p sealstone-bench --bench loads_apart -- plain/results.json`

use std::collections::BTreeMap;
use std::path::PathBuf;

use sealstone_bench::compare::merge;
use sealstone_bench::conclude::statistics::{Estimate, trimmed_mean};
use sealstone_bench::results::{Cell, Sample};
use sealstone_bench::words::verdict::CONFIDENCE;
use sealstone_bench::workload::Unit;

/// Loads of which an interval is made: as many as in a default comparison.
const LOADS: usize = 6;

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    println!(
        "| workload | of | loads | between loads | intervals of one load that miss | over {LOADS} \
         loads |"
    );
    println!("|---|---|---|---|---|---|");
    let figures: [(&str, Figure); 2] = [
        ("throughput", |sample, unit| sample.throughput(unit)),
        ("CPU time", |sample, unit| sample.cpu_s_a_unit(unit)),
    ];
    for run in merge::read(&files)?.runs() {
        for workload in &run.plan.workloads {
            let cells: Vec<&Cell> =
                run.cells.iter().filter(|cell| cell.workload == *workload).collect();
            for (name, figure) in figures {
                let (mut of_one, mut over) = (Count::default(), Count::default());
                let (mut variances, mut loads) = (Vec::new(), 0);
                for (at, one) in cells.iter().enumerate() {
                    for other in &cells[..at] {
                        let found = ratios(one, other, figure);
                        variances.push(between(&found));
                        found.iter().for_each(|pairs| of_one.add(Estimate::from_pairs(pairs)));
                        let means: Vec<f64> =
                            found.iter().map(|pairs| trimmed_mean(pairs)).collect();
                        means
                            .chunks_exact(LOADS)
                            .for_each(|six| over.add(Estimate::from_load_means(six, LOADS)));
                        loads = found.len();
                    }
                }
                let variance = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
                let sd = if variance > 0.0 {
                    format!("{:.2} %", 100.0 * variance.sqrt())
                } else {
                    "none seen".into()
                };
                println!(
                    "| {workload} | {name} | {loads} | {sd} | {} | {} |",
                    of_one.words(),
                    over.words()
                );
            }
        }
    }
    Ok(())
}
