//! Groups of cells combined into one comparison, and one store compared with another if that was requested. Slices of
//! two groups are not interleaved, so what drifted on the machine between the two is in such a ratio; inside a group it
//! is not.

use crate::axes::{AXES, varied};
use crate::conclusions::{conclude, withheld};
use crate::plan::Plan;
use crate::results::{Against, Cell, Comparison, Group, Missing, Results, SCHEMA, Variant};
use crate::statistics::Estimate;
use crate::verdict::CONFIDENCE;

/// Puts the groups of one comparison together. `plan` is that of all of them, less what its stores must not show; the
/// rest is taken from the first.
///
/// # Panics
/// Without a group.
#[must_use]
pub fn comparison(plan: &Plan, runs: Vec<Results>) -> Comparison {
    let first = runs.first().expect("a comparison has a group");
    let (version, started_at, command) = (first.version.clone(), first.started_at.clone(), first.command.clone());
    let (machine, variants) = (first.machine.clone(), first.variants.clone());
    let (stores, client) = (first.plan.stores.clone(), first.client.clone());
    let elapsed_s = runs.iter().map(|run| run.elapsed_s).sum();
    let interrupted = runs.iter().any(|run| run.interrupted);
    let group = |run: Results| Group {
        point: run.plan.point(),
        started_at: run.started_at,
        elapsed_s: run.elapsed_s,
        interrupted: run.interrupted,
        failure: run.failure,
        engine: run.engine,
        workloads: run.plan.workloads,
        cells: run.cells,
        between: run.between,
        recommendation: run.recommendation,
        warnings: run.warnings,
    };
    let groups: Vec<Group> = runs.into_iter().map(group).collect();
    let against = plan.against.as_ref().map_or_else(Vec::new, |name| against(name, &groups, &variants));
    let (schema, plan) = (SCHEMA, Plan { stores, ..plan.clone() });
    Comparison {
        schema,
        version,
        started_at,
        elapsed_s,
        interrupted,
        command,
        plan,
        machine,
        variants,
        groups,
        against,
        missing: Vec::new(),
        client,
    }
}

/// What of `comparison` is missing, in words: `3 members (workloads a, c): the run ended before`.
#[must_use]
pub fn missing_words(comparison: &Comparison) -> Vec<String> {
    let points = comparison.groups.iter().map(|group| &group.point);
    let mut axes = varied(points.chain(comparison.missing.iter().map(|missing| &missing.point)));
    if axes.is_empty() {
        axes = AXES.iter().collect();
    }
    let words = |missing: &Missing| {
        format!("{} ({}): {}", missing.point.words(&axes), missing.workloads.join(", "), missing.reason)
    };
    comparison.missing.iter().map(words).collect()
}

/// Draws every conclusion of `comparison` anew from its samples: what was recorded by an earlier version gets the words
/// of this one.
pub fn judge_again(comparison: &mut Comparison) {
    let Comparison { plan, variants, groups, .. } = comparison;
    for group in groups {
        (group.between, group.recommendation) = conclude(plan, variants, &mut group.cells);
        if group.failure.is_some() {
            group.recommendation = withheld(std::mem::take(&mut group.recommendation));
        }
    }
}

/// Compares every group of another store with the groups of the store called `name` that differ from it only in the
/// store, or in the number of members if one of the two has no choice of it.
fn against(name: &str, groups: &[Group], variants: &[Variant]) -> Vec<Against> {
    let mut found = Vec::new();
    // what an error ended is no side of it
    let whole = || groups.iter().filter(|group| group.failure.is_none());
    for group in whole().filter(|group| group.point.store != name) {
        let is_like = |other: &&Group| {
            let (a, b) = (&group.point, &other.point);
            let members = a.members == b.members || a.members == 1 || b.members == 1;
            b.store == name && members && a.records == b.records && a.clients == b.clients
        };
        for other in whole().filter(is_like) {
            for cell in &group.cells {
                let same = |one: &&Cell| one.workload == cell.workload && one.variant == cell.variant;
                let Some(ratio) = other.cells.iter().find(same).and_then(|other| ratio(cell, other)) else { continue };
                let (low, high) = ratio.interval(CONFIDENCE);
                found.push(Against {
                    point: group.point.clone(),
                    other: other.point.clone(),
                    workload: cell.workload.clone(),
                    variant: variants[cell.variant].label.clone(),
                    ratio: ratio.ratio(),
                    low,
                    high,
                });
            }
        }
    }
    found
}

fn ratio(cell: &Cell, other: &Cell) -> Option<Estimate> {
    let logarithms = |cell: &Cell| -> Vec<f64> {
        cell.samples.iter().map(|sample| sample.throughput(cell.unit).max(1e-9).ln()).collect()
    };
    let [one, other] = [cell, other].map(|cell| Estimate::from_pairs(&logarithms(cell)));
    Some(Estimate::of_two(&one?, &other?))
}
