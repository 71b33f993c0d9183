//! The table of threats: the people whom data may have to be protected from.

use sealstone_message::Unknown;

/// Somebody whom data may have to be protected from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Threat {
    /// Takes a disk.
    DiskThief,
    /// Gets hold of a backup.
    BackupReader,
    /// Sits between client and server.
    Network,
    /// May run any statement.
    Dba,
    /// Is root on the server.
    ServerAdmin,
}

impl Threat {
    /// All of them, in the order of every table: the more capable come later.
    pub const ALL: [Self; 5] =
        [Self::DiskThief, Self::BackupReader, Self::Network, Self::Dba, Self::ServerAdmin];

    /// As on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiskThief => "disk-thief",
            Self::BackupReader => "backup-reader",
            Self::Network => "network",
            Self::Dba => "dba",
            Self::ServerAdmin => "server-admin",
        }
    }

    /// Describes what somebody of this kind can do, in a plain sentence without its full stop.
    #[must_use]
    pub const fn definition(self) -> &'static str {
        match self {
            Self::DiskThief => "takes the disk, or all files, of a machine that is switched off",
            Self::BackupReader => {
                "gets a backup: a copy of the files, or a dump that the server wrote"
            }
            Self::Network => "reads and changes what goes between client and server",
            Self::Dba => "runs any statement on the running server, and reads its logs",
            Self::ServerAdmin => {
                "is root on the running server: reads and changes its memory and its files"
            }
        }
    }

    /// Returns the threat called `name`.
    ///
    /// # Errors
    /// A name that is none.
    pub fn by_name(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|threat| threat.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| Unknown::new("threat", name, Self::ALL.map(Self::name)))
    }
}
