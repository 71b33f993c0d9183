//! Everything that is concluded from the recorded slices of a group of cells: by throughput, by latency at a fixed
//! rate, or by the highest rate under a limit, as the plan asked. Results of earlier versions are judged like new ones.

use crate::plan::Plan;
use crate::ratios::{between_by, between_ciphers, judge_overheads};
use crate::recommend::{at_rate, recommend};
use crate::results::{Between, Cell, Recommendation, Variant};
use crate::sustained::judge_searches;
use crate::target::Target;
use crate::verdict::Quantity;

/// What is recommended where an error of a store ended the measuring: nothing, whatever the cells say that were
/// measured before it.
pub(crate) fn withheld(recommendation: Recommendation) -> Recommendation {
    let answer = "nothing is recommended: an error ended the run before everything was measured".into();
    Recommendation { answer, take: None, meaning: Vec::new(), ..recommendation }
}

/// Judges `cells` anew. Returns each cipher against each other one, and what to take.
pub(crate) fn conclude(plan: &Plan, variants: &[Variant], cells: &mut [Cell]) -> (Vec<Between>, Recommendation) {
    match plan.target {
        Some(Target::Rate(rate)) => {
            crate::at_rate::judge_at_rate(cells, rate, plan.margin);
            let between = between_by(Quantity::Latency, variants, cells, plan.margin, crate::at_rate::p99_ratio);
            (between, at_rate::recommend(plan, rate, variants, cells))
        }
        Some(Target::Max) => {
            judge_searches(cells, plan.p99.map_or(f64::INFINITY, |limit| limit.limit_us));
            judge_overheads(cells, plan.margin);
            (between_ciphers(variants, cells, plan.margin), recommend(plan, variants, cells))
        }
        None => {
            judge_overheads(cells, plan.margin);
            (between_ciphers(variants, cells, plan.margin), recommend(plan, variants, cells))
        }
    }
}
