//! The same comparison on several machines at once, against the same servers. Client 1 loads, and
//! the others wait until they find every record there; then all of them begin and end each slice at
//! the same moments of the clock, so that their work in it can be added up.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sealstone_message::SettingName;

use super::{At, CompareError, Comparison, Group, Halt, Stores, load_detection};
use crate::compare::summary::Measured;
use crate::measure::progress::Phase;
use crate::measure::runner::SliceOutcome;
use crate::measure::schedule::orders;
use crate::results::{Conditions, Sample};
use crate::words::share::Client;
use crate::workload::Workload;

/// Interval at which a client checks whether the data set was loaded, and whether it was requested
/// to stop.
const POLL: Duration = Duration::from_millis(200);

/// The pause after a slice, at least: work that one client begins late must not reach into the next
/// slice.
const PAUSE_S: f64 = 0.1;

/// A client that begins a slice later than this share of it is late, and the results report that.
const LATE: f64 = 0.1;

/// Time for which client 1 keeps the records after the last slice, for clients whose clocks are
/// behind its own.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// The workloads of one client, each with the number of its cells, and the orders of its blocks.
struct Ready<'a> {
    number: usize,
    workload: &'a dyn Workload,
    orders: Vec<Vec<usize>>,
}

/// The start times of slices and their length.
#[derive(Clone, Copy)]
struct Clock {
    /// The first slice begins.
    origin: Instant,
    slice_s: f64,
}

impl Clock {
    /// Returns the time from the begin of a slice to the begin of the next.
    fn slot_s(self) -> f64 {
        self.slice_s + (self.slice_s / 2.0).max(PAUSE_S)
    }

    /// Returns the begin and end of slice number `slot`.
    fn slice(self, slot: usize) -> (Instant, Instant) {
        let begin = self.origin + Duration::from_secs_f64(slot as f64 * self.slot_s());
        (begin, begin + Duration::from_secs_f64(self.slice_s))
    }
}

impl<'a> Comparison<'a> {
    /// Measures `group` beside the other clients.
    pub(super) fn run_beside(
        &mut self,
        group: &Group<'a>,
        dir: &Path,
        client: &Client,
    ) -> Result<(), Halt> {
        let mut stores = self.prepare(group, dir);
        self.open_fresh(group.dataset, &mut stores)?;
        if client.share.number == 1 {
            self.load(group, &mut stores, 0)?;
            self.load_is_over(group, self.rounds.end);
            self.fill_caches(group.first(), &mut stores)?;
        } else {
            self.wait_for_load(group.first(), &stores, client)?;
        }
        let slice_s = self.plan.slice_ms as f64 / 1e3;
        let mut ready = Vec::new();
        for &(number, workload) in &group.workloads {
            ready.push(self.ready(number, workload, &mut stores, slice_s)?);
        }
        let left = Timestamp::now().duration_until(client.start);
        let Ok(left) = Duration::try_from(left) else {
            return Err(late(client, "loading and warming up took until after it"));
        };
        let clock = Clock { origin: Instant::now() + left, slice_s };
        self.measure_beside(&ready, &mut stores, clock)?;
        for one in &ready {
            for variant in 0..self.variants.len() {
                let bytes = stores.open[variant].upkeep().disk_bytes();
                let bytes =
                    bytes.map_err(self.failed("measuring the size on disk".into(), variant))?;
                self.cell(one.number, variant).disk_bytes = bytes;
            }
        }
        if client.share.number == 1 {
            thread::sleep(AFTERWARDS);
        }
        Ok(())
    }

    fn wait_for_load(
        &self,
        workload: &dyn Workload,
        stores: &Stores,
        client: &Client,
    ) -> Result<(), Halt> {
        for (variant, store) in stores.open.iter().enumerate() {
            loop {
                self.go_on()?;
                self.tell(
                    Phase::Load,
                    workload.spec().dataset,
                    variant,
                    0,
                    0,
                    workload.load_rows(),
                );
                let found = load_detection::is_loaded(workload, store.target(), self.stop);
                if found
                    .map_err(self.failed("looking for the records of client 1".into(), variant))?
                {
                    break;
                }
                if Timestamp::now() >= client.start {
                    return Err(late(client, "client 1 had not loaded the data by then"));
                }
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// Runs `workload` once on every variant without counting, and makes its cells.
    fn ready(
        &mut self,
        number: usize,
        workload: &'a dyn Workload,
        stores: &mut Stores,
        slice_s: f64,
    ) -> Result<Ready<'a>, Halt> {
        let spec = workload.spec();
        let generator_cpu_s = self.generator_cpu_s(workload);
        let variants = self.variants.len();
        for variant in 0..variants {
            self.tell_in_turn(Phase::WarmUp, spec.name, variant);
            self.runner.until = Some(Instant::now() + Duration::from_secs_f64(slice_s));
            self.slice(workload, stores, variant, At { pass: 0, passes: 1, slice: 0, slices: 1 })?;
            let conditions = Conditions {
                setting: spec.setting,
                cache_bytes: stores.options.cache_bytes,
                data_bytes: workload.data_bytes(),
                synced: stores.options.sync_writes,
            };
            let cell = Measured::new(variant, number, spec.clone(), self.clients(workload));
            self.measured.push(Measured { generator_cpu_s, conditions, has_servers: true, ..cell });
        }
        let blocks = self.plan.pairs * self.plan.rounds;
        let seed = self.plan.seed.wrapping_mul(31).wrapping_add(number as u64);
        Ok(Ready { number, workload, orders: orders(variants, blocks, seed) })
    }

    /// Runs every slice at its time.
    fn measure_beside(
        &mut self,
        ready: &[Ready<'a>],
        stores: &mut Stores,
        clock: Clock,
    ) -> Result<(), Halt> {
        let (rounds, pairs, variants) = (self.plan.rounds, self.plan.pairs, self.variants.len());
        let slots = rounds * ready.len() * pairs * variants;
        let mut late_slices = 0;
        for block in 0..rounds * ready.len() * pairs {
            let (round, pair) = (block / (ready.len() * pairs), block % pairs);
            let one = &ready[block / pairs % ready.len()];
            let mut outcomes: Vec<Option<(SliceOutcome, Sample)>> =
                (0..variants).map(|_| None).collect();
            for (position, &variant) in one.orders[round * pairs + pair].iter().enumerate() {
                let slot = block * variants + position;
                self.estimate().done(self.run_tasks[&one.number], slot as f64 / slots as f64);
                self.tell(
                    Phase::Measure,
                    one.workload.spec().name,
                    variant,
                    round,
                    slot as u64,
                    slots as u64,
                );
                let (begin, end) = clock.slice(slot);
                self.wait_until(begin)?;
                let late_s = begin.elapsed().as_secs_f64();
                // one that is over before it begins has nothing in it, and is late as well
                late_slices += usize::from(late_s > LATE * clock.slice_s);
                self.runner.until = Some(end);
                let at = At { pass: 1 + block, passes: 1, slice: 0, slices: 1 };
                outcomes[variant] = Some(self.slice(one.workload, stores, variant, at)?);
            }
            for (variant, outcome) in outcomes.into_iter().flatten().enumerate() {
                let (outcome, sample) = outcome;
                self.count(one.number, variant, outcome, Sample { round, slice: pair, ..sample });
            }
        }
        if late_slices > 0 {
            self.warn(format!(
                "{late_slices} of {slots} slices began late by more than {:.0} % of their length; \
                 a higher slice-ms leaves more time",
                LATE * 1e2
            ));
        }
        Ok(())
    }

    fn wait_until(&self, begin: Instant) -> Result<(), Halt> {
        loop {
            self.go_on()?;
            let left = begin.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stop.load(Ordering::Relaxed) {
                return self.go_on();
            }
            thread::sleep(left.min(POLL));
        }
    }
}

fn late(client: &Client, why: &str) -> Halt {
    Halt::Failed(CompareError::Client(format!(
        "client {} could not begin at {}: {why}\nstart all clients again with a later {}",
        client.share,
        client.start,
        SettingName("start-at")
    )))
}
