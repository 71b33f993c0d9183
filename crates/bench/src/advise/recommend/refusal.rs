//! Reasons why there is nothing to recommend: no cipher and no suite was measured, or too little of
//! each, or the policy allows none. Not here: the case that none keeps a limit (`recommend`).

use crate::advise::algorithm::Noun;
use crate::advise::eligibility;
use crate::conclude::ratios::headline;
use crate::conclude::sustained_rate;
use crate::results::{Cell, Piece, Variant};
use crate::study::plan::Plan;
use crate::words::verdict::FEWEST_PAIRS;

/// Describes the case in which no variant has a cipher or a suite.
pub(super) fn measured(plan: &Plan) -> Piece {
    let one = Noun::of(plan, std::iter::empty()).one();
    Piece::finding(format!("nothing to recommend: no {one} was measured"))
}

/// Describes the case in which variants have ciphers or suites, as named by `noun`, but none has a
/// ratio with an interval.
pub(super) fn estimated(plan: &Plan, noun: Noun, cells: &[Cell]) -> Vec<Piece> {
    let one = noun.one();
    let met = headline(cells);
    if met.is_empty() {
        return vec![Piece::finding(format!(
            "nothing to recommend: no workload that was measured gave a {one} anything to do"
        ))];
    }
    let what = match plan.p99 {
        Some(limit) if !cells.iter().any(|cell| sustained_rate::log_rates(cell).is_some()) => {
            let none = format!("no variant with a {one} has a rate with a p99 of at most {limit}");
            return vec![Piece::finding(none), Piece::finding("nothing to recommend")];
        }
        Some(_) => "searches",
        None => "pairs of slices",
    };
    let sealed =
        cells.iter().filter(|cell| cell.variant != 0 && met.contains(&cell.workload.as_str()));
    let most = sealed.filter_map(|cell| Some(cell.overhead.as_ref()?.pairs)).max().unwrap_or(0);
    vec![Piece::finding(format!(
        "nothing to recommend: under no workload more than {most} {what} were measured of each \
         {one}, and an interval needs {FEWEST_PAIRS}"
    ))]
}

/// Describes the case in which the policy of `plan` allows none of `variants`, and lists ciphers or
/// suites, whichever `noun` names, that it would allow.
pub(super) fn allowed(plan: &Plan, noun: Noun, variants: &[Variant]) -> Vec<Piece> {
    let none = format!(
        "none of the {} measured can be recommended under policy {}",
        noun.several(),
        plan.policy.word()
    );
    [none, eligibility::allowed(plan.policy, noun, variants)].map(Piece::finding).into()
}
