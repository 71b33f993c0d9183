//! Parts of a report that surround the figures.

use sealstone_message::Language;

use super::index::Run;
use crate::results::Against;

/// Parts of a report that surround the figures.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Title of the page; absent: made from the measured items.
    pub title: Option<String>,
    /// Names of the raw data files, relative to the report; absent: `results.json` and
    /// `results.csv` next to it for one run, none for several.
    pub raw_data: Option<Vec<String>>,
    /// Stores set against each other.
    pub against: Vec<Against>,
    /// Planned measurements that were not made, in words.
    pub missing: Vec<String>,
    /// Names of the stores that are in the process of their client, where results do not say it.
    pub within_process: Vec<String>,
    /// Language of the page.
    pub language: Language,
}

impl Options {
    /// Returns whether the store of `run` is in the process of its client, as far as `self`
    /// records.
    pub(super) fn is_within_process(&self, run: &Run) -> bool {
        self.within_process.contains(&run.results.plan.point().store)
    }
}
