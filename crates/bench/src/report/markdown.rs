//! The answer as Markdown, for tickets, pull requests and wikis.

use std::iter::once;

use sealstone_message::printable;

use super::index::Run;
use super::{conditions, open_loop, page, places, tables};
use crate::compare::forecast;
use crate::conclude::figures;
use crate::conclude::sustained_rate::sustained;
use crate::results::{Ranked, Results};

/// Returns the answer, a table of every variant and workload, and the facts needed to trust it.
/// Ends with a newline.
///
/// - `title`: heading of the run; absent: none
#[must_use]
pub fn markdown(results: &Results, title: Option<&str>) -> String {
    let run = Run::new(results, results.machine.label.clone());
    let recommendation = &results.recommendation;
    let mut text = String::new();
    if let Some(title) = title {
        text.push_str(&format!("## {}\n\n", escaped(title)));
    }
    text.push_str(&format!("**{}**\n\n", escaped(&recommendation.answer)));
    for line in recommendation.consequences() {
        text.push_str(&format!("- {}\n", escaped(&line)));
    }
    text.push('\n');
    let sealed: Vec<usize> =
        (0..results.variants.len()).filter(|at| Some(*at) != run.baseline).collect();
    let mut heads = vec!["workload".to_owned()];
    heads
        .extend(run.baseline.iter().chain(&sealed).map(|at| escaped(&results.variants[*at].label)));
    text.push_str(&format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len())));
    let is_rate = run.rate().is_some();
    if is_rate {
        let order: Vec<usize> =
            run.baseline.iter().copied().chain(sealed.iter().copied()).collect();
        for row in open_loop::markdown_rows(&run, &order) {
            let row: Vec<String> = row.iter().map(|entry| escaped(entry)).collect();
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
    }
    for workload in run.workloads.iter().filter(|_| !is_rate) {
        let mut row = vec![escaped(workload)];
        if let Some(baseline) = run.baseline {
            row.push(run.cell(workload, baseline).map_or("–".into(), |cell| {
                let rate = sustained(cell).map_or(Some(cell.throughput), |found| found.rate_per_s);
                rate.map_or("–".into(), |per_s| figures::rate(per_s, cell.unit))
            }));
        }
        row.extend(sealed.iter().map(|at| {
            match run.cell(workload, *at).and_then(|cell| cell.overhead.as_ref()) {
                Some(overhead) => escaped(&overhead.words),
                None => "–".into(),
            }
        }));
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    let overall = |at: &usize| {
        let of = |ranked: &&Ranked| ranked.label == results.variants[*at].label;
        let overhead =
            recommendation.ranking.iter().find(of).and_then(|ranked| ranked.overhead.as_ref());
        overhead.map_or("–".into(), |overhead| escaped(&overhead.words))
    };
    if !is_rate && !recommendation.ranking.is_empty() {
        let start = once("all workloads".to_owned()).chain(run.baseline.map(|_| String::new()));
        let row: Vec<String> = start.chain(sealed.iter().map(overall)).collect();
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    if let Some(coverage) = places::coverage(&run) {
        text.push_str(&places::markdown(coverage, escaped));
    }
    for sentence in conditions::sentences(&run) {
        text.push_str(&format!("\n{}\n", escaped(&sentence)));
    }
    text.push_str(&format!(
        "\n{} on {}; Sealstone {}, {}. What the words mean: docs/method.md.\n",
        escaped(&results.engine.name_and_version()),
        escaped(&results.machine.label),
        escaped(&results.version),
        figures::moment(&results.started_at)
    ));
    // only these tables show medians
    let gaps = if is_rate { tables::median_gaps(&run) } else { Vec::new() };
    let more = forecast::sentence(results);
    let notes = gaps.iter().chain(&recommendation.open_questions).chain(&more);
    let warnings = page::warnings(results);
    let notes = notes.chain(&recommendation.warnings).chain(&warnings);
    let notes: Vec<String> = notes.map(|note| format!("- {}\n", escaped(note))).collect();
    if !notes.is_empty() {
        text.push_str(&format!("\n{}", notes.concat()));
    }
    text
}

/// Returns `text` without what Markdown or a table would take for its own, and on one line.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(&text.replace(['\n', '\r', '\t'], " ")).chars() {
        match character {
            '\\' | '`' | '*' | '_' | '|' | '<' | '>' | '[' | ']' | '#' => {
                escaped.extend(['\\', character])
            }
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cell, comparison};

    #[test]
    fn the_answer_is_first_and_nothing_breaks_the_table() {
        let slices = |ratio: f64| vec![ratio; 12];
        let cells = vec![cell(0, "a", &slices(1.0)), cell(1, "a", &slices(0.9))];
        let mut results = comparison(&["none", "aes-256"], cells).runs().remove(0);
        results.recommendation.answer = "take aes-256".into();
        results.cells[1].overhead.as_mut().unwrap().words = "costs 10.0 % | *more* <b>".into();
        let text = markdown(&results, Some("a | b"));
        assert!(text.starts_with("## a \\| b\n\n**take aes-256**\n\n"), "{text}");
        assert!(
            text.contains(
                "| workload | none | aes-256 |\n|---|---|---|\n| a | 1.00 k ops/s | costs 10.0 % \
                 \\| \\*more\\* \\<b\\> |\n"
            ),
            "{text}"
        );
    }
}
