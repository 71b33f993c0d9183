//! The settings of a comparison: one TOML table, one set of flags. Reads them, and says what is wrong with them
//! before anything is measured; runs nothing itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sealstone_cipher::backend::{Backend, BackendError};
use sealstone_cipher::nearest::nearest;
use sealstone_cipher::registry::{self, UnknownCipher};
use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use crate::size::human_bytes;
use crate::{machine, workload};
use sealstone_store::{Choice, Layer, Variant};

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
    /// Name of the store: `rocksdb`, `mongodb`.
    pub store: String,
    /// Members of each store's replica set; a comparison of its own for each number. 1 for a store in this process.
    pub nodes: Vec<usize>,
    /// Cipher names; `none` is the baseline and is added where it is missing.
    pub ciphers: Vec<String>,
    /// Backends: `auto` or names.
    pub accel: Vec<String>,
    /// Workload names.
    pub workloads: Vec<String>,
    /// Records in the YCSB data set.
    pub records: u64,
    /// CSV file to take records from, instead of YCSB's own.
    pub records_from: Option<PathBuf>,
    /// Operations in one pass, for workloads counted in operations. A round has one pass, or several where one would
    /// be too short to measure (see `slice_ms`).
    pub operations: u64,
    /// Client threads, where the workload does not fix them.
    pub threads: usize,
    /// Rounds.
    pub rounds: usize,
    /// Pairs of slices that each round adds to a ratio, at least.
    pub pairs: usize,
    /// A measured slice lasts at least about this many milliseconds, and twice that with cold caches or an empty
    /// store to begin with; shorter passes are repeated until it does.
    pub slice_ms: u64,
    /// The store's cache, in bytes; absent: sized to the data. In TOML also text such as `"512MiB"`.
    #[serde(deserialize_with = "size::optional")]
    pub cache: Option<u64>,
    /// Bytes of record values for `oltp` and the batch workloads. In TOML also text such as `"2GB"`.
    #[serde(deserialize_with = "size::required")]
    pub bytes: u64,
    /// Operations a second (open loop); absent: as fast as it goes.
    pub target: Option<f64>,
    /// Which ciphers may be recommended.
    pub policy: Policy,
    /// Seed of every random draw.
    pub seed: u64,
    /// Directory for the report and its data.
    pub out: PathBuf,
    /// Directory in which the sealed stores are left; absent: they are removed.
    pub keep: Option<PathBuf>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            store: "rocksdb".into(),
            nodes: vec![1],
            ciphers: ["none", "aes-256", "aria-256"].map(String::from).to_vec(),
            accel: vec!["auto".into()],
            workloads: ["a", "b", "c", "e", "oltp", "batch-load", "batch-scan"].map(String::from).to_vec(),
            records: 100_000,
            records_from: None,
            operations: 50_000,
            threads: 8,
            rounds: 3,
            pairs: 24,
            slice_ms: 50,
            cache: None,
            bytes: 256_000_000,
            target: None,
            policy: Policy::Any,
            seed: 1,
            out: "sealstone-results".into(),
            keep: None,
        }
    }
}

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
    #[error("{}:{line}: unknown setting {key:?}; did you mean {nearest}?\nsettings: {}", path.display(), settings().join(", "))]
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
        "the stores need about {} in {}, and {} are free there\nchoose fewer records or bytes, fewer ciphers, or another \
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
        human_bytes(*cache_bytes), human_bytes(cache_bytes.saturating_mul(*stores as u64)), human_bytes(*available_bytes)
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
    /// Reads a plan from the TOML file `path`; what it does not set has its default. Relative paths in it are
    /// relative to the current directory.
    ///
    /// # Errors
    /// `PlanError::Read`, `Syntax`, `UnknownKey`. Values are checked by [`Plan::check`].
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|source| PlanError::Read { path: path.to_owned(), source })?;
        Self::from_toml(&text, path)
    }

    /// As [`Plan::read`]; what the file does not set is as in `usual`.
    ///
    /// # Errors
    /// As [`Plan::read`].
    pub fn read_over(path: &Path, usual: &Self) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|source| PlanError::Read { path: path.to_owned(), source })?;
        // tells what is wrong with the file, by line
        Self::from_toml(&text, path)?;
        let mut table = toml::Table::try_from(usual).expect("a plan is a flat table of plain values");
        table.extend(text.parse::<toml::Table>().expect("it was parsed above"));
        Ok(table.try_into().expect("each value was read above"))
    }

    /// Reads a plan from TOML `text`; `path` is named in errors only.
    ///
    /// # Errors
    /// `PlanError::Syntax`, `UnknownKey`.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, PlanError> {
        let line_of =
            |offset: usize| text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1;
        let syntax = |error: toml::de::Error| PlanError::Syntax {
            path: path.to_owned(),
            line: line_of(error.span().map_or(0, |span| span.start)),
            message: error.message().trim_end().replace('\n', "; "),
        };
        let table = DeTable::parse(text).map_err(syntax)?;
        let known = settings();
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            if !known.iter().any(|setting| setting == name) {
                let nearest = nearest(name, known.iter().map(String::as_str)).to_owned();
                return Err(PlanError::UnknownKey {
                    path: path.to_owned(),
                    line: line_of(key.span().start),
                    key: name.to_owned(),
                    nearest,
                });
            }
            if matches!(value.get_ref(), DeValue::Table(_)) {
                let message = format!("{name} is a table; a plan is one flat table of settings");
                return Err(PlanError::Syntax { path: path.to_owned(), line: line_of(key.span().start), message });
            }
        }
        toml::from_str(text).map_err(syntax)
    }

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
        let within = |setting, found: u64, least: u64, most: u64, what: &str| {
            let reason = match found {
                _ if found < least => format!("{what}, so at least {least}"),
                _ if found > most => format!("{what}, so at most {most}"),
                _ => return Ok(()),
            };
            Err(PlanError::Value { setting, found: found.to_string(), reason })
        };
        if self.records == 0 {
            return Err(value("records", 0, "a data set has at least one record"));
        }
        within("records", self.records, 1, 1 << 40, "row numbers are kept in 40 bits")?;
        if self.operations == 0 {
            return Err(value("operations", 0, "a pass without operations measures nothing"));
        }
        within("operations", self.operations, 1, 1 << 40, "a pass ends within a lifetime")?;
        if self.threads == 0 {
            return Err(value("threads", 0, "somebody has to run the operations; take 1 or more"));
        }
        within("threads", self.threads as u64, 1, 10_000, "every client is a thread of its own")?;
        if self.rounds == 0 {
            return Err(value("rounds", 0, "nothing would be measured; take 1 or more"));
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
        within("bytes", self.bytes, 100_000, 1 << 50, "a data set lies between 100 kB and a petabyte")?;
        if let Some(cache) = self.cache {
            within("cache", cache, 1 << 20, 1 << 50, "a cache lies between a mebibyte and a petabyte")?;
        }
        if let Some(target) = self.target
            && !(target.is_finite() && target > 0.0)
        {
            let reason = "operations a second must be a number above 0; leave it out to run as fast as it goes";
            return Err(value("target", target, reason));
        }
        if let Some(path) = &self.records_from
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(value("records-from", path.display(), &format!("it cannot be opened: {error}")));
        }
        Ok(())
    }

    /// One plan for each number of members, in the order given.
    #[must_use]
    pub fn by_nodes(&self) -> Vec<Self> {
        self.nodes.iter().map(|nodes| Self { nodes: vec![*nodes], ..self.clone() }).collect()
    }

    /// Members of each store's replica set, the first number of them if there are several.
    pub fn members(&self) -> usize {
        self.nodes.first().copied().unwrap_or(1)
    }

    fn check_names(&self) -> Result<(), PlanError> {
        if self.nodes.is_empty() {
            return Err(value("nodes", "empty", "name at least one number of members"));
        }
        for (at, nodes) in self.nodes.iter().enumerate() {
            if !(1..=NODES_MAX).contains(nodes) {
                return Err(value("nodes", nodes, "a replica set has 1 to 7 members that vote"));
            }
            if self.nodes[..at].contains(nodes) {
                return Err(value("nodes", nodes, "it is listed twice; for more of it, raise rounds or pairs"));
            }
        }
        for (setting, list) in [("ciphers", &self.ciphers), ("accel", &self.accel), ("workloads", &self.workloads)] {
            if list.is_empty() {
                return Err(value(setting, "empty", "name at least one"));
            }
        }
        for (at, name) in self.workloads.iter().enumerate() {
            workload::workload(name)?;
            if self.workloads[..at].contains(name) {
                return Err(value("workloads", name, "it is listed twice; for more of it, raise rounds or pairs"));
            }
        }
        self.variants().map(drop)
    }

    /// What is compared: every cipher with every backend, the baseline first, labels unique. Also notes for the
    /// reader: a baseline that was added, two backends that are the same one.
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
        let baselines = self.ciphers.iter().filter(is_none).count();
        if baselines == 0 {
            notes.push("added `none`, the baseline that every cost is measured against".into());
        }
        let mut labels = HashMap::new();
        let mut variants = Vec::new();
        let mut add = |label: String, choice: Option<Choice>| {
            let count = labels.entry(label.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { label } else { format!("{label} ({count})") };
            variants.push(Variant { label, layers: choice.map(|choice| (Layer::Rest, choice)).into_iter().collect() });
        };
        for _ in 0..baselines.max(1) {
            add("none".into(), None);
        }
        for name in self.ciphers.iter().filter(|name| !is_none(name)) {
            let cipher = registry::cipher(name)?;
            for (accel, backend) in &backends {
                let forced = !accel.eq_ignore_ascii_case("auto");
                let label = if forced { format!("{} {accel}", cipher.name) } else { cipher.name.into() };
                add(label, Some(Choice { cipher, backend: *backend, forced }));
            }
        }
        Ok((variants, notes))
    }

    /// Estimates the bytes that one loaded store of data set `dataset` (`ycsb`, `oltp`, `batch`) takes.
    pub fn data_bytes(&self, dataset: &str) -> u64 {
        match dataset {
            // ten fields of 100 bytes, a key of about 23, lengths
            "ycsb" => {
                let record_bytes = self.records_from.as_deref().and_then(csv_record_bytes).unwrap_or(1_000);
                self.records.saturating_mul(record_bytes + 60)
            }
            _ => self.bytes.saturating_add(self.bytes / 5),
        }
    }

    /// Directory whose file system will hold the stores: `keep`, or else `out`.
    pub fn stores_dir(&self) -> &Path {
        self.keep.as_deref().unwrap_or(&self.out)
    }

    /// Checks that the stores fit on the disk and a cache that was set fits in memory.
    ///
    /// - `stores`: how many copies of each data set there are: one a variant, or one for each member of its replica set
    /// - `datasets`: names of the data sets that will be loaded
    ///
    /// # Errors
    /// `PlanError::Space`, `PlanError::Memory`.
    pub fn check_room(&self, stores: usize, datasets: &[&str]) -> Result<(), PlanError> {
        // log-structured stores hold up to about twice their data while they compact
        let bytes = |dataset: &&str| self.data_bytes(dataset).saturating_mul(2 * stores as u64);
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
        cache: Some(0),
        target: Some(1.0),
        keep: Some("x".into()),
        ..Plan::default()
    };
    toml::Table::try_from(full).map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

fn value(setting: &'static str, found: impl ToString, reason: &str) -> PlanError {
    PlanError::Value { setting, found: found.to_string(), reason: reason.into() }
}

/// Bytes of values in an average record of the CSV file `path`, from its first megabyte.
fn csv_record_bytes(path: &Path) -> Option<u64> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(1 << 20).read_to_end(&mut head).ok()?;
    let lines = head.iter().filter(|&&byte| byte == b'\n').count() as u64;
    Some((head.len() as u64 / lines.max(1)).max(1))
}

/// Sizes in TOML: whole numbers, or text with a unit.
mod size {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(u64),
        Text(String),
    }

    impl Size {
        fn bytes<E: Error>(self) -> Result<u64, E> {
            match self {
                Self::Bytes(bytes) => Ok(bytes),
                Self::Text(text) => crate::size::parse_bytes(&text).map_err(E::custom),
            }
        }
    }

    pub(super) fn required<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        Size::deserialize(from)?.bytes()
    }

    pub(super) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        Option::<Size>::deserialize(from)?.map(Size::bytes).transpose()
    }
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
        assert_eq!((plan.records, plan.cache, plan.bytes), (5, Some(512 << 20), 2_000_000_000));
        assert_eq!((plan.policy, plan.slice_ms, plan.threads), (Policy::Kcmvp, 50, Plan::default().threads));
        assert_eq!(read("").unwrap(), Plan::default());
    }

    #[test]
    fn a_plan_survives_its_own_toml() {
        let full = Plan { cache: Some(1 << 30), target: Some(5e3), keep: Some("k".into()), ..Plan::default() };
        for plan in [full, Plan::default()] {
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
        assert!(message("bytes = \"2 parsecs\"\n").contains("no size"));
        assert!(message("records = \n").starts_with("plan.toml:1: "));
        assert!(message("[records]\nx = 1\n").contains("one flat table"));
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
        refused(Plan { records: 0, ..plan() }, "records");
        refused(Plan { records: u64::MAX, ..plan() }, "records");
        refused(Plan { operations: 0, ..plan() }, "operations");
        refused(Plan { threads: 0, ..plan() }, "threads");
        refused(Plan { threads: 1_000_000, ..plan() }, "threads");
        refused(Plan { rounds: 0, ..plan() }, "rounds");
        refused(Plan { pairs: 5, ..plan() }, "pairs");
        refused(Plan { slice_ms: 0, ..plan() }, "slice-ms");
        refused(Plan { bytes: 0, ..plan() }, "bytes");
        refused(Plan { cache: Some(0), ..plan() }, "cache");
        for target in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            refused(Plan { target: Some(target), ..plan() }, "target");
        }
        refused(Plan { records_from: Some("/does/not/exist.csv".into()), ..plan() }, "records-from");
        refused(Plan { workloads: vec![], ..plan() }, "workloads");
        refused(Plan { ciphers: vec![], ..plan() }, "ciphers");
        refused(Plan { accel: vec![], ..plan() }, "accel");
        refused(Plan { workloads: vec!["a".into(), "a".into()], ..plan() }, "workloads");
        plan().check().unwrap();
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
    fn a_disk_or_memory_too_small_is_told_before_anything_runs() {
        let huge = Plan { records: 1 << 40, ..Plan::default() };
        let error = huge.check_room(3, &["ycsb"]).unwrap_err();
        assert!(matches!(error, PlanError::Space { .. }), "{error}");
        assert!(error.to_string().contains("are free there"), "{error}");
        let hungry = Plan { records: 10, cache: Some(1 << 49), ..Plan::default() };
        assert!(matches!(hungry.check_room(3, &["ycsb"]), Err(PlanError::Memory { .. })));
        Plan { records: 10, ..Plan::default() }.check_room(3, &["ycsb"]).unwrap();
    }
}
