//! Data that the workloads of one comparison are made from: its amount, the source of its records,
//! and the number of operations.

use std::io::Read;
use std::path::{Path, PathBuf};

use sealstone_csv::Delimiter;
use sealstone_file::input;

use super::block_shape::BlockShape;
use super::definition::Definition;
use crate::words::share::Share;

/// Data that workloads are made from.
#[derive(Clone, Debug)]
pub struct Data {
    /// Records in the YCSB data set.
    pub records: u64,
    /// CSV file to take records from, instead of YCSB's own.
    pub records_from: Option<PathBuf>,
    /// Delimiter of its fields; if absent, it is detected.
    pub delimiter: Option<Delimiter>,
    /// Bytes of record values for the batch workloads, of which `oltp` takes an eighth, and of the
    /// blocks of a block device.
    pub bytes: u64,
    /// Operations in one pass, for workloads counted in operations.
    pub operations: u64,
    /// Shape of requests to block devices.
    pub block: BlockShape,
    /// Rounds of the comparison.
    pub rounds: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Workloads of the user's own.
    pub own: Vec<Definition>,
    /// Share of the client, among several, that inserts the records.
    pub share: Share,
}

impl Data {
    /// Estimates the bytes of values in a record: ten fields of 100 bytes, or what the CSV file has
    /// on average.
    #[must_use]
    pub fn record_bytes(&self) -> u64 {
        self.records_from.as_deref().and_then(csv_record_bytes).unwrap_or(1_000)
    }
}

/// Bytes of values in an average record of the CSV file `path`, from its first megabyte.
fn csv_record_bytes(path: &Path) -> Option<u64> {
    let mut head = Vec::new();
    input::open(path).ok()?.take(1 << 20).read_to_end(&mut head).ok()?;
    let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
    Some((head.len() as u64 / lines.max(1)).max(1))
}
