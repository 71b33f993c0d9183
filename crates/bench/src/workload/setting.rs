//! The settings of cache and durability that a workload can run under. A name alone is the usual
//! setting; `c-cold` and `oltp-sync` are the same workloads with a cache that their records do not
//! fit, or with every write synced.

use serde::{Deserialize, Serialize};

use crate::words::percent::percent;

/// Cache and durability under a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// The cache holds all records, unless the plan sets another; writes are as durable as the
    /// engine's default.
    #[default]
    Warm,
    /// The store's cache holds a sixteenth of the records, or another share that the plan sets, so
    /// most reads miss it and decrypt. The operating system's page cache stays: where the engine
    /// reads through it, a miss costs a system call, a check and a decryption, and no disk.
    Cold,
    /// As warm, and a write returns only when its log record is on the disk.
    Sync,
}

/// The cache of [`Setting::Cold`] as a share of the bytes of records, unless the plan sets another.
pub const COLD_SHARE: f64 = 1.0 / 16.0;

/// Returns the cache for `data_bytes` of records of which it is to hold the share `share`.
#[must_use]
pub fn cold_cache_bytes(data_bytes: u64, share: f64) -> u64 {
    (data_bytes as f64 * share) as u64
}

/// Names a share of the records in words: `1/16`, `20 %`.
#[must_use]
pub fn cold_share_words(share: f64) -> String {
    let part = 1.0 / share;
    match part.fract() == 0.0 && part.log2().fract() == 0.0 && part > 1.0 {
        true => format!("1/{part}"),
        false => format!("{} %", percent(share)),
    }
}

impl Setting {
    /// Every setting, the usual one first.
    pub const ALL: [Self; 3] = [Self::Warm, Self::Cold, Self::Sync];

    /// Returns the word for flags and reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
            Self::Sync => "sync",
        }
    }

    /// Returns what a reader has to know of it beside a workload; empty for the usual one.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Warm => "",
            Self::Cold => "cold cache",
            Self::Sync => "synced writes",
        }
    }

    /// Describes the setting in a few words for help.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Warm => "with a cache that holds the records",
            Self::Cold => "with a cache of a sixteenth of the records",
            Self::Sync => "with every write synced to the disk",
        }
    }

    /// Returns `name` under this setting: `c-cold`.
    #[must_use]
    pub fn named(self, name: &str) -> String {
        match self {
            Self::Warm => name.to_owned(),
            other => format!("{name}-{}", other.word()),
        }
    }
}
