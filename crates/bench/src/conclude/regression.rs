//! A comparison against an earlier one: whether a cost grew since then. Each side is a ratio to its
//! own baseline, measured in alternation with it, so the speed of the machine cancels out of both;
//! a change of the store or of the workload does not cancel out, and is detected here.

use std::path::PathBuf;

use sealstone_message::SettingName;

use crate::conclude::fixed_rate::{at_rate, p99_ratio};
use crate::conclude::judgement::{Judgement, judge_as};
use crate::conclude::ratios;
use crate::conclude::statistics::{Estimate, holm};
use crate::results::{Cell, Comparison};
use crate::words::axes::{AXES, Point};
use crate::words::percent::percent;
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict};

/// One cell of both comparisons.
#[derive(Clone, Debug)]
pub struct Change {
    /// Position on the axes.
    pub point: Point,
    /// Label of the variant.
    pub variant: String,
    /// Workload name.
    pub workload: String,
    /// Quantity that the ratio compares: at a fixed rate the 99th percentile, otherwise the
    /// throughput.
    pub quantity: Quantity,
    /// Ratio of that quantity to the one without encryption, as a multiple of what it was then.
    pub ratio: f64,
    /// Lower end of the 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The verdict on that ratio.
    pub verdict: Verdict,
    /// In words.
    pub words: String,
    /// Set when the cost is shown to have grown by more than the limit.
    pub exceeds: bool,
    /// Set when the cost is shown not to have grown by more: the whole interval is within the
    /// limit.
    pub is_within: bool,
}

/// Conclusion about the limit that the changes allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No cost has grown by more: each is shown not to have.
    Within,
    /// At least one cost is shown to have grown by more.
    Exceeded,
    /// Neither is shown.
    Inconclusive,
}

/// Returns the outcome of all `changes` together.
#[must_use]
pub fn outcome(changes: &[Change]) -> Outcome {
    match changes {
        changes if changes.iter().any(|change| change.exceeds) => Outcome::Exceeded,
        changes if changes.iter().all(|change| change.is_within) => Outcome::Within,
        _ => Outcome::Inconclusive,
    }
}

/// Returns a line to report that `changes` leave the question open, if they do.
#[must_use]
pub fn inconclusive(changes: &[Change], limit: f64) -> Option<String> {
    let open = changes.iter().filter(|change| !change.is_within).count();
    (outcome(changes) == Outcome::Inconclusive).then(|| {
        format!(
            "inconclusive: for {open} of {} it is neither shown nor ruled out that the cost grew \
             by more than the {} % allowed; more rounds would tell",
            changes.len(),
            percent(limit)
        )
    })
}

/// Error of two comparisons that have nothing to do with each other.
#[derive(Debug, thiserror::Error)]
#[error(
    "nothing to compare with {}: no variant was measured under the same workload there, with the \
     same store, clients, records and target\nname results of the same comparison with {}",
     path.display(), SettingName("baseline")
)]
pub struct NothingInCommon {
    /// The earlier results.
    pub path: PathBuf,
}

/// Computes how the cost of each variant under each workload changed from `then` to `now`.
///
/// - `limit`: a share; a cell exceeds it if its relative throughput is shown to have fallen by more
///   than that, or its relative 99th percentile to have grown, at 5 % after Holm's correction for
///   the number of cells
/// - `path`: where `then` was read from, for the error
///
/// # Errors
/// [`NothingInCommon`].
pub fn changes(
    now: &Comparison,
    then: &Comparison,
    limit: f64,
    path: &std::path::Path,
) -> Result<Vec<Change>, NothingInCommon> {
    let mut found: Vec<(Point, String, String, Estimate)> = Vec::new();
    let is_alike = now.plan.target == then.plan.target && now.plan.p99 == then.plan.p99;
    for group in now.groups.iter().filter(|_| is_alike) {
        for cell in &group.cells {
            let label = &now.variants[cell.variant].label;
            let earlier =
                then.groups.iter().filter(|other| other.point == group.point).find_map(|other| {
                    // each store has variants of its own under a label
                    let has_label = |one: &&Cell| then.variants[one.variant].label == *label;
                    let variant = other.cells.iter().find(has_label)?.variant;
                    to_baseline(&other.cells, variant, &cell.workload)
                });
            let today = to_baseline(&group.cells, cell.variant, &cell.workload);
            if let (Some(today), Some(earlier)) = (today, earlier) {
                let ratio = Estimate::of_two(&today, &earlier);
                found.push((group.point.clone(), label.clone(), cell.workload.clone(), ratio));
            }
        }
    }
    if found.is_empty() {
        return Err(NothingInCommon { path: path.to_owned() });
    }
    let estimates: Vec<Option<Estimate>> =
        found.iter().map(|(.., estimate)| Some(*estimate)).collect();
    let is_rate =
        now.groups.iter().flat_map(|group| &group.cells).any(|cell| at_rate(cell).is_some());
    let quantity = if is_rate { Quantity::Latency } else { Quantity::Throughput };
    let judgements = judge_as(quantity, &estimates, now.plan.margin);
    let p = |estimate: &Estimate| match quantity {
        Quantity::Throughput => estimate.p_below(1.0 - limit),
        Quantity::Latency => estimate.inverse().p_below(1.0 / (1.0 + limit)),
    };
    let beyond = holm(&found.iter().map(|(.., estimate)| p(estimate)).collect::<Vec<_>>());
    let changes = found.into_iter().zip(judgements).zip(beyond).map(
        |(((point, variant, workload, estimate), judgement), p)| {
            let (low, high) = estimate.interval(CONFIDENCE);
            let Judgement { verdict, words, .. } = judgement;
            let is_within = match quantity {
                Quantity::Throughput => low >= 1.0 - limit,
                Quantity::Latency => high <= 1.0 + limit,
            };
            Change {
                is_within,
                point,
                variant,
                workload,
                quantity,
                ratio: estimate.ratio(),
                low,
                high,
                verdict,
                words,
                exceeds: p < 1.0 - CONFIDENCE,
            }
        },
    );
    Ok(changes.collect())
}

/// Returns the ratio of a variant to the baseline under `workload`; at a fixed rate, the ratio of
/// the 99th percentiles.
fn to_baseline(cells: &[Cell], variant: usize, workload: &str) -> Option<Estimate> {
    let of = |number: usize| {
        cells.iter().find(|cell| cell.variant == number && cell.workload == workload)
    };
    match of(variant).and_then(at_rate) {
        Some(_) if variant == 0 => None,
        Some(_) => p99_ratio(of(0)?, of(variant)?),
        None => ratios::to_baseline(cells, variant, workload),
    }
}

/// Returns one line for each notable change: changes beyond `limit`, claimed changes, and the
/// number of all others.
#[must_use]
pub fn lines(changes: &[Change], limit: f64) -> Vec<String> {
    let place = |change: &Change| {
        let axes: Vec<_> = AXES
            .iter()
            .filter(|_| changes.iter().any(|other| other.point != change.point))
            .collect();
        let at = change.point.words(&axes);
        if at.is_empty() { String::new() } else { format!(", {at}") }
    };
    let is_shown = |change: &&Change| change.exceeds || change.verdict.is_claim();
    let mut lines: Vec<String> = changes
        .iter()
        .filter(is_shown)
        .map(|change| {
            let range = change.quantity.between(change.low, change.high);
            let beyond = if change.exceeds {
                format!(", more than the {} % allowed", percent(limit))
            } else {
                String::new()
            };
            format!(
                "{} under {}{}: {} since then ({range}){beyond}",
                change.variant,
                change.workload,
                place(change),
                verb(change)
            )
        })
        .collect();
    let quiet = changes.len() - lines.len();
    if quiet > 0 {
        let rest = || changes.iter().filter(|change| !is_shown(change));
        let is_rate = changes.iter().any(|change| change.quantity == Quantity::Latency);
        let (what, worst) = match is_rate {
            true => ("a p99 longer by", rest().map(|change| change.high).fold(1.0, f64::max) - 1.0),
            false => ("a loss of", 1.0 - rest().map(|change| change.low).fold(1.0, f64::min)),
        };
        lines.push(format!(
            "{quiet} of {}: no change is shown; {what} at most {:.1} % is possible",
            changes.len(),
            worst * 100.0
        ));
    }
    lines
}

fn verb(change: &Change) -> String {
    let percent = (change.ratio - 1.0).abs() * 100.0;
    match (change.quantity, change.ratio < 1.0) {
        (Quantity::Throughput, true) => format!("{percent:.1} % slower"),
        (Quantity::Throughput, false) => format!("{percent:.1} % faster"),
        (Quantity::Latency, true) => format!("p99 {percent:.1} % shorter"),
        (Quantity::Latency, false) => format!("p99 {percent:.1} % longer"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::conclude::testing::{cell, comparison};

    fn slices(ratio: f64, variant: usize, seed: usize) -> Vec<f64> {
        let scatter = |at: usize| {
            ((at * (2 * variant + 3) * 7919 + seed * 104_729) % 1000) as f64 / 500.0 - 1.0
        };
        (0..24)
            .map(|at| ratio * (1.0 + 0.1 * (at % 8) as f64) * (1.0 + 0.004 * scatter(at)))
            .collect()
    }

    fn measured(machine: f64, ratios: [f64; 2], seed: usize) -> Comparison {
        let mut cells = Vec::new();
        for (workload, ratio) in ["a", "c"].into_iter().zip(ratios) {
            cells.push(cell(0, workload, &slices(machine, 0, seed)));
            cells.push(cell(1, workload, &slices(machine * ratio, 1, seed)));
        }
        comparison(&["none", "aes-256"], cells)
    }

    #[test]
    fn a_cost_that_grew_is_found_whatever_the_speed_of_the_machine() {
        let (then, now) = (measured(1.0, [0.95, 0.97], 1), measured(0.6, [0.85, 0.97], 2));
        let found = changes(&now, &then, 0.05, Path::new("old.json")).unwrap();
        let exceeding: Vec<(&str, bool)> =
            found.iter().map(|change| (change.workload.as_str(), change.exceeds)).collect();
        assert_eq!(exceeding, [("a", true), ("c", false)]);
        assert_eq!((outcome(&found), inconclusive(&found, 0.05)), (Outcome::Exceeded, None));
        let shown = lines(&found, 0.05);
        assert!(
            shown[0].starts_with("aes-256 under a: 10.5 % slower since then (between "),
            "{shown:?}"
        );
        assert!(shown[0].ends_with(", more than the 5 % allowed"), "{shown:?}");
        assert!(
            shown[1].starts_with("1 of 2: no change is shown; a loss of at most "),
            "{shown:?}"
        );
    }

    #[test]
    fn the_same_again_exceeds_nothing_and_strangers_are_an_error() {
        let (then, now) = (measured(1.0, [0.95, 0.97], 3), measured(1.1, [0.95, 0.97], 4));
        let same = changes(&now, &then, 0.05, Path::new("x")).unwrap();
        assert!(same.iter().all(|change| !change.exceeds));
        assert_eq!((outcome(&same), inconclusive(&same, 0.05)), (Outcome::Within, None));
        // a change with too few or too scattered figures is neither
        let narrow = changes(&now, &then, 0.000_01, Path::new("x")).unwrap();
        assert_eq!(outcome(&narrow), Outcome::Inconclusive, "{narrow:?}");
        let said = inconclusive(&narrow, 0.000_01).unwrap();
        assert!(
            said.starts_with("inconclusive: for 2 of 2 it is neither shown nor ruled out"),
            "{said}"
        );
        // a growth of 3 % is shown, and allowed
        let grown = measured(1.0, [0.92, 0.97], 5);
        let found = changes(&grown, &then, 0.05, Path::new("x")).unwrap();
        assert!(found[0].verdict == Verdict::Costs && !found[0].exceeds, "{found:?}");
        let other = comparison(&["none", "aria-256"], Vec::new());
        let error = changes(&now, &other, 0.05, Path::new("old.json")).unwrap_err().to_string();
        assert!(error.starts_with("nothing to compare with old.json: "), "{error}");
    }
}
