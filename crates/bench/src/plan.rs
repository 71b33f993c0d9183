//! The settings of a comparison: one TOML table, one set of flags. Reads them, and reports what is wrong with them
//! before anything is measured; runs nothing itself.

mod layers;
mod read;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use sealstone_cipher::backend::{Backend, BackendError};
use sealstone_cipher::registry::{self, UnknownCipher};
use sealstone_store::{Choice, Layer, ServerFunction, Tunnel, Variant};
use serde::{Deserialize, Serialize};

use crate::axes::{Point, varied};
use crate::coverage::Surroundings;
use crate::places::place_name;
use crate::share::Share;
use crate::size::human_bytes;
use crate::target::{Limit, Target};
use crate::workload::{BlockShape, Delimiter, Setting, SizedBy, Unit};
use crate::{latency, machine, verdict, workload};

/// Which ciphers a recommendation may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Every cipher in good standing.
    #[default]
    Any,
    /// Cipher and mode approved under FIPS 140.
    Fips,
    /// Cipher and mode on the Korean validation list.
    Kcmvp,
}

impl Policy {
    /// The word for flags and reports: `any`, `fips`, `kcmvp`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Fips => "fips",
            Self::Kcmvp => "kcmvp",
        }
    }
}

/// Every setting of a comparison, defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// Names of stores: `rocksdb`, `mongodb`.
    #[serde(with = "read::list")]
    pub store: Vec<String>,
    /// The store that the others are set against; absent: each store is compared with itself alone.
    pub against: Option<String>,
    /// Members of each store's replica set. 1 for a store in this process.
    #[serde(with = "read::counts")]
    pub nodes: Vec<usize>,
    /// Where data is encrypted: `rest`, `field`, `server`, `wire`, or layers at the same time, such as `field+rest`.
    #[serde(with = "read::list")]
    pub layer: Vec<String>,
    /// Whom to protect from, by the names in the table of threats; none: the advice is about ciphers alone.
    #[serde(with = "read::list", skip_serializing_if = "Vec::is_empty")]
    pub protect_from: Vec<String>,
    /// The policy that says which fields the layer `field` seals; absent: all of them.
    pub fields: Option<PathBuf>,
    /// Cipher names; `none` is the baseline and is added if it is missing.
    pub ciphers: Vec<String>,
    /// Backends: `auto` or names.
    pub accel: Vec<String>,
    /// With the layer `wire`: suites that seal packets, or `tls`, and `none` for the baseline.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<String>,
    /// With the layer `wire`: who carries the packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Links between client and store, made on this machine: Mbit/s, or `unlimited`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// Workload names.
    pub workloads: Vec<String>,
    /// Records in the YCSB data set.
    #[serde(with = "read::counts")]
    pub records: Vec<u64>,
    /// CSV file to take records from, instead of YCSB's own.
    pub records_from: Option<PathBuf>,
    /// What separates the fields of that file; absent: what the file shows.
    pub delimiter: Option<Delimiter>,
    /// Operations in one pass, for workloads counted in operations. A round has one pass, or several if one would be
    /// too short to measure (see `slice_ms`).
    #[serde(deserialize_with = "read::count::deserialize")]
    pub operations: u64,
    /// Client threads, unless the workload fixes them; none: for each workload the fewest that bring the unencrypted
    /// store to the most it can do.
    #[serde(with = "read::counts", skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<usize>,
    /// Rounds.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub rounds: usize,
    /// Pairs of slices that each round adds to a ratio, at least.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub pairs: usize,
    /// A measured slice lasts at least about this many milliseconds, and twice that with cold caches or an empty
    /// store to begin with; shorter passes are repeated until it does.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub slice_ms: u64,
    /// The store's cache, in bytes; absent: sized to the data. In TOML also text such as `"512MiB"`.
    #[serde(deserialize_with = "read::size::optional")]
    pub cache: Option<u64>,
    /// Bytes of record values for `oltp` and the batch workloads, and of the blocks that those on block devices use. In
    /// TOML also text such as `"2GB"`.
    #[serde(deserialize_with = "read::size::required")]
    pub bytes: u64,
    /// Bytes of a request to a block device. In TOML also text such as `"4KiB"`.
    #[serde(deserialize_with = "read::size::required")]
    pub block_bytes: u64,
    /// Requests to a block device that are under way at once.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub depth: usize,
    /// Whether every block that is read is compared with what was written to it.
    pub verify: bool,
    /// Operations a second (open loop), or `max`: the most that each variant sustains under `p99`; absent: as fast as
    /// possible.
    pub target: Option<Target>,
    /// With `target = "max"`: what 99 of 100 requests must not exceed, such as `"10ms"`.
    pub p99: Option<Limit>,
    /// Operations that may fail at each point of the axes before the comparison ends.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub max_errors: u64,
    /// Which ciphers may be recommended.
    pub policy: Policy,
    /// The share within which two throughputs count as no difference, such as 0.02. In TOML text such as `"2%"`.
    #[serde(with = "crate::percent::setting")]
    pub margin: f64,
    /// Seed of every random draw.
    #[serde(with = "read::seed")]
    pub seed: u64,
    /// Directory for the report and its data.
    pub out: PathBuf,
    /// Directory in which the sealed stores are left; absent: they are removed.
    pub keep: Option<PathBuf>,
    /// The key to seal with, a key file or `kmip:…`; absent: a random one, forgotten at the end.
    pub key: Option<String>,
    /// File with the passphrase of the key file.
    pub passphrase_file: Option<PathBuf>,
    /// The results of an earlier run, to compare with.
    pub baseline: Option<PathBuf>,
    /// The share by which a cost may have grown since then. In TOML text such as `"5%"`.
    #[serde(with = "crate::percent::setting::optional")]
    pub fail_if: Option<f64>,
    /// Client threads of single workloads, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub threads_of: BTreeMap<String, usize>,
    /// Settings of single stores: a table for each store, in it a name and one value or several.
    #[serde(with = "read::stores", skip_serializing_if = "BTreeMap::is_empty")]
    pub stores: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Workloads of the user's own; those that are run stand in `workloads`, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_workloads: Vec<workload::Definition>,
    /// What the store has for the layer `server`: no setting, whoever knows the store fills it in.
    #[serde(skip)]
    pub server_functions: Vec<&'static ServerFunction>,
    /// What `suites` and `path` amount to: no setting, whoever knows the suites fills it in.
    #[serde(skip)]
    pub tunnels: Vec<Tunnel>,
    /// Where the store runs, likewise; results have it where they advise across places.
    #[serde(skip)]
    pub surroundings: Surroundings,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            store: vec!["rocksdb".into()],
            against: None,
            nodes: vec![1],
            layer: vec![Layer::Rest.name().into()],
            protect_from: Vec::new(),
            fields: None,
            ciphers: ["none", "aes-256", "aria-256"].map(String::from).to_vec(),
            accel: vec!["auto".into()],
            suites: Vec::new(),
            path: Vec::new(),
            links: Vec::new(),
            workloads: DEFAULT_WORKLOADS.map(String::from).to_vec(),
            records: vec![100_000],
            records_from: None,
            delimiter: None,
            operations: 20_000,
            threads: Vec::new(),
            rounds: 3,
            pairs: 12,
            slice_ms: 50,
            cache: None,
            bytes: 256_000_000,
            block_bytes: BlockShape::USUAL.block_bytes,
            depth: BlockShape::USUAL.depth,
            verify: BlockShape::USUAL.verify,
            target: None,
            p99: None,
            max_errors: 0,
            policy: Policy::Any,
            margin: verdict::MARGIN,
            seed: 1,
            out: "sealstone-results".into(),
            keep: None,
            key: None,
            passphrase_file: None,
            baseline: None,
            fail_if: None,
            threads_of: BTreeMap::new(),
            stores: BTreeMap::new(),
            own_workloads: Vec::new(),
            server_functions: Vec::new(),
            tunnels: Vec::new(),
            surroundings: Surroundings::default(),
        }
    }
}

/// The workloads of a comparison unless others are named: what fits into six minutes on two cores with the time that
/// building takes, and has reads that the cache answers, reads that it does not, synced writes, and the two that move
/// the most bytes. `docs/method.md` gives the reasons.
pub const DEFAULT_WORKLOADS: [&str; 6] = ["a", "c", "c-cold", "oltp-sync", "batch-load", "batch-scan"];

/// Most clients that are looked for where the user leaves their number open.
pub const CLIENTS_MOST: usize = 64;

/// Clients with a rate that is set or looked for, where the user leaves their number open.
pub(crate) const CLIENTS_FOR_A_RATE: usize = 8;

/// Most members of a replica set that vote.
const NODES_MAX: usize = 7;

/// What is wrong with a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, or a value of the wrong type.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What was found.
        message: String,
    },
    /// A key that is no setting.
    #[error("{}:{line}: unknown setting {key:?}; did you mean {nearest}?\nsettings: \
             {}", path.display(), settings().join(", "))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The key found.
        key: String,
        /// The setting most like it.
        nearest: String,
    },
    /// A value that makes no sense.
    #[error("{setting} is {found}: {reason}")]
    Value {
        /// The setting, as in the TOML table.
        setting: &'static str,
        /// Its value.
        found: String,
        /// Why it cannot be, and what could.
        reason: String,
    },
    /// Not in the cipher table.
    #[error("{0}\n`none` is the baseline, without encryption")]
    Cipher(#[from] UnknownCipher),
    /// Not in the workload table, or impossible with these settings.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// A backend this CPU lacks, or no backend at all.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The stores would not fit on the disk.
    #[error(
        "the stores need about {} in {}, and {} are free there\nchoose fewer records or bytes, fewer ciphers, or \
         another \
         directory",
        human_bytes(*need_bytes), dir.display(), human_bytes(*free_bytes)
    )]
    Space {
        /// Directory of the stores.
        dir: PathBuf,
        /// Bytes needed, estimated.
        need_bytes: u64,
        /// Bytes free.
        free_bytes: u64,
    },
    /// The caches would not fit in memory.
    #[error(
        "a cache of {} for each of {stores} stores needs {}, and {} of memory are available\nchoose a smaller cache \
         or fewer ciphers",
        human_bytes(*cache_bytes), human_bytes(cache_bytes.saturating_mul(*stores as u64)),
        human_bytes(*available_bytes)
    )]
    Memory {
        /// Cache of one store, in bytes.
        cache_bytes: u64,
        /// Stores open at once.
        stores: usize,
        /// Memory available, in bytes.
        available_bytes: u64,
    },
}

impl Plan {
    /// The plan as TOML, all settings included.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan is a flat table of plain values")
    }

    /// Checks every setting for itself: names known, numbers within reason. Touches no disk but `records_from`.
    ///
    /// # Errors
    /// `PlanError::Value`, `Cipher`, `Workload`, `Backend`: the first that is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        self.check_names()?;
        self.check_layers()?;
        let within = |setting, found: u64, least: u64, most: u64, what: &str| {
            let reason = match found {
                _ if found < least => format!("{what}, so at least {least}"),
                _ if found > most => format!("{what}, so at most {most}"),
                _ => return Ok(()),
            };
            Err(PlanError::Value { setting, found: found.to_string(), reason })
        };
        for &records in &self.records {
            if records == 0 {
                return Err(value("records", 0, "a data set has at least one record"));
            }
            within("records", records, 1, 1 << 40, "row numbers are kept in 40 bits")?;
        }
        if self.operations == 0 {
            return Err(value("operations", 0, "a pass without operations measures nothing"));
        }
        within("operations", self.operations, 1, 1 << 40, "a pass ends within a lifetime")?;
        for (name, threads) in &self.threads_of {
            let spec = self.workload(name)?;
            if let Some(clients) = spec.clients {
                let reason = format!("workload {name} always has {clients}");
                return Err(value("threads-of", format!("{name}={threads}"), &reason));
            }
            if !self.workloads.contains(name) {
                let reason = format!("it is not among the workloads: {}", self.workloads.join(", "));
                return Err(value("threads-of", format!("{name}={threads}"), &reason));
            }
        }
        for &threads in self.threads.iter().chain(self.threads_of.values()) {
            if threads == 0 {
                return Err(value("threads", 0, "somebody has to run the operations; use 1 or more"));
            }
            within("threads", threads as u64, 1, 10_000, "every client is a separate thread")?;
        }
        if self.rounds == 0 {
            return Err(value("rounds", 0, "nothing would be measured; use 1 or more"));
        }
        within("rounds", self.rounds as u64, 1, 10_000, "rounds repeat the whole comparison")?;
        within(
            "pairs",
            self.pairs as u64,
            6,
            100_000,
            "an interval needs six pairs and is no better with many thousands",
        )?;
        within("slice-ms", self.slice_ms, 1, 3_600_000, "a slice lasts from a millisecond to an hour")?;
        within("bytes", self.bytes, 100_000, 1 << 50, "a data set has 100 kB to a petabyte")?;
        within("block-bytes", self.block_bytes, 512, 16 << 20, "a request has a sector of 512 bytes to 16 MiB")?;
        if !self.block_bytes.is_multiple_of(512) {
            return Err(value("block-bytes", self.block_bytes, "a request is made of sectors of 512 bytes"));
        }
        within("depth", self.depth as u64, 1, 1_024, "each request under way has memory of its own")?;
        if let Some(cache) = self.cache {
            within("cache", cache, 1 << 20, 1 << 50, "a cache has a mebibyte to a petabyte")?;
            for name in &self.workloads {
                let spec = self.workload(name)?;
                if spec.setting == Setting::Cold {
                    let reason =
                        format!("workload {name} has a cache of its own; leave one out, or name {}", spec.base);
                    return Err(value("cache", human_bytes(cache), &reason));
                }
            }
        }
        if !(0.001..=0.5).contains(&self.margin) {
            let shown = format!("{}%", crate::percent::percent(self.margin));
            return Err(value("margin", shown, "what counts as no difference lies between 0.1% and 50%"));
        }
        self.check_target()?;
        self.check_sources()
    }

    /// The settings that name files, and those that make sense only with them.
    fn check_sources(&self) -> Result<(), PlanError> {
        if let Some(path) = &self.records_from {
            let shown = path.display();
            match std::fs::File::open(path).and_then(|file| file.metadata()) {
                Err(error) => return Err(value("records-from", shown, &format!("it cannot be opened: {error}"))),
                // what can be read only once would be used up before the records are read
                Ok(facts) if !facts.is_file() => {
                    return Err(value("records-from", shown, "it is no regular file; save the records to one"));
                }
                Ok(_) => {}
            }
        } else if let Some(delimiter) = self.delimiter {
            let reason = "there is no CSV file whose fields it separates; name it with records-from";
            return Err(value("delimiter", delimiter.name(), reason));
        }
        if let (Some(limit), None) = (self.fail_if, &self.baseline) {
            let shown = format!("{}%", crate::percent::percent(limit));
            let reason = "a cost grows only since an earlier run; name its results.json with baseline";
            return Err(value("fail-if", shown, reason));
        }
        Ok(())
    }

    /// Checks the settings of an open loop.
    fn check_target(&self) -> Result<(), PlanError> {
        match (self.target, self.p99) {
            (None | Some(Target::Rate(_)), Some(limit)) => {
                let reason = "a limit is for finding the highest rate under it: add --target max, or leave it out";
                return Err(value("p99", limit, reason));
            }
            (None, None) => return Ok(()),
            (Some(Target::Max), None) => {
                return Err(value("target", "max", "it needs the latency to stay under, such as --p99 10ms"));
            }
            (Some(Target::Max), Some(limit)) if !(1.0..=60e6).contains(&limit.limit_us) => {
                return Err(value("p99", limit, "a limit on latency lies between 1us and 1m"));
            }
            (Some(Target::Rate(rate)), None) if !(rate.is_finite() && rate > 0.0) => {
                let reason = "operations a second must be a number above 0; leave it out to run as fast as possible";
                return Err(value("target", rate, reason));
            }
            _ => {}
        }
        if let Some(store) = &self.against {
            let reason = "it compares throughputs, which a target sets: leave out one of the two";
            return Err(value("against", store, reason));
        }
        for name in &self.workloads {
            let spec = self.workload(name)?;
            let own = self.own_workloads.iter().find(|own| own.name == spec.base);
            if own.is_some_and(workload::Definition::pauses) {
                let reason = "with --target, requests are due at a rate, and nobody pauses: leave out its [think-time]";
                return Err(value("workloads", name, reason));
            }
            if spec.unit == Unit::Bytes {
                let reason = "with --target, requests are due at a rate, and a batch has none: leave it out";
                return Err(value("workloads", name, reason));
            }
        }
        Ok(())
    }

    /// Operations of one pass. In an open loop a pass takes as long as the rate makes it, so it is as long as the
    /// percentiles need it to be, and at most `operations`.
    fn pass_operations(&self) -> u64 {
        /// Requests of all rounds together, twice what a 99th percentile needs.
        const REQUESTS: f64 = 2.0 * latency::REQUESTS_P99 as f64;
        /// Longest pass, in seconds.
        const LONGEST_S: f64 = 20.0;
        let Some(rate) = self.target.and_then(Target::rate) else { return self.operations_over_link() };
        let most = self.threads.iter().copied().max().unwrap_or(CLIENTS_FOR_A_RATE);
        let of = |name: &String| {
            let fixed = self.workload(name).ok().and_then(|spec| spec.clients);
            fixed.or_else(|| self.threads_of.get(name).copied()).unwrap_or(most)
        };
        let clients = self.workloads.iter().map(of).max().unwrap_or(1);
        let each_slice = f64::max(clients as f64, rate * self.slice_ms as f64 / 1e3);
        let wanted = f64::min(REQUESTS / self.rounds as f64, rate * LONGEST_S);
        self.operations.min(f64::max(wanted, self.pairs as f64 * each_slice).ceil() as u64)
    }

    /// Bytes a second that the link of the first point carries, if it is limited.
    fn link_bytes_per_s(&self) -> Option<f64> {
        self.point().link_mbit_s().map(|rate| rate * 1e6 / 8.0)
    }

    /// Bytes of the data sets that are sized by bytes: over a slow link no more than load within seconds.
    fn bytes_over_link(&self) -> u64 {
        const LOAD_S: f64 = 5.0;
        let least = (4 * self.depth as u64).saturating_mul(self.block_bytes);
        self.link_bytes_per_s().map_or(self.bytes, |rate| self.bytes.min(((rate * LOAD_S) as u64).max(least)))
    }

    /// Operations of one pass: over a slow link no more than fit into the slices of a round.
    fn operations_over_link(&self) -> u64 {
        let round_s = 2.0 * self.pairs as f64 * self.slice_ms as f64 / 1e3;
        let fitting = |rate: f64| (rate * round_s / self.block_bytes as f64) as u64;
        // as many that each slice fills the queue once
        let least = (self.pairs * self.depth) as u64;
        self.link_bytes_per_s().map_or(self.operations, |rate| self.operations.min(fitting(rate).max(least)))
    }

    /// Every point of the axes, in the order in which they are measured.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for store in &self.store {
            for &members in &self.nodes {
                for &records in &self.records {
                    let found = if self.threads.is_empty() { &[0][..] } else { &self.threads };
                    for &clients in found {
                        let point = |link| Point { store: store.clone(), members, records, clients, link };
                        match self.links.is_empty() {
                            true => points.push(point(None)),
                            false => points.extend(self.links.iter().cloned().map(Some).map(point)),
                        }
                    }
                }
            }
        }
        points
    }

    /// The plan of the cells at `point` alone.
    #[must_use]
    pub fn at(&self, point: &Point) -> Self {
        Self {
            store: vec![point.store.clone()],
            nodes: vec![point.members],
            records: vec![point.records],
            threads: if point.clients == 0 { Vec::new() } else { vec![point.clients] },
            links: point.link.iter().cloned().collect(),
            // a question about several stores
            against: None,
            ..self.clone()
        }
    }

    /// One plan for each group of cells: each point of the axes, with the workloads that its values affect. A workload
    /// that fixes its own clients, or has its own data set, is measured only at the first value of that axis.
    ///
    /// # Errors
    /// A workload that is not in the table.
    pub fn groups(&self) -> Result<Vec<Self>, PlanError> {
        let first = self.point();
        let mut groups = Vec::new();
        for point in self.points() {
            let mut plan = self.at(&point);
            let mut workloads = Vec::new();
            for name in plan.workloads.drain(..) {
                let spec = self.workload(&name)?;
                let repeats = (spec.clients.is_some() && point.clients != first.clients)
                    || (spec.sized_by == SizedBy::Bytes && point.records != first.records);
                if !repeats {
                    workloads.push(name);
                }
            }
            if !workloads.is_empty() {
                plan.threads_of.retain(|name, _| workloads.contains(name));
                groups.push(Self { workloads, ..plan });
            }
        }
        Ok(groups)
    }

    /// The first point: the only one, in a plan that was made by [`Plan::at`].
    ///
    /// # Panics
    /// If an axis has no value, which [`Plan::check`] refuses.
    #[must_use]
    pub fn point(&self) -> Point {
        self.points().into_iter().next().expect("every axis has a value")
    }

    fn check_names(&self) -> Result<(), PlanError> {
        listed("store", &self.store)?;
        if let Some(name) = &self.against
            && !(self.store.contains(name) && self.store.len() > 1)
        {
            let reason = "name one of several stores, such as --store rocksdb,mongodb --against rocksdb";
            return Err(value("against", name, reason));
        }
        listed("nodes", &self.nodes)?;
        listed("records", &self.records)?;
        if !self.threads.is_empty() {
            listed("threads", &self.threads)?;
        }
        listed("workloads", &self.workloads)?;
        for (setting, list) in [("suites", &self.suites), ("path", &self.path), ("links", &self.links)] {
            if !list.is_empty() {
                listed(setting, list)?;
            }
        }
        if let Some(nodes) = self.nodes.iter().find(|nodes| !(1..=NODES_MAX).contains(*nodes)) {
            return Err(value("nodes", nodes, "a replica set has 1 to 7 members that vote"));
        }
        for (setting, list) in [("ciphers", &self.ciphers), ("accel", &self.accel)] {
            if list.is_empty() {
                return Err(value(setting, "empty", "name at least one"));
            }
        }
        workload::check_own(&self.own_workloads)?;
        self.workloads.iter().try_for_each(|name| self.workload(name).map(drop))?;
        if let (Some(_), Some(axis)) = (&self.keep, varied(&self.points()).first()) {
            let found = format!("set, and {} has several values", axis.setting);
            return Err(value(
                "keep",
                found,
                "stores can be kept of only one point of the axes; name one value, or leave keep out",
            ));
        }
        self.variants().map(drop)
    }

    /// What is compared: every cipher with every backend in every place, the baseline first, labels unique. Also notes
    /// for the reader: a baseline that was added, two backends that are the same one.
    ///
    /// # Errors
    /// `PlanError::Cipher`, `PlanError::Backend`.
    pub fn variants(&self) -> Result<(Vec<Variant>, Vec<String>), PlanError> {
        let mut notes = Vec::new();
        let mut backends = Vec::new();
        for accel in &self.accel {
            backends.push((accel.as_str(), Backend::by_name(accel)?));
        }
        for (at, (accel, found)) in backends.iter().enumerate() {
            if let Some((before, _)) = backends[..at].iter().find(|(_, earlier)| earlier == found) {
                let name = found.name();
                notes.push(match accel == before {
                    true => format!("accel lists {accel} twice: the two are one backend ({name}), measured twice"),
                    false => format!("accel {before} and {accel} are the same backend on this CPU: {name}"),
                });
            }
        }
        let is_none = |name: &&String| name.eq_ignore_ascii_case("none");
        let compared = if self.is_wire_alone() { &self.suites } else { &self.ciphers };
        let baselines = compared.iter().filter(is_none).count();
        if baselines == 0 {
            notes.push("added `none`, the baseline that every cost is measured against".into());
        }
        let mut labels = HashMap::new();
        let mut variants = Vec::new();
        let places = self.places()?;
        let is_ours = |layer: &Layer| matches!(layer, Layer::Rest | Layer::Field);
        let sealed: Vec<&Vec<Layer>> = places.iter().filter(|place| place.iter().any(is_ours)).collect();
        let is_named = sealed.len() > 1 || places.contains(&vec![Layer::Wire]);
        let mut add = |label: String, layers: &[Layer], choice: Option<Choice>| {
            let count = labels.entry(label.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { label } else { format!("{label} ({count})") };
            let chosen = layers.iter().filter(|layer| is_ours(layer)).filter_map(|layer| Some((*layer, choice?)));
            let tunnel = layers.contains(&Layer::Wire).then(|| self.tunnels.first().cloned()).flatten();
            variants.push(Variant { layers: chosen.collect(), tunnel, ..Variant::plain(label) });
        };
        for _ in 0..baselines.max(1) {
            add("none".into(), &[], None);
        }
        for place in &sealed {
            for name in self.ciphers.iter().filter(|name| !is_none(name)) {
                let cipher = registry::cipher(name)?;
                for (accel, backend) in &backends {
                    let forced = !accel.eq_ignore_ascii_case("auto");
                    let mut label = if forced { format!("{} {accel}", cipher.name) } else { cipher.name.into() };
                    if is_named {
                        label = format!("{label} {}", place_name(place));
                    }
                    add(label, place, Some(Choice { cipher, backend: *backend, forced }));
                }
            }
        }
        // names are checked also where nothing of ours is measured
        self.ciphers.iter().filter(|name| !is_none(name)).try_for_each(|name| registry::cipher(name).map(drop))?;
        if places.concat().contains(&Layer::Server) {
            variants.extend(
                self.server_functions.iter().copied().map(|function| Variant::of_server(function.name, function)),
            );
            let one_way = self.server_functions.iter().filter(|function| function.is_one_way);
            notes.extend(one_way.map(|function| format!("{}: {}", function.name, function.about)));
        }
        if places.contains(&vec![Layer::Wire]) {
            for tunnel in &self.tunnels {
                // the path goes without saying where there is only one
                let is_one = self.tunnels.iter().all(|other| other.path == tunnel.path);
                let label = if is_one { tunnel.suite.to_owned() } else { format!("{} {}", tunnel.suite, tunnel.path) };
                variants.push(Variant::of_tunnel(label, tunnel.clone()));
            }
        }
        Ok((variants, notes))
    }

    /// What the workloads of the first point are made from.
    #[must_use]
    pub fn data(&self) -> workload::Data {
        workload::Data {
            records: self.point().records,
            records_from: self.records_from.clone(),
            delimiter: self.delimiter,
            bytes: self.bytes_over_link(),
            operations: self.pass_operations(),
            block: BlockShape { block_bytes: self.block_bytes, depth: self.depth, verify: self.verify },
            rounds: self.rounds,
            seed: self.seed,
            own: self.own_workloads.clone(),
            share: Share::ALONE,
        }
    }

    /// How the workload called `name` has to be run: one of the table, or of the user's own.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn workload(&self, name: &str) -> Result<workload::Spec, workload::Error> {
        workload::find(name, &self.own_workloads)
    }

    /// Directory whose file system will hold the stores: `keep`, or else `out`.
    pub fn stores_dir(&self) -> &Path {
        self.keep.as_deref().unwrap_or(&self.out)
    }

    /// Checks that the stores fit on the disk and a cache that was set fits in memory.
    ///
    /// - `stores`: how many copies of each data set there are: one a variant, or one for each member of its replica set
    /// - `datasets`: what sizes the data sets that will be loaded
    ///
    /// # Errors
    /// `PlanError::Space`, `PlanError::Memory`.
    pub fn check_room(&self, stores: usize, datasets: &[SizedBy]) -> Result<(), PlanError> {
        // log-structured stores hold up to about twice their data while they compact
        let data = self.data();
        let bytes = |dataset: &SizedBy| dataset.stored_bytes(&data).saturating_mul(2 * stores as u64);
        let need_bytes = match self.keep {
            Some(_) => datasets.iter().map(bytes).fold(0, u64::saturating_add),
            None => datasets.iter().map(bytes).max().unwrap_or(0),
        };
        let dir = self.stores_dir();
        if let Some(free_bytes) = machine::free_bytes(dir)
            && need_bytes > free_bytes
        {
            return Err(PlanError::Space { dir: dir.to_owned(), need_bytes, free_bytes });
        }
        self.cache.map_or(Ok(()), |cache_bytes| check_memory(cache_bytes, stores))
    }
}

/// Checks that `stores` caches of `cache_bytes` fit in memory.
///
/// # Errors
/// `PlanError::Memory`.
pub fn check_memory(cache_bytes: u64, stores: usize) -> Result<(), PlanError> {
    match machine::memory_available_bytes() {
        Some(available_bytes) if cache_bytes.saturating_mul(stores as u64) > available_bytes => {
            Err(PlanError::Memory { cache_bytes, stores, available_bytes })
        }
        _ => Ok(()),
    }
}

/// The names of all settings, as in the TOML table.
pub fn settings() -> Vec<String> {
    // every optional one filled in, so that none is left out of the table
    let full = Plan {
        records_from: Some("x".into()),
        delimiter: Some(Delimiter::Comma),
        against: Some("x".into()),
        fields: Some("x".into()),
        cache: Some(0),
        target: Some(Target::Max),
        p99: Some(Limit { limit_us: 1.0 }),
        keep: Some("x".into()),
        key: Some("x".into()),
        passphrase_file: Some("x".into()),
        baseline: Some("x".into()),
        fail_if: Some(0.1),
        suites: vec!["x".into()],
        path: vec!["x".into()],
        links: vec!["x".into()],
        protect_from: vec!["x".into()],
        threads: vec![1],
        threads_of: BTreeMap::from([("x".into(), 1)]),
        stores: BTreeMap::from([("x".into(), BTreeMap::new())]),
        own_workloads: vec![workload::Definition::default()],
        ..Plan::default()
    };
    toml::Table::try_from(full).map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

/// That a list names at least one value, and none twice.
fn listed<T: PartialEq + ToString>(setting: &'static str, list: &[T]) -> Result<(), PlanError> {
    if list.is_empty() {
        return Err(value(setting, "empty", "name at least one"));
    }
    for (at, one) in list.iter().enumerate() {
        if list[..at].contains(one) {
            // only what is measured could be meant to be measured more often
            let reason = match setting {
                "workloads" | "suites" => "it is listed twice; for more of it, raise rounds or pairs",
                _ => "it is listed twice; leave one out",
            };
            return Err(value(setting, one.to_string(), reason));
        }
    }
    Ok(())
}

fn value(setting: &'static str, found: impl ToString, reason: &str) -> PlanError {
    PlanError::Value { setting, found: found.to_string(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ciphers: &[&str], accel: &[&str]) -> (Vec<String>, Vec<String>) {
        let list = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
        let plan = Plan { ciphers: list(ciphers), accel: list(accel), ..Plan::default() };
        let (variants, notes) = plan.variants().unwrap();
        (variants.into_iter().map(|variant| variant.label).collect(), notes)
    }

    #[test]
    fn the_baseline_comes_first_and_is_added_where_missing() {
        let (found, notes) = labels(&["aes-256", "none"], &["auto"]);
        assert_eq!((found, notes.len()), (vec!["none".to_owned(), "aes-256".into()], 0));
        let (found, notes) = labels(&["aria-256"], &["auto"]);
        assert_eq!(found, ["none", "aria-256"]);
        assert!(notes[0].starts_with("added `none`"), "{notes:?}");
    }

    #[test]
    fn labels_are_unique() {
        assert_eq!(labels(&["none", "none"], &["auto"]).0, ["none", "none (2)"]);
        assert_eq!(labels(&["none", "aes-256", "AES-256"], &["auto"]).0, ["none", "aes-256", "aes-256 (2)"]);
        let (found, _) = labels(&["none", "aes-256", "aria-256"], &["auto", "portable"]);
        assert_eq!(found, ["none", "aes-256", "aes-256 portable", "aria-256", "aria-256 portable"]);
    }

    #[test]
    fn one_backend_under_two_names_is_said() {
        let best = Backend::auto().name();
        let (_, notes) = labels(&["none", "aes-256"], &["auto", best]);
        assert!(notes[0].contains("same backend") && notes[0].contains(best), "{notes:?}");
        assert!(labels(&["none", "aes-256"], &["auto", "auto"]).1[0].contains("twice"));
    }

    fn read(text: &str) -> Result<Plan, PlanError> {
        Plan::from_toml(text, Path::new("plan.toml"))
    }

    #[test]
    fn toml_fills_in_what_is_missing_and_reads_sizes() {
        let plan =
            read("records = 5\ncache = \"512MiB\"\nbytes = \"2GB\"\npolicy = \"kcmvp\"\nslice-ms = 50\n").unwrap();
        assert_eq!((plan.records[0], plan.cache, plan.bytes), (5, Some(512 << 20), 2_000_000_000));
        assert_eq!((plan.policy, plan.slice_ms, plan.threads), (Policy::Kcmvp, 50, Plan::default().threads));
        assert_eq!(read("").unwrap(), Plan::default());
    }

    #[test]
    fn counts_in_toml_are_written_as_on_the_command_line() {
        let text = "records = [\"10k\", \"1M\"]\nnodes = \"3\"\nthreads = [1, \"1k\"]\noperations = \"2.5M\"\n\
                    rounds = \"1_0\"\npairs = \"1k\"\nslice-ms = \"1k\"\nseed = \"4G\"\n";
        let plan = read(text).unwrap();
        assert_eq!((plan.records, plan.nodes, plan.threads), (vec![10_000, 1_000_000], vec![3], vec![1, 1_000]));
        assert_eq!((plan.operations, plan.rounds, plan.pairs), (2_500_000, 10, 1_000));
        assert_eq!((plan.slice_ms, plan.seed), (1_000, 4_000_000_000));
        assert_eq!(read("records = \"1M\"").unwrap().records, [1_000_000]);
        let expected = "expected a whole number below 2^64 such as 5000, 1_000_000, 100k or 5M";
        for (text, found) in [
            ("rounds = -1", "invalid value: integer `-1`"),
            ("rounds = 1.5", "invalid type: floating point `1.5`"),
            ("records = [1, true]", "invalid type: boolean `true`"),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), format!("plan.toml:1: {found}, {expected}"));
        }
    }

    #[test]
    fn settings_that_need_each_other_are_checked_wherever_they_come_from() {
        let refused = |text: &str| read(text).unwrap().check().unwrap_err().to_string();
        assert!(refused("fail-if = \"5%\"").starts_with("fail-if is 5%: a cost grows only since an earlier run; "));
        assert!(refused("delimiter = \";\"").starts_with("delimiter is semicolon: there is no CSV file "));
        assert!(refused("records-from = \"/dev/null\"").contains("it is no regular file"));
        read("fail-if = \"5%\"\nbaseline = \"old.json\"").unwrap().check().unwrap();
        assert!(read("delimiter = \"x\"").unwrap_err().to_string().contains("unknown delimiter \"x\""));
    }

    #[test]
    fn a_plan_survives_its_own_toml() {
        let full = Plan {
            cache: Some(1 << 30),
            target: Some(Target::Rate(5e3)),
            keep: Some("k".into()),
            delimiter: Some(Delimiter::Tab),
            key: Some("kmip:kms.toml".into()),
            passphrase_file: Some("p".into()),
            baseline: Some("old.json".into()),
            fail_if: Some(0.07),
            margin: 0.00123,
            // more than a number of TOML can be
            seed: u64::MAX,
            ..Plan::default()
        };
        let max = Plan { target: Some(Target::Max), p99: Some(Limit { limit_us: 1e4 }), ..Plan::default() };
        assert!(max.to_toml().contains("target = \"max\"\np99 = \"10ms\"\n"), "{}", max.to_toml());
        for plan in [full, max, Plan::default()] {
            assert_eq!(read(&plan.to_toml()).unwrap(), plan);
        }
    }

    #[test]
    fn mistakes_in_toml_are_named_with_their_line() {
        let message = |text| read(text).unwrap_err().to_string();
        let unknown = message("records = 5\n\nthread = 4\n");
        assert!(unknown.starts_with("plan.toml:3: unknown setting \"thread\"; did you mean threads?\n"), "{unknown}");
        for setting in ["records-from", "cache", "target", "keep", "slice-ms"] {
            assert!(unknown.contains(setting), "{setting} is not listed in: {unknown}");
        }
        assert!(message("slice_ms = 4").contains("did you mean slice-ms?"));
        assert!(message("records = 5\nrounds = \"many\"\n").starts_with("plan.toml:2: "));
        assert!(message("bytes = \"2 parsecs\"\n").contains("is not a size"));
        assert!(message("records = \n").starts_with("plan.toml:1: "));
        assert!(message("[records]\nx = 1\n").contains("only the settings of single stores are tables"));
    }

    #[test]
    fn every_absurd_value_is_refused_with_its_reason() {
        let refused = |plan: Plan, setting: &str| match plan.check() {
            Err(PlanError::Value { setting: found, reason, .. }) => {
                assert_eq!(found, setting);
                assert!(!reason.is_empty());
            }
            other => panic!("{setting}: {other:?}"),
        };
        let plan = Plan::default;
        refused(Plan { records: vec![0], ..plan() }, "records");
        refused(Plan { records: vec![u64::MAX], ..plan() }, "records");
        refused(Plan { operations: 0, ..plan() }, "operations");
        refused(Plan { threads: vec![0], ..plan() }, "threads");
        refused(Plan { threads: vec![1_000_000], ..plan() }, "threads");
        refused(Plan { rounds: 0, ..plan() }, "rounds");
        refused(Plan { pairs: 5, ..plan() }, "pairs");
        refused(Plan { slice_ms: 0, ..plan() }, "slice-ms");
        refused(Plan { bytes: 0, ..plan() }, "bytes");
        refused(Plan { cache: Some(0), ..plan() }, "cache");
        for target in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refused(Plan { target: Some(Target::Rate(target)), ..plan() }, "target");
        }
        let (max, reads) = (Some(Target::Max), vec!["c".to_owned()]);
        refused(Plan { target: max, workloads: reads.clone(), ..plan() }, "target");
        for limit_us in [0.0, -1.0, 1e9] {
            let p99 = Some(Limit { limit_us });
            refused(Plan { target: max, p99, workloads: reads.clone(), ..plan() }, "p99");
        }
        let p99 = Some(Limit { limit_us: 1e4 });
        for target in [None, Some(Target::Rate(10.0))] {
            refused(Plan { target, p99, workloads: reads.clone(), ..plan() }, "p99");
        }
        refused(Plan { target: max, p99, ..plan() }, "workloads");
        refused(Plan { target: Some(Target::Rate(10.0)), ..plan() }, "workloads");
        Plan { target: max, p99, workloads: reads, ..plan() }.check().unwrap();
        refused(Plan { records_from: Some("/does/not/exist.csv".into()), ..plan() }, "records-from");
        refused(Plan { workloads: vec![], ..plan() }, "workloads");
        refused(Plan { ciphers: vec![], ..plan() }, "ciphers");
        refused(Plan { accel: vec![], ..plan() }, "accel");
        refused(Plan { workloads: vec!["a".into(), "a".into()], ..plan() }, "workloads");
        plan().check().unwrap();
    }

    #[test]
    fn a_pass_of_an_open_loop_is_as_long_as_its_percentiles_need() {
        let operations = |rate: f64, rounds: usize, workload: &str| {
            let target = Some(Target::Rate(rate));
            Plan { target, rounds, workloads: vec![workload.into()], ..Plan::default() }.data().operations
        };
        // three rounds of it have twice the requests that a p99 needs
        assert_eq!(operations(2_000.0, 3, "a"), 6_667);
        // no slow rate makes a pass last longer than twenty seconds
        assert_eq!(operations(100.0, 3, "a"), 2_000);
        // every client has an operation in each of 12 slices
        assert_eq!((operations(1.0, 3, "a"), operations(1.0, 3, "oltp")), (96, 960));
        assert_eq!(operations(1e6, 3, "a"), Plan::default().operations);
        assert_eq!(Plan::default().data().operations, Plan::default().operations);
    }

    #[test]
    fn every_point_of_the_axes_is_a_group_and_nothing_is_measured_twice() {
        let workloads = ["a", "oltp", "batch-load"].map(String::from).to_vec();
        let plan = Plan { threads: vec![1, 8], records: vec![1_000, 9_000], workloads, ..Plan::default() };
        plan.check().unwrap();
        let groups = plan.groups().unwrap();
        let shown: Vec<_> = groups.iter().map(|group| (group.point(), group.workloads.len())).collect();
        let at = |records, clients| Point { store: "rocksdb".into(), members: 1, records, clients, link: None };
        // oltp and the batches fix their clients and have their own data
        assert_eq!(shown, [(at(1_000, 1), 3), (at(1_000, 8), 1), (at(9_000, 1), 1), (at(9_000, 8), 1)]);
        let fixed = Plan { workloads: vec!["oltp".into()], ..plan.clone() };
        assert_eq!(fixed.groups().unwrap().len(), 1);
        let kept = Plan { keep: Some("x".into()), ..plan }.check().unwrap_err().to_string();
        assert!(kept.contains("stores can be kept of only one point"), "{kept}");
    }

    #[test]
    fn lists_are_one_value_or_several_in_brackets() {
        let plan = read("threads = [1, 8]\nrecords = 5\nstore = [\"rocksdb\"]\n").unwrap();
        assert_eq!((plan.threads, plan.records, plan.store), (vec![1, 8], vec![5], vec!["rocksdb".to_owned()]));
        let one = Plan { threads: vec![8], ..Plan::default() };
        assert!(one.to_toml().contains("threads = 8\n") && !Plan::default().to_toml().contains("threads"));
        assert!(read("threads = []\n").unwrap_err().to_string().contains("an empty list"));
        let twice = Plan { threads: vec![8, 8], ..Plan::default() }.check().unwrap_err().to_string();
        assert!(twice.starts_with("threads is 8: it is listed twice"), "{twice}");
        let across = Plan {
            against: Some("rocksdb".into()),
            store: vec!["rocksdb".into(), "mongodb".into()],
            ..Plan::default()
        };
        across.check().unwrap();
        across.groups().unwrap().iter().for_each(|group| group.check().unwrap());
        for (against, store) in [("mongodb", vec!["rocksdb"]), ("rocksdb", vec!["rocksdb"])] {
            let store = store.into_iter().map(String::from).collect();
            let plan = Plan { against: Some(against.into()), store, ..Plan::default() };
            assert!(plan.check().unwrap_err().to_string().contains("name one of several stores"));
        }
    }

    #[test]
    fn unknown_names_come_with_the_nearest_one() {
        let message = |plan: Plan| plan.check().unwrap_err().to_string();
        let plan = Plan::default;
        assert!(message(Plan { ciphers: vec!["aria256".into()], ..plan() }).contains("did you mean aria-256"));
        let workload = message(Plan { workloads: vec!["batch-lod".into()], ..plan() });
        assert!(workload.contains("batch-load"), "{workload}");
        let backend = message(Plan { accel: vec!["portabel".into()], ..plan() });
        assert!(backend.contains("portable"), "{backend}");
    }

    #[test]
    fn a_disk_or_memory_too_small_is_reported_before_anything_runs() {
        let huge = Plan { records: vec![1 << 40], ..Plan::default() };
        let error = huge.check_room(3, &[SizedBy::Records]).unwrap_err();
        assert!(matches!(error, PlanError::Space { .. }), "{error}");
        assert!(error.to_string().contains("are free there"), "{error}");
        let hungry = Plan { records: vec![10], cache: Some(1 << 49), ..Plan::default() };
        assert!(matches!(hungry.check_room(3, &[SizedBy::Records]), Err(PlanError::Memory { .. })));
        Plan { records: vec![10], ..Plan::default() }.check_room(3, &[SizedBy::Records]).unwrap();
    }
}
