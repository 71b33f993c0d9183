//! `sealstone compare`: the main job, from flags to the answer on the screen and the report on the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use sealstone_bench::compare::{self, CompareError};
use sealstone_bench::plan::Plan;
use sealstone_bench::report::{self, Options, summary};
use sealstone_bench::results::Results;

use crate::flags::CompareFlags;
use crate::message::{Answer, print, print_json, say};
use crate::progress::Display;
use crate::stores::{self, StoreKind};
use crate::table::SCREEN;
use crate::{interrupt, settings, terminal};

/// Measures, prints the answer, and last the path of the report. An interrupted run has a report too, and a negative
/// answer: its question is not fully answered.
pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Answer> {
    let plan = settings::plan(flags)?;
    let store = stores::store(&plan.store)?;
    plan.check()?;
    store.check(&plan)?;
    if flags.print_config {
        print(&plan.to_toml())?;
        return Ok(Answer::Done);
    }
    prepare(&plan.out)?;
    let stop = interrupt::install(plan.stores_dir())?;
    let display = Display::new(flags.quiet);
    let measured = measure(&plan, store, flags, &display, &stop);
    display.end();
    let (runs, failed) = measured?;

    // the figures took minutes or hours: they are shown even where they cannot be written
    let written = write(&runs, &plan.out);
    if flags.json {
        match runs.as_slice() {
            [results] => print_json(results)?,
            _ => print_json(&runs)?,
        }
        say(&written?.display().to_string());
    } else {
        for results in &runs {
            if runs.len() > 1 {
                print(&format!("{}\n", members(results.plan.members())))?;
            }
            print(&summary::screen(results, SCREEN, terminal::stdout().colour()))?;
            print("\n")?;
        }
        print(&format!("{}\n", written?.display()))?;
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(if runs.iter().any(|results| results.interrupted) { Answer::Negative } else { Answer::Done })
}

/// One run for each number of members, up to the one that was interrupted, or that failed with the error beside them: what
/// was measured before is an answer, too.
fn measure(
    plan: &Plan,
    store: &StoreKind,
    flags: &CompareFlags,
    display: &Display,
    stop: &AtomicBool,
) -> anyhow::Result<(Vec<Results>, Option<anyhow::Error>)> {
    let mut runs: Vec<Results> = Vec::new();
    let mut failed = None;
    for plan in plan.by_nodes() {
        let outcome = (store.engine)(flags, &plan)
            .and_then(|engine| compare::run(&plan, &*engine, display, stop).map_err(anyhow::Error::new));
        match outcome {
            Ok(results) => runs.push(results),
            Err(error) if runs.is_empty() => return Err(error),
            Err(error) if matches!(error.downcast_ref(), Some(CompareError::Stopped)) => break,
            Err(error) => failed = Some(error.context(format!("cannot compare {}", members(plan.members())))),
        }
        if failed.is_some() || runs.iter().any(|results| results.interrupted) {
            break;
        }
    }
    if runs.len() < plan.nodes.len()
        && let Some(last) = runs.last_mut()
    {
        last.interrupted = true;
    }
    Ok((runs, failed))
}

/// Makes the directory for the results and finds out before the run, not after it, whether they can be written.
fn prepare(out: &Path) -> anyhow::Result<()> {
    let probe = out.join(".sealstone-writable");
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&probe, b"x"))
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write results into {}", out.display()))
        .map_err(|error| anyhow::anyhow!("{error:#}\nname another directory with --out"))
}

/// Writes data and report into `out`, a file for each run; returns the report's path.
fn write(runs: &[Results], out: &Path) -> anyhow::Result<PathBuf> {
    let mut raw_data = Vec::new();
    for results in runs {
        let name: String = match runs.len() {
            1 => "results".into(),
            _ => format!("results-{}", members(results.plan.members()).replace(' ', "-")),
        };
        let names = ["json", "csv"].map(|ending| format!("{name}.{ending}"));
        results.write_json(&out.join(&names[0]))?;
        results.write_csv(&out.join(&names[1]))?;
        raw_data.extend(names);
    }
    let page = report::html_with(runs, &Options { raw_data: Some(raw_data), ..Options::default() })?;
    let path = out.join("report.html");
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// `1 member`, `3 members`.
fn members(count: usize) -> String {
    format!("{count} member{}", if count == 1 { "" } else { "s" })
}
