//! Groups of cells combined into one comparison, and one store compared with another if that was
//! requested. Slices of two groups are not interleaved, so such a ratio includes drift of the
//! machine between the two; inside a group it does not.

use crate::compare::conclusions::{conclude, withheld};
use crate::conclude::statistics::{Estimate, by_load};
use crate::results::{Against, Cell, Comparison, Group, Missing, Results, SCHEMA, Sample, Variant};
use crate::study::coverage::Question;
use crate::study::plan::Plan;
use crate::words::axes::{AXES, varied};
use crate::words::verdict::CONFIDENCE;

/// Puts the groups of one comparison together. `plan` is that of all of them, less what its stores
/// must not show; the rest is taken from the first.
///
/// # Panics
/// Without a group.
#[must_use]
pub fn comparison(plan: &Plan, runs: Vec<Results>) -> Comparison {
    let first = runs.first().expect("a comparison has a group");
    let (version, started_at, command) =
        (first.version.clone(), first.started_at.clone(), first.command.clone());
    let (machine, variants) = (first.machine.clone(), union(&runs));
    let (stores, client) = (first.plan.stores.clone(), first.client.clone());
    let elapsed_s = runs.iter().map(|run| run.elapsed_s).sum();
    let interrupted = runs.iter().any(|run| run.interrupted);
    let group = |run: Results| {
        let of = |variant: &Variant| {
            variants.iter().position(|one| one == variant).expect("in the union")
        };
        let mut group = Group {
            point: run.plan.point(),
            started_at: run.started_at,
            elapsed_s: run.elapsed_s,
            interrupted: run.interrupted,
            failure: run.failure,
            engine: run.engine,
            workloads: run.plan.workloads,
            variants: run.variants.iter().map(of).collect(),
            cells: run.cells,
            between: run.between,
            recommendation: run.recommendation,
            warnings: run.warnings,
        };
        group.number_all();
        if group.variants.len() == variants.len() {
            // all of them, though perhaps in another order, which the cells no longer depend on
            group.variants.clear();
        }
        group
    };
    let rounds_of: Vec<usize> = runs.iter().map(|run| run.plan.rounds).collect();
    let groups: Vec<Group> = runs.into_iter().map(group).collect();
    let against =
        plan.against.as_ref().map_or_else(Vec::new, |name| against(name, &groups, &variants));
    // the measured rounds, whatever ended the run
    let rounds = rounds_of.into_iter().max().unwrap_or(plan.rounds);
    let (schema, plan) =
        (SCHEMA, Plan { stores, rounds, until: None, max_time: None, ..plan.clone() });
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

/// Returns the variants of all `runs`, each once: a store that lacks a layer has fewer than the
/// others. A label is there several times where stores seal in ways of their own: `aes-256` is
/// RocksDB's files in one, and a volume below Redis in another.
fn union(runs: &[Results]) -> Vec<Variant> {
    let mut all: Vec<Variant> = Vec::new();
    for variant in runs.iter().flat_map(|run| &run.variants) {
        if !all.contains(variant) {
            all.push(variant.clone());
        }
    }
    all
}

/// Describes the parts missing from `comparison`: `3 members (workloads a, c): the run ended
/// before`.
#[must_use]
pub fn missing_words(comparison: &Comparison) -> Vec<String> {
    let points = comparison.groups.iter().map(|group| &group.point);
    let mut axes = varied(points.chain(comparison.missing.iter().map(|missing| &missing.point)));
    if axes.is_empty() {
        axes = AXES.iter().collect();
    }
    let words = |missing: &Missing| {
        format!(
            "{} ({}): {}",
            missing.point.words(&axes),
            missing.workloads.join(", "),
            missing.reason
        )
    };
    comparison.missing.iter().map(words).collect()
}

/// Draws every conclusion of `comparison` again from its samples: results of an earlier version get
/// the words of this version.
pub fn judge_again(comparison: &mut Comparison) {
    let Comparison { plan, variants, groups, .. } = comparison;
    for group in groups {
        let own = group.own_variants(variants);
        group.number_own();
        let surroundings =
            group.recommendation.coverage.take().map(|coverage| coverage.surroundings);
        let (plan, surroundings) = (plan.at(&group.point), surroundings.unwrap_or_default());
        let question = Question { plan: &plan, surroundings: &surroundings };
        (group.between, group.recommendation) = conclude(question, &own, &mut group.cells);
        group.number_all();
        if group.failure.is_some() {
            group.recommendation = withheld(std::mem::take(&mut group.recommendation));
        }
    }
}

/// Compares every group of another store with the groups of the store called `name` that differ
/// from it only in the store, or in the number of members if one of the two has no choice of it.
fn against(name: &str, groups: &[Group], variants: &[Variant]) -> Vec<Against> {
    let mut found = Vec::new();
    // a group ended by an error is no side of it
    let whole = || groups.iter().filter(|group| group.failure.is_none());
    for group in whole().filter(|group| group.point.store != name) {
        let is_like = |other: &&Group| {
            let (a, b) = (&group.point, &other.point);
            let members = a.members == b.members || a.members == 1 || b.members == 1;
            b.store == name
                && members
                && a.records == b.records
                && a.clients == b.clients
                && a.link == b.link
        };
        for other in whole().filter(is_like) {
            for cell in &group.cells {
                let label = |cell: &Cell| variants[cell.variant].label.as_str();
                let of = |name: &str| {
                    let alike = |one: &&Cell| one.workload == cell.workload && label(one) == name;
                    other.cells.iter().find(alike)
                };
                // a store that does not encrypt is measured plain, and is what one that does would
                // replace
                let beside = of(label(cell)).or_else(|| of(&variants[0].label));
                let Some(beside) = beside else { continue };
                let Some(ratio) = ratio(cell, beside) else { continue };
                let (low, high) = ratio.interval(CONFIDENCE);
                found.push(Against {
                    point: group.point.clone(),
                    other: other.point.clone(),
                    workload: cell.workload.clone(),
                    variant: label(cell).to_owned(),
                    other_variant: label(beside).to_owned(),
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
    let of_loads = |cell: &Cell| -> Vec<Vec<f64>> {
        let logarithm =
            |sample: &Sample| (sample.load, sample.throughput(cell.unit).max(1e-9).ln());
        by_load(cell.samples.iter().map(logarithm)).into_values().collect()
    };
    let [one, other] = [cell, other].map(|cell| Estimate::from_loads(&of_loads(cell)));
    Some(Estimate::of_two(&one?, &other?))
}

#[cfg(test)]
mod tests {
    use sealstone_store::Layer;

    use super::*;
    use crate::conclude::testing;

    /// Builds the results of a store that has only the variants `labels`.
    fn run(store: &str, labels: &[&str]) -> Results {
        let cells = (0..labels.len())
            .map(|variant| testing::cell(variant, "a", &[100.0, 101.0, 99.0, 100.0, 102.0, 98.0]));
        let mut comparison = testing::comparison(labels, cells.collect());
        comparison.groups[0].point.store = store.into();
        comparison.runs().remove(0)
    }

    /// A label names the cipher and not where it is: with `--seal any` each store seals as it can.
    #[test]
    fn variants_with_one_label_stay_those_of_their_stores() {
        let sealed = |store: &str, seal: &str, modes: &[&str]| {
            let mut run = run(store, &["none", "aes-256"]);
            let rest = run.variants[1].layers.get_mut(&Layer::Rest).unwrap();
            rest.seal = seal.into();
            rest.modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
            run
        };
        let runs = vec![sealed("redis", "volume", &[]), sealed("rocksdb", "", &["ctr"])];
        let plan = Plan { against: Some("redis".into()), ..Plan::default() };
        let mut whole = comparison(&plan, runs.clone());
        judge_again(&mut whole);
        let written = serde_json::to_string(&whole).unwrap();
        let read: Comparison = serde_json::from_str(&written).unwrap();
        for (was, is) in runs.iter().zip(read.runs()) {
            assert_eq!(was.variants, is.variants, "of {}", is.plan.point().store);
        }
        // what replaces what is said of the same cipher, wherever each store has it
        let pairs: Vec<_> =
            whole.against.iter().map(|one| (&*one.variant, &*one.other_variant)).collect();
        assert_eq!(pairs, [("none", "none"), ("aes-256", "aes-256")]);
    }

    #[test]
    fn stores_may_have_different_variants() {
        let runs = vec![
            run("redis", &["none"]),
            run("rocksdb", &["none", "aes-256"]),
            run("mysql", &["none", "aria-256"]),
        ];
        let mut whole = comparison(&Plan::default(), runs);
        let labels =
            |of: &[Variant]| of.iter().map(|variant| variant.label.clone()).collect::<Vec<_>>();
        assert_eq!(labels(&whole.variants), ["none", "aes-256", "aria-256"]);
        judge_again(&mut whole);
        let indices =
            |group: &Group| group.cells.iter().map(|cell| cell.variant).collect::<Vec<_>>();
        assert_eq!(
            whole.groups.iter().map(indices).collect::<Vec<_>>(),
            [vec![0], vec![0, 1], vec![0, 2]]
        );
        let runs = whole.runs();
        let own: Vec<_> = runs.iter().map(|run| labels(&run.variants)).collect();
        assert_eq!(own, [vec!["none"], vec!["none", "aes-256"], vec!["none", "aria-256"]]);
        assert!(
            runs.iter().all(|run| run.cells.iter().all(|cell| cell.variant < run.variants.len()))
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results.csv");
        whole.write_csv(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap().matches("a,aria-256").count(), 6);
    }
}
