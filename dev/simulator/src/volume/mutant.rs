//! Bugs that people have made in such programs, put in on purpose: a simulator that does not find
//! them finds nothing.

use super::disk::Bug;
use super::run::run;
use super::source::Source;

/// Every bug, with its name.
pub const BUGS: [(Bug, &str); 3] = [
    (Bug::PlaceBeforeLog, "overwrite in place before the log"),
    (Bug::EntriesBeforeData, "entries before data"),
    (Bug::RetriedSync, "a retried sync is believed"),
];

/// Returns the first seed below `seeds` that finds `bug` with requests of `source`, and what it
/// reports.
#[must_use]
pub fn found_by(bug: Bug, source: Source, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| {
        run(seed, source, Some(bug)).failures.into_iter().next().map(|failure| (seed, failure))
    })
}
