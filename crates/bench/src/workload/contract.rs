//! Interface of a workload for the runner: its specification, its loading, and clients that run
//! operations.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use sealstone_store::{StoreError, Table, Target};

use super::data::Data;
use super::name_pool::intern;
use super::setting::Setting;

/// In what a workload's throughput is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations (or transactions) a second.
    Operations,
    /// Bytes of records a second.
    Bytes,
}

/// Description of how a workload must be run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name in flags and reports, such as `a`, `c-cold` or `batch-scan`.
    pub name: &'static str,
    /// Its name without the setting: its demands on a store are the same under each.
    pub base: &'static str,
    /// Cache and durability.
    pub setting: Setting,
    /// The settings besides the usual one under which it can run: reads that a cache could answer
    /// can be cold, writes through the log can be synced.
    pub settings: &'static [Setting],
    /// Label in a few words, without its setting: `reads`, `bulk load`; empty for one of the user's
    /// own, whose name shows it.
    pub label: &'static str,
    /// One line for help and report.
    pub description: &'static str,
    /// In what its throughput is counted.
    pub unit: Unit,
    /// Workloads with the same data set share one loaded store: `ycsb`, `oltp`, `batch`.
    pub dataset: &'static str,
    /// Number of clients, if the workload itself fixes it (80 for `oltp`, 1 for the batches).
    pub clients: Option<usize>,
    /// Set when it runs on a block device, and not on records.
    pub device: bool,
    /// Caches are dropped before every slice, and the stores are loaded again before every pass
    /// over the data, not just before every round; so it may share its data set only with workloads
    /// that leave it unchanged.
    pub cold: bool,
    /// Starts every round with an empty store (the workload is itself a load).
    pub from_empty: bool,
    /// Setting that determines how much data it has.
    pub sized_by: SizedBy,
    /// The least share of look-ups that the cache must answer for the workload to be what it is
    /// meant to be, 0 to 1; the report warns of less. 0 where any share will do.
    pub cache_hits_min: f64,
    /// Set when it compares the values that it reads with the values that it wrote, so that a store
    /// must return them.
    pub checks_values: bool,
    /// Remark that a reader needs to take its figures for what they are, in one line of help and
    /// report.
    pub remark: Option<&'static str>,
}

impl Spec {
    /// Returns the same under `setting`, with its own stores and state.
    pub(super) fn under(&'static self, setting: Setting) -> Self {
        let cache_hits_min = if setting == Setting::Cold { 0.0 } else { self.cache_hits_min };
        Self {
            name: intern(&setting.named(self.name)),
            dataset: intern(&setting.named(self.dataset)),
            setting,
            cache_hits_min,
            ..self.clone()
        }
    }

    /// Returns what readers know it by, with its name: `reads, cold cache (c-cold)`; the name alone
    /// for one of the user's own under its usual setting.
    #[must_use]
    pub fn called(&self) -> String {
        let label = if self.label.is_empty() { self.base } else { self.label };
        match (self.setting.label(), label == self.name) {
            ("", true) => label.to_owned(),
            ("", false) => format!("{label} ({})", self.name),
            (setting, _) => format!("{label}, {setting} ({})", self.name),
        }
    }
}

/// Setting that determines how much data a workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizedBy {
    /// The number of records.
    Records,
    /// The number of records that are not YCSB's.
    RecordsOf {
        /// Bytes of values in one, about.
        record_bytes: u64,
    },
    /// Bytes of record values.
    Bytes,
    /// An eighth of the bytes of record values: rows so small that as many bytes would take many
    /// times as long to load and to read.
    EighthOfBytes,
}

impl SizedBy {
    /// Estimates the bytes that a store loaded from `data` takes.
    #[must_use]
    pub fn stored_bytes(self, data: &Data) -> u64 {
        let with_keys = |bytes: u64| bytes.saturating_add(bytes / 5);
        match self {
            // a key of about 23 bytes, and the lengths of ten fields
            Self::Records => data.records.saturating_mul(data.record_bytes() + 60),
            Self::RecordsOf { record_bytes } => data.records.saturating_mul(record_bytes + 60),
            Self::Bytes => with_keys(data.bytes),
            Self::EighthOfBytes => with_keys(eighth(data.bytes)),
        }
    }
}

/// Returns an eighth of `bytes`, and 100 kB at least.
pub(super) fn eighth(bytes: u64) -> u64 {
    const LEAST: u64 = 100_000;
    (bytes / 8).max(LEAST)
}

/// Outcome of one call of `Client::next`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Rows touched.
    pub rows: u64,
    /// Bytes of record values moved.
    pub bytes: u64,
}

/// Receives latencies. `start` is when the work began; with a target rate the recorder also counts
/// from when the operation was due.
pub trait Recorder {
    /// Records one operation called `operation` (`read`, `update`, `read-modify-write`, …) that
    /// began at `start` and ends now.
    fn record(&mut self, operation: &'static str, start: Instant);
}

/// A workload over one data set: it loads, and makes clients that run operations.
///
/// Its whole run is a function of the seed: every variant sees the same operations in the same
/// round.
pub trait Workload: Send + Sync {
    /// Returns how it must be run.
    fn spec(&self) -> &Spec;

    /// Returns the tables it uses.
    fn tables(&self) -> &[Arc<Table>];

    /// Returns the number of rows that loading writes, for progress.
    fn load_rows(&self) -> u64;

    /// Loads part `part` of `parts` of the data set into an empty store; parts may be loaded side
    /// by side. `progress` gets the number of rows written since its last call.
    ///
    /// # Errors
    /// The store's error.
    fn load(
        &self,
        target: Target<'_>,
        part: usize,
        parts: usize,
        progress: &dyn Fn(u64),
    ) -> Result<(), StoreError>;

    /// Returns the approximate bytes of record values that loading stores, by which a cache is
    /// sized; 0 where that is unknown.
    fn data_bytes(&self) -> u64 {
        0
    }

    /// Returns the number of operations that one round runs, all slices and clients together. A
    /// client runs its [`Position::share`].
    fn operations(&self) -> u64;

    /// Returns whether clients pause between operations, so that their time is no measure of the
    /// work.
    fn pauses(&self) -> bool {
        false
    }

    /// Makes client number `client` of `clients` for slice `slice` of `slices` of round `round`,
    /// running on variant number `variant`. Two variants get clients that do the same operations.
    /// State that must follow the store from slice to slice (how many records there are) is kept
    /// per variant.
    fn client(&self, at: Position) -> Box<dyn Client>;

    /// Resets the records kept of the store of `variant`, which was emptied and is about to be
    /// loaded again.
    fn reloaded(&self, _variant: usize) {}

    /// Checks, after clients have run and while none is running, that the store still holds what
    /// the workload must have left there. Reads the whole data set.
    ///
    /// # Errors
    /// An inconsistency, or the store's error.
    fn check(&self, _target: Target<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Identity of a client and its slice.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// Variant number within the comparison.
    pub variant: usize,
    /// Round, from 0.
    pub round: usize,
    /// Slice within the round, from 0.
    pub slice: usize,
    /// Slices in a round.
    pub slices: usize,
    /// Client, from 0.
    pub client: usize,
    /// Clients in this slice.
    pub clients: usize,
}

impl Position {
    /// Returns the operations this client runs, out of `total` in a round: slices divide the round,
    /// clients divide the slice.
    pub fn share(&self, total: u64) -> Range<u64> {
        let slice = split(total, self.slice, self.slices);
        let share = split(slice.end - slice.start, self.client, self.clients);
        slice.start + share.start..slice.start + share.end
    }
}

/// Returns part `part` of `parts` of the numbers below `total`: contiguous, in order, and equal to
/// within one.
pub fn split(total: u64, part: usize, parts: usize) -> Range<u64> {
    let bound = |part: usize| (u128::from(total) * part as u128 / parts.max(1) as u128) as u64;
    bound(part)..bound(part + 1)
}

/// One client: one thread runs it.
pub trait Client: Send {
    /// Runs the next operation and records its latency.
    ///
    /// # Errors
    /// The store's error; the run then ends.
    fn next(&mut self, target: Target<'_>, recorder: &mut dyn Recorder)
    -> Result<Done, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_contiguous_and_equal_but_for_one() {
        for (total, parts) in [(0, 3), (2, 5), (10, 3), (100, 7), (1 << 50, 9)] {
            let mut next = 0;
            for part in 0..parts {
                let range = split(total, part, parts);
                assert_eq!(range.start, next);
                assert!(
                    (total / parts as u64..=total.div_ceil(parts as u64))
                        .contains(&(range.end - range.start))
                );
                next = range.end;
            }
            assert_eq!(next, total);
        }
    }

    #[test]
    fn shares_of_all_slices_and_clients_make_up_the_round() {
        let mut next = 0;
        for slice in 0..3 {
            for client in 0..4 {
                let at = Position { variant: 0, round: 0, slice, slices: 3, client, clients: 4 };
                let share = at.share(1_003);
                assert_eq!(share.start, next);
                next = share.end;
            }
        }
        assert_eq!(next, 1_003);
    }
}
