//! What the workloads of one comparison are made from: how much data, where its records come from, how many operations.

use std::path::PathBuf;

/// What workloads are made from.
#[derive(Clone, Debug)]
pub struct Data {
    /// Records in the YCSB data set.
    pub records: u64,
    /// CSV file to take records from, instead of YCSB's own.
    pub records_from: Option<PathBuf>,
    /// Bytes of record values for `oltp` and the batch workloads.
    pub bytes: u64,
    /// Operations in one pass, for workloads counted in operations.
    pub operations: u64,
    /// Rounds of the comparison.
    pub rounds: usize,
    /// Seed of every random draw.
    pub seed: u64,
}
