//! What the runner needs of a workload, and the table of workloads.

use std::sync::Arc;
use std::time::Instant;

use crate::store::{Store, StoreError, Table};

/// In what a workload's throughput is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations (or transactions) a second.
    Operations,
    /// Bytes of records a second.
    Bytes,
}

/// How a workload wants to be run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name in flags and reports, such as `a` or `batch-scan`.
    pub name: &'static str,
    /// One line for help and report.
    pub description: &'static str,
    /// In what its throughput is counted.
    pub unit: Unit,
    /// Workloads with the same data set share one loaded store: `ycsb`, `oltp`, `batch`.
    pub dataset: &'static str,
    /// Number of clients, where the workload itself fixes it (80 for `oltp`, 1 for the batches).
    pub clients: Option<usize>,
    /// Caches are dropped before every slice.
    pub cold: bool,
    /// Starts every round with an empty store (the workload is itself a load).
    pub from_empty: bool,
}

/// What one call of `Client::next` did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    /// Rows touched.
    pub rows: u64,
    /// Bytes of record values moved.
    pub bytes: u64,
}

/// Receives latencies. `start` is when the work began; with a target rate the recorder also counts from when the
/// operation was due.
pub trait Recorder {
    /// Records one operation called `operation` (`read`, `update`, `read-modify-write`, …) that began at `start`
    /// and ends now.
    fn record(&mut self, operation: &'static str, start: Instant);
}

/// A workload over one data set: it loads, and makes clients that run operations.
///
/// Its whole run is a function of the seed: every variant sees the same operations in the same round.
pub trait Workload: Send + Sync {
    /// How it wants to be run.
    fn spec(&self) -> &Spec;

    /// The tables it uses.
    fn tables(&self) -> &[Arc<Table>];

    /// Number of rows that loading writes, for progress.
    fn load_rows(&self) -> u64;

    /// Loads part `part` of `parts` of the data set into an empty store; parts may be loaded side by side.
    /// `progress` gets the number of rows written since its last call.
    ///
    /// # Errors
    /// What the store says.
    fn load(&self, store: &dyn Store, part: usize, parts: usize, progress: &dyn Fn(u64)) -> Result<(), StoreError>;

    /// Number of operations that one round runs, all clients together.
    fn operations(&self) -> u64;

    /// Makes client number `client` of `clients` for slice `slice` of `slices` of round `round`, running on
    /// variant number `variant`. Two variants get clients that do the same operations.
    /// State that must follow the store from slice to slice (how many records there are) is kept per variant.
    fn client(&self, at: Position) -> Box<dyn Client>;
}

/// Which client of which slice.
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

/// One client: one thread runs it.
pub trait Client: Send {
    /// Runs the next operation and records its latency.
    ///
    /// # Errors
    /// What the store says; the run then ends.
    fn next(&mut self, store: &dyn Store, recorder: &mut dyn Recorder) -> Result<Done, StoreError>;
}
