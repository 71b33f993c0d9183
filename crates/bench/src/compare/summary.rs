//! From raw samples to cells: medians, shares, verdicts, and warnings for the reader. Measures
//! nothing.

use std::collections::BTreeMap;

use sealstone_store::EngineFacts;

use crate::compare::conclusions::{compared, conclude, withheld};
use crate::conclude::quantile::Quantile;
use crate::conclude::saturation::{self, Evidence};
use crate::conclude::statistics::{self, Estimate};
use crate::measure::cpu_time::{CpuTime, CpuTimeline};
use crate::measure::failures::{self, Failures};
use crate::measure::latency_histogram::Latencies;
use crate::measure::slice_latency::SliceLatency;
use crate::results::open_loop::{OpenLoop, Search, Sustained};
use crate::results::warnings::{ENDED_EARLY, assertions};
use crate::results::{Cell, Conditions, Latency, Results, Sample, TimeSplit, Variant};
use crate::study::machine::{self, Busy};
use crate::study::passwords::{shown, without_password};
use crate::study::plan::Plan;
use crate::study::point::StudyPoint;
use crate::words::Bottleneck;
use crate::words::share::ClientFacts;
use crate::words::target::Target;
use crate::words::verdict::CONFIDENCE;
use crate::workload::{self, SizedBy, Spec};

/// Measurements of one variant under one workload.
pub(crate) struct Measured {
    pub(crate) variant: usize,
    /// Number of the workload in the plan.
    pub(crate) workload: usize,
    pub(crate) spec: Spec,
    pub(crate) clients: usize,
    /// CPU seconds of the load generator itself for one operation.
    pub(crate) generator_cpu_s: Option<f64>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) latencies: Latencies,
    /// Latencies by operation of each sample, in its order.
    pub(crate) slices: Vec<BTreeMap<&'static str, SliceLatency>>,
    /// The same of whole requests, in an open loop.
    pub(crate) requests: Vec<SliceLatency>,
    /// Searches for the highest rate.
    pub(crate) searches: Vec<Search>,
    /// The rate at which the samples were taken after these searches.
    pub(crate) held_per_s: Option<f64>,
    pub(crate) cpu: CpuTimeline,
    pub(crate) disk_bytes: u64,
    /// Rows that the store held then, where that is certain.
    pub(crate) stored_rows: Option<u64>,
    pub(crate) conditions: Conditions,
    /// Set when a search found that more clients do no more work.
    pub(crate) peak: bool,
    /// Set when other processes do the store's work.
    pub(crate) has_servers: bool,
    /// Utilisation of the whole machine during the samples.
    pub(crate) machine: Busy,
    /// Operations that failed, also before anything was counted.
    pub(crate) failed: Failures,
    /// Set when it includes earlier rounds, for which the latencies of single slices are unknown.
    pub(crate) continued: bool,
}

impl Measured {
    pub(crate) fn new(variant: usize, workload: usize, spec: Spec, clients: usize) -> Self {
        Self {
            variant,
            workload,
            spec,
            clients,
            generator_cpu_s: None,
            samples: Vec::new(),
            latencies: Latencies::default(),
            slices: Vec::new(),
            requests: Vec::new(),
            searches: Vec::new(),
            held_per_s: None,
            cpu: CpuTimeline::default(),
            disk_bytes: 0,
            stored_rows: None,
            conditions: Conditions::default(),
            peak: false,
            has_servers: false,
            machine: Busy::default(),
            failed: Failures::new(),
            continued: false,
        }
    }
}

impl Measured {
    /// Returns the same after the rounds of `earlier`, whose figures are in it from the start.
    pub(crate) fn after(mut self, earlier: &Cell) -> Self {
        self.samples.clone_from(&earlier.samples);
        self.slices = vec![BTreeMap::new(); earlier.samples.len()];
        self.latencies.add(&earlier.histograms, &earlier.service_histograms);
        self.continued = true;
        if let Some(found) = &earlier.open_loop {
            (self.requests, self.searches) = (found.slices.clone(), found.searches.clone());
        } else {
            self.requests = vec![SliceLatency::default(); earlier.samples.len()];
        }
        for second in &earlier.cpu {
            self.cpu.push(&[], 1.0, CpuTime { user_s: second.user, system_s: second.system });
        }
        self
    }

    /// Forgets the samples, and keeps the results of searches.
    pub(crate) fn clear(&mut self) {
        let fresh = Self::new(self.variant, self.workload, self.spec.clone(), self.clients);
        let (searches, generator_cpu_s) =
            (std::mem::take(&mut self.searches), self.generator_cpu_s);
        *self = Self { searches, generator_cpu_s, ..fresh };
    }
}

/// A comparison that has ended.
pub(crate) struct Run<'a> {
    pub(crate) point: &'a StudyPoint,
    pub(crate) measured: Vec<Measured>,
    pub(crate) engine: EngineFacts,
    pub(crate) warnings: Vec<String>,
    pub(crate) interrupted: bool,
    /// The error that ended it, if one did.
    pub(crate) failure: Option<String>,
    /// Facts about which of several clients this is.
    pub(crate) client: Option<ClientFacts>,
    /// Rounds that were measured, or would have been, including rounds of earlier results.
    pub(crate) rounds: usize,
    pub(crate) started_at: String,
    pub(crate) elapsed_s: f64,
}

/// Draws the results together.
pub(crate) fn results(run: Run) -> Results {
    let Run { point, mut measured, engine, mut warnings, failure, client, .. } = run;
    let Run { interrupted, rounds, started_at, elapsed_s, .. } = run;
    let (plan, modes) = (&point.plan, &point.surroundings.field_modes);
    let variants: Vec<Variant> = point
        .variants
        .iter()
        .map(|variant| {
            let choice = variant.rest.and_then(|rest| rest.choice());
            let rest = choice.zip(point.store.rest_modes);
            let rest_modes = rest.map(|(choice, modes)| modes(choice.provider));
            let variant = Variant::from(variant).with_field_modes(modes);
            variant.with_rest_modes(&rest_modes.unwrap_or_default())
        })
        .collect();
    measured.retain(|cell| !cell.samples.is_empty() || !cell.searches.is_empty());
    measured.sort_by_key(|cell| (cell.workload, cell.variant));
    let mut cells = cells(plan, &measured);
    let (between, recommendation) = conclude(point.question(), &variants, &mut cells);
    let recommendation = if failure.is_some() { withheld(recommendation) } else { recommendation };
    warn_of_failures(&variants, &cells, &mut warnings);
    warn_of_run(plan, &engine, &cells, interrupted, &mut warnings);
    Results {
        version: env!("CARGO_PKG_VERSION").into(),
        started_at,
        elapsed_s,
        interrupted,
        failure,
        command: std::env::args().map(|word| without_password(&word)).collect(),
        // the limit that ended the rounds no longer applies; measuring the same again takes as many
        plan: Plan { rounds, until: None, max_time: None, ..shown(plan) },
        machine: machine::facts(plan.stores_dir()),
        engine,
        variants,
        cells,
        between,
        recommendation,
        warnings,
        client,
    }
}

/// Intervals by which a measurement is judged so far.
pub(crate) struct Widths(Option<Vec<Estimate>>);

impl Widths {
    /// Returns the intervals of `measured`.
    pub(crate) fn of(plan: &Plan, measured: &[Measured]) -> Self {
        let ratios = compared(plan, &mut cells(plan, measured));
        Self(ratios.into_iter().map(|(_, ratio)| ratio).collect())
    }

    /// Returns whether half of every one of them is at most the share `until`.
    pub(crate) fn are_narrow(&self, until: f64) -> bool {
        self.0.as_ref().is_some_and(|found| statistics::is_narrow(found, until))
    }

    /// Returns half of the widest, as a share; `None` as long as a ratio has none.
    pub(crate) fn widest(&self) -> Option<f64> {
        let half = |one: &Estimate| one.half_width(CONFIDENCE).exp_m1();
        self.0.as_ref()?.iter().map(half).reduce(f64::max)
    }
}

fn cells(plan: &Plan, measured: &[Measured]) -> Vec<Cell> {
    let cores = machine::cores();
    measured.iter().map(|cell| self::cell(plan, cell, cores)).collect()
}

fn cell(plan: &Plan, measured: &Measured, cores: usize) -> Cell {
    let Measured { samples, spec, .. } = measured;
    let sum = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>();
    let cpu_s = sum(|sample| sample.cpu_user_s + sample.cpu_system_s);
    let (cipher_s, io_s) = (sum(|sample| sample.cipher_cpu_s), sum(|sample| sample.io_cpu_s));
    let operations = sum(|sample| sample.operations as f64);
    let generator_share = measured
        .generator_cpu_s
        .filter(|_| cpu_s > 0.0)
        .map(|each_s| (each_s * operations / cpu_s).min(1.0));
    let hits = sum(|sample| sample.cache_hits as f64);
    let lookups = hits + sum(|sample| sample.cache_misses as f64);
    let rates: Vec<f64> = samples.iter().map(|sample| sample.throughput(spec.unit)).collect();
    let evidence = Evidence {
        samples,
        clients: measured.clients,
        cores,
        target: plan.target.and_then(Target::rate).or(measured.held_per_s),
        generator_share,
        machine_share: measured.machine.share(),
        has_servers: measured.has_servers,
        peak: measured.peak,
    };
    Cell {
        variant: measured.variant,
        workload: spec.name.into(),
        unit: spec.unit,
        clients: measured.clients,
        throughput: statistics::median(&rates),
        latency: with_intervals(measured),
        service: measured.latencies.service(),
        cpu: measured.cpu.seconds(),
        time: TimeSplit {
            cipher_s,
            io_s,
            other_s: (cpu_s - cipher_s - io_s).max(0.0),
            io_wait_s: sum(|sample| sample.io_wall_s - sample.io_cpu_s).max(0.0),
        },
        cache_hit_rate: (lookups > 0.0).then(|| hits / lookups),
        disk_bytes: measured.disk_bytes,
        stored_rows: measured.stored_rows,
        generator_share,
        saturation: saturation::judge(&evidence),
        conditions: Some(measured.conditions),
        overhead: None,
        open_loop: plan.target.map(|_| open_loop(measured)),
        samples: samples.clone(),
        failed: measured
            .failed
            .iter()
            .map(|(operation, count)| ((*operation).to_owned(), *count))
            .collect(),
        histograms: measured.latencies.histograms(),
        service_histograms: measured.latencies.service_histograms(),
    }
}

/// Returns the latency by operation over all slices, with what each percentile can be trusted to.
fn with_intervals(measured: &Measured) -> BTreeMap<String, Latency> {
    const SHARES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];
    let mut latencies = measured.latencies.response();
    if measured.continued {
        return latencies;
    }
    let none = SliceLatency::default();
    let loads: Vec<usize> = measured.samples.iter().map(|sample| sample.load).collect();
    for (operation, latency) in &mut latencies {
        let slices: Vec<&SliceLatency> = measured
            .slices
            .iter()
            .map(|slice| slice.get(operation.as_str()).unwrap_or(&none))
            .collect();
        let interval = |share: f64| {
            let (low_us, high_us) =
                Quantile::new(&slices, &loads, share)?.estimate()?.interval(CONFIDENCE);
            Some((share, low_us, high_us))
        };
        latency.intervals = SHARES.into_iter().filter_map(interval).collect();
    }
    latencies
}

fn open_loop(measured: &Measured) -> OpenLoop {
    let Measured { requests, searches, held_per_s, .. } = measured;
    let mut recorded =
        OpenLoop { slices: requests.clone(), searches: searches.clone(), ..OpenLoop::default() };
    recorded.sustained = held_per_s
        .map(|held_per_s| Sustained { held_per_s: Some(held_per_s), ..Sustained::default() });
    recorded
}

/// Warns of failed operations, before any other warning: they are in no figure.
fn warn_of_failures(variants: &[Variant], cells: &[Cell], warnings: &mut Vec<String>) {
    let failed = |cell: &&Cell| !cell.failed.is_empty();
    let of = |cell: &Cell| {
        let counts = cell.failed.iter().map(|(operation, count)| (operation.as_str(), *count));
        format!(
            "{} of {} under {}",
            failures::words(counts),
            variants[cell.variant].label,
            cell.workload
        )
    };
    let each: Vec<String> = cells.iter().filter(failed).map(of).collect();
    if !each.is_empty() {
        warnings.insert(
            0,
            format!(
                "operations failed, and are in no throughput and no latency: {}",
                each.join("; ")
            ),
        );
    }
}

fn warn_of_run(
    plan: &Plan,
    engine: &EngineFacts,
    cells: &[Cell],
    interrupted: bool,
    warnings: &mut Vec<String>,
) {
    if interrupted {
        warnings.push(ENDED_EARLY.into());
    }
    if engine.assertions {
        warnings.push(assertions(engine));
    }
    if cfg!(debug_assertions) {
        warnings.push(
            "this is a debug build of Sealstone; its figures mean nothing, build it with --release"
                .into(),
        );
    }
    // once for all workloads that it applies to
    for by in [Bottleneck::None, Bottleneck::Engine, Bottleneck::Servers] {
        let is_idle =
            |cell: &Cell| cell.saturation.by == by && saturation::is_below(&cell.saturation);
        let idle = workloads(cells, |cell| cell.overhead.is_some() && is_idle(cell));
        if !idle.is_empty() && plan.target.is_none() {
            warnings.push(format!(
                "CPUs were idle under {} (bottleneck: {}): a cost may be hidden there{}",
                idle.join(", "),
                by.name(),
                if plan.threads.is_empty() {
                    ""
                } else {
                    "; other numbers of clients (--threads) may show it"
                }
            ));
        }
    }
    let generator = workloads(cells, |cell| cell.generator_share.is_some_and(|share| share > 0.2));
    if !generator.is_empty() {
        warnings.push(format!(
            "the load generator takes more than a fifth of the CPU time in {}: overheads there are \
             understated",
            generator.join(", ")
        ));
    }
    for spec in workload::under_every_setting() {
        let is_colder =
            |cell: &Cell| cell.cache_hit_rate.is_some_and(|rate| rate < spec.cache_hits_min);
        if cells.iter().any(|cell| cell.workload == spec.name && is_colder(cell)) {
            warnings.push(format!(
                "{}: fewer than {:.0} % of the look-ups were answered by the cache; raise the \
                 cache or lower the {}",
                spec.name,
                100.0 * spec.cache_hits_min,
                match spec.sized_by {
                    SizedBy::Records | SizedBy::RecordsOf { .. } => "records",
                    SizedBy::Bytes | SizedBy::EighthOfBytes => "bytes",
                }
            ));
        }
    }
}

/// Names of the workloads with a cell for which `is` holds, each once.
fn workloads(cells: &[Cell], is: impl Fn(&Cell) -> bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for cell in cells.iter().filter(|cell| is(cell)) {
        if !names.contains(&cell.workload) {
            names.push(cell.workload.clone());
        }
    }
    names
}
