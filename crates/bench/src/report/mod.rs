//! The report: one self-contained HTML file, and the answer on one terminal screen.
//!
//! It shows the contents of `Results` and makes no judgement itself.
//!
//! Charts are SVG whose colours are classes of one style sheet (`canvas`), so both themes and a
//! standalone picture share them. A colour means a variant in every chart, table and run of a page
//! (`index`); verdicts are marks and words, parts of a bar are textures, and all else is grey.
//! Figures with one scale are one chart of all workloads; only curves are small panels.
//! Explanations that apply to several runs are given once (`footnotes`).

mod axis;
mod canvas;
mod charts;
mod conditions;
mod cross_tables;
mod curves;
mod error;
pub mod findings;
mod footnotes;
mod headline;
mod index;
pub mod junit;
mod language;
mod markdown;
mod one_page;
mod open_loop;
mod options;
mod overview;
mod page;
mod percentiles;
mod pictures;
mod places;
#[cfg(feature = "png")]
mod png;
mod requests;
mod speeds;
mod subjects;
pub mod summary;
mod sweep;
mod tables;
#[cfg(test)]
mod toy_verdict;

pub use canvas::Theme;
pub use error::ReportError;
pub use markdown::markdown;
pub use options::Options;
pub use pictures::{Picture, pictures};
#[cfg(feature = "png")]
pub use png::Pixels;
pub use speeds::{SpeedLine, SpeedPanel, speeds};

use language::words_in;
use sealstone_message::printable_lines;

use crate::results::Results;

const TEMPLATE: &str = "report.html";
const ONE_PAGE: &str = "one-page.html";
/// Name of the part that both begin with.
const HEAD: &str = "head.html";

/// Returns one HTML file for one run or several: nothing is fetched from elsewhere, and without its
/// few lines of script (which sort tables) the content is the same.
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
    filled(
        TEMPLATE,
        include_str!("../../templates/report.html"),
        page::Page::new(results, options),
        options,
    )
}

/// Returns one sheet of A4 for decision makers: which place keeps whom out, what the advised one
/// costs, what it leaves open, and what it takes.
///
/// # Errors
/// As `html`.
pub fn one_page(results: &[Results], options: &Options) -> Result<String, ReportError> {
    check(results)?;
    let page = one_page::OnePage::new(results, options);
    filled(ONE_PAGE, include_str!("../../templates/one-page.html"), page, options)
}

/// Fills `template` with `page`, put into the language of `options`.
fn filled(
    name: &'static str,
    template: &'static str,
    page: impl serde::Serialize,
    options: &Options,
) -> Result<String, ReportError> {
    let mut templates = minijinja::Environment::new();
    // the name's ending turns on escaping
    templates.add_template(HEAD, include_str!("../../templates/head.html"))?;
    templates.add_template(name, template)?;
    let words = words_in(options.language);
    let mut page = serde_json::to_value(page)?;
    words.say_all(&mut page);
    page["words"] = serde_json::to_value(words.texts().all())?;
    let page = minijinja::value::Serde(page);
    // characters that reverse the reading order do so on a page, too
    Ok(printable_lines(&templates.get_template(name)?.render(page)?).into_owned())
}

/// Checks that there are results, and that the indices of every run are valid.
fn check(results: &[Results]) -> Result<(), ReportError> {
    if results.is_empty() {
        return Err(ReportError::Empty);
    }
    for (run, name) in results.iter().zip(crate::compare::merge::labels(results)) {
        if let Some(cell) = run.cells.iter().find(|cell| cell.variant >= run.variants.len()) {
            let what = format!(
                "workload {} names variant {} of {}",
                cell.workload,
                cell.variant,
                run.variants.len()
            );
            return Err(ReportError::Damaged { run: name, what });
        }
    }
    Ok(())
}
