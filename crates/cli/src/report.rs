//! `sealstone report`: redraws the report of one run, or merges the runs of several machines into
//! one; one sheet of paper, or the charts as files, in place of it.

mod pictures;

use std::path::Path;

use anyhow::Context;
use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge::{self, Merged};
use sealstone_bench::report::{self, Options, summary};
use sealstone_bench::results::Results;
use sealstone_bench::words::counted;
use sealstone_file::output::{self, Access};
use serde_json::json;

use crate::compare;
use crate::flags::ReportFlags;
use crate::message::{Answer, print, print_exactly, print_json};
use crate::{free_name, path, terminal};

/// Schema of the JSON that this command prints; the comparisons in it have their own.
const SCHEMA: u32 = 1;

/// The page that is written where none is named, or the first like it that is not there.
const PAGE: &str = "report.html";

/// The same for the sheet of paper.
const SUMMARY: &str = "summary.html";

/// Writes the report, prints each run's answer, and last the report's path.
pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Answer> {
    let mut merged = merge::read_joined(&flags.results)?;
    merged.label(&flags.labels)?;
    if let Some(path) = &flags.findings {
        return findings(&merged, path, flags.replace);
    }
    let named = flags.out.as_deref();
    let drawn = &flags.drawn;
    let out = named.unwrap_or(Path::new(if drawn.summary { SUMMARY } else { PAGE }));
    if !flags.json && !flags.markdown {
        merged.check_output(out)?;
        path::check_parent(out)?;
    }
    let runs = merged.runs();
    if flags.json {
        let differences = merge::differences(&runs);
        print_json(&json!({"schema": SCHEMA, "comparisons": merged.comparisons,
                "differences": differences}))?;
        return Ok(Answer::Done);
    }
    if flags.markdown {
        let several = runs.len() > 1;
        let pages = runs.iter().zip(merge::labels(&runs));
        let pages =
            pages.map(|(run, label)| report::markdown(run, several.then_some(label.as_str())));
        print(&pages.collect::<Vec<_>>().join("\n"))?;
        return Ok(Answer::Done);
    }
    let against: Vec<_> =
        merged.comparisons.iter().flat_map(|comparison| comparison.against.clone()).collect();
    let options = Options {
        against: against.clone(),
        missing: merged.comparisons.iter().flat_map(groups::missing_words).collect(),
        within_process: within_process(),
        language: drawn.lang.into(),
        ..Options::default()
    };
    if let Some(answer) = charts(flags, &runs, &options)? {
        return Ok(answer);
    }
    let out = &free_name::page(named, out, flags.replace)?;
    let style = terminal::stdout();
    let mut text = summary::screens(&runs, &against, style.columns(), style.colour());
    let options = Options { raw_data: raw_data(&merged, out), ..options };
    let page = match drawn.summary {
        true => report::one_page(&runs, &options)?,
        false => report::html_with(&runs, &options)?,
    };
    output::replace(out, Access::Usual, page.as_bytes())
        .with_context(|| format!("cannot write the report {}", out.display()))?;
    text.extend(merged.comparisons.iter().map(compare::missing));
    for difference in merge::differences(&runs) {
        text.push_str(&format!("{difference}\n"));
    }
    print(&format!("{text}{}\n", out.display()))?;
    Ok(Answer::Done)
}

/// Writes the charts as files, if they are what is asked for, and prints where they are.
fn charts(
    flags: &ReportFlags,
    runs: &[Results],
    options: &Options,
) -> anyhow::Result<Option<Answer>> {
    let mut written = Vec::new();
    if let Some(dir) = &flags.drawn.svg {
        written.push((pictures::svg(runs, options, dir, flags.replace)?, dir));
    }
    #[cfg(feature = "png")]
    if let Some(dir) = &flags.drawn.png {
        written.push((pictures::png(runs, options, dir, flags.replace)?, dir));
    }
    for (count, dir) in &written {
        print(&format!("{} in {}\n", counted(*count, "chart"), dir.display()))?;
    }
    Ok((!written.is_empty()).then_some(Answer::Done))
}

/// Returns the names of the stores that are in the process of their client.
fn within_process() -> Vec<String> {
    let stores = sealstone_stores::stores().iter().filter(|store| store.shared_by.is_none());
    stores.map(|store| store.name.to_owned()).collect()
}

/// The name that stands for stdout.
const STDOUT: &str = "-";

/// Writes the findings of `merged` to the file `path`, or to stdout.
///
/// # Errors
/// A file that is there and may not be replaced, or that cannot be written.
fn findings(merged: &Merged, path: &Path, replace: bool) -> anyhow::Result<Answer> {
    let is_file = path != Path::new(STDOUT);
    if is_file {
        merged.check_output(path)?;
        path::check_parent(path)?;
        if !replace {
            let otherwise = ", or give --replace to write over it";
            free_name::check_new_for("--findings", path, otherwise)?;
        }
    }
    let text = report::findings::findings(&merged.runs())?;
    if !is_file {
        print_exactly(&text)?;
        return Ok(Answer::Done);
    }
    output::replace(path, Access::Usual, text.as_bytes())
        .with_context(|| format!("cannot write the findings {}", path.display()))?;
    print(&format!("{}\n", path.display()))?;
    Ok(Answer::Done)
}

/// Names of the raw data, if all of it is next to the report and can be found from there.
fn raw_data(merged: &Merged, report: &Path) -> Option<Vec<String>> {
    // several files make one comparison
    if merged.sources.len() != merged.comparisons.len() {
        return Some(Vec::new());
    }
    let folder = |path: &Path| path.parent().map(Path::to_path_buf);
    if !merged.sources.iter().all(|source| folder(source) == folder(report)) {
        return Some(Vec::new());
    }
    let mut names = Vec::new();
    for (source, comparison) in merged.sources.iter().zip(&merged.comparisons) {
        let name = source.file_name()?.to_string_lossy().into_owned();
        names.resize(names.len() + comparison.groups.len(), name);
    }
    Some(names)
}
