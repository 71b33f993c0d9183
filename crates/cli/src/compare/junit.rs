//! The file of `--junit`: written for every run that was compared with an earlier one, whatever the
//! answer. Not here: its content (`sealstone_bench::report::junit`).

use std::path::Path;

use anyhow::{Context, bail};
use sealstone_bench::compare::merge::Merged;
use sealstone_bench::conclude::regression;
use sealstone_bench::report::junit;
use sealstone_bench::results::Comparison;
use sealstone_bench::study::plan::Plan;
use sealstone_file::output::{self, Access};

use crate::path;

/// Finds out before the run, not after it, whether there is a question to answer, and whether the
/// file can be written.
///
/// # Errors
/// No limit that a cost may exceed; a directory that cannot be written.
pub(super) fn check(path: Option<&Path>, plan: &Plan) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    if plan.fail_if.is_none() {
        bail!(
            "cannot write {}: --junit has the answer to --fail-if, and no limit is set\nsay what \
             may not grow, such as: --baseline old/results.json --fail-if 5%",
            path.display()
        );
    }
    path::check_parent(path)?;
    output::check_replaceable(path, Access::Usual)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the answer of `comparison` against the `earlier` results to the file `path`, if one is
/// named; `failed`: what ended the run.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn write(
    path: Option<&Path>,
    comparison: &Comparison,
    earlier: Option<&Merged>,
    failed: Option<&anyhow::Error>,
) -> anyhow::Result<()> {
    let (Some(path), Some(earlier), Some(limit)) = (path, earlier, comparison.plan.fail_if) else {
        return Ok(());
    };
    let source = &earlier.sources[0];
    let changes = regression::changes(comparison, &earlier.comparisons[0], limit, source);
    // figures of what was measured are an answer, too, if the run failed
    let nothing = changes.as_ref().err().map(ToString::to_string);
    let failure = failed.map(|error| format!("{error:#}")).or(nothing);
    let text = junit::junit(comparison, &changes.unwrap_or_default(), limit, failure.as_deref());
    output::replace(path, Access::Usual, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
