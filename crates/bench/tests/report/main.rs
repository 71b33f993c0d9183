//! The report and the terminal summary over made-up results of many shapes: well-formed,
//! self-contained, complete, safe against hostile names, and within the width of a terminal.

mod content;
mod drawing;
mod files;
mod first_screen;
#[path = "../fixtures/mod.rs"]
mod fixtures;
mod korean;
mod one_page;
mod page;
mod studies;
mod summary;

use scraper::{ElementRef, Html, Selector};
use sealstone_bench::compare::groups;
use sealstone_bench::report;
use sealstone_bench::results::{Comparison, Results};

/// Returns every shape of results, by name.
pub(crate) fn shapes() -> Vec<(&'static str, Vec<Results>)> {
    vec![
        ("ordinary", vec![fixtures::ordinary()]),
        ("alone", vec![fixtures::alone()]),
        ("large", vec![fixtures::large()]),
        ("interrupted", vec![fixtures::interrupted()]),
        ("undecided", vec![fixtures::undecided()]),
        ("places", vec![fixtures::places()]),
        ("places twice", vec![fixtures::places(), fixtures::places()]),
        ("two machines", fixtures::two_machines()),
        ("same machine twice", vec![fixtures::ordinary(), fixtures::ordinary()]),
        ("korean", vec![fixtures::korean()]),
        ("extreme", vec![fixtures::extreme()]),
        ("hostile", vec![fixtures::hostile()]),
        ("hostile twice", vec![fixtures::hostile(), fixtures::hostile()]),
        ("nothing measured", vec![nothing_measured()]),
    ]
}

/// Returns results that ended before the first slice.
pub(crate) fn nothing_measured() -> Results {
    let mut results = fixtures::interrupted();
    results.cells.clear();
    results.recommendation = Default::default();
    results
}

pub(crate) fn html(results: &[Results]) -> String {
    report::html(results).unwrap()
}

pub(crate) fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

pub(crate) fn text(element: &ElementRef) -> String {
    element.text().collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn whole_text(page: &Html) -> String {
    text(&select(page, "body")[0])
}

/// Returns the drawings of a page, unchanged.
pub(crate) fn drawings(html: &str) -> Vec<&str> {
    html.match_indices("<svg class=\"chart\"")
        .map(|(from, _)| &html[from..from + html[from..].find("</svg>").unwrap() + 6])
        .collect()
}

/// Returns `results` at another point of the axes.
pub(crate) fn at(mut results: Results, store: &str, clients: usize) -> Results {
    (results.plan.store, results.plan.threads) = (vec![store.into()], vec![clients]);
    results.engine.name = store.into();
    for cell in &mut results.cells {
        cell.clients = clients;
        for sample in &mut cell.samples {
            sample.elapsed_s /= if store == "rocksdb" { 1.0 } else { 0.5 };
        }
    }
    results
}

/// Returns `results` with the conclusions and the advice that follow from their samples.
pub(crate) fn judged(results: Results) -> Results {
    let mut comparison = comparison(results);
    groups::judge_again(&mut comparison);
    comparison.runs().remove(0)
}

/// Returns a comparison of one group.
pub(crate) fn comparison(results: Results) -> Comparison {
    groups::comparison(&results.plan.clone(), vec![results])
}
