//! The table of bottlenecks: the factors that can hold a run back.

use serde::{Deserialize, Serialize};

/// Factor that held a run back; in the order in which pages list them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The CPUs were busy.
    Cpu,
    /// The disk: files were being synced.
    Disk,
    /// Locks and queues of the engine.
    Engine,
    /// The load generator took most of the CPU time.
    Generator,
    /// Clients waited for files.
    Io,
    /// No factor was found.
    #[default]
    None,
    /// Clients waited for replies.
    Servers,
    /// The rate that was set.
    Target,
}

impl Bottleneck {
    /// Returns its name for readers: `the CPU`, or `none found`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "the CPU",
            Self::Generator => "the load generator",
            Self::Disk => "syncs of the disk",
            Self::Io => "files",
            Self::Engine => "a lock or queue of the engine",
            Self::Servers => "the servers",
            Self::Target => "the rate that was set",
            Self::None => "none found",
        }
    }
}
