//! Each chart of a report as a picture of its own, with its title and a legend.

use std::collections::BTreeSet;

use super::canvas::{self, LegendEntry, Theme};
use super::index::{self, Run};
use super::language::Words;
use super::options::Options;
use super::page::{self, Charts};
use super::{ReportError, check};
use crate::results::Results;

/// One chart.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of its file without an ending, such as `cost` or `latency`; no two are the same.
    pub name: String,
    /// Title, as above it.
    pub title: String,
    /// The drawing, a file of its own.
    pub svg: String,
}

/// Returns every chart of the report of `results`, in its order, in the colours of `theme`; one
/// that the page shows wide and narrow is wide.
///
/// # Errors
/// `ReportError`: no results, results that contradict themselves.
pub fn pictures(
    results: &[Results],
    options: &Options,
    theme: Theme,
) -> Result<Vec<Picture>, ReportError> {
    check(results)?;
    let runs = index::runs(results, options.language);
    let mut found = Vec::new();
    if runs.len() > 1 {
        for charts in page::charts_across(&runs) {
            found.extend(of_charts(&runs, "across-", &charts, theme));
        }
    }
    for (number, run) in runs.iter().enumerate() {
        let prefix = if runs.len() > 1 { format!("run-{}-", number + 1) } else { String::new() };
        for charts in page::charts_of(run) {
            found.extend(of_charts(std::slice::from_ref(run), &prefix, &charts, theme));
        }
    }
    let mut names = BTreeSet::new();
    for picture in &mut found {
        let plain = picture.name.clone();
        let mut number = 1;
        while !names.insert(picture.name.clone()) {
            number += 1;
            picture.name = format!("{plain}-{number}");
        }
    }
    Ok(found)
}

/// Returns the charts of one kind.
fn of_charts(runs: &[Run], prefix: &str, charts: &Charts, theme: Theme) -> Vec<Picture> {
    let words = runs[0].words;
    let legend = legend(runs, charts, words);
    let title = words.say(charts.title());
    let one = |chart: &super::charts::Chart| {
        let (name, title) = match chart.title.as_str() {
            "" => (charts.id().to_owned(), title.clone()),
            of => (format!("{}-{}", charts.id(), file_name(of)), format!("{title}: {of}")),
        };
        let svg = canvas::alone(&chart.svg, &title, &legend, theme);
        Picture { name: format!("{prefix}{name}"), title, svg }
    };
    charts.panels().iter().map(one).collect()
}

/// Returns the colours and the marks of `charts`, as far as their names are not in the drawing.
fn legend(runs: &[Run], charts: &Charts, words: &Words) -> Vec<(LegendEntry, String)> {
    let mut legend: Vec<(LegendEntry, String)> = Vec::new();
    if let Some(variants) = charts.variants() {
        legend.extend(variants.iter().map(|number| {
            let label = runs[0].results.variants[*number].label.clone();
            (LegendEntry::Line(runs[0].ink(*number)), label)
        }));
    }
    legend.extend(
        charts
            .keys(runs)
            .into_iter()
            .map(|(mark, text)| (LegendEntry::Sign(mark), words.say(text))),
    );
    legend
}

/// Returns `text` as part of a name of a file: letters of ASCII, digits and hyphens.
fn file_name(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars() {
        match character {
            _ if character.is_ascii_alphanumeric() => name.push(character.to_ascii_lowercase()),
            _ if !name.ends_with('-') && !name.is_empty() => name.push('-'),
            _ => {}
        }
    }
    name.truncate(60);
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("reads, cold cache (c-cold), read"), "reads-cold-cache-c-cold-read");
        assert_eq!(file_name("../ㄱ"), "");
    }
}
