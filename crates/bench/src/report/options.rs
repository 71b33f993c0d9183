//! Parts of a report that surround the figures.

use sealstone_message::Language;

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
    /// Set if the store is in the process of its client, where results do not say it.
    pub within_process: bool,
    /// Language of the page.
    pub language: Language,
}
