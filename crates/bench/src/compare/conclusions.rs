//! All conclusions from the recorded slices of a group of cells: by throughput, by latency at a
//! fixed rate, or by the highest rate under a limit, according to the plan. Results of earlier
//! versions are judged like new results.

use crate::advise::recommend::{fixed_rate, recommend};
use crate::conclude::ratios::{
    between_by, between_ciphers, headline, judge_overheads, to_baseline,
};
use crate::conclude::statistics::Estimate;
use crate::conclude::sustained_rate::{is_searched_in_vain, judge_searches};
use crate::results::{Between, Cell, Piece, Recommendation, Variant};
use crate::study::coverage::Question;
use crate::study::plan::Plan;
use crate::words::target::Target;
use crate::words::verdict::Quantity;

/// Returns the recommendation for a measurement that an error of a store ended: nothing is
/// recommended, whatever the cells measured before it show.
pub(crate) fn withheld(recommendation: Recommendation) -> Recommendation {
    let answer = "nothing is recommended: an error ended the run before everything was measured";
    Recommendation { take: None, cpu: None, meaning: Vec::new(), ..recommendation }
        .with_answer(vec![Piece::finding(answer)])
}

/// Judges `cells` again. Returns each cipher against each other cipher, and the recommendation.
pub(crate) fn conclude(
    question: Question<'_>,
    variants: &[Variant],
    cells: &mut [Cell],
) -> (Vec<Between>, Recommendation) {
    let plan = question.plan;
    match plan.target {
        Some(Target::Rate(rate)) => {
            crate::conclude::fixed_rate::judge_at_rate(cells, rate, plan.margin);
            let between = between_by(
                Quantity::Latency,
                variants,
                cells,
                plan.margin,
                crate::conclude::fixed_rate::P99,
            );
            (between, fixed_rate::recommend(question, rate, variants, cells))
        }
        Some(Target::Max) => {
            judge_searches(cells, plan.p99.map_or(f64::INFINITY, |limit| limit.limit_us));
            judge_overheads(cells, plan.margin);
            (between_ciphers(variants, cells, plan.margin), recommend(question, variants, cells))
        }
        None => {
            judge_overheads(cells, plan.margin);
            (between_ciphers(variants, cells, plan.margin), recommend(question, variants, cells))
        }
    }
}

/// Returns the ratio of every cell to the baseline by which it is judged, with the number of the
/// cell: throughputs, the highest rates, or at a fixed rate the 99th percentiles, whose margins are
/// wider and whose errors are scaled down by as much. Cells without any work for a cipher have
/// none, nor do cells that did not reach the rate. `None` for a cell with too little data for an
/// interval.
pub(crate) fn compared(plan: &Plan, cells: &mut [Cell]) -> Vec<(usize, Option<Estimate>)> {
    let rate = plan.target.and_then(Target::rate);
    if let Some(rate) = rate {
        crate::conclude::fixed_rate::judge_at_rate(cells, rate, plan.margin);
    }
    let met = headline(cells);
    let is_asked =
        |cell: &(usize, &Cell)| cell.1.variant != 0 && met.contains(&cell.1.workload.as_str());
    let of = |(number, cell): (usize, &Cell)| {
        let base = cells.iter().find(|base| base.variant == 0 && base.workload == cell.workload)?;
        if is_searched_in_vain(cell) || is_searched_in_vain(base) {
            return None;
        }
        let scaled = |ratio: Estimate| ratio.scaled(1.0 / Quantity::Latency.scale());
        let is_kept = |cell: &Cell| {
            crate::conclude::fixed_rate::at_rate(cell).is_some_and(|found| found.is_kept)
        };
        match rate {
            Some(_) if !(is_kept(cell) && is_kept(base)) => None,
            Some(_) => {
                Some((number, (crate::conclude::fixed_rate::P99.ratio)(base, cell).map(scaled)))
            }
            None => Some((number, to_baseline(cells, cell.variant, &cell.workload))),
        }
    };
    cells.iter().enumerate().filter(is_asked).filter_map(of).collect()
}
