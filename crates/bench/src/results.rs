//! What a comparison leaves behind: the data of `results.json`, schema version 1.
//!
//! Everything the report shows is here; the report computes nothing of its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::workload::Unit;

/// Version of this schema, in `Results::schema`.
pub const SCHEMA: u32 = 1;

/// One comparison, finished or interrupted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Schema version: 1.
    pub schema: u32,
    /// Version of Sealstone that measured.
    pub version: String,
    /// When it began, RFC 3339, UTC.
    pub started_at: String,
    /// Wall seconds from begin to end.
    pub elapsed_s: f64,
    /// Whether it was ended early; what was measured until then is whole.
    pub interrupted: bool,
    /// The exact command line.
    pub command: Vec<String>,
    /// Every setting in force, defaults included: the TOML table of the comparison.
    pub plan: crate::plan::Plan,
    /// The machine.
    pub machine: Machine,
    /// The data store.
    pub engine: EngineFacts,
    /// What was compared; `Cell::variant` counts into it. The first without a cipher is the baseline.
    pub variants: Vec<Variant>,
    /// What was measured: one entry for each variant and workload.
    pub cells: Vec<Cell>,
    /// What to take, and why.
    pub recommendation: Recommendation,
    /// What the reader must know to trust the figures: assertions in the engine, throttling, few rounds.
    pub warnings: Vec<String>,
}

/// Machine facts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Machine {
    /// A short name for merged reports: CPU model and cores.
    pub label: String,
    /// CPU model name.
    pub cpu: String,
    /// Logical CPUs available to the process.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system name.
    pub os: String,
    /// File system type and device of the data directory.
    pub file_system: String,
    /// CPU features that matter to ciphers.
    pub cpu_features: Vec<String>,
    /// Backends this CPU can run.
    pub backends: Vec<String>,
    /// Whether a hypervisor is reported.
    pub virtualised: bool,
}

/// Facts about the engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EngineFacts {
    /// `rocksdb`.
    pub name: String,
    /// Version, such as `7.8.3`.
    pub version: String,
    /// `system library` or `bundled source`.
    pub build: String,
    /// Built with assertions on: its baseline is slower, overheads are understated.
    pub assertions: bool,
    /// Settings that matter: block size, page size, compression, sync.
    pub settings: BTreeMap<String, String>,
}

/// One way of storing: with which cipher, by which backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique label, such as `aes-256`, `aes-256 portable`, `none`, `none (2)`.
    pub label: String,
    /// Cipher name; absent for no encryption.
    pub cipher: Option<String>,
    /// Backend asked for: `auto` or a name.
    pub accel: String,
    /// Backend in use, once known.
    pub backend: Option<String>,
}

/// One variant under one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Index into `Results::variants`.
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
    /// Latency by operation, over all samples.
    pub latency: BTreeMap<String, Latency>,
    /// CPU use second by second, measured slices joined.
    pub cpu: Vec<CpuSecond>,
    /// Where CPU time went, over all samples.
    pub time: TimeSplit,
    /// Share of lookups answered by the store's cache, 0 to 1, if it has one.
    pub cache_hit_rate: Option<f64>,
    /// Bytes on disk after the last sample.
    pub disk_bytes: u64,
    /// What held the run back.
    pub saturation: Saturation,
    /// Cost against the baseline; absent for the baseline itself.
    pub overhead: Option<Overhead>,
}

/// One measured slice of one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Round, from 0.
    pub round: usize,
    /// Slice within the round, from 0.
    pub slice: usize,
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
    /// CPU seconds inside the cipher.
    pub cipher_cpu_s: f64,
    /// CPU seconds inside file operations.
    pub io_cpu_s: f64,
    /// Wall seconds inside file operations, summed over threads.
    pub io_wall_s: f64,
    /// CPU seconds of background work after the slice, until the store was quiet.
    pub settle_cpu_s: f64,
    /// Bytes read from files.
    pub read_bytes: u64,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// Bytes encrypted.
    pub encrypted_bytes: u64,
    /// Bytes decrypted.
    pub decrypted_bytes: u64,
    /// Cache hits.
    pub cache_hits: u64,
    /// Cache misses.
    pub cache_misses: u64,
}

/// Latency of one kind of operation, in microseconds. With a target rate: from the moment it was due.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Operations.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// 50th percentile.
    pub p50_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Largest.
    pub max_us: f64,
    /// (share 0..1, microseconds) pairs of the distribution, for the chart.
    pub distribution: Vec<(f64, f64)>,
}

/// CPU use in one second, in cores.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct CpuSecond {
    /// Seconds since the cell's first sample began.
    pub at_s: f64,
    /// Cores busy in user code.
    pub user: f64,
    /// Cores busy in the kernel.
    pub system: f64,
}

/// Where CPU time went, in seconds, over all samples of a cell.
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

/// What held a run back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Saturation {
    /// `cpu`, `io`, `target` (a rate was set) or `none`.
    pub by: String,
    /// CPU use over all cores, 0 to 1.
    pub cpu_share: f64,
    /// In words, with the figure.
    pub reason: String,
}

/// The verdict on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval lies within the margin around no difference, or includes none and is narrow.
    NoDifference,
    /// Slower than the baseline.
    Costs,
    /// Faster than the baseline.
    Gains,
    /// The interval is too wide to say.
    CannotConclude,
}

/// Cost against the baseline, from paired slices.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Overhead {
    /// Throughput ratio to the baseline (1 = equal, 0.9 = a tenth slower).
    pub ratio: f64,
    /// Lower end of the 95 % confidence interval of the ratio.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Number of pairs.
    pub pairs: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// In words: `no difference (± 1.2 %)`, `costs 4.0 % ± 1.5`, `cannot conclude (…)`.
    pub words: String,
    /// The same for CPU seconds an operation (ratio above 1 = more CPU).
    pub cpu_ratio: f64,
}

/// What to take, and why.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recommendation {
    /// The policy in force: `any`, `fips`, `kcmvp`.
    pub policy: String,
    /// The answer in one sentence.
    pub answer: String,
    /// Label of the variant to take, if one can be named.
    pub take: Option<String>,
    /// Allowed variants, best first.
    pub ranking: Vec<Ranked>,
    /// What could not be concluded.
    pub open_questions: Vec<String>,
    /// Limits to heed: block size, blocks per key at this data volume, legacy, experimental.
    pub warnings: Vec<String>,
}

/// One place in the ranking.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ranked {
    /// Variant label.
    pub label: String,
    /// Whether the policy and the cipher's standing allow it to be recommended.
    pub allowed: bool,
    /// Geometric mean of its throughput ratios over the workloads.
    pub ratio: f64,
    /// Reasons with figures.
    pub reasons: Vec<String>,
}
