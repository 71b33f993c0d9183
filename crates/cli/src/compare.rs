//! `sealstone compare`: the main job, from flags to the answer on the screen and the report on the
//! disk.

mod dry_run;
mod grid;
mod junit;
mod results_dir;
mod resume;
mod study_files;

use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge::{self, Merged};
use sealstone_bench::conclude::regression::{self, Outcome};
use sealstone_bench::report::summary;
use sealstone_bench::results::Comparison;
use sealstone_bench::study::Study;
use sealstone_bench::study::passwords;
use sealstone_bench::study::plan::Plan;
use sealstone_bench::words::Client;
use sealstone_stores::Built;

use crate::compare::grid::Grid;
use crate::compare::results_dir::ResultsDir;
use crate::flags::CompareFlags;
use crate::message::{Answer, print, print_json, say};
use crate::progress::Display;
use crate::{interrupt, settings, terminal};

/// Measures, prints the answer, and last the path of the report. An interrupted run has a report
/// too, and a negative answer: its question is not fully answered.
pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Answer> {
    let (mut plan, kept) = match &flags.resume {
        Some(dir) => resume::plan(flags, dir).map(|(plan, earlier)| (plan, Some(earlier)))?,
        None => (settings::plan(flags)?, None),
    };
    let _brought = match kept {
        None => study_files::bring(flags, &mut plan)?,
        Some(_) => None,
    };
    let mut study = Study::resolve(plan, &Built)?;
    study.remarks.iter().for_each(|remark| say(remark));
    let client = flags.client.zip(flags.start_at).map(|(share, start)| Client { share, start });
    let is_new_run = kept.is_none() && !flags.print_config;
    if is_new_run {
        study.results_in(results_dir::choose(&study.plan, flags.plan.out.is_some())?);
    }
    let shared = client.as_ref().map_or(Ok(()), |_| study.check_shared(&Built));
    let Study { plan, points, refused, .. } = study;
    let label = flags.label.as_deref();
    let mut grid = Grid::planned(&plan, points, refused, label, flags.lang.into())?;
    if flags.print_config {
        print_config(&plan)?;
        return Ok(Answer::Done);
    }
    if let Some(client) = &client {
        shared?;
        grid.beside(client)?;
    }
    if flags.dry_run {
        take_over(flags, kept.as_ref(), &mut grid);
        dry_run::show(flags, &grid)?;
        return Ok(Answer::Done);
    }
    // before the run, not after it
    junit::check(flags.junit.as_deref(), &plan)?;
    let earlier =
        plan.baseline.as_ref().map(|path| merge::read(std::slice::from_ref(path))).transpose()?;
    let taken = ResultsDir::take(&plan.out)?;
    take_over(flags, kept.as_ref(), &mut grid);
    let stop = interrupt::install(plan.stores_dir(), taken.made())?;
    let display = Display::new(flags.quiet);
    let measured = grid.measure(&display, &stop);
    display.end();
    let failed = measured?;
    let comparison = grid.comparison("the run ended before it").expect("something was measured");

    // the figures took minutes or hours: they are shown even if they cannot be written
    let written = grid::write(&comparison, &plan.out, flags.lang.into());
    drop(taken);
    if flags.json {
        print_json(&comparison)?;
        say(&written?.display().to_string());
    } else {
        let style = terminal::stdout();
        print(&summary::screens(
            &comparison.runs(),
            &comparison.against,
            style.columns(),
            style.colour(),
        ))?;
        print(&missing(&comparison))?;
        print(&format!("{}\n", written?.display()))?;
    }
    if let Some(error) = failed {
        let junit =
            junit::write(flags.junit.as_deref(), &comparison, earlier.as_ref(), Some(&error));
        if let Err(unwritten) = junit {
            say(&format!("{unwritten:#}"));
        }
        return Err(error);
    }
    let junit = junit::write(flags.junit.as_deref(), &comparison, earlier.as_ref(), None);
    let since = earlier.as_ref().map(|earlier| since(&comparison, earlier)).transpose()?;
    junit?;
    Ok(match since.flatten() {
        _ if comparison.interrupted => Answer::Negative,
        Some(Outcome::Exceeded) => Answer::Negative,
        Some(Outcome::Inconclusive) => Answer::Inconclusive,
        Some(Outcome::Within) | None => Answer::Done,
    })
}

/// Gives `grid` what the `kept` results have, if the run goes on from any.
fn take_over(flags: &CompareFlags, kept: Option<&Comparison>, grid: &mut Grid) {
    match kept {
        Some(earlier) if resume::adds(flags, earlier) => grid.add_to(earlier),
        Some(earlier) => grid.keep(earlier),
        None => {}
    }
}

/// Prints every setting of `plan` as TOML that `--config` reads; of addresses as much as may be
/// shown.
fn print_config(plan: &Plan) -> anyhow::Result<()> {
    let shown = passwords::shown(plan);
    if shown != *plan {
        say(&format!(
            "{} marks where user, password or parameters of an address are left out: fill them in \
             again, or name a file with the address, @FILE",
            passwords::HIDDEN
        ));
    }
    print(&shown.to_toml())
}

/// Returns a list of planned items that are missing, one line for each point; empty if nothing is
/// missing.
pub(crate) fn missing(comparison: &Comparison) -> String {
    let missing = groups::missing_words(comparison);
    let measured = comparison.groups.len();
    let head = match comparison.missing.iter().all(|one| one.left_out) {
        true => format!(
            "not everything could be had; measured {measured} of {} points\n",
            measured + missing.len()
        ),
        false => {
            format!("ended early; measured {measured} of {} points\n", measured + missing.len())
        }
    };
    let lines = missing.iter().map(|line| format!("not measured: {line}\n"));
    if missing.is_empty() { String::new() } else { head + &lines.collect::<String>() }
}

/// Reports how the costs changed since the `earlier` results; returns the outcome under the user's
/// limit, if one was named.
fn since(comparison: &Comparison, earlier: &Merged) -> anyhow::Result<Option<Outcome>> {
    let path = &earlier.sources[0];
    let allowed = comparison.plan.fail_if;
    let limit = allowed.unwrap_or(comparison.plan.margin);
    let changes = regression::changes(comparison, &earlier.comparisons[0], limit, path)?;
    say(&format!("against {}, of {}:", path.display(), earlier.comparisons[0].started_at));
    regression::lines(&changes, limit).iter().for_each(|line| say(line));
    if allowed.is_none() {
        return Ok(None);
    }
    if let Some(line) = regression::inconclusive(&changes, limit) {
        say(&line);
    }
    Ok(Some(regression::outcome(&changes)))
}
