//! The report: one self-contained HTML file, and the answer on one terminal screen.
//!
//! It shows what `Results` holds and judges nothing of its own.

mod axis;
mod canvas;
mod charts;
pub mod figures;
mod index;
mod page;
mod percentiles;
pub mod summary;
mod sweep;
mod tables;

use crate::results::{Against, Results};

const TEMPLATE: &str = "report.html";

/// What surrounds the figures in a report.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title of the page; absent: made from what was measured.
    pub title: Option<String>,
    /// Names of the raw data files, relative to the report; absent: `results.json` and `results.csv` beside it for
    /// one run, none for several.
    pub raw_data: Option<Vec<String>>,
    /// Stores set against each other.
    pub against: Vec<Against>,
}

/// Why no report could be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There are no results.
    #[error("no results to report on\nname the results.json of at least one comparison")]
    Empty,
    /// A result set contradicts itself.
    #[error("results of {run} are damaged: {what}\nuse the results.json as sealstone compare wrote it")]
    Damaged {
        /// Which run.
        run: String,
        /// What is wrong.
        what: String,
    },
    /// A chart could not be drawn.
    #[error("cannot draw a chart: {0}\nthis is a fault of Sealstone, please report it")]
    Drawing(String),
    /// The page could not be put together.
    #[error("cannot put the report together: {0}\nthis is a fault of Sealstone, please report it")]
    Template(#[from] minijinja::Error),
}

/// One HTML file for one run or several: no script, and nothing that is fetched from elsewhere.
///
/// # Errors
/// `ReportError`: no results, results that contradict themselves.
pub fn html(results: &[Results]) -> Result<String, ReportError> {
    html_with(results, &Options::default())
}

/// As `html`, with a title and the names of raw data files of the caller's choice.
///
/// # Errors
/// As `html`.
pub fn html_with(results: &[Results], options: &Options) -> Result<String, ReportError> {
    check(results)?;
    let mut templates = minijinja::Environment::new();
    // the name's ending turns on escaping
    templates.add_template(TEMPLATE, include_str!("../../templates/report.html"))?;
    let page = minijinja::value::Serde(page::Page::new(results, options)?);
    Ok(templates.get_template(TEMPLATE)?.render(page)?)
}

/// That there is something, and the indices of every run point at something.
fn check(results: &[Results]) -> Result<(), ReportError> {
    if results.is_empty() {
        return Err(ReportError::Empty);
    }
    for (run, name) in results.iter().zip(crate::merge::labels(results)) {
        if let Some(cell) = run.cells.iter().find(|cell| cell.variant >= run.variants.len()) {
            let what = format!("workload {} names variant {} of {}", cell.workload, cell.variant, run.variants.len());
            return Err(ReportError::Damaged { run: name, what });
        }
    }
    Ok(())
}
