//! `sealstone compare`: the main job, from flags to the answer on the screen and the report on the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use sealstone_bench::axes::{AXES, Point, varied};
use sealstone_bench::compare::{self, CompareError};
use sealstone_bench::groups;
use sealstone_bench::merge::{self, Merged};
use sealstone_bench::plan::Plan;
use sealstone_bench::regression;
use sealstone_bench::report::{self, Options, summary};
use sealstone_bench::results::{Comparison, Results};
use sealstone_stores::kind::StoreKind;
use sealstone_stores::table::store;

use crate::flags::CompareFlags;
use crate::message::{Answer, print, print_json, say};
use crate::progress::Display;
use crate::stores;
use crate::{interrupt, settings, terminal};

/// Measures, prints the answer, and last the path of the report. An interrupted run has a report too, and a negative
/// answer: its question is not fully answered.
pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Answer> {
    let plan = settings::plan(flags)?;
    let stores = plan.store.iter().map(|name| store(name)).collect::<Result<Vec<_>, _>>()?;
    plan.check()?;
    stores::check_settings(&plan)?;
    let planned = planned(&plan, &stores)?;
    if flags.print_config {
        print(&plan.to_toml())?;
        return Ok(Answer::Done);
    }
    // before the run, not after it
    let earlier = plan.baseline.as_ref().map(|path| merge::read(std::slice::from_ref(path))).transpose()?;
    let is_new = !plan.out.exists();
    prepare(&plan.out)?;
    let stop = interrupt::install(plan.stores_dir())?;
    let display = Display::new(flags.quiet);
    let measured = measure(planned, &plan, &display, &stop);
    display.end();
    if measured.is_err() && is_new {
        // it stays if anything is in it
        let _ = std::fs::remove_dir(&plan.out);
    }
    let (runs, failed) = measured?;
    let mut comparison = groups::comparison(&plan, runs);
    if let Some(label) = &flags.label {
        comparison.machine.label.clone_from(label);
    }

    // the figures took minutes or hours: they are shown even if they cannot be written
    let written = write(&comparison, &plan.out);
    if flags.json {
        print_json(&comparison)?;
        say(&written?.display().to_string());
    } else {
        let (runs, style) = (comparison.runs(), terminal::stdout());
        for (results, label) in runs.iter().zip(merge::labels(&runs)) {
            if runs.len() > 1 {
                print(&format!("{label}\n"))?;
            }
            print(&summary::screen(results, style.columns(), style.colour()))?;
            print("\n")?;
        }
        for one in &comparison.against {
            print(&format!("{}\n", summary::against(one)))?;
        }
        print(&format!("{}\n", written?.display()))?;
    }
    if let Some(error) = failed {
        return Err(error);
    }
    let has_grown = match &earlier {
        Some(earlier) => since(&comparison, earlier)?,
        None => false,
    };
    Ok(if comparison.interrupted || has_grown { Answer::Negative } else { Answer::Done })
}

/// Says how the costs changed since the `earlier` results; returns whether one grew by more than the user allows.
fn since(comparison: &Comparison, earlier: &Merged) -> anyhow::Result<bool> {
    let path = &earlier.sources[0];
    let allowed = comparison.plan.fail_if;
    let limit = allowed.unwrap_or(comparison.plan.margin);
    let changes = regression::changes(comparison, &earlier.comparisons[0], limit, path)?;
    say(&format!("against {}, of {}:", path.display(), earlier.comparisons[0].started_at));
    regression::lines(&changes, limit).iter().for_each(|line| say(line));
    Ok(allowed.is_some() && changes.iter().any(|change| change.exceeds))
}

/// One group of cells to measure: its store, and the plan at its point of the axes.
type Planned = (&'static StoreKind, Plan);

/// The groups that `plan` asks for. A point that a store cannot have is left out, with a word, as long as the store has
/// others.
fn planned(plan: &Plan, kinds: &[&'static StoreKind]) -> anyhow::Result<Vec<Planned>> {
    let mut groups: Vec<Planned> = Vec::new();
    for store in kinds {
        let mut refused = Vec::new();
        let before = groups.len();
        let plan = stores::suited(store, plan);
        for group in plan.groups()?.into_iter().filter(|group| group.point().store == store.name) {
            match stores::check(store, &group) {
                Ok(()) => groups.push((store, group)),
                Err(error) => refused.push((group, error)),
            }
        }
        for (group, error) in refused {
            if groups.len() == before {
                return Err(error);
            }
            say(&format!("left out {}: {error}", group.point().words(&AXES.each_ref())));
        }
    }
    Ok(groups)
}

/// Measures one group after the other, up to the one that was interrupted, or that failed, with its error: what was
/// measured before is an answer, too.
fn measure(
    groups: Vec<Planned>,
    whole: &Plan,
    display: &Display,
    stop: &AtomicBool,
) -> anyhow::Result<(Vec<Results>, Option<anyhow::Error>)> {
    let mut runs: Vec<Results> = Vec::new();
    let mut failed = None;
    let points: Vec<Point> = groups.iter().map(|(_, plan)| plan.point()).collect();
    let (axes, planned) = (varied(&points), groups.len());
    let key = stores::user_key(whole)?;
    for (store, plan) in groups {
        let outcome = stores::engine(store, key.as_ref(), &plan)
            .and_then(|engine| compare::run(&plan, &*engine, display, stop).map_err(anyhow::Error::new));
        match outcome {
            Ok(results) => runs.push(results),
            Err(error) if runs.is_empty() => return Err(error),
            Err(error) if matches!(error.downcast_ref(), Some(CompareError::Stopped)) => break,
            Err(error) => failed = Some(error.context(format!("cannot compare {}", plan.point().words(&axes)))),
        }
        if failed.is_some() || runs.iter().any(|results| results.interrupted) {
            break;
        }
    }
    if runs.len() < planned
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

/// Writes data and report into `out`; returns the report's path.
fn write(comparison: &Comparison, out: &Path) -> anyhow::Result<PathBuf> {
    comparison.write_json(&out.join("results.json"))?;
    comparison.write_csv(&out.join("results.csv"))?;
    let runs = comparison.runs();
    let raw_data = (runs.len() > 1).then(|| vec!["results.json".into(); runs.len()]);
    let page =
        report::html_with(&runs, &Options { raw_data, against: comparison.against.clone(), ..Options::default() })?;
    let path = out.join("report.html");
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}
