//! A whole comparison: loads every data set into one store a variant, runs interleaved slices round
//! by round, and gathers the results. Single slices are in `runner`, the meaning of the figures in
//! `summary` and `statistics`.
//!
//! Each variant of a group has its own store with the same records, loaded again every
//! `Plan::load_every` rounds and before every pass of a cold scan: a load is one random draw of the
//! layout of files and memory, and intervals are over loads. A round runs every workload on every
//! variant in short interleaved slices. Many short slices are more informative than a few long
//! slices: the noise of a shared machine lasts longer than a slice, so two adjacent slices share
//! it. After each slice the store settles, so that background work of one variant never falls into
//! another's slice. Where connections lose their pace while they are idle (`Upkeep::lead_in`),
//! requests run for that long before any is counted.
//!
//! Three things besides the cipher would differ between variants and are made equal: the layout of
//! a store after loading (all layers are merged into one), the read-ahead of files, and the content
//! of the cache, which is refilled before a round once misses show up.
//!
//! `search` finds the highest rates of all variants in alternation. `conclusions` draws everything
//! from the recorded slices, `forecast` estimates the time of further rounds, and [`run_on`] adds
//! them to earlier results.

pub(crate) mod conclusions;
pub mod duration;
pub(crate) mod forecast;
pub mod groups;
pub(crate) mod joint_results;
pub mod merge;
pub(crate) mod result_file;
pub(crate) mod summary;
pub mod work_dir;

mod clients;
mod group;
mod load;
mod load_detection;
mod machines;
mod search;
mod slices;
mod warm_up;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::compare::duration::Expected;
use crate::compare::summary::Measured;
pub use crate::compare::work_dir::WorkDirError;
use crate::compare::work_dir::{WorkDir, directory_name, remove_dir, remove_left};
use crate::conclude::statistics::loads_in_all;
use crate::measure::cpu_time::CpuTime;
use crate::measure::failures::Failures;
use crate::measure::progress::{Estimate, Observer, Phase, Precision, Progress, SliceTimes};
use crate::measure::runner::{RunError, Runner, SliceOutcome};
use crate::measure::schedule::{Slicing, orders};
use crate::results::{Cell, Results, Sample, added_settings};
use crate::study::client_group;
use crate::study::machine;
use crate::study::plan::{Plan, PlanError};
use crate::study::point::StudyPoint;
use crate::words::share::{Client, ClientFacts, Share};
use crate::words::size::human_bytes;
use crate::words::target::Target;
use crate::workload::{self, Data, Setting, SizedBy, Spec, Workload, cold_cache_bytes};
use group::Group;
use sealstone_store::{Engine, OpenStore, StoreError, StoreOptions, Variant};

/// Reason why a comparison has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The settings cannot be used.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A directory for the stores cannot be made, is not empty, or cannot be removed.
    #[error(transparent)]
    Directory(#[from] WorkDirError),
    /// The store failed.
    #[error("{doing} failed on {variant}: {source}")]
    Store {
        /// Operation that was attempted, such as `loading ycsb` or `workload a`.
        doing: String,
        /// Label of the variant.
        variant: String,
        /// Error of the store.
        source: StoreError,
    },
    /// The clients could not be started.
    #[error("workload {workload}: {source}")]
    Run {
        /// The workload.
        workload: String,
        /// Reason of the failure.
        source: RunError,
    },
    /// One of several clients could not keep up with the others.
    #[error("{0}")]
    Client(String),
    /// It ended with an error after something was measured.
    #[error("{source}")]
    Unfinished {
        /// Results measured until then, marked as interrupted.
        measured: Box<Results>,
        /// Error that ended it.
        source: Box<CompareError>,
    },
    /// Stopped before a single pair of slices was complete.
    #[error("stopped before anything was measured")]
    Stopped,
}

/// Measures `point` on `engine`, and reports progress to `observer`.
///
/// The stores are in the `keep` of its plan, or in a directory next to the results that is removed
/// at the end, or by the next run if this run is killed. Setting `stop` ends the run after the
/// current operations: the measurements so far are returned, marked as interrupted. Writes no
/// report; that is `results` and `report`.
///
/// # Errors
/// `CompareError`: impossible settings, a disk too small, a store of which more operations fail
/// than its plan allows. Earlier measurements are in `Unfinished`. `Stopped` if `stop` was set
/// before anything was measured.
pub fn run(
    point: &StudyPoint,
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    run_as(point, None, engine, observer, stop)
}

/// As [`run`], by one `client` of several that load the same servers, each on a machine of its own:
/// client 1 loads, and slices begin and end at the same times on all of them.
///
/// # Errors
/// As [`run`]; a measurement that several clients cannot make together, a client that is late.
pub fn run_as(
    point: &StudyPoint,
    client: Option<&Client>,
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    run_after(point, client, None, engine, observer, stop)
}

/// As [`run`], in addition to `earlier`: the rounds of its plan are added to those of the earlier
/// results, each on freshly loaded stores, and the returned results have all of them.
///
/// # Errors
/// As [`run`]; `earlier` is as it was.
pub fn run_on(
    point: &StudyPoint,
    earlier: &Results,
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    run_after(point, None, Some(earlier), engine, observer, stop)
}

/// Implements [`run`], by a client of several or by the only client, after `earlier` results or
/// none.
fn run_after(
    point: &StudyPoint,
    client: Option<&Client>,
    earlier: Option<&Results>,
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    let plan = &point.plan;
    client.map_or(Ok(()), |_| client_group::check(plan))?;
    // before it is looked how much room there is
    remove_left(&plan.out, &|text| observer.note(text));
    // before data sets are computed, which takes minutes for some that fit nowhere
    let mut datasets: Vec<(&str, SizedBy)> = Vec::new();
    for spec in point.specs() {
        if !datasets.iter().any(|(known, _)| *known == spec.dataset) {
            datasets.push((spec.dataset, spec.sized_by));
        }
    }
    let sizes: Vec<SizedBy> = datasets.into_iter().map(|(_, size)| size).collect();
    plan.check_room(point.variants.len() * plan.point().members, &sizes)?;
    observer.progress(&Progress::preparing(plan));
    let watch = workload::Watch { stop, note: &|text| observer.note(text) };
    let data = Data { share: client.map_or(Share::ALONE, |client| client.share), ..plan.data() };
    let workloads = match workload::build_watched(&data, &point.workloads, &watch) {
        Err(workload::Error::Stopped) => return Err(CompareError::Stopped),
        built => built.map_err(PlanError::from)?,
    };
    run_beside(point, client, earlier, &workloads, engine, observer, stop)
}

/// As [`run`], with the caller's own workloads instead of those that `point` names.
///
/// # Errors
/// As [`run`].
pub fn run_workloads(
    point: &StudyPoint,
    workloads: &[Box<dyn Workload>],
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    run_beside(point, None, None, workloads, engine, observer, stop)
}

/// Implements [`run_workloads`], with or without other clients, after `earlier` results or none.
fn run_beside(
    point: &StudyPoint,
    client: Option<&Client>,
    earlier: Option<&Results>,
    workloads: &[Box<dyn Workload>],
    engine: &dyn Engine,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Results, CompareError> {
    let StudyPoint { plan, variants, notes, .. } = point;
    let groups = Group::all(workloads);
    let sizes: Vec<SizedBy> = groups.iter().map(Group::sized_by).collect();
    plan.check_room(variants.len() * plan.point().members, &sizes)?;
    let started_at = jiff::Timestamp::now();
    let (begin, machine_begin) = (Instant::now(), machine::Busy::now());
    let cpu_begin = CpuTime::with_ended_children();

    let work_dir = WorkDir::create(plan)?;
    let mut comparison = Comparison::new(plan, variants, workloads, engine, observer, stop);
    comparison.share = client.map(|client| client.share);
    if let Some(earlier) = earlier {
        comparison.go_on_from(earlier);
    }
    notes.iter().for_each(|note| comparison.warn(note.clone()));
    comparison.expect_lengths(&groups, !point.surroundings.within_process);
    let (mut interrupted, mut failed) = (false, None);
    let outcome = match client {
        // several clients measure one data set together
        Some(client) => groups.iter().try_for_each(|group| {
            comparison.run_beside(group, &work_dir.path.join(group.dataset), client)
        }),
        None => comparison.run_groups(&groups, &work_dir.path),
    };
    match outcome {
        Ok(()) => {}
        Err(Halt::Stopped) => interrupted = true,
        Err(Halt::Failed(error)) => failed = Some(error),
    }
    comparison.take_over_earlier();
    let Comparison { mut measured, mut warnings, settings, mut failures, lacked, rounds, .. } =
        comparison;
    let removed = work_dir.remove();
    if measured.iter().all(|cell| cell.samples.is_empty() && cell.searches.is_empty()) {
        return Err(failed.or(lacked).unwrap_or(CompareError::Stopped));
    }
    for cell in &mut measured {
        cell.failed = failures.remove(&(cell.spec.name, cell.variant)).unwrap_or_default();
    }
    let machine = machine::Busy::now().since(machine_begin);
    warnings.extend(machine.warnings(CpuTime::with_ended_children().since(cpu_begin).total_s()));
    let mut engine = engine.facts();
    engine.settings.extend(settings);
    let failure = failed
        .as_ref()
        .map(|error| error.to_string().lines().next().unwrap_or_default().to_owned());
    let results = summary::results(summary::Run {
        point,
        measured,
        engine,
        warnings,
        interrupted: interrupted || failure.is_some(),
        failure,
        client: client.map(ClientFacts::from),
        rounds: rounds.end,
        started_at: started_at.to_string(),
        elapsed_s: begin.elapsed().as_secs_f64(),
    });
    let results = match earlier {
        Some(earlier) => results.after(earlier),
        None => results,
    };
    match failed.or(removed.err().map(CompareError::from)) {
        Some(error) => {
            Err(CompareError::Unfinished { measured: Box::new(results), source: Box::new(error) })
        }
        None => Ok(results),
    }
}

/// Reason why a run does not continue.
enum Halt {
    Stopped,
    Failed(CompareError),
}

impl From<WorkDirError> for Halt {
    fn from(error: WorkDirError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<CompareError> for Halt {
    fn from(error: CompareError) -> Self {
        Self::Failed(error)
    }
}

/// The open stores of one data set, one a variant.
struct Stores<'a> {
    /// The workloads that run on them.
    workloads: Vec<&'a dyn Workload>,
    /// Number of this load, counted over the whole comparison.
    load: usize,
    dirs: Vec<PathBuf>,
    open: Vec<OpenStore>,
    options: StoreOptions,
    /// True if everything that fits is in the caches.
    warm: bool,
    /// True if a workload with cold caches has read the files.
    read_cold: bool,
}

/// Position of a slice in a workload: its passes are numbered over the whole comparison.
#[derive(Clone, Copy, Debug)]
struct At {
    pass: usize,
    passes: usize,
    slice: usize,
    slices: usize,
}

/// Number of clients that a workload has.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Clients {
    count: usize,
    /// True if a search found that more clients do not achieve more, though CPUs are idle.
    peak: bool,
}

/// A workload ready to be measured.
struct Ready<'a> {
    number: usize,
    workload: &'a dyn Workload,
    slicing: Slicing,
    next_pass: usize,
    task: usize,
    times: SliceTimes,
}

/// A data set while the rounds go on: its stores, and its workloads, once they are warmed up.
struct Running<'a> {
    stores: Stores<'a>,
    ready: Option<Vec<Ready<'a>>>,
}

struct Comparison<'a> {
    plan: &'a Plan,
    variants: &'a [Variant],
    workloads: &'a [Box<dyn Workload>],
    engine: &'a dyn Engine,
    observer: &'a dyn Observer,
    stop: &'a AtomicBool,
    runner: Runner,
    /// Operations a second at which slices are run; absent: as fast as possible.
    rate_per_s: Option<f64>,
    estimate: Mutex<Estimate>,
    begin: Instant,
    /// Half of the widest interval after the last whole load.
    reached: Option<f64>,
    /// The remaining rounds, as far as known.
    rounds: Range<usize>,
    /// The round before which a run ends that goes on until its intervals are narrow, once they
    /// were.
    ends_before: Option<usize>,
    /// Number of times that the stores were loaded.
    loads: usize,
    load_tasks: BTreeMap<&'static str, usize>,
    warm_up_tasks: BTreeMap<usize, usize>,
    run_tasks: BTreeMap<usize, usize>,
    measured: Vec<Measured>,
    warnings: Vec<String>,
    settings: BTreeMap<String, String>,
    /// Operations that failed, by workload and variant.
    failures: BTreeMap<(&'static str, usize), Failures>,
    /// Reason why the first workload that the store has no ability for was left out.
    lacked: Option<CompareError>,
    /// Share of this client among several clients.
    share: Option<Share>,
    /// Clients of workloads for which they were looked for.
    found: BTreeMap<&'static str, Clients>,
    /// Measurements of earlier rounds, to which this run adds.
    earlier: Vec<Cell>,
}

impl<'a> Comparison<'a> {
    fn new(
        plan: &'a Plan,
        variants: &'a [Variant],
        workloads: &'a [Box<dyn Workload>],
        engine: &'a dyn Engine,
        observer: &'a dyn Observer,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            plan,
            variants,
            workloads,
            engine,
            observer,
            stop,
            runner: Runner::default(),
            rate_per_s: plan.target.and_then(Target::rate),
            estimate: Mutex::new(Estimate::new()),
            begin: Instant::now(),
            reached: None,
            rounds: 0..plan.rounds,
            ends_before: None,
            loads: 0,
            load_tasks: BTreeMap::new(),
            warm_up_tasks: BTreeMap::new(),
            run_tasks: BTreeMap::new(),
            measured: Vec::new(),
            warnings: Vec::new(),
            settings: BTreeMap::new(),
            failures: BTreeMap::new(),
            lacked: None,
            share: None,
            found: BTreeMap::new(),
            earlier: Vec::new(),
        }
    }

    /// Continues with the rounds after the rounds of `earlier`, with as many clients.
    fn go_on_from(&mut self, earlier: &Results) {
        let samples = || earlier.cells.iter().flat_map(|cell| &cell.samples);
        let searches = earlier
            .cells
            .iter()
            .filter_map(|cell| cell.open_loop.as_ref())
            .flat_map(|found| &found.searches);
        let loads = samples().map(|sample| sample.load).chain(searches.map(|search| search.load));
        self.loads = loads.max().map_or(0, |last| last + 1);
        let first = samples().map(|sample| sample.round + 1).max().unwrap_or(0).max(
            match self.plan.target {
                Some(Target::Max) => earlier.plan.rounds,
                _ => 0,
            },
        );
        self.rounds = first..first + self.plan.rounds;
        self.earlier.clone_from(&earlier.cells);
        for cell in earlier.cells.iter().filter(|cell| cell.variant == 0) {
            if let Some((_, spec)) = self.workload(&cell.workload) {
                self.found
                    .insert(spec.name, Clients { count: cell.clients, peak: cell.saturation.peak });
            }
        }
    }

    /// Takes over what earlier rounds measured of workloads that this run did not come to.
    fn take_over_earlier(&mut self) {
        if self.measured.is_empty() {
            return;
        }
        for cell in &self.earlier {
            let Some((number, spec)) = self.workload(&cell.workload) else { continue };
            if !self
                .measured
                .iter()
                .any(|known| known.workload == number && known.variant == cell.variant)
            {
                let peak = cell.saturation.peak;
                let conditions = cell.conditions.unwrap_or_default();
                let fresh = Measured::new(cell.variant, number, spec.clone(), cell.clients);
                let fresh = Measured { peak, conditions, disk_bytes: cell.disk_bytes, ..fresh };
                self.measured.push(fresh.after(cell));
            }
        }
    }

    /// Returns the workload that results call `name`, with its number.
    fn workload(&self, name: &str) -> Option<(usize, &'a Spec)> {
        let specs = self.workloads.iter().map(|workload| workload.spec());
        specs.enumerate().find(|(_, spec)| spec.name == name)
    }

    /// Returns the measurements of `variant` under `workload` before this run, if it adds to an
    /// earlier one.
    fn earlier(&self, workload: &str, variant: usize) -> Option<&Cell> {
        self.earlier.iter().find(|cell| cell.workload == workload && cell.variant == variant)
    }

    fn warn(&mut self, warning: String) {
        self.observer.note(&warning);
        self.warnings.push(warning);
    }

    fn go_on(&self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) { Err(Halt::Stopped) } else { Ok(()) }
    }

    fn failed(&self, doing: String, variant: usize) -> impl FnOnce(StoreError) -> Halt {
        let variant = self.variants[variant].label.clone();
        move |source| Halt::Failed(CompareError::Store { doing, variant, source })
    }

    fn estimate(&self) -> std::sync::MutexGuard<'_, Estimate> {
        self.estimate.lock().expect("no code that holds this lock panics")
    }

    /// Makes first guesses of all lengths, so that the time left is meaningful from the start.
    fn expect_lengths(&mut self, groups: &[Group], has_servers: bool) {
        let expected = Expected {
            plan: self.plan,
            variants: self.variants.len(),
            rounds: self.rounds.len(),
            has_servers,
        };
        for group in groups {
            let task = self.estimate().add(expected.load_s(group.sized_by(), group.loads_itself()));
            self.load_tasks.insert(group.dataset, task);
            for (number, workload) in &group.workloads {
                let task = self.estimate().add(expected.warm_up_s());
                self.warm_up_tasks.insert(*number, task);
                let task = self.estimate().add(expected.run_s(workload.spec()));
                self.run_tasks.insert(*number, task);
            }
        }
    }

    /// Measures every round: all groups one after the other, each on stores that are loaded again
    /// once the rounds of a load are over, so that each load of all groups falls into one stretch
    /// of time.
    fn run_groups(&mut self, groups: &[Group<'a>], dir: &Path) -> Result<(), Halt> {
        let begin = Instant::now();
        let mut running: Vec<Running> = Vec::new();
        let mut round = self.rounds.start;
        loop {
            let load_begin = Instant::now();
            let end = (round + self.plan.load_every).min(self.rounds.end.max(round + 1));
            for (at, group) in groups.iter().enumerate() {
                let dir = dir.join(group.dataset);
                if at == running.len() {
                    let stores = self.prepare(group, &dir);
                    running.push(Running { stores, ready: None });
                }
                self.run_load(group, &mut running[at], round..end)?;
                if self.plan.keep.is_none() {
                    remove_dir(&dir)?;
                }
            }
            round = end;
            if !self.goes_on(round, begin, load_begin) {
                self.rounds.end = round;
                return Ok(());
            }
            self.rounds.end = self.rounds.end.max(round + 1);
        }
    }

    /// Loads the stores of `group`, and measures `rounds` on them.
    fn run_load(
        &mut self,
        group: &Group<'a>,
        running: &mut Running<'a>,
        rounds: Range<usize>,
    ) -> Result<(), Halt> {
        self.go_on()?;
        let Running { stores, ready } = running;
        if !group.loads_itself() {
            self.open_fresh(group.dataset, stores)?;
            self.load(group, stores, rounds.start)?;
        }
        let is_first = ready.is_none();
        if is_first {
            *ready = Some(self.warm_up_all(group, stores)?);
        }
        let ready = ready.as_mut().expect("just warmed up");
        self.load_is_over(group, rounds.end);
        if !is_first {
            for workload in ready.iter_mut() {
                self.settle_in(workload, stores)?;
            }
        }
        if let (Some(Target::Max), Some(limit)) = (self.plan.target, self.plan.p99) {
            for workload in ready.iter_mut() {
                self.search(workload, stores, limit.limit_us, rounds.clone())?;
            }
        } else {
            for round in rounds {
                for workload in ready.iter_mut() {
                    self.run_round(workload, stores, round)?;
                }
            }
        }
        for workload in ready {
            self.check(workload, stores)?;
        }
        stores.open.clear();
        Ok(())
    }

    /// Warms up the workloads of `group`, except workloads that need an ability the store lacks.
    fn warm_up_all(
        &mut self,
        group: &Group<'a>,
        stores: &mut Stores<'a>,
    ) -> Result<Vec<Ready<'a>>, Halt> {
        let mut ready = Vec::new();
        for &(number, workload) in &group.workloads {
            match self.warm_up(number, workload, stores) {
                Ok(one) => ready.push(one),
                // others may do without it
                Err(Halt::Failed(
                    error @ CompareError::Store { source: StoreError::Lacks { .. }, .. },
                )) => {
                    self.warn(format!("left out: {error}"));
                    self.lacked.get_or_insert(error);
                    self.estimate().done(self.warm_up_tasks[&number], 1.0);
                    self.estimate().done(self.run_tasks[&number], 1.0);
                }
                Err(halt) => return Err(halt),
            }
        }
        Ok(ready)
    }

    /// Decides whether another load follows the rounds before `round`: as many as planned, or, with
    /// a limit on the time or on the widths of the intervals, as many as the limit needs.
    fn goes_on(&mut self, round: usize, begin: Instant, load_begin: Instant) -> bool {
        let widths = summary::Widths::of(self.plan, &self.measured);
        self.reached = widths.widest();
        let Some(time_s) = self.plan.time_s() else { return round < self.rounds.end };
        let is_narrow = || self.plan.until.is_some_and(|until| widths.are_narrow(until));
        if self.ends_before.is_none() && is_narrow() {
            self.ends_before = Some(loads_in_all(round));
        }
        // another load takes as long as this one did
        let fits = (begin.elapsed() + load_begin.elapsed()).as_secs_f64() <= time_s;
        fits && self.ends_before.is_none_or(|end| round < end)
    }

    /// Sizes the cache and names the directories.
    fn prepare(&mut self, group: &Group<'a>, dir: &Path) -> Stores<'a> {
        let mut tables = Vec::new();
        for (_, workload) in &group.workloads {
            for table in workload.tables() {
                if !tables
                    .iter()
                    .any(|known: &std::sync::Arc<sealstone_store::Table>| known.id == table.id)
                {
                    tables.push(table.clone());
                }
            }
        }
        let data_bytes = match group.first().data_bytes() {
            0 => group.sized_by().stored_bytes(&self.plan.data()),
            bytes => bytes,
        };
        let cache_bytes = self.cache_bytes(group, data_bytes);
        let dirs =
            self.variants.iter().map(|variant| dir.join(directory_name(&variant.label))).collect();
        Stores {
            workloads: group.workloads.iter().map(|(_, workload)| *workload).collect(),
            load: 0,
            dirs,
            open: Vec::new(),
            options: StoreOptions {
                cache_bytes,
                tables,
                sync_writes: group.setting() == Setting::Sync,
            },
            warm: false,
            read_cold: false,
        }
    }

    /// Returns the cache of one store: as set, or large enough for the data as long as memory is.
    fn cache_bytes(&mut self, group: &Group, data_bytes: u64) -> u64 {
        const LEAST: u64 = 64 << 20;
        const COLD_LEAST: u64 = 256 << 10;
        let dataset = group.dataset;
        // keys and lengths come on top of the values, and old versions until they are compacted
        // away
        let stored_bytes = data_bytes.saturating_add(group.name_bytes());
        let wanted = stored_bytes.saturating_mul(2).saturating_add(LEAST);
        let is_cold = group.setting() == Setting::Cold;
        let share = self.plan.cold_share;
        let cold_bytes = is_cold.then(|| cold_cache_bytes(data_bytes, share).max(COLD_LEAST));
        let cache_bytes = self.plan.cache.or(cold_bytes).unwrap_or_else(|| {
            // half of the memory: the other half is for the page cache and other programs
            let share = machine::memory_available_bytes().map_or(u64::MAX, |free| {
                free / 2 / (self.variants.len() * self.plan.point().members) as u64
            });
            wanted.min(share.max(LEAST))
        });
        if group.first().tables().is_empty() || self.engine.facts().settings.contains_key("cache") {
            // a device has no cache of ours, and some servers size their own
            return cache_bytes;
        }
        self.settings.insert(
            added_settings::cache(dataset),
            format!("{} for {} of data", human_bytes(cache_bytes), human_bytes(data_bytes)),
        );
        let warm = group.workloads.iter().any(|(_, workload)| !workload.spec().cold);
        if cache_bytes < data_bytes && warm && !is_cold && !group.loads_itself() {
            self.warn(format!(
                "the cache of {} is smaller than the {} of data set {dataset}: its workloads also \
                 measure the disk",
                human_bytes(cache_bytes),
                human_bytes(data_bytes)
            ));
        }
        cache_bytes
    }

    /// Runs one round of one workload: blocks of one slice a variant.
    fn run_round(
        &mut self,
        ready: &mut Ready,
        stores: &mut Stores,
        round: usize,
    ) -> Result<(), Halt> {
        let Slicing { slices, passes, repeats } = ready.slicing;
        let spec = ready.workload.spec();
        if !spec.cold && !spec.from_empty {
            self.fill_caches(ready.workload, stores)?;
        }
        let round_slices = ready.slicing.round_slices();
        let done_before = (round - self.rounds.start) * round_slices;
        let total = (self.rounds.len() * round_slices * self.variants.len()) as u64;
        let seed = self.plan.seed.wrapping_mul(31).wrapping_add(ready.number as u64);
        let orders =
            orders(self.variants.len(), round_slices, seed.wrapping_add((round as u64) << 32));
        for repeat in 0..repeats {
            let again = Instant::now();
            if spec.from_empty {
                self.open_fresh(spec.dataset, stores)?;
            } else if spec.cold && stores.read_cold {
                // how fast files are read depends on where they are on the disk, so each load of
                // them is read once
                self.open_fresh(spec.dataset, stores)?;
                self.fill_stores(ready.workload, stores, &|_, _| ())?;
            }
            stores.read_cold |= spec.cold;
            // loading again is part of what a block takes
            let mut begin = again;
            for slice in 0..slices {
                let in_round = repeat * slices + slice;
                let block = done_before + in_round;
                let at = At { pass: ready.next_pass, passes, slice, slices };
                let mut outcomes: Vec<Option<(SliceOutcome, Sample)>> =
                    self.variants.iter().map(|_| None).collect();
                for (position, &variant) in orders[in_round].iter().enumerate() {
                    let done = (block * self.variants.len() + position) as u64;
                    self.expect(ready, block, &orders[in_round][..position]);
                    self.tell(Phase::Measure, spec.name, variant, round, done, total);
                    outcomes[variant] = Some(self.slice(ready.workload, stores, variant, at)?);
                    let end = Instant::now();
                    ready.times.took(variant, end.duration_since(begin).as_secs_f64());
                    begin = end;
                }
                // only now that the block is whole does any of it count
                for (variant, outcome) in outcomes.into_iter().flatten().enumerate() {
                    let (outcome, sample) = outcome;
                    self.count(
                        ready.number,
                        variant,
                        outcome,
                        Sample { round, slice: in_round, ..sample },
                    );
                }
            }
            ready.next_pass += passes;
        }
        let done = (round + 1 - self.rounds.start) as f64 / self.rounds.len() as f64;
        self.estimate().done(ready.task, done);
        self.measure_sizes(ready, stores)
    }

    /// Updates the estimate of how long the slices of `ready` take in all, from `blocks` whole
    /// blocks and the slices of `begun` in the next block, and of how much of that is done.
    fn expect(&self, ready: &Ready, blocks: usize, begun: &[usize]) {
        let mut estimate = self.estimate();
        estimate.expect(ready.task, ready.times.all_s());
        estimate.done(ready.task, ready.times.share(blocks, begun));
    }

    fn measure_sizes(&mut self, ready: &Ready, stores: &Stores) -> Result<(), Halt> {
        for variant in 0..self.variants.len() {
            let bytes = stores.open[variant].upkeep().disk_bytes();
            let bytes = bytes.map_err(self.failed("measuring the size on disk".into(), variant))?;
            let cell = self.cell(ready.number, variant);
            cell.disk_bytes = bytes;
            cell.stored_rows = ready.workload.spec().from_empty.then(|| ready.workload.load_rows());
        }
        Ok(())
    }

    fn cell(&mut self, workload: usize, variant: usize) -> &mut Measured {
        let found = self
            .measured
            .iter_mut()
            .find(|cell| cell.workload == workload && cell.variant == variant);
        found.expect("warm_up has made the cells of every workload")
    }

    fn count(&mut self, workload: usize, variant: usize, outcome: SliceOutcome, sample: Sample) {
        let cell = self.cell(workload, variant);
        cell.samples.push(sample);
        cell.slices.push(outcome.latencies.slice());
        cell.requests.push(outcome.latencies.requests());
        cell.latencies.merge(&outcome.latencies);
        cell.cpu.push(&outcome.readings, outcome.elapsed_s, outcome.cpu);
        cell.machine = cell.machine.plus(outcome.machine);
    }

    /// Lets the workload check that the stores contain what it left there.
    fn check(&self, ready: &Ready, stores: &Stores) -> Result<(), Halt> {
        let name = ready.workload.spec().name;
        for (variant, store) in stores.open.iter().enumerate() {
            self.go_on()?;
            self.tell_in_turn(Phase::Check, name, variant);
            let failed = self.failed(format!("checking the store after workload {name}"), variant);
            ready.workload.check(store.target()).map_err(failed)?;
        }
        Ok(())
    }

    /// Reports that `phase`, which takes the variants one after the other, has come to `variant`.
    fn tell_in_turn(&self, phase: Phase, workload: &str, variant: usize) {
        self.tell(phase, workload, variant, 0, variant as u64, self.variants.len() as u64);
    }

    fn tell(
        &self,
        phase: Phase,
        workload: &str,
        variant: usize,
        round: usize,
        done: u64,
        total: u64,
    ) {
        let (mut share, mut left_s) = self.estimate().now();
        if let Some(limit_s) = self.plan.time_s() {
            let spent_s = self.begin.elapsed().as_secs_f64();
            // a first round that takes longer than the limit is finished
            let whole_s =
                if self.reached.is_some() { limit_s } else { limit_s.max(spent_s + left_s) };
            (share, left_s) = (spent_s / whole_s.max(1e-9), (whole_s - spent_s).max(0.0));
        }
        self.observer.progress(&Progress {
            phase,
            workload: workload.to_owned(),
            variant: self.variants[variant].label.clone(),
            round,
            rounds: self.plan.time_s().is_none().then_some(self.rounds.end),
            done,
            total,
            share: share.min(1.0),
            left_s,
            can_end_before: self.plan.until.is_some(),
            precision: Precision { reached: self.reached, wanted: self.plan.until },
        });
    }
}
