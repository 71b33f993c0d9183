//! The figures as tables in Markdown.

use std::fmt::Write;
use std::fs;

use sealstone_seal::esp::Suite;
use sealstone_wire::links::Link;

use crate::arm::Arm;

/// Result of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) mbit_s: f64,
    pub(crate) cpu_s_per_gb: f64,
}

/// All runs of one way with one suite, in the order of the rounds.
pub(crate) struct Cell {
    pub(crate) arm: Arm,
    pub(crate) suite: Option<&'static Suite>,
    pub(crate) samples: Vec<Sample>,
}

fn median(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.as_slice() {
        [] => (f64::NAN, f64::NAN, f64::NAN),
        all => (all[(all.len() - 1) / 2].midpoint(all[all.len() / 2]), all[0], all[all.len() - 1]),
    }
}

/// Returns the machine, in a line.
pub(crate) fn machine() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("", |found| found.1);
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{model}, {count} CPUs, Linux {}", kernel.trim())
}

/// Returns the ratio of each round to the same round of `other`.
fn ratio(cell: &Cell, other: Option<&Cell>, of: fn(&Sample) -> f64) -> String {
    let Some(other) = other else { return "–".to_owned() };
    let ratios = cell.samples.iter().zip(&other.samples).map(|(own, other)| of(own) / of(other));
    let (middle, least, most) = median(ratios);
    format!("{middle:.2} ({least:.2} to {most:.2})")
}

/// Returns the table of one link. Figures are medians of the rounds, and ratios likewise, with the
/// least and the most.
pub(crate) fn of_link(link: &Link, cells: &[Cell]) -> String {
    let mut text = format!("## Link {}: {}\n\n", link.name, link.about);
    text.push_str(
        "| path | suite | Mbit/s | of no encryption | times strongSwan | CPU s/GB | of \
         strongSwan's |\n",
    );
    text.push_str("|---|---|---:|---:|---:|---:|---:|\n");
    let none = cells.iter().find(|cell| cell.arm == Arm::None);
    for cell in cells {
        let is_theirs = |other: &&Cell| other.arm == Arm::StrongSwan && other.suite == cell.suite;
        let theirs = cells.iter().find(is_theirs).filter(|_| cell.arm == Arm::Sealstone);
        let (speed, ..) = median(cell.samples.iter().map(|sample| sample.mbit_s));
        let (cpu, ..) = median(cell.samples.iter().map(|sample| sample.cpu_s_per_gb));
        let name = match cell.arm {
            Arm::None => "none",
            Arm::StrongSwan => "strongSwan",
            Arm::Sealstone => "Sealstone",
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {speed:.0} | {} | {} | {cpu:.2} | {} |",
            cell.suite.map_or("–", |suite| suite.name),
            ratio(cell, none.filter(|_| cell.arm != Arm::None), |sample| sample.mbit_s),
            ratio(cell, theirs, |sample| sample.mbit_s),
            ratio(cell, theirs, |sample| sample.cpu_s_per_gb),
        );
    }
    text
}
