//! `sealstone compare`: the main job, from flags to the answer on the screen and the report on the disk.

mod grid;
mod resume;

use std::path::Path;

use anyhow::Context;
use sealstone_bench::groups;
use sealstone_bench::merge::{self, Merged};
use sealstone_bench::regression;
use sealstone_bench::report::summary;
use sealstone_bench::results::Comparison;
use sealstone_bench::share::Client;
use sealstone_stores::table::store;

use crate::compare::grid::Grid;
use crate::flags::CompareFlags;
use crate::message::{Answer, print, print_json, say};
use crate::progress::Display;
use crate::stores;
use crate::{interrupt, settings, terminal};

/// Measures, prints the answer, and last the path of the report. An interrupted run has a report too, and a negative
/// answer: its question is not fully answered.
pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Answer> {
    let (plan, kept) = match &flags.resume {
        Some(dir) => resume::plan(flags, dir).map(|(plan, earlier)| (plan, Some(earlier)))?,
        None => (settings::plan(flags)?, None),
    };
    let plan = stores::with_tunnels(plan)?;
    let stores = plan.store.iter().map(|name| store(name)).collect::<Result<Vec<_>, _>>()?;
    plan.check()?;
    stores::check_settings(&plan)?;
    let client = flags.client.zip(flags.start_at).map(|(share, start)| Client { share, start });
    let mut grid = Grid::planned(&plan, &stores, flags.label.as_deref())?;
    if flags.print_config {
        print(&plan.to_toml())?;
        return Ok(Answer::Done);
    }
    if let Some(client) = &client {
        grid.beside(client)?;
    }
    // before the run, not after it
    let earlier = plan.baseline.as_ref().map(|path| merge::read(std::slice::from_ref(path))).transpose()?;
    let is_new = !plan.out.exists();
    prepare(&plan.out)?;
    match &kept {
        Some(earlier) if resume::adds(flags, earlier) => grid.add_to(earlier),
        Some(earlier) => grid.keep(earlier),
        None => {}
    }
    let stop = interrupt::install(plan.stores_dir())?;
    let display = Display::new(flags.quiet);
    let measured = grid.measure(&display, &stop);
    display.end();
    if measured.is_err() && is_new {
        // it stays if anything is in it
        let _ = std::fs::remove_dir(&plan.out);
    }
    let failed = measured?;
    let comparison = grid.comparison("the run ended before it").expect("something was measured");

    // the figures took minutes or hours: they are shown even if they cannot be written
    let written = grid::write(&comparison, &plan.out);
    if flags.json {
        print_json(&comparison)?;
        say(&written?.display().to_string());
    } else {
        let style = terminal::stdout();
        print(&summary::screens(&comparison.runs(), &comparison.against, style.columns(), style.colour()))?;
        print(&missing(&comparison))?;
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

/// What was planned and is missing, a line for each point; nothing where nothing is.
pub(crate) fn missing(comparison: &Comparison) -> String {
    let missing = groups::missing_words(comparison);
    let measured = comparison.groups.len();
    let head = match comparison.missing.iter().all(|one| one.left_out) {
        true => format!("not everything could be had; measured {measured} of {} points\n", measured + missing.len()),
        false => format!("ended early; measured {measured} of {} points\n", measured + missing.len()),
    };
    let lines = missing.iter().map(|line| format!("not measured: {line}\n"));
    if missing.is_empty() { String::new() } else { head + &lines.collect::<String>() }
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

/// Makes the directory for the results and finds out before the run, not after it, whether they can be written.
fn prepare(out: &Path) -> anyhow::Result<()> {
    let probe = out.join(".sealstone-writable");
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&probe, b"x"))
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write results into {}", out.display()))
        .map_err(|error| anyhow::anyhow!("{error:#}\nname another directory with --out"))
}
