//! Continuing a comparison that was interrupted, or adding rounds to it: its results, and the check
//! that the current request is the same.

use std::path::Path;

use sealstone_bench::compare::merge;
use sealstone_bench::results::Comparison;
use sealstone_bench::study::machine;
use sealstone_bench::study::passwords::HIDDEN;
use sealstone_bench::study::plan::Plan;
use sealstone_bench::study::plan_difference;

use crate::flags::CompareFlags;
use crate::settings;

/// Returns whether rounds must be added to all of `earlier`, not only its missing parts. Repeating
/// the number of rounds of a run that ended early adds none.
pub(crate) fn adds(flags: &CompareFlags, earlier: &Comparison) -> bool {
    let flags = &flags.plan;
    let is_said_again = |rounds: usize| earlier.interrupted && rounds == earlier.plan.rounds;
    flags.until.is_some()
        || flags.max_time.is_some()
        || flags.rounds.is_some_and(|rounds| !is_said_again(rounds))
}

/// Returns the plan of the run whose results are in `dir`, and these results.
///
/// # Errors
/// No results there; a flag that differs from what the run had, another machine or version; a
/// password that the results do not keep and no flag gives again.
pub(crate) fn plan(flags: &CompareFlags, dir: &Path) -> anyhow::Result<(Plan, Comparison)> {
    let path = dir.join("results.json");
    if !path.exists() {
        anyhow::bail!(
            "cannot resume in {}: it has no results.json, so nothing was measured whole\nrun the \
             comparison with --out {} instead",
            dir.display(),
            dir.display()
        );
    }
    let earlier = merge::read(&[path])?.comparisons.remove(0);
    // a preset, a study or a file decides together with the flags beside it
    let decides = [flags.config.is_some(), flags.study.is_some(), flags.plan.preset.is_some()];
    let mut plan = match decides.contains(&true) {
        true => settings::plan(flags)?,
        false => settings::over(flags, &earlier.plan)?,
    };
    if let Some(out) = &flags.plan.out
        && out.canonicalize().ok() != dir.canonicalize().ok()
    {
        let (dir, out) = (dir.display(), out.display());
        anyhow::bail!(
            "cannot resume {dir} in {out}: a run continues where its results are\nleave --out out"
        );
    }
    plan.out = dir.to_owned();
    if adds(flags, &earlier) {
        if earlier.client.is_some() {
            anyhow::bail!(
                "cannot add rounds to {}: several clients measured it, which would all have to\n\
                 measure again with more --rounds and another --out",
                dir.display()
            );
        }
        plan.earlier_rounds = earlier.plan.rounds;
    }
    if let Some(found) = plan_difference::differences(&earlier.plan, &plan).first() {
        let plan_difference::Difference { setting, was, is } = found;
        anyhow::bail!(
            "cannot resume {}: {setting} was {was}, and is {is}\nleave --{setting} out, or measure \
             again with another --out",
            dir.display()
        );
    }
    let addresses = plan
        .stores
        .values()
        .flatten()
        .map(|(setting, values)| (setting.as_str(), values.as_slice()));
    for (setting, values) in addresses.chain([("key", plan.key.as_slice())]) {
        if values.iter().any(|value| value.contains(HIDDEN)) {
            anyhow::bail!(
                "cannot resume {}: the address of --{setting} had more than host, port and path, \
                 which is all that results keep\ngive --{setting} again",
                dir.display()
            );
        }
    }
    let here = machine::facts(dir);
    let facts = [
        ("Sealstone", earlier.version.clone(), env!("CARGO_PKG_VERSION").to_owned()),
        ("the CPU", earlier.machine.cpu.clone(), here.cpu),
        ("the number of CPUs", earlier.machine.cores.to_string(), here.cores.to_string()),
    ];
    if let Some((what, was, is)) = facts.into_iter().find(|(_, was, is)| was != is) {
        anyhow::bail!(
            "cannot resume {}: {what} was {was}, and is {is}\nmeasure again with another --out",
            dir.display()
        );
    }
    Ok((plan, earlier))
}
