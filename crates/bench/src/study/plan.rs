//! The settings of a comparison: one TOML table, one set of flags. Reads them, and reports errors
//! in them before anything is measured; runs nothing itself.

mod axes;
mod layers;
mod links;
mod open_loop;
mod protections;
mod read;
mod room;
mod variants;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sealstone_cipher::BackendError;
use sealstone_csv::Delimiter;
use sealstone_file::input::{self, NotAFile};
use sealstone_message::{SettingName, Unknown};
use sealstone_store::{Layer, Seal};
use serde::{Deserialize, Serialize};

pub use self::layers::ANY_SEAL;
pub use self::protections::{Algorithms, Protections};
use crate::study::machine;
use crate::words::axes::varied;
use crate::words::max_time::MaxTime;
use crate::words::share::Share;
use crate::words::size::human_bytes;
use crate::words::target::{Limit, Target};
use crate::words::verdict;
use crate::words::verdict::FEWEST_PAIRS;
use crate::workload;
use crate::workload::{BlockShape, COLD_SHARE, Setting};

/// Set of ciphers that a recommendation may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Every cipher in good standing.
    #[default]
    Any,
    /// Cipher and mode approved under FIPS 140.
    Fips,
    /// Cipher and mode on the Korean validation list.
    Kcmvp,
    /// As `fips`, computed in a cryptographic module.
    FipsModule,
    /// As `kcmvp`, computed in a cryptographic module.
    KcmvpModule,
}

impl Policy {
    /// Returns the word for flags and reports: `any`, `fips`, `kcmvp`, `fips-module`,
    /// `kcmvp-module`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Fips => "fips",
            Self::Kcmvp => "kcmvp",
            Self::FipsModule => "fips-module",
            Self::KcmvpModule => "kcmvp-module",
        }
    }

    /// Returns whether it takes only what was computed in a cryptographic module.
    pub(crate) fn asks_for_a_module(self) -> bool {
        matches!(self, Self::FipsModule | Self::KcmvpModule)
    }
}

/// Every setting of a comparison, defaults filled in.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
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
    /// Places where data is encrypted: `rest`, `field`, `server`, `wire`, or layers at the same
    /// time, such as `field+rest`.
    #[serde(with = "read::list")]
    pub layer: Vec<String>,
    /// Ways in which the layer `rest` seals files: `own` (by the store itself), `volume` (a sealed
    /// volume below it), or `any`: its own where the store has one, and a volume otherwise.
    #[serde(with = "read::list", skip_serializing_if = "is_own")]
    pub seal: Vec<String>,
    /// Whom to protect from, by the names in the table of threats; none: the advice is about
    /// ciphers alone.
    #[serde(with = "read::list", skip_serializing_if = "Vec::is_empty")]
    pub protect_from: Vec<String>,
    /// The policy that lists the fields that the layer `field` seals; absent: all of them.
    pub fields: Option<PathBuf>,
    /// Cipher names; `none` is the baseline and is added if it is missing.
    pub ciphers: Vec<String>,
    /// Backends: `auto` or names.
    pub accel: Vec<String>,
    /// Cryptographic modules that compute the ciphers: `none` for our own code, or names such as
    /// `openssl:fips`.
    #[serde(with = "read::list", skip_serializing_if = "is_no_module")]
    pub module: Vec<String>,
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
    /// Separator of the fields in that file; if absent, it is detected.
    pub delimiter: Option<Delimiter>,
    /// Operations in one pass, for workloads counted in operations. A round has one pass, or
    /// several if one would be too short to measure (see `slice_ms`).
    #[serde(deserialize_with = "read::count::deserialize")]
    pub operations: u64,
    /// Client threads, unless the workload fixes them; none: for each workload the fewest that
    /// bring the unencrypted store to the most it can do.
    #[serde(with = "read::counts", skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<usize>,
    /// Rounds; with `until` or `max-time`, as many as these take.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub rounds: usize,
    /// Rounds after which the stores are loaded again. Intervals are over loads: 1 where loading is
    /// cheap.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub load_every: usize,
    /// Rounds go on until half of every interval is at most this share. In TOML text such as
    /// `"2%"`.
    #[serde(
        with = "crate::words::percent::setting::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub until: Option<f64>,
    /// Rounds go on until this time is up, at each point of the axes: text such as `"10m"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<MaxTime>,
    /// Pairs of slices that each round adds to a ratio, at least.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub pairs: usize,
    /// A measured slice lasts at least about this many milliseconds, and twice that with cold
    /// caches or an empty store to begin with; shorter passes are repeated until it does.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub slice_ms: u64,
    /// The store's cache, in bytes; absent: sized to the data. In TOML also text such as
    /// `"512MiB"`.
    #[serde(deserialize_with = "read::size::optional")]
    pub cache: Option<u64>,
    /// Bytes of record values for the batch workloads, of which `oltp` takes an eighth, and of the
    /// blocks of workloads on block devices. In TOML also text such as `"2GB"`.
    #[serde(deserialize_with = "read::size::required")]
    pub bytes: u64,
    /// Bytes of a request to a block device. In TOML also text such as `"4KiB"`.
    #[serde(deserialize_with = "read::size::required")]
    pub block_bytes: u64,
    /// Requests to a block device that are under way at once.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub depth: usize,
    /// True if every block that is read is compared with the data written to it.
    pub verify: bool,
    /// Operations a second (open loop), or `max`: the most that each variant sustains under `p99`;
    /// absent: as fast as possible.
    pub target: Option<Target>,
    /// With `target = "max"`: what 99 of 100 requests must not exceed, such as `"10ms"`.
    pub p99: Option<Limit>,
    /// Operations that may fail at each point of the axes before the comparison ends.
    #[serde(deserialize_with = "read::count::deserialize")]
    pub max_errors: u64,
    /// Ciphers that may be recommended.
    pub policy: Policy,
    /// The share within which two throughputs count as no difference, such as 0.02. In TOML text
    /// such as `"2%"`.
    #[serde(with = "crate::words::percent::setting")]
    pub margin: f64,
    /// Cache of workloads whose records do not fit in it, as a share of the records, such as 0.2.
    /// In TOML text such as `"20%"`.
    #[serde(with = "crate::words::percent::setting")]
    pub cold_share: f64,
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
    #[serde(with = "crate::words::percent::setting::optional")]
    pub fail_if: Option<f64>,
    /// Client threads of single workloads, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub threads_of: BTreeMap<String, usize>,
    /// Settings of single stores: a table for each store, in it a name and one value or several.
    #[serde(with = "read::stores", skip_serializing_if = "BTreeMap::is_empty")]
    pub stores: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// The user's own workloads; the names of those to run are in `workloads`, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_workloads: Vec<workload::Definition>,
    /// Rounds of an earlier run to which these are added; no setting.
    #[serde(skip)]
    pub earlier_rounds: usize,
}

fn is_own(seal: &[String]) -> bool {
    seal == [Seal::Own.name()]
}

fn is_no_module(module: &[String]) -> bool {
    module == [NONE]
}

/// The name in lists of ciphers, suites and modules for none of them.
pub const NONE: &str = "none";

/// Returns whether `name` is the one for none.
#[must_use]
pub fn is_none(name: &str) -> bool {
    name.eq_ignore_ascii_case(NONE)
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            store: vec!["rocksdb".into()],
            against: None,
            nodes: vec![1],
            layer: vec![Layer::Rest.name().into()],
            seal: vec![Seal::Own.name().into()],
            protect_from: Vec::new(),
            fields: None,
            ciphers: ["none", "aes-256", "aria-256"].map(String::from).to_vec(),
            accel: vec!["auto".into()],
            module: vec![NONE.into()],
            suites: Vec::new(),
            path: Vec::new(),
            links: Vec::new(),
            workloads: DEFAULT_WORKLOADS.map(String::from).to_vec(),
            records: vec![100_000],
            records_from: None,
            delimiter: None,
            operations: 5_000,
            threads: Vec::new(),
            rounds: 5,
            load_every: 1,
            until: None,
            max_time: None,
            pairs: 5,
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
            cold_share: COLD_SHARE,
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
            earlier_rounds: 0,
        }
    }
}

/// The workloads of a comparison unless others are named: they fit into six minutes on two cores
/// including the build, and have reads from the cache, reads that miss it, synced writes, and the
/// two workloads that move the most bytes. `docs/method.md` gives the reasons.
pub(crate) const DEFAULT_WORKLOADS: [&str; 6] =
    ["a", "c", "c-cold", "oltp-sync", "batch-load", "batch-scan"];

/// Most clients that are looked for where the user leaves their number open.
pub(crate) const CLIENTS_MOST: usize = 64;

/// Clients with a rate that is set or looked for, where the user leaves their number open.
pub(crate) const CLIENTS_FOR_A_RATE: usize = 8;

/// Most members of a replica set that vote.
const NODES_MAX: usize = 7;

/// Error in a plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The file cannot be read.
    #[error("cannot read the plan {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// Not TOML, or a value of the wrong type.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Description of the error.
        message: String,
    },
    /// A key that is no setting.
    #[error("{}:{line}: {unknown}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The key found.
        unknown: Unknown,
    },
    /// The name of a setting, a layer or a threat that there is not.
    #[error(transparent)]
    Unknown(Unknown),
    /// A setting by name with a value that it cannot have.
    #[error("{name} is {found}: {reason}")]
    Set {
        /// The name.
        name: String,
        /// The value.
        found: String,
        /// Reason why that is not possible.
        reason: String,
    },
    /// A value that makes no sense.
    #[error("{setting} is {found}: {reason}")]
    Value {
        /// The setting, as in the TOML table.
        setting: &'static str,
        /// Its value.
        found: String,
        /// Reason why the value is not possible, and what would be.
        reason: String,
    },
    /// Not in the cipher table.
    #[error("{0}\n`none` is the baseline, without encryption")]
    Cipher(#[from] Unknown),
    /// Not in the workload table, or impossible with these settings.
    #[error(transparent)]
    Workload(#[from] workload::Error),
    /// A backend this CPU lacks, or an unknown backend.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The stores would not fit on the disk.
    #[error(
        "the stores need about {} in {}, and {} are free there\nchoose fewer records or bytes, \
         fewer ciphers, or another directory",
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
        "a cache of {} for each of {stores} stores needs {}, and {} of memory are available\n\
         choose a smaller cache or fewer ciphers",
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
    /// Returns the plan as TOML, all settings included.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan is a flat table of plain values")
    }

    /// Checks every setting separately: known workloads and layers, reasonable numbers. Reads only
    /// `records_from` on disk. Not here: ciphers and backends ([`Plan::algorithms`]).
    ///
    /// # Errors
    /// `PlanError::Value`, `Workload`: the first that is wrong.
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
                let reason =
                    format!("it is not among the workloads: {}", self.workloads.join(", "));
                return Err(value("threads-of", format!("{name}={threads}"), &reason));
            }
        }
        for &threads in self.threads.iter().chain(self.threads_of.values()) {
            if threads == 0 {
                return Err(value(
                    "threads",
                    0,
                    "somebody has to run the operations; use 1 or more",
                ));
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
            1,
            100_000,
            "an interval is no better with many thousands",
        )?;
        let pairs = self.pairs * (self.earlier_rounds + self.rounds);
        if pairs < FEWEST_PAIRS && self.time_s().is_none() {
            let reason =
                format!("an interval needs {FEWEST_PAIRS} pairs, and there are {pairs} in all");
            return Err(value("pairs", self.pairs, &reason));
        }
        within(
            "load-every",
            self.load_every as u64,
            1,
            10_000,
            "a load is measured for at least one round",
        )?;
        if let Some(until) = self.until.filter(|until| !(0.001..=0.5).contains(until)) {
            let shown = format!("{}%", crate::words::percent::percent(until));
            return Err(value("until", shown, "half of an interval is between 0.1% and 50%"));
        }
        if let Some(time) =
            self.max_time.filter(|time| !(1.0..=30.0 * 86_400.0).contains(&time.seconds))
        {
            return Err(value("max-time", time, "it is between a second and thirty days"));
        }
        within(
            "slice-ms",
            self.slice_ms,
            1,
            3_600_000,
            "a slice lasts from a millisecond to an hour",
        )?;
        within("bytes", self.bytes, 100_000, 1 << 50, "a data set has 100 kB to a petabyte")?;
        within(
            "block-bytes",
            self.block_bytes,
            512,
            16 << 20,
            "a request has a sector of 512 bytes to 16 MiB",
        )?;
        if !self.block_bytes.is_multiple_of(512) {
            return Err(value(
                "block-bytes",
                self.block_bytes,
                "a request is made of sectors of 512 bytes",
            ));
        }
        within(
            "depth",
            self.depth as u64,
            1,
            1_024,
            "each request under way has memory of its own",
        )?;
        if let Some(cache) = self.cache {
            within("cache", cache, 1 << 20, 1 << 50, "a cache has a mebibyte to a petabyte")?;
            for name in &self.workloads {
                let spec = self.workload(name)?;
                if spec.setting == Setting::Cold {
                    let reason = format!(
                        "workload {name} has a cache of its own; leave one out, or name {}",
                        spec.base
                    );
                    return Err(value("cache", human_bytes(cache), &reason));
                }
            }
        }
        if !(0.001..=0.5).contains(&self.margin) {
            let shown = format!("{}%", crate::words::percent::percent(self.margin));
            return Err(value(
                "margin",
                shown,
                "what counts as no difference is between 0.1% and 50%",
            ));
        }
        if !(0.001..=1.0).contains(&self.cold_share) {
            let shown = format!("{}%", crate::words::percent::percent(self.cold_share));
            let reason = "a cache of some of the records is 0.1% to 100% of them";
            return Err(value("cold-share", shown, reason));
        }
        self.check_target()?;
        self.check_sources()
    }

    /// Checks the settings that name files, and the settings that make sense only with them.
    fn check_sources(&self) -> Result<(), PlanError> {
        if let Some(path) = &self.records_from {
            let shown = path.display();
            match input::open(path) {
                // a file that can be read only once would be used up before the records are read
                Err(error) if NotAFile::of(&error).is_some() => {
                    return Err(value(
                        "records-from",
                        shown,
                        "it is no regular file; save the records to one",
                    ));
                }
                Err(error) => {
                    return Err(value(
                        "records-from",
                        shown,
                        &format!("it cannot be opened: {error}"),
                    ));
                }
                Ok(_) => {}
            }
        } else if let Some(delimiter) = self.delimiter {
            let reason =
                "there is no CSV file whose fields it separates; name it with records-from";
            return Err(value("delimiter", delimiter.name(), reason));
        }
        if let (Some(limit), None) = (self.fail_if, &self.baseline) {
            let shown = format!("{}%", crate::words::percent::percent(limit));
            let reason =
                "a cost grows only since an earlier run; name its results.json with baseline";
            return Err(value("fail-if", shown, reason));
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), PlanError> {
        listed("store", &self.store)?;
        if let Some(name) = &self.against
            && !(self.store.contains(name) && self.store.len() > 1)
        {
            let (stores, one) =
                (SettingName("store rocksdb,mongodb"), SettingName("against rocksdb"));
            let reason = format!("name one of several stores, such as {stores} {one}");
            return Err(value("against", name, &reason));
        }
        listed("nodes", &self.nodes)?;
        listed("records", &self.records)?;
        if !self.threads.is_empty() {
            listed("threads", &self.threads)?;
        }
        listed("workloads", &self.workloads)?;
        for (setting, list) in
            [("suites", &self.suites), ("path", &self.path), ("links", &self.links)]
        {
            if !list.is_empty() {
                listed(setting, list)?;
            }
        }
        if let Some(nodes) = self.nodes.iter().find(|nodes| !(1..=NODES_MAX).contains(*nodes)) {
            return Err(value("nodes", nodes, "a replica set has 1 to 7 members that vote"));
        }
        for (setting, list) in
            [("ciphers", &self.ciphers), ("accel", &self.accel), ("module", &self.module)]
        {
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
                "stores can be kept of only one point of the axes; name one value, or leave keep \
                 out",
            ));
        }
        self.places()?;
        self.seals(Seal::ALL.into_iter()).map(drop)
    }

    /// Returns the data that the workloads of the first point are made from.
    #[must_use]
    pub fn data(&self) -> workload::Data {
        workload::Data {
            records: self.point().records,
            records_from: self.records_from.clone(),
            delimiter: self.delimiter,
            bytes: self.bytes_over_link(),
            operations: self.pass_operations(),
            block: BlockShape {
                block_bytes: self.block_bytes,
                depth: self.depth,
                verify: self.verify,
            },
            rounds: self.rounds.min(self.load_every),
            seed: self.seed,
            own: self.own_workloads.clone(),
            share: Share::ALONE,
        }
    }

    /// Returns the specification of the workload called `name`: from the table, or the user's own.
    ///
    /// # Errors
    /// A name that is neither.
    pub fn workload(&self, name: &str) -> Result<workload::Spec, workload::Error> {
        workload::find(name, &self.own_workloads).map(|entry| entry.spec)
    }

    /// Returns its workloads, in order.
    ///
    /// # Errors
    /// A name that is neither in the table nor of the user's own.
    pub(crate) fn entries(&self) -> Result<Vec<workload::Entry>, workload::Error> {
        self.workloads.iter().map(|name| workload::find(name, &self.own_workloads)).collect()
    }

    /// Returns what readers know the workload `name` by, such as `reads, cold cache (c-cold)`; a
    /// name that this build does not know as it is.
    #[must_use]
    pub fn called(&self, name: &str) -> String {
        self.workload(name).map_or_else(|_| name.to_owned(), |spec| spec.called())
    }

    /// Seconds after which no further load is begun, if that is what ends the rounds: as set, or an
    /// hour where they end once intervals are narrow.
    #[must_use]
    pub fn time_s(&self) -> Option<f64> {
        const LONGEST_S: f64 = 3_600.0;
        self.max_time.map(|time| time.seconds).or(self.until.map(|_| LONGEST_S))
    }

    /// Returns the directory whose file system will hold the stores: `keep`, or else `out`.
    pub fn stores_dir(&self) -> &Path {
        self.keep.as_deref().unwrap_or(&self.out)
    }
}

/// Checks that `stores` caches of `cache_bytes` fit in memory.
///
/// # Errors
/// `PlanError::Memory`.
pub(crate) fn check_memory(cache_bytes: u64, stores: usize) -> Result<(), PlanError> {
    match machine::memory_available_bytes() {
        Some(available_bytes) if cache_bytes.saturating_mul(stores as u64) > available_bytes => {
            Err(PlanError::Memory { cache_bytes, stores, available_bytes })
        }
        _ => Ok(()),
    }
}

/// Returns the names of all settings, as in the TOML table.
pub fn settings() -> Vec<String> {
    full_table().keys().cloned().collect()
}

/// Returns a table with every setting.
fn full_table() -> toml::Table {
    // every optional one filled in, so that none is left out of the table
    let full = Plan {
        records_from: Some("x".into()),
        delimiter: Some(Delimiter::Comma),
        against: Some("x".into()),
        fields: Some("x".into()),
        cache: Some(0),
        until: Some(0.1),
        max_time: Some(MaxTime { seconds: 1.0 }),
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
        seal: vec!["x".into()],
        module: vec!["x".into()],
        threads: vec![1],
        threads_of: BTreeMap::from([("x".into(), 1)]),
        stores: BTreeMap::from([("x".into(), BTreeMap::new())]),
        own_workloads: vec![workload::Definition::default()],
        ..Plan::default()
    };
    toml::Table::try_from(full).unwrap_or_default()
}

/// Checks that a list names at least one value, and none twice.
fn listed<T: PartialEq + ToString>(setting: &'static str, list: &[T]) -> Result<(), PlanError> {
    if list.is_empty() {
        return Err(value(setting, "empty", "name at least one"));
    }
    for (at, one) in list.iter().enumerate() {
        if list[..at].contains(one) {
            // only a measured value could be meant to be measured more often
            let reason = match setting {
                "workloads" | "suites" => {
                    "it is listed twice; for more of it, raise rounds or pairs"
                }
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
mod tests;
