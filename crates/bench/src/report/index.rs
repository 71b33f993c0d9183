//! Finds cells by workload and variant, and fixes the order and colour of variants. Shared by the
//! charts, the tables and the terminal summary.

use sealstone_message::Language;

use super::canvas::Ink;
use super::language::{Words, words_in};
use crate::compare::merge;
use crate::conclude::fixed_rate::at_rate;
use crate::conclude::sustained_rate::sustained;
use crate::results::{Cell, Results, Variant};

/// One run, ready to be shown.
pub(super) struct Run<'a> {
    /// Results of the measurement.
    pub(super) results: &'a Results,
    /// Name of the run: its machine, distinguished from the others.
    pub(super) label: String,
    /// Workloads in the order in which they were measured.
    pub(super) workloads: Vec<&'a str>,
    /// Number of the variant that the others are compared with.
    pub(super) baseline: Option<usize>,
    /// Words of the language in which it is shown.
    pub(super) words: &'static Words,
    /// The colour of each variant.
    inks: Vec<Ink>,
}

/// Returns `runs` with the labels that distinguish them, to be shown in `language`. A variant that
/// several of them have has one colour in all.
pub(super) fn runs<'a>(results: &'a [Results], language: Language) -> Vec<Run<'a>> {
    let labels = merge::labels(results).into_iter();
    let words = words_in(language);
    let mut runs: Vec<Run> = results
        .iter()
        .zip(labels)
        .map(|(results, label)| Run { words, ..Run::new(results, words.say(&label)) })
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for run in &mut runs {
        for (number, variant) in run.results.variants.iter().enumerate() {
            if Some(number) == run.baseline {
                continue;
            }
            let place = names.iter().position(|name| *name == variant.label).unwrap_or_else(|| {
                names.push(&variant.label);
                names.len() - 1
            });
            run.inks[number] = Ink::Series(place);
        }
    }
    runs
}

impl<'a> Run<'a> {
    /// Returns `results` to be shown in English.
    pub(super) fn new(results: &'a Results, label: String) -> Self {
        let mut workloads: Vec<&str> = Vec::new();
        for cell in &results.cells {
            if !workloads.contains(&cell.workload.as_str()) {
                workloads.push(&cell.workload);
            }
        }
        let baseline = results.variants.iter().position(|variant| variant.is_baseline());
        let series = |number: usize| match baseline {
            Some(baseline) if number == baseline => Ink::Baseline,
            Some(baseline) if number > baseline => Ink::Series(number - 1),
            _ => Ink::Series(number),
        };
        let inks = (0..results.variants.len()).map(series).collect();
        let words = words_in(Language::English);
        Self { results, label, workloads, baseline, words, inks }
    }

    /// Returns what readers know `workload` by, such as `reads, cold cache (c-cold)`.
    pub(super) fn called(&self, workload: &str) -> String {
        self.words.say(&self.results.plan.called(workload))
    }

    /// Returns the fixed rate at which it was judged, in operations a second, if there was one.
    pub(super) fn rate(&self) -> Option<f64> {
        self.results.cells.iter().find_map(at_rate).map(|at_rate| at_rate.target_per_s)
    }

    /// Returns the limit on the 99th percentile, where the highest rate under it was searched for.
    pub(super) fn limit(&self) -> Option<String> {
        let is_searched = self.results.cells.iter().any(|cell| sustained(cell).is_some());
        self.results.plan.p99.filter(|_| is_searched).map(|limit| limit.to_string())
    }

    /// Returns whether the store reported the time it spent in file operations and the cipher: a
    /// server does not.
    pub(super) fn tells_time(&self) -> bool {
        self.results.cells.iter().any(|cell| cell.time.cipher_s + cell.time.io_s > 0.0)
    }

    /// Returns the cell of `variant` under `workload`, unless the run ended before it.
    pub(super) fn cell(&self, workload: &str, variant: usize) -> Option<&'a Cell> {
        self.results.cells.iter().find(|cell| cell.variant == variant && cell.workload == workload)
    }

    /// Returns the cells of `workload`, each with its variant, in the order of the variants.
    pub(super) fn cells(&self, workload: &str) -> Vec<(&'a Variant, &'a Cell)> {
        let variants = self.results.variants.iter().enumerate();
        variants
            .filter_map(|(number, variant)| Some((variant, self.cell(workload, number)?)))
            .collect()
    }

    /// Returns the baseline's cell of `workload`.
    pub(super) fn baseline_cell(&self, workload: &str) -> Option<&'a Cell> {
        self.cell(workload, self.baseline?)
    }

    /// Returns the colour of variant number `variant` in every chart.
    pub(super) fn ink(&self, variant: usize) -> Ink {
        self.inks[variant]
    }

    /// Returns the operations that were timed under `workload`, by name.
    pub(super) fn operations(&self, workload: &str) -> Vec<&'a str> {
        let mut names: Vec<&str> = self
            .cells(workload)
            .iter()
            .flat_map(|(_, cell)| cell.latency.keys())
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Returns the lowest and highest throughput of the slices of `cell`, if there are any.
pub(super) fn spread(cell: &Cell) -> Option<(f64, f64)> {
    let values = cell.samples.iter().map(|sample| sample.throughput(cell.unit));
    values.fold(None, |ends: Option<(f64, f64)>, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}
