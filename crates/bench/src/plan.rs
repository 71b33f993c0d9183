//! The settings of a comparison: one TOML table, one set of flags.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Which ciphers a recommendation may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Every cipher in good standing.
    #[default]
    Any,
    /// Approved under FIPS 140.
    Fips,
    /// On the Korean validation list.
    Kcmvp,
}

/// Every setting of a comparison, defaults filled in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
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
    /// Operations a round, for workloads counted in operations.
    pub operations: u64,
    /// Client threads, where the workload does not fix them.
    pub threads: usize,
    /// Rounds.
    pub rounds: usize,
    /// The store's cache, in bytes; absent: sized to the data.
    pub cache: Option<u64>,
    /// Bytes of record values for `oltp` and the batch workloads.
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
            ciphers: ["none", "aes-256", "aria-256"].map(String::from).to_vec(),
            accel: vec!["auto".into()],
            workloads: ["a", "b", "c", "e", "oltp", "batch-load", "batch-scan"].map(String::from).to_vec(),
            records: 100_000,
            records_from: None,
            operations: 100_000,
            threads: 8,
            rounds: 3,
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
