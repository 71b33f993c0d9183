//! The settings of cache and durability that a workload can run under. A name alone is the usual
//! setting; `c-cold` and `oltp-sync` are the same workloads with a cache that their records do not
//! fit, or with every write synced. Not here: the workloads of a comparison (`preset`).

use serde::{Deserialize, Serialize};

/// Cache and durability under a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// The cache holds all records, unless the plan sets another; writes are as durable as the
    /// engine's default.
    #[default]
    Warm,
    /// The store's cache holds a sixteenth of the records, so most reads miss it and decrypt. The
    /// operating system's page cache stays: a miss costs a system call, a check and a decryption,
    /// and no disk.
    Cold,
    /// As warm, and a write returns only when its log record is on the disk.
    Sync,
}

/// The cache of [`Setting::Cold`] is the bytes of records divided by this.
pub const COLD_SHARE: u64 = 16;

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
