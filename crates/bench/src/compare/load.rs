//! Opening empty stores and loading data sets into them. Not here: stores that others loaded
//! (`machines`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::{CompareError, Comparison, Group, Halt, Stores};
use crate::compare::work_dir::{WorkDirError, remove_dir};
use crate::measure::progress::Phase;
use crate::measure::stop::Stoppable;
use crate::study::machine;
use crate::workload::Workload;
use sealstone_store::StoreError;

impl Comparison<'_> {
    /// Closes and removes what there is, and opens an empty store for every variant: the begin of
    /// another load.
    pub(super) fn open_fresh(&mut self, dataset: &str, stores: &mut Stores) -> Result<(), Halt> {
        stores.open.clear();
        stores.load = self.loads;
        self.loads += 1;
        for (workload, variant) in stores
            .workloads
            .iter()
            .flat_map(|one| (0..self.variants.len()).map(move |at| (one, at)))
        {
            workload.reloaded(variant);
        }
        stores.warm = false;
        stores.read_cold = false;
        for dir in &stores.dirs {
            remove_dir(dir)?;
            std::fs::create_dir_all(dir).map_err(|error| {
                let reason = format!("it cannot be created: {error}");
                CompareError::Directory(WorkDirError { dir: dir.clone(), reason })
            })?;
        }
        for (number, (variant, dir)) in self.variants.iter().zip(&stores.dirs).enumerate() {
            let store = self.engine.open(variant, dir, &stores.options);
            stores.open.push(
                store.map_err(self.failed(format!("opening a store for {dataset}"), number))?,
            );
        }
        Ok(())
    }

    /// Loads the data set into every store for the rounds from `round` on, which counts as a
    /// separate task in the time left, together with the other loads of it.
    pub(super) fn load(
        &mut self,
        group: &Group,
        stores: &mut Stores,
        round: usize,
    ) -> Result<(), Halt> {
        let task = self.load_tasks[group.dataset];
        let begin = Instant::now();
        let (before, loads) = self.loads_before(round);
        self.fill_stores(group.first(), stores, &|this, share| {
            let mut estimate = this.estimate();
            if share > 0.02 {
                estimate.expect(task, loads * begin.elapsed().as_secs_f64() / share);
            }
            estimate.done(task, (before + share) / loads);
        })
    }

    /// Reports that the stores of `group` are loaded for the rounds before `round`.
    pub(super) fn load_is_over(&self, group: &Group, round: usize) {
        let (before, loads) = self.loads_before(round);
        self.estimate().done(self.load_tasks[group.dataset], before / loads);
    }

    /// Returns the number of loads of a data set that the rounds before `round` take, and that of
    /// all rounds.
    fn loads_before(&self, round: usize) -> (f64, f64) {
        let loads = |rounds: usize| rounds.div_ceil(self.plan.load_every) as f64;
        (loads(round - self.rounds.start), loads(self.rounds.len()).max(1.0))
    }

    /// Loads the data set into every store, in parallel parts, and reports to `progress` what share
    /// of it is done.
    pub(super) fn fill_stores(
        &self,
        workload: &dyn Workload,
        stores: &Stores,
        progress: &(dyn Fn(&Self, f64) + Sync),
    ) -> Result<(), Halt> {
        let dataset = workload.spec().dataset;
        let parts = machine::cores().min(8);
        let rows = workload.load_rows();
        for (variant, store) in stores.open.iter().enumerate() {
            self.go_on()?;
            let stoppable = Stoppable::new(store.target(), self.stop);
            let loaded = AtomicU64::new(0);
            let progress = |written: u64| {
                let done = loaded.fetch_add(written, Ordering::Relaxed) + written;
                let share = (variant as f64 + done as f64 / rows.max(1) as f64)
                    / self.variants.len() as f64;
                progress(self, share);
                self.tell(Phase::Load, dataset, variant, 0, done.min(rows), rows);
            };
            let results: Vec<Result<(), StoreError>> = std::thread::scope(|scope| {
                let (target, progress) = (stoppable.target(), &progress);
                let threads: Vec<_> = (0..parts)
                    .map(|part| scope.spawn(move || workload.load(target, part, parts, progress)))
                    .collect();
                let joined = threads.into_iter().map(|thread| thread.join());
                joined
                    .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            });
            self.go_on()?;
            let loading = || format!("loading data set {dataset}");
            results
                .into_iter()
                .collect::<Result<(), _>>()
                .map_err(self.failed(loading(), variant))?;
            store.upkeep().merge_layers().map_err(self.failed(loading(), variant))?;
            store.upkeep().quiesce().map_err(self.failed(loading(), variant))?;
        }
        Ok(())
    }
}
