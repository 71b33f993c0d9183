//! Our side: a workload of the table, run by our runner on a store of ours.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use sealstone_bench::measure::{Runner, Work};
use sealstone_bench::study::plan::Plan;
use sealstone_bench::workload::{Position, Workload, build};
use sealstone_store::OpenStore;
use serde::{Deserialize, Serialize};

/// Work of one run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the workload.
    pub workload: String,
    /// Records.
    pub records: u64,
    /// Operations, all threads together.
    pub operations: u64,
    /// Threads.
    pub threads: usize,
    /// Operations a second, all threads together; none: as many as possible.
    pub target: Option<u64>,
    /// Number of the run: each draws other keys.
    pub round: usize,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Operations done.
    pub operations: u64,
    /// Median latency in microseconds from the begin of an operation, which is how go-ycsb counts,
    /// by operation.
    pub p50_us: BTreeMap<String, f64>,
}

impl Job {
    /// Returns the workload.
    ///
    /// # Errors
    /// A name that is not in the table.
    pub fn workload(&self) -> Result<Box<dyn Workload>> {
        let (records, operations) = (vec![self.records], self.operations);
        let plan = Plan { records, operations, rounds: 1, ..Plan::default() };
        Ok(build(&plan.data(), &[&self.workload])?.remove(0))
    }

    /// Loads the records of `workload` into `store`.
    ///
    /// # Errors
    /// The store's error.
    pub fn load(&self, workload: &dyn Workload, store: &OpenStore) -> Result<()> {
        Ok(workload.load(store.target(), 0, 1, &|_| ())?)
    }

    /// Runs the operations of `workload` on `store`.
    ///
    /// # Errors
    /// The store's error.
    pub fn run(&self, workload: &dyn Workload, store: &OpenStore) -> Result<Outcome> {
        let client = |client| -> Work {
            let at = Position {
                variant: 0,
                round: self.round,
                slice: 0,
                slices: 1,
                client,
                clients: self.threads,
            };
            let share = at.share(workload.operations());
            vec![(workload.client(at), share.end - share.start)]
        };
        let work = (0..self.threads).map(client).collect();
        let target = self.target.map(|target| target as f64);
        let outcome = Runner::default().run_slice(store, work, target, &AtomicBool::new(false))?;
        if outcome.operations != self.operations {
            bail!("{} of {} operations were done", outcome.operations, self.operations);
        }
        let latencies = match target {
            Some(_) => outcome.latencies.service(),
            None => outcome.latencies.response(),
        };
        let p50_us =
            latencies.into_iter().map(|(operation, latency)| (operation, latency.p50_us)).collect();
        Ok(Outcome { operations: outcome.operations, p50_us })
    }
}
