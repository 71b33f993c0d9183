//! What surrounds the figures in a report.

use crate::results::Against;

/// What surrounds the figures in a report.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title of the page; absent: made from what was measured.
    pub title: Option<String>,
    /// Names of the raw data files, relative to the report; absent: `results.json` and `results.csv` next to it for one
    /// run, none for several.
    pub raw_data: Option<Vec<String>>,
    /// Stores set against each other.
    pub against: Vec<Against>,
    /// What was planned and not measured, in words.
    pub missing: Vec<String>,
}
