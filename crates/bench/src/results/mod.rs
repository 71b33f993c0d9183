//! Data that a comparison leaves behind in `results.json`, schema version 1.
//!
//! Everything the report shows is here; the report itself computes nothing. Not here: writing
//! (`files`) and reading it (`compare::merge`).

pub(crate) mod added_settings;
pub(crate) mod answer;
pub mod files;
pub(crate) mod open_loop;
mod variant;
pub(crate) mod warnings;

pub use open_loop::{AtRate, Longer, OpenLoop, Percentile, Ratio, Search, Sustained};

use std::collections::BTreeMap;

use sealstone_store::EngineFacts;
use serde::{Deserialize, Serialize};

pub use crate::measure::buckets::Buckets;
pub use crate::measure::cpu_time::CpuSecond;
pub use crate::measure::latency_histogram::Latency;
pub use crate::results::answer::{Piece, PieceKind};
pub use crate::results::variant::{Choice, Means, SERVER_BACKEND, Variant};
use crate::study::coverage::Coverage;
pub use crate::study::machine::Machine;
use crate::words::Bottleneck;
use crate::words::axes::Point;
use crate::words::share::ClientFacts;
use crate::words::verdict::Quantity;
pub use crate::words::verdict::Verdict;
use crate::workload::{Setting, Unit};

/// Version of this schema, in `Comparison::schema`.
pub const SCHEMA: u32 = 1;

/// One comparison, finished or interrupted: what `results.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Schema version: 1.
    pub schema: u32,
    /// Version of Sealstone that measured.
    pub version: String,
    /// Time at which it began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall seconds from begin to end.
    pub elapsed_s: f64,
    /// Set when it was ended early; the measurements until then are complete.
    pub interrupted: bool,
    /// The exact command line.
    pub command: Vec<String>,
    /// Every effective setting, defaults included: the TOML table of the comparison.
    pub plan: crate::study::plan::Plan,
    /// The machine.
    pub machine: Machine,
    /// Variants compared; `Cell::variant` is an index into this list. The first without a layer is
    /// the baseline.
    pub variants: Vec<Variant>,
    /// Measurements, in groups of cells that differ in variant and workload alone.
    pub groups: Vec<Group>,
    /// Stores compared with the store that the plan names, if it names one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<Against>,
    /// Planned measurements that are in no group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
    /// Facts about which of several clients measured it, and when they began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientFacts>,
}

/// A group that was planned, but not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// Its position on the axes.
    pub point: Point,
    /// Its workloads.
    pub workloads: Vec<String>,
    /// Reason why it is missing.
    pub reason: String,
    /// Set when it cannot be had, so that measuring again would not change it.
    pub left_out: bool,
}

/// The cells at one point of the axes, with their own baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Its position on the axes.
    pub point: Point,
    /// Time at which it began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall seconds from begin to end.
    pub elapsed_s: f64,
    /// Set when it was ended early.
    pub interrupted: bool,
    /// The error that ended it, if any; the measurements until then are whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The data store.
    pub engine: EngineFacts,
    /// Its workloads.
    pub workloads: Vec<String>,
    /// The variants measured here, by their index in the comparison; all of them where the list is
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<usize>,
    /// Measurements: one entry for each variant and workload.
    pub cells: Vec<Cell>,
    /// Each cipher against each other one.
    #[serde(default)]
    pub between: Vec<Between>,
    /// Recommended choice, and the reasons for it.
    pub recommendation: Recommendation,
    /// Caveats that the reader must be aware of to trust the figures: assertions in the engine,
    /// throttling, few rounds.
    pub warnings: Vec<String>,
}

impl Group {
    /// Returns the variants of `all`, the variants of the comparison, that were measured here.
    pub(crate) fn own_variants(&self, all: &[Variant]) -> Vec<Variant> {
        match self.variants.is_empty() {
            true => all.to_vec(),
            false => self.variants.iter().filter_map(|&number| all.get(number).cloned()).collect(),
        }
    }

    /// Turns the indices of its variants from indices of the comparison into indices of
    /// [`Group::own_variants`].
    pub(crate) fn number_own(&mut self) {
        if !self.variants.is_empty() {
            let own = std::mem::take(&mut self.variants);
            // a variant not in the list gets an index out of range, which is reported when the
            // results are shown
            self.renumber(|number| own.iter().position(|&one| one == number).unwrap_or(own.len()));
            self.variants = own;
        }
    }

    /// Turns the indices of its variants back into indices of the comparison.
    pub(crate) fn number_all(&mut self) {
        if !self.variants.is_empty() {
            let own = std::mem::take(&mut self.variants);
            self.renumber(|number| own.get(number).copied().unwrap_or(usize::MAX));
            self.variants = own;
        }
    }

    fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.cells.iter_mut().for_each(|cell| cell.variant = number(cell.variant));
        for between in &mut self.between {
            (between.variant, between.other) = (number(between.variant), number(between.other));
        }
    }
}

impl Comparison {
    /// Returns the same with its missing groups. It was ended early if any of them could have been
    /// measured.
    #[must_use]
    pub fn with_missing(mut self, missing: Vec<Missing>) -> Self {
        self.interrupted |= missing.iter().any(|missing| !missing.left_out);
        self.missing = missing;
        self
    }

    /// Returns each group separately, with the parts that it shares with the others.
    #[must_use]
    pub fn runs(&self) -> Vec<Results> {
        let run = |mut group: Group| {
            group.number_own();
            Results {
                version: self.version.clone(),
                variants: group.own_variants(&self.variants),
                started_at: group.started_at,
                elapsed_s: group.elapsed_s,
                interrupted: group.interrupted,
                failure: group.failure,
                command: self.command.clone(),
                plan: crate::study::plan::Plan {
                    workloads: group.workloads,
                    ..self.plan.at(&group.point)
                },
                machine: self.machine.clone(),
                engine: group.engine,
                cells: group.cells,
                between: group.between,
                recommendation: group.recommendation,
                warnings: group.warnings,
                client: self.client.clone(),
            }
        };
        self.groups.iter().cloned().map(run).collect()
    }
}

/// Throughput of one variant of a store under one workload, against the same variant of another
/// store, or against that store unencrypted if it has no such variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The position of the store on the axes.
    pub point: Point,
    /// The position of the store that it is compared with.
    pub other: Point,
    /// Workload name.
    pub workload: String,
    /// Label of the variant.
    pub variant: String,
    /// Label of the other store's variant.
    pub other_variant: String,
    /// Throughput, as a multiple of the other's.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One group of cells with everything known about it: the basis of report, answer and
/// recommendation.
#[derive(Clone, Debug)]
pub struct Results {
    /// Version of Sealstone that measured.
    pub version: String,
    /// Time at which it began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall seconds from begin to end.
    pub elapsed_s: f64,
    /// Set when it was ended early; the measurements until then are complete.
    pub interrupted: bool,
    /// The error that ended it, if one did.
    pub failure: Option<String>,
    /// The exact command line.
    pub command: Vec<String>,
    /// Every effective setting, defaults included, at this group's point of the axes.
    pub plan: crate::study::plan::Plan,
    /// The machine.
    pub machine: Machine,
    /// The data store.
    pub engine: EngineFacts,
    /// Variants compared; `Cell::variant` is an index into this list. The first without a cipher is
    /// the baseline.
    pub variants: Vec<Variant>,
    /// Measurements: one entry for each variant and workload.
    pub cells: Vec<Cell>,
    /// Each cipher against each other one.
    pub between: Vec<Between>,
    /// Recommended choice, and the reasons for it.
    pub recommendation: Recommendation,
    /// Caveats that the reader must be aware of to trust the figures: assertions in the engine,
    /// throttling, few rounds.
    pub warnings: Vec<String>,
    /// Facts about which of several clients measured it.
    pub client: Option<ClientFacts>,
}

impl Results {
    /// Returns these results, which include the rounds of `earlier`, as one run with it.
    pub(crate) fn after(mut self, earlier: &Self) -> Self {
        self.started_at.clone_from(&earlier.started_at);
        self.elapsed_s += earlier.elapsed_s;
        let settings =
            earlier.engine.settings.iter().filter(|(name, _)| added_settings::is_clients(name));
        self.engine.settings.extend(settings.map(|(name, value)| (name.clone(), value.clone())));
        let is_old = |warning: &&String| {
            !self.warnings.contains(warning) && *warning != warnings::ENDED_EARLY
        };
        let warnings: Vec<String> = earlier.warnings.iter().filter(is_old).cloned().collect();
        self.warnings.extend(warnings);
        for cell in &mut self.cells {
            let of_earlier = earlier
                .cells
                .iter()
                .find(|old| old.variant == cell.variant && old.workload == cell.workload);
            for (operation, count) in of_earlier.iter().flat_map(|old| &old.failed) {
                *cell.failed.entry(operation.clone()).or_default() += count;
            }
        }
        self
    }

    /// Returns the number of clients found for each workload whose number was left open.
    #[must_use]
    pub fn threads_found(&self) -> BTreeMap<String, usize> {
        let is_found = |name: &str| {
            let fixed = self.plan.workload(name).map_or(true, |spec| spec.clients.is_some());
            self.plan.point().clients == 0 && self.plan.target.is_none() && !fixed
        };
        let cells =
            self.cells.iter().filter(|cell| !self.plan.threads_of.contains_key(&cell.workload));
        cells
            .filter(|cell| is_found(&cell.workload))
            .map(|cell| (cell.workload.clone(), cell.clients))
            .collect()
    }
}

/// One variant under one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Index into the comparison's variants.
    pub variant: usize,
    /// Workload name.
    pub workload: String,
    /// In what its throughput counts.
    pub unit: Unit,
    /// Clients.
    pub clients: usize,
    /// Every measured slice, in order.
    pub samples: Vec<Sample>,
    /// Median throughput over the samples, in `unit` a second.
    pub throughput: f64,
    /// Latency by operation, over all samples; with a target rate, from the moment an operation was
    /// due.
    pub latency: BTreeMap<String, Latency>,
    /// With a target rate: latency by operation from its actual start. Empty in a closed loop,
    /// where `latency` is just that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service: BTreeMap<String, Latency>,
    /// CPU use second by second, measured slices joined.
    pub cpu: Vec<CpuSecond>,
    /// Breakdown of CPU time, over all samples.
    pub time: TimeSplit,
    /// Share of lookups answered by the store's cache, 0 to 1, if it has one.
    pub cache_hit_rate: Option<f64>,
    /// Bytes on disk after the last sample.
    pub disk_bytes: u64,
    /// Rows that the store held then, where that is certain: under a workload that loads an empty
    /// store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_rows: Option<u64>,
    /// Share of the CPU time that the load generator itself takes, 0 to 1, where that could be
    /// found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_share: Option<f64>,
    /// Factor that held the run back.
    pub saturation: Saturation,
    /// Cache and durability under which it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// Cost against the baseline; absent for the baseline itself, and at a fixed rate, where the
    /// throughput is not a result.
    pub overhead: Option<Overhead>,
    /// With a target rate: latencies by slice, and what follows from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Operations that failed, by name; they are in no other figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// The histograms behind `latency`, so that histograms of several clients, and of further
    /// rounds, can be added up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Buckets>,
    /// The same behind `service`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub service_histograms: BTreeMap<String, Buckets>,
}

/// One measured slice of one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Round, from 0.
    pub round: usize,
    /// Slice within the round, from 0.
    pub slice: usize,
    /// Number of the load of the stores that it ran on: counted over the whole comparison, so
    /// slices of two workloads with the same number ran on the same stores. All variants are
    /// reloaded together.
    pub load: usize,
    /// Operations done.
    pub operations: u64,
    /// Rows touched.
    pub rows: u64,
    /// Bytes of record values moved.
    pub bytes: u64,
    /// Wall seconds.
    pub elapsed_s: f64,
    /// CPU seconds of the process, user.
    pub cpu_user_s: f64,
    /// CPU seconds of the process, system.
    pub cpu_system_s: f64,
    /// CPU seconds inside the cipher, within the slice.
    pub cipher_cpu_s: f64,
    /// CPU seconds inside file operations, within the slice.
    pub io_cpu_s: f64,
    /// Wall seconds inside file operations, summed over threads.
    pub io_wall_s: f64,
    /// CPU seconds of background work after the slice, until the store was quiet.
    pub settle_cpu_s: f64,
    /// Syncs of files within the slice.
    pub syncs: u64,
    /// Wall seconds inside these syncs, summed over threads.
    pub sync_wall_s: f64,
    /// Wall seconds of the client threads, summed over them.
    pub client_wall_s: f64,
    /// Seconds that they were on a CPU.
    pub client_cpu_s: f64,
    /// Number of times that one of the client threads went to sleep.
    pub client_sleeps: u64,
    /// Bytes read from files, background work after the slice included.
    pub read_bytes: u64,
    /// Bytes written to files, background work after the slice included.
    pub written_bytes: u64,
    /// Bytes encrypted, background work after the slice included.
    pub encrypted_bytes: u64,
    /// Bytes decrypted, background work after the slice included.
    pub decrypted_bytes: u64,
    /// Cache hits within the slice.
    pub cache_hits: u64,
    /// Cache misses within the slice.
    pub cache_misses: u64,
    /// With a target rate: operations a second that the slice kept up with; otherwise 0.
    pub kept_per_s: f64,
    /// Seconds that clients were ready to run and waited for a free core, all clients together.
    pub queued_s: f64,
    /// CPU seconds, included in user and system, of other processes that do the store's work: a
    /// server, the other end of a device; 0 in `results/default-run.csv`, which lacks the column.
    #[serde(default)]
    pub servers_cpu_s: f64,
}

impl Sample {
    /// Returns the CPU seconds for one `unit`, background work after the slice included.
    #[must_use]
    pub fn cpu_s_a_unit(&self, unit: Unit) -> f64 {
        (self.cpu_user_s + self.cpu_system_s + self.settle_cpu_s)
            / (self.amount(unit) as f64).max(1.0)
    }

    fn amount(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Operations => self.operations,
            Unit::Bytes => self.bytes,
        }
    }

    /// Returns the throughput of the slice, in `unit` a second.
    #[must_use]
    pub fn throughput(&self, unit: Unit) -> f64 {
        if self.elapsed_s > 0.0 { self.amount(unit) as f64 / self.elapsed_s } else { 0.0 }
    }
}

/// Breakdown of CPU time, in seconds, over all samples of a cell.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TimeSplit {
    /// In the cipher.
    pub cipher_s: f64,
    /// In file operations.
    pub io_s: f64,
    /// Elsewhere: engine, load generator, kernel.
    pub other_s: f64,
    /// Wall seconds that threads waited in file operations.
    pub io_wait_s: f64,
}

/// Factor that held a run back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Saturation {
    /// The factor.
    pub by: Bottleneck,
    /// Set when a search found that more clients do no more work: the throughput is the highest
    /// there is.
    #[serde(default)]
    pub peak: bool,
    /// CPU use over all cores, 0 to 1.
    pub cpu_share: f64,
    /// In words, with the figure.
    pub reason: String,
}

/// Cache and durability under which a cell was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Their name.
    pub setting: Setting,
    /// The cache of one store, in bytes.
    pub cache_bytes: u64,
    /// Size of its records, in bytes of values.
    pub data_bytes: u64,
    /// Set when a write waits until it is on the disk; otherwise it is as durable as the engine's
    /// default.
    pub synced: bool,
}

/// Cost against the baseline, from paired slices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overhead {
    /// Throughput ratio to the baseline (1 = equal, 0.9 = a tenth slower); with `target = "max"`,
    /// of the rates sustained. With too few pairs for an interval, the median of the pairs.
    pub ratio: f64,
    /// The 95 % confidence interval of the ratio, as `low` and `high`; absent with too few pairs
    /// for one.
    #[serde(flatten)]
    pub interval: Option<Interval>,
    /// Number of pairs.
    pub pairs: usize,
    /// Separately loaded stores that the interval is over; 1 if it is that of a single load.
    pub loads: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// In words: `no difference (± 1.2 %)`, `costs 4.0 % ± 1.5`, `costs at most 6.4 % (…)`,
    /// `cannot conclude (…)`.
    pub words: String,
    /// The same for CPU seconds an operation (or a byte, as the throughput counts), background work
    /// after the slice included: median over the pairs (ratio above 1 = more CPU).
    pub cpu_ratio: f64,
}

impl Overhead {
    /// Returns a judged ratio in the form of a cost, for charts and tables of costs; its pairs and
    /// its CPU time are unknown.
    ///
    /// - `interval`: the ends of its 95 % confidence interval
    pub(crate) fn of_ratio(
        ratio: f64,
        interval: (f64, f64),
        verdict: Verdict,
        words: &str,
    ) -> Self {
        Self {
            ratio,
            interval: Some(interval.into()),
            pairs: 0,
            loads: 1,
            verdict,
            words: words.to_owned(),
            cpu_ratio: f64::NAN,
        }
    }

    /// Returns whether nothing is concluded although the interval is beyond the effect of layout:
    /// alone it would be a claim, but among so many ratios it can be chance.
    #[must_use]
    pub fn can_be_chance(&self) -> bool {
        self.can_be_chance_of(Quantity::Throughput)
    }

    /// Returns the same of a ratio of `quantity`.
    pub(crate) fn can_be_chance_of(&self, quantity: Quantity) -> bool {
        let is_apart = |ends: Interval| quantity.is_apart(ends.low, ends.high);
        self.verdict == Verdict::CannotConclude && self.interval.is_some_and(is_apart)
    }
}

/// The ends of a 95 % confidence interval of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<(f64, f64)> for Interval {
    fn from((low, high): (f64, f64)) -> Self {
        Self { low, high }
    }
}

/// One cipher against another one, from their own paired slices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Between {
    /// Index of the variant in the comparison.
    pub variant: usize,
    /// Index of the variant that it is compared with.
    pub other: usize,
    /// Workload name; absent: the geometric mean over all workloads that met a cipher.
    pub workload: Option<String>,
    /// Throughput, as a multiple of the other's; at a fixed rate, the 99th percentile.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// In words, such as `costs 3.7 % ± 1.6`.
    pub words: String,
}

impl Between {
    /// Returns the same in the form of a cost, for charts and tables of costs.
    pub(crate) fn as_overhead(&self) -> Overhead {
        Overhead::of_ratio(self.ratio, (self.low, self.high), self.verdict, &self.words)
    }
}

/// Recommended choice, and the reasons for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recommendation {
    /// The effective policy: `any`, `fips`, `kcmvp`.
    pub policy: String,
    /// The answer in one sentence: its pieces together.
    pub answer: String,
    /// The pieces of the answer, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
    /// Label of the variant to take, if one can be named.
    pub take: Option<String>,
    /// CPU time that the same work takes with it, as a noun phrase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Further consequences of taking it, its gaps, and changes that would alter the advice, in
    /// the reader's terms.
    #[serde(default)]
    pub meaning: Vec<String>,
    /// Allowed variants, best first.
    pub ranking: Vec<Ranked>,
    /// Questions on which nothing could be concluded.
    pub open_questions: Vec<String>,
    /// Limits to heed: block size, blocks per key at this data volume, legacy, experimental.
    pub warnings: Vec<String>,
    /// Table of which place protects from whom, and at what cost, if the plan sets from whom to
    /// protect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

impl Recommendation {
    /// Returns the same with an answer of `pieces`.
    #[must_use]
    pub fn with_answer(self, pieces: Vec<Piece>) -> Self {
        Self { answer: answer::sentence(&pieces), pieces, ..self }
    }

    /// Lists the consequences of the choice where no heading names them.
    pub(crate) fn consequences(&self) -> impl Iterator<Item = String> {
        let cpu = self.cpu.iter().map(|cpu| format!("it means: {cpu}"));
        cpu.chain(self.meaning.iter().cloned())
    }
}

/// One place in the ranking.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ranked {
    /// Variant label.
    pub label: String,
    /// Set when the policy and the cipher's standing allow it to be recommended.
    pub allowed: bool,
    /// Geometric mean of its throughput ratios over the workloads; at a fixed rate, of the ratios
    /// of its 99th percentiles, 0 where there is none.
    pub ratio: f64,
    /// The cost that this is, judged as one family with the costs of the others; absent at a fixed
    /// rate, and with too little data for an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// Reasons with figures.
    pub reasons: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_comes_first_and_says_that_it_is_a_consequence() {
        let found = Recommendation {
            cpu: Some("no more CPU time".into()),
            meaning: vec!["protects from dba".into()],
            ..Recommendation::default()
        };
        let lines: Vec<String> = found.consequences().collect();
        assert_eq!(lines, ["it means: no more CPU time", "protects from dba"]);
    }
}
