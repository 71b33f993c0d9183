//! `sealstone report`: redraws the report of one run, or merges the runs of several machines into
//! one.

use std::path::Path;

use anyhow::Context;
use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge::{self, Merged};
use sealstone_bench::report::{self, Options, summary};
use sealstone_file::output::{self, Access};
use serde_json::json;

use crate::compare;
use crate::flags::ReportFlags;
use crate::message::{Answer, print, print_json};
use crate::{numbered, path, terminal};

/// Schema of the JSON that this command prints; the comparisons in it have their own.
const SCHEMA: u32 = 1;

/// The page that is written where none is named, or the first like it that is not there.
const PAGE: &str = "report.html";

/// Writes the report, prints each run's answer, and last the report's path.
pub(crate) fn run(flags: &ReportFlags) -> anyhow::Result<Answer> {
    let mut merged = merge::read_joined(&flags.results)?;
    merged.label(&flags.labels)?;
    let named = flags.out.as_deref();
    let out = named.unwrap_or(Path::new(PAGE));
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
    let out = &numbered::page(named, out, flags.replace)?;
    let style = terminal::stdout();
    let mut text = summary::screens(&runs, &against, style.columns(), style.colour());
    let missing = merged.comparisons.iter().flat_map(groups::missing_words).collect();
    let options =
        Options { raw_data: raw_data(&merged, out), against, missing, ..Options::default() };
    let page = report::html_with(&runs, &options)?;
    output::replace(out, Access::Usual, page.as_bytes())
        .with_context(|| format!("cannot write the report {}", out.display()))?;
    text.extend(merged.comparisons.iter().map(compare::missing));
    for difference in merge::differences(&runs) {
        text.push_str(&format!("{difference}\n"));
    }
    print(&format!("{text}{}\n", out.display()))?;
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
