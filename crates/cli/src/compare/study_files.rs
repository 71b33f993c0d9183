//! Files that a study by name brings, such as its records: in the directory of the results, or for
//! a dry run in one that is removed at its end.

use anyhow::{Context, bail};
use sealstone_bench::study::NamedStudy;
use sealstone_bench::study::plan::Plan;
use tempfile::TempDir;

use crate::compare::results_dir;
use crate::flags::CompareFlags;

/// Writes the files that the study of `flags` brings, if it is one that brings any, and names them
/// in `plan`. Returns the directory that is to live as long as they are needed, if it is not that
/// of the results.
///
/// # Errors
/// Settings that are to be printed, in which such files cannot be named since no directory for them
/// is; a directory that cannot be written, or that has results.
pub(super) fn bring(flags: &CompareFlags, plan: &mut Plan) -> anyhow::Result<Option<TempDir>> {
    let Some(study) = flags.study.as_deref().map(NamedStudy::by_name).transpose()? else {
        return Ok(None);
    };
    let names: Vec<&str> = study.brings(plan).collect();
    if names.is_empty() {
        return Ok(None);
    }
    if flags.print_config && flags.plan.out.is_none() {
        bail!(
            "cannot print the settings of study {}: a run writes {} beside its results, and \
             settings would name files that are not there\nname a directory for them with --out, \
             or your own with --records-from and --fields",
            study.name,
            names.join(" and ")
        );
    }
    if flags.dry_run {
        let dir = tempfile::tempdir()?;
        study.bring(plan, dir.path())?;
        return Ok(Some(dir));
    }
    plan.out = results_dir::choose(plan, flags.plan.out.is_some())?;
    let out = plan.out.clone();
    study
        .bring(plan, &out)
        .with_context(|| format!("cannot write {} into {}", names.join(" and "), out.display()))?;
    Ok(None)
}
