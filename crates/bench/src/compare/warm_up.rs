//! Preparation for measuring a workload: filled caches, its speed, and the division of its rounds.
//! Counts nothing.

use super::slices::work;
use super::{At, Comparison, Halt, Ready, Stores};
use crate::compare::duration::warm_up_s;
use crate::compare::summary::Measured;
use crate::measure::null_store::NullStore;
use crate::measure::progress::{Phase, SliceTimes};
use crate::measure::schedule::{Pace, Slicing, slicing};
use crate::results::Conditions;
use crate::workload::{Spec, Unit, Workload};
use sealstone_store::{OpenStore, Record, Target};

impl<'a> Comparison<'a> {
    /// Runs the workload without counting, finds out how fast it is, and cuts its rounds into
    /// slices.
    pub(super) fn warm_up(
        &mut self,
        number: usize,
        workload: &'a dyn Workload,
        stores: &mut Stores<'a>,
    ) -> Result<Ready<'a>, Halt> {
        let spec = workload.spec();
        if spec.from_empty {
            self.open_fresh(spec.dataset, stores)?;
        } else if !spec.cold {
            self.fill_caches(workload, stores)?;
        }
        let first_pass = self.find_clients(workload, stores)?;
        let (clients, peak) = (self.clients(workload), self.is_peak(workload));
        let most_slices =
            usize::try_from(workload.operations() / clients as u64).unwrap_or(usize::MAX).max(1);
        let generator_cpu_s = self.generator_cpu_s(workload);
        let (mut passes_s, mut next_pass) = self.time_pass(number, workload, stores, first_pass)?;
        let joinable = !spec.from_empty && !spec.cold;
        let (round_slices, slice_s) = (self.plan.pairs, self.slice_s(spec));
        let cut = |pass_s| slicing(Pace { pass_s, slice_s, round_slices, most_slices, joinable });
        let mut slicing = cut(fastest(&passes_s));
        if slicing.passes > 1 {
            // much of so short a pass was the start of its clients; joined ones show its own speed
            let at = At { pass: next_pass, passes: slicing.passes, slice: 0, slices: 1 };
            for (variant, pass_s) in passes_s.iter_mut().enumerate() {
                let (outcome, _) = self.slice(workload, stores, variant, at)?;
                *pass_s = outcome.elapsed_s / at.passes as f64;
            }
            next_pass += at.passes;
            slicing = cut(fastest(&passes_s));
        }
        let slice_of = |pass_s: f64| pass_s * slicing.passes as f64 / slicing.slices as f64;
        let found_s = slice_of(fastest(&passes_s));
        if found_s < slice_s / 2.0 {
            self.warn(format!(
                "{}: slices of {:.0} ms are shorter than the {:.0} ms wanted; more records or \
                 bytes would narrow its intervals",
                spec.name,
                found_s * 1e3,
                slice_s * 1e3
            ));
        }
        // the reads of the first slices must not prepare the measured slices
        stores.read_cold |= spec.cold;
        let variants = self.variants.len();
        for variant in 0..variants {
            let cell = Measured::new(variant, number, spec.clone(), clients);
            let conditions = Conditions {
                setting: spec.setting,
                cache_bytes: stores.options.cache_bytes,
                data_bytes: workload.data_bytes(),
                synced: stores.options.sync_writes,
            };
            let has_servers = !stores.open[variant].upkeep().servers().is_empty();
            let cell = Measured { generator_cpu_s, conditions, peak, has_servers, ..cell };
            let cell = match self.earlier(spec.name, variant) {
                Some(earlier) => cell.after(earlier),
                None => cell,
            };
            self.measured.push(cell);
        }
        let blocks = slicing.round_slices() * self.rounds.len();
        let task = self.run_tasks[&number];
        // loading again takes about as long as reading
        let around = if spec.cold { 2.0 } else { 1.1 };
        let expected_s = passes_s.into_iter().enumerate().map(|(variant, pass_s)| {
            stores.open[variant].upkeep().lead_in().as_secs_f64() + around * slice_of(pass_s)
        });
        let times = SliceTimes::new(expected_s.collect(), blocks);
        self.estimate().expect(task, times.all_s());
        Ok(Ready { number, workload, slicing, next_pass, task, times })
    }

    /// Runs one slice of `ready` on every variant without counting, after its stores were loaded
    /// again: the first slice would be slower for unrelated reasons.
    pub(super) fn settle_in(&mut self, ready: &mut Ready, stores: &mut Stores) -> Result<(), Halt> {
        let spec = ready.workload.spec();
        if spec.cold || spec.from_empty {
            return Ok(());
        }
        self.fill_caches(ready.workload, stores)?;
        let Slicing { slices, passes, .. } = ready.slicing;
        let at = At { pass: ready.next_pass, passes, slice: 0, slices };
        for variant in 0..self.variants.len() {
            self.tell_in_turn(Phase::WarmUp, spec.name, variant);
            self.slice(ready.workload, stores, variant, at)?;
        }
        ready.next_pass += passes;
        Ok(())
    }

    /// Returns the intended length of a slice of a workload, in seconds: if it begins with an empty
    /// store or cold caches, long enough to be more than its beginning.
    fn slice_s(&self, spec: &Spec) -> f64 {
        let slice_s = self.plan.slice_ms as f64 / 1e3;
        if spec.from_empty || spec.cold { 2.0 * slice_s } else { slice_s }
    }

    /// Runs parts of passes from `first_pass` on for the time of a few slices, the same parts on
    /// every variant. Returns how long a whole pass takes on each, in seconds, and the number of
    /// the first pass that was not begun.
    fn time_pass(
        &mut self,
        number: usize,
        workload: &dyn Workload,
        stores: &mut Stores,
        first_pass: usize,
    ) -> Result<(Vec<f64>, usize), Halt> {
        // enough operations to be more than the start of their clients
        const PART_OPERATIONS: u64 = 1_000;
        const MOST_PARTS: usize = 1_000;
        let spec = workload.spec();
        let enough_s = warm_up_s(self.plan);
        let part_operations = match spec.unit {
            Unit::Operations => PART_OPERATIONS.max(self.clients(workload) as u64),
            // each of them is a long one
            Unit::Bytes => self.clients(workload) as u64,
        };
        // a load is run whole, because others build on what it leaves
        let slices = if spec.from_empty {
            1
        } else {
            (workload.operations() / part_operations).clamp(1, 64) as usize
        };
        let mut passes_s = Vec::new();
        let mut parts = 0;
        for variant in 0..self.variants.len() {
            let mut elapsed_s = 0.0;
            let mut part = 0;
            loop {
                self.tell_in_turn(Phase::WarmUp, spec.name, variant);
                let at = At {
                    pass: first_pass + part / slices,
                    passes: 1,
                    slice: part % slices,
                    slices,
                };
                let outcome = self.unsettled_slice(workload, stores, variant, at)?;
                elapsed_s += outcome.elapsed_s;
                part += 1;
                // every variant does what the first one did, so that all stores continue from the
                // same state
                let enough = if variant == 0 {
                    elapsed_s >= enough_s || part == MOST_PARTS
                } else {
                    part == parts
                };
                if enough || spec.from_empty {
                    break;
                }
            }
            // once for all of them: for a server this takes longer than they do
            let failed = self.failed(format!("workload {}", spec.name), variant);
            stores.open[variant].upkeep().quiesce().map_err(failed)?;
            parts = part;
            let share = (variant + 1) as f64 / self.variants.len() as f64;
            self.estimate().done(self.warm_up_tasks[&number], share);
            passes_s.push(elapsed_s / part as f64 * slices as f64);
        }
        Ok((passes_s, first_pass + parts.div_ceil(slices)))
    }

    /// Reads everything once, as far as the caches hold it.
    pub(super) fn fill_caches(
        &self,
        workload: &dyn Workload,
        stores: &mut Stores,
    ) -> Result<(), Halt> {
        const STRIDE: usize = 4_096;
        if stores.warm || stores.options.cache_bytes < workload.data_bytes() {
            return Ok(());
        }
        if let Some(cache_bytes) = self.plan.cache {
            // values alone are far less than what a store with named fields keeps
            for (variant, store) in stores.open.iter().enumerate() {
                let failed = self.failed("looking at the files".into(), variant);
                let member_bytes =
                    store.upkeep().disk_bytes().map_err(failed)? / self.plan.point().members as u64;
                if cache_bytes < member_bytes {
                    return Ok(());
                }
            }
        }
        for (variant, store) in stores.open.iter().enumerate() {
            self.tell_in_turn(Phase::WarmUp, workload.spec().name, variant);
            let Target::Records(records) = store.target() else { continue };
            for table in &stores.options.tables {
                let mut next = Vec::new();
                loop {
                    self.go_on()?;
                    let mut last = Vec::new();
                    let mut keep_last = |key: &[u8], _: &Record| {
                        last.clear();
                        last.extend_from_slice(key);
                    };
                    let failed = self.failed(format!("reading table {}", table.name), variant);
                    let count =
                        records.scan(table, &next, STRIDE, &mut keep_last).map_err(failed)?;
                    if count < STRIDE {
                        break;
                    }
                    // the smallest key after the last one
                    last.push(0);
                    next = last;
                }
            }
        }
        stores.warm = true;
        Ok(())
    }

    /// Returns the CPU seconds that the load generator itself takes for one operation, where that
    /// can be found out.
    pub(super) fn generator_cpu_s(&mut self, workload: &dyn Workload) -> Option<f64> {
        const OPERATIONS: u64 = 20_000;
        let spec = workload.spec();
        if spec.cold || spec.from_empty || workload.pauses() {
            return None;
        }
        let store = OpenStore::records(NullStore::new());
        let rows = usize::try_from(workload.load_rows()).ok()?.max(1);
        workload.load(store.target(), 0, rows.div_ceil(1_000), &|_| {}).ok()?;
        let clients = self.clients(workload);
        let operations = workload.operations();
        let slices = usize::try_from(operations / OPERATIONS.max(clients as u64)).ok()?.max(1);
        let at = At { pass: 0, passes: 1, slice: 0, slices };
        let work = work(workload, self.variants.len(), at, clients, None);
        self.runner.until = None;
        let outcome = self.runner.run_slice(&store, work, None, self.stop).ok()?;
        (outcome.operations > 0).then(|| outcome.cpu.total_s() / outcome.operations as f64)
    }
}

/// Returns the shortest of `seconds`.
fn fastest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}
