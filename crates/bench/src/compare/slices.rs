//! One slice of a workload on one variant: its clients, and its counts.

use std::collections::BTreeMap;
use std::time::Instant;

use super::{At, CompareError, Comparison, Halt, Stores};
use crate::measure::cpu_time::CpuTime;
use crate::measure::failures;
use crate::measure::runner::{RunError, SliceOutcome, Work};
use crate::results::Sample;
use crate::words::share::Share;
use crate::workload::{Position, Unit, Workload};
use sealstone_store::StoreError;

impl Comparison<'_> {
    /// Runs one slice, after which the store may have work to do.
    pub(super) fn unsettled_slice(
        &mut self,
        workload: &dyn Workload,
        stores: &mut Stores,
        variant: usize,
        at: At,
    ) -> Result<SliceOutcome, Halt> {
        self.go_on()?;
        let spec = workload.spec();
        let doing = || format!("workload {}", spec.name);
        let store = &stores.open[variant];
        if spec.cold {
            stores.warm = false;
            store.upkeep().drop_caches().map_err(self.failed(doing(), variant))?;
        }
        let work = work(workload, variant, at, self.clients(workload), self.share);
        let failed = self.failures.values().flat_map(BTreeMap::values).sum::<u64>();
        // an operation that a batch leaves out affects everything after it
        let may_fail = spec.unit == Unit::Operations;
        self.runner.allowed =
            if may_fail { self.plan.max_errors.saturating_sub(failed) } else { 0 };
        let ended = self.runner.run_slice(store, work, self.rate_per_s, self.stop);
        failures::add(self.failures.entry((spec.name, variant)).or_default(), &self.runner.failed);
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(RunError::Store(source)) => {
                let doing = match (self.plan.max_errors, &source) {
                    (most @ 1.., StoreError::Engine(_)) if may_fail => {
                        format!("{}, one operation more than the {most} that may fail,", doing())
                    }
                    _ => doing(),
                };
                return Err(self.failed(doing, variant)(source));
            }
            Err(source) => {
                return Err(CompareError::Run { workload: spec.name.into(), source }.into());
            }
        };
        if outcome.interrupted {
            return Err(Halt::Stopped);
        }
        // written data reaches new files sooner or later, none of which is in the cache
        let counters = outcome.counters;
        let few_misses = 20 * counters.cache_misses <= counters.cache_hits + counters.cache_misses;
        stores.warm &= few_misses && counters.written_bytes == 0;
        Ok(outcome)
    }

    /// Runs the requests of a slice, again and again, for as long as the store's connections take
    /// to find their pace after a pause. Several machines do without it: their slices begin by the
    /// clock.
    fn lead_in(
        &mut self,
        workload: &dyn Workload,
        stores: &mut Stores,
        variant: usize,
        at: At,
    ) -> Result<(), Halt> {
        let lead_in = stores.open[variant].upkeep().lead_in();
        if lead_in.is_zero() || self.share.is_some() {
            return Ok(());
        }
        let before = self.runner.until.replace(Instant::now() + lead_in);
        let mut led = Ok(());
        while led.is_ok() && self.runner.until.is_some_and(|until| Instant::now() < until) {
            led = self.unsettled_slice(workload, stores, variant, at).map(drop);
        }
        self.runner.until = before;
        led
    }

    /// Runs one slice, then lets the store settle, so that its background work does not affect
    /// another slice.
    pub(super) fn slice(
        &mut self,
        workload: &dyn Workload,
        stores: &mut Stores,
        variant: usize,
        at: At,
    ) -> Result<(SliceOutcome, Sample), Halt> {
        self.lead_in(workload, stores, variant, at)?;
        let before = stores.open[variant].counters();
        let outcome = self.unsettled_slice(workload, stores, variant, at)?;
        let doing = || format!("workload {}", workload.spec().name);
        let store = &stores.open[variant];
        let servers = store.upkeep().servers();
        let cpu = CpuTime::with(&servers);
        // several clients do not wait for what the servers do for others
        if self.share.is_none() {
            store.upkeep().quiesce().map_err(self.failed(doing(), variant))?;
        }
        let settle_cpu_s = CpuTime::with(&servers).since(cpu).total_s();
        let all = store.counters().since(before);
        let within = outcome.counters;
        let sample = Sample {
            round: 0,
            slice: 0,
            load: stores.load,
            operations: outcome.operations,
            rows: outcome.done.rows,
            bytes: outcome.done.bytes,
            elapsed_s: outcome.elapsed_s,
            cpu_user_s: outcome.cpu.user_s,
            cpu_system_s: outcome.cpu.system_s,
            servers_cpu_s: outcome.servers_cpu.total_s(),
            cipher_cpu_s: within.cipher_cpu_s,
            io_cpu_s: within.io_cpu_s,
            io_wall_s: within.io_wall_s,
            settle_cpu_s,
            syncs: within.syncs,
            sync_wall_s: within.sync_wall_s,
            client_wall_s: outcome.threads.wall_s,
            client_cpu_s: outcome.threads.cpu_s,
            client_sleeps: outcome.threads.sleeps,
            read_bytes: all.read_bytes,
            written_bytes: all.written_bytes,
            encrypted_bytes: all.encrypted_bytes,
            decrypted_bytes: all.decrypted_bytes,
            cache_hits: within.cache_hits,
            cache_misses: within.cache_misses,
            kept_per_s: outcome.kept_per_s,
            queued_s: outcome.threads.queued_s,
        };
        Ok((outcome, sample))
    }
}

/// Returns the clients of one slice, each with its share of the operations. Where several machines
/// have clients, each has as many operations as the time allows.
pub(super) fn work(
    workload: &dyn Workload,
    variant: usize,
    at: At,
    clients: usize,
    share: Option<Share>,
) -> Vec<Work> {
    let operations = if share.is_some() { u64::MAX } else { workload.operations() };
    let Share { number, of } = share.unwrap_or(Share::ALONE);
    let clients_of = |client| {
        (at.pass..at.pass + at.passes).map(move |round| {
            let (client, clients) = ((number - 1) * clients + client, of * clients);
            let place =
                Position { variant, round, slice: at.slice, slices: at.slices, client, clients };
            let share = place.share(operations);
            (workload.client(place), share.end - share.start)
        })
    };
    (0..clients).map(|client| clients_of(client).collect()).collect()
}
