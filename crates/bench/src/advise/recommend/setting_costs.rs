//! Cost of a cipher by the setting of cache and durability: the difference that the figure over all
//! workloads hides.

use crate::conclude::judgement::judge;
use crate::conclude::ratios::{headline, left_out, overall_of};
use crate::conclude::statistics::Estimate;
use crate::results::Cell;
use crate::study::plan::Plan;
use crate::workload::Setting;

/// Summarises in one line what the cells show about `variant` by setting; none if they all have the
/// usual setting.
pub(super) fn line(plan: &Plan, cells: &[Cell], variant: usize) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.variant == variant) {
        if !names.contains(&cell.workload.as_str()) {
            names.push(&cell.workload);
        }
    }
    let under = |setting: Setting| {
        names
            .iter()
            .copied()
            .filter(move |name| plan.workload(name).is_ok_and(|spec| spec.setting == setting))
    };
    let (met, hits) = (headline(cells), left_out(cells));
    // a family of at most two, judged together as all families are
    let unmet: Vec<&str> =
        under(Setting::Warm).filter(|name| hits.iter().any(|hit| hit == name)).collect();
    let parts: Vec<(&str, Vec<&str>)> = [
        ("reads that miss it", under(Setting::Cold).filter(|name| met.contains(name)).collect()),
        ("synced writes", under(Setting::Sync).filter(|name| met.contains(name)).collect()),
    ]
    .into_iter()
    .filter(|(_, names): &(_, Vec<&str>)| !names.is_empty())
    .collect();
    if !names.iter().any(|name| plan.workload(name).is_ok_and(|spec| spec.setting != Setting::Warm))
        || parts.is_empty()
    {
        return None;
    }
    let estimates: Vec<Option<Estimate>> =
        parts.iter().map(|(_, names)| overall_of(cells, variant, 0, names)).collect();
    let judged = judge(&estimates, plan.margin).into_iter().zip(parts);
    let words = judged.map(|(judgement, (what, names))| {
        format!("{what} ({}): {}", names.join(", "), judgement.words)
    });
    let met_nothing = (!unmet.is_empty())
        .then(|| format!("reads that the cache answers ({}): met no cipher", unmet.join(", ")));
    Some(format!("by setting: {}", words.chain(met_nothing).collect::<Vec<_>>().join("; ")))
}

/// Returns the workloads that no cipher had anything to do under, and that were not measured with a
/// small cache either.
pub(super) fn unanswered(cells: &[Cell]) -> Vec<String> {
    let is_cold = |name: &str| {
        let cold = Setting::Cold.named(name);
        cells.iter().any(|cell| cell.workload == cold)
    };
    left_out(cells).into_iter().filter(|name| !is_cold(name)).collect()
}
