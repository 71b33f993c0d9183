//! Reasons why there is nothing to recommend: no cipher and no suite was measured, or too little of
//! each. Not here: the case that none is allowed, or keeps a limit (`recommend`).

use crate::advise::algorithm::noun;
use crate::conclude::ratios::headline;
use crate::conclude::sustained_rate;
use crate::results::Cell;
use crate::study::plan::Plan;
use crate::words::verdict::FEWEST_PAIRS;

/// Describes the case in which no variant has a cipher or a suite.
pub(super) fn measured(plan: &Plan) -> String {
    format!("nothing to recommend: no {} was measured", singular(noun(plan, std::iter::empty())))
}

/// Describes the case in which variants have ciphers or suites, as named by `noun`, but none has a
/// ratio with an interval.
pub(super) fn estimated(plan: &Plan, noun: &str, cells: &[Cell]) -> String {
    let one = singular(noun);
    let met = headline(cells);
    if met.is_empty() {
        return format!(
            "nothing to recommend: no workload that was measured gave a {one} anything to do"
        );
    }
    let what = match plan.p99 {
        Some(limit) if !cells.iter().any(|cell| sustained_rate::log_rates(cell).is_some()) => {
            return format!(
                "no variant with a {one} has a rate with a p99 of at most {limit}; nothing to \
                 recommend"
            );
        }
        Some(_) => "searches",
        None => "pairs of slices",
    };
    let sealed =
        cells.iter().filter(|cell| cell.variant != 0 && met.contains(&cell.workload.as_str()));
    let most = sealed.filter_map(|cell| Some(cell.overhead.as_ref()?.pairs)).max().unwrap_or(0);
    format!(
        "nothing to recommend: under no workload more than {most} {what} were measured of each \
         {one}, and an interval needs {FEWEST_PAIRS}"
    )
}

fn singular(noun: &str) -> &str {
    noun.trim_end_matches('s')
}
