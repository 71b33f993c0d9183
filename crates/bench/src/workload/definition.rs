//! Demands of a workload on a store, as data: the six workloads of YCSB are values of this type,
//! and so is a workload from the user's own file. Not here: checks of values (`definition_check`),
//! files (`definition_file`, `ycsb_properties`), running it (`mix`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use super::setting::Setting;

/// A mix of operations on one table, and how keys, lengths and pauses are drawn. In a file a TOML
/// table, in a plan one of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Definition {
    /// Name in flags and reports.
    pub name: String,
    /// One line for help and report; empty: its shares in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Cache and durability under which it runs where it is named by its file.
    #[serde(skip_serializing_if = "is_usual")]
    pub setting: Setting,
    /// Records, where neither flags nor plan set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Operations in a pass, where neither flags nor plan set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Client threads, where neither flags nor plan set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Operations a second, where neither flags nor plan set them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    /// Frequency of each operation.
    pub mix: Mix,
    /// Records that are requested.
    pub requests: Requests,
    /// Length of scans.
    pub scans: Scans,
    /// Composition of records.
    pub fields: Fields,
    /// Form of the keys of records.
    pub keys: Keys,
    /// Content of a transaction.
    pub transactions: Transactions,
    /// Time that a client pauses between operations.
    pub think_time: ThinkTime,
}

fn is_usual(setting: &Setting) -> bool {
    *setting == Setting::Warm
}

/// Frequency of each operation: weights of any size, of which only the ratios count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mix {
    /// Reads of one record.
    #[serde(serialize_with = "plain")]
    pub read: f64,
    /// Changes of fields of a record that is there.
    #[serde(serialize_with = "plain")]
    pub update: f64,
    /// New records.
    #[serde(serialize_with = "plain")]
    pub insert: f64,
    /// Reads of several records in key order.
    #[serde(serialize_with = "plain")]
    pub scan: f64,
    /// A read, then a change of the same record.
    #[serde(serialize_with = "plain")]
    pub read_modify_write: f64,
    /// Removals of the oldest record.
    #[serde(serialize_with = "plain")]
    pub delete: f64,
    /// Transactions of several reads and writes.
    #[serde(serialize_with = "plain")]
    pub transaction: f64,
}

/// Writes whole numbers without a point, as by hand.
fn plain<S: Serializer>(weight: &f64, into: S) -> Result<S::Ok, S::Error> {
    if weight.fract() == 0.0 && weight.abs() < 1e15 {
        into.serialize_i64(*weight as i64)
    } else {
        into.serialize_f64(*weight)
    }
}

impl Mix {
    /// A mix of nothing.
    pub(super) const NONE: Self = Self {
        read: 0.0,
        update: 0.0,
        insert: 0.0,
        scan: 0.0,
        read_modify_write: 0.0,
        delete: 0.0,
        transaction: 0.0,
    };

    /// Returns each weight by its key, in words of the report.
    pub(super) fn weights(&self) -> [(&'static str, &'static str, f64); 7] {
        [
            ("read", "reads", self.read),
            ("update", "updates", self.update),
            ("insert", "inserts", self.insert),
            ("scan", "scans", self.scan),
            ("read-modify-write", "read-modify-writes", self.read_modify_write),
            ("delete", "deletes", self.delete),
            ("transaction", "transactions", self.transaction),
        ]
    }

    /// Returns the sum of the weights.
    pub(super) fn sum(&self) -> f64 {
        self.weights().iter().map(|(.., weight)| weight).sum()
    }

    /// Returns whether any operation reads.
    pub(super) fn reads(&self) -> bool {
        self.read + self.scan + self.read_modify_write + self.transaction + self.update > 0.0
    }

    /// Returns whether any operation writes.
    pub(super) fn writes(&self) -> bool {
        self.sum() > self.read + self.scan
    }
}

/// Records that are requested.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Requests {
    /// Distribution from which they are drawn.
    pub distribution: RequestDistribution,
    /// The number of the first requested record, from 0; absent: 0. Not with latest and
    /// exponential, which go by the newest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_record: Option<u64>,
    /// Number of loaded records that are requested, beside new ones; absent: all from the first on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// With zipfian and latest: the skew, between 0 and 1; absent: YCSB's 0.99.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// With hotspot: the share of the records that is hot; absent: 0.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_records: Option<f64>,
    /// With hotspot: the share of the requests that go there; absent: 0.8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_requests: Option<f64>,
    /// With exponential: the share of the records, newest first, that gets `newest-requests`;
    /// absent: YCSB's 6/7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_records: Option<f64>,
    /// With exponential: the share of the requests that go to `newest-records`; absent: 0.95.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_requests: Option<f64>,
}

/// Distribution from which the record of a request is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestDistribution {
    /// Each as often as any other.
    Uniform,
    /// A few are popular, scattered over all.
    #[default]
    Zipfian,
    /// The newest are the most popular, by a zipfian.
    Latest,
    /// A part of them gets most requests.
    Hotspot,
    /// One after the other, over and over.
    Sequential,
    /// The newest are the most popular, by an exponential.
    Exponential,
}

impl RequestDistribution {
    /// Returns the word for files and reports.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipfian => "zipfian",
            Self::Latest => "latest",
            Self::Hotspot => "hotspot",
            Self::Sequential => "sequential",
            Self::Exponential => "exponential",
        }
    }
}

/// Number of records that a scan reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scans {
    /// Distribution from which that number is drawn.
    pub length: Spread,
    /// Least, but with constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_min: Option<u64>,
    /// Most; with constant the number itself.
    pub records_max: u64,
}

impl Default for Scans {
    fn default() -> Self {
        Self { length: Spread::Uniform, records_min: None, records_max: 100 }
    }
}

/// Distribution from which a length in a range is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// Always the most.
    #[default]
    Constant,
    /// Each as often as any other.
    Uniform,
    /// Mostly short values.
    Zipfian,
    /// As long as the values of a CSV column; for fields only.
    Column,
}

/// Composition of records, and how much of a record is read and written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fields {
    /// Fields in a record.
    pub count: u64,
    /// Distribution from which the bytes of each are drawn.
    pub size: Spread,
    /// Least, with uniform and zipfian.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_min: Option<u64>,
    /// Most; with constant the number itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
    /// With column: a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// With column: the column of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Part of a record that a read takes.
    pub read: Part,
    /// Part of a record that an update writes.
    pub write: Part,
}

/// The default number of bytes of a field.
pub(super) const FIELD_BYTES: u64 = 100;

impl Default for Fields {
    fn default() -> Self {
        Self {
            count: 10,
            size: Spread::Constant,
            bytes_min: None,
            bytes_max: None,
            from: None,
            column: None,
            read: Part::All,
            write: Part::One,
        }
    }
}

impl Fields {
    /// Returns whether records are YCSB's.
    pub(super) fn are_usual(&self) -> bool {
        let usual = Self {
            read: self.read,
            write: self.write,
            bytes_max: self.bytes_max,
            ..Self::default()
        };
        *self == usual && self.bytes_max.is_none_or(|bytes| bytes == FIELD_BYTES)
    }
}

/// Part of a record that an operation touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Every field.
    All,
    /// One field, each as often as any other.
    One,
}

/// Form of the keys of records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Keys {
    /// Order of keys: whether neighbours in time are neighbours in key order.
    pub order: Order,
    /// Least digits after `user`, filled up with zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zero_padding: Option<u64>,
    /// A CSV file with keys, instead of `user` and a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// The column of that file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// Order of keys: whether records that were inserted one after the other are neighbours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The key holds a hash of the number.
    #[default]
    Hashed,
    /// The key holds the number.
    Ordered,
}

/// Content of a transaction: some records are only read, others read for update and changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transactions {
    /// Records that are read.
    pub reads: u64,
    /// Records that are read and changed.
    pub writes: u64,
}

impl Default for Transactions {
    fn default() -> Self {
        Self { reads: 2, writes: 2 }
    }
}

/// Time that a client pauses before each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ThinkTime {
    /// Distribution from which that time is drawn.
    pub distribution: Pause,
    /// Microseconds, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
}

/// Distribution from which a pause is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pause {
    /// There is none.
    #[default]
    None,
    /// Always the mean.
    Constant,
    /// As between independent events.
    Exponential,
}

impl Definition {
    /// Returns the name of the stores of its data: YCSB's, if its records are the same and stay;
    /// else its own.
    pub(super) fn dataset(&self) -> &str {
        let own_skew = self.requests.distribution == RequestDistribution::Latest
            && self.requests.theta.is_some();
        let is_shared = self.fields.are_usual()
            && self.keys == Keys::default()
            && self.mix.delete == 0.0
            && !own_skew;
        if is_shared { "ycsb" } else { &self.name }
    }

    /// Describes what the workload does, in a line: its description, or its shares in words.
    pub(super) fn words(&self) -> String {
        if !self.description.is_empty() {
            return self.description.clone();
        }
        let sum = self.mix.sum();
        let share = |(_, words, weight): (_, &str, f64)| {
            (weight > 0.0).then(|| format!("{} % {words}", (1e3 * weight / sum).round() / 10.0))
        };
        let shares: Vec<String> = self.mix.weights().into_iter().filter_map(share).collect();
        let part = match (self.requests.first_record.unwrap_or(0), self.requests.records) {
            (0, None) => String::new(),
            (0, Some(records)) => format!(" over the first {records} records"),
            (first, None) => format!(" over the records from number {first} on"),
            (first, Some(records)) => format!(" over {records} records from number {first} on"),
        };
        format!("{}; {}{part}", shares.join(", "), self.requests.distribution.word())
    }

    /// Returns whether clients pause between operations.
    #[must_use]
    pub fn pauses(&self) -> bool {
        self.think_time.distribution != Pause::None
    }
}
