//! Purpose of a pass over a table.

use super::server::Wanted;

/// Purpose of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// Seal values in the clear, under this version of the key.
    Seal(u32),
    /// The same, and reseal values of other versions under this version.
    Reseal(u32),
    /// Open the sealed values.
    Open,
    /// See whether everything is sealed and opens; this version is the newest.
    Check(u32),
}

impl Goal {
    /// Returns whether values with this mark are opened.
    pub(super) fn opens(self, mark: i32) -> bool {
        match self {
            Self::Seal(_) => false,
            Self::Reseal(version) => mark.unsigned_abs() != version,
            Self::Open | Self::Check(_) => true,
        }
    }

    /// Returns the rows that it is about.
    pub(super) fn wanted(self) -> Wanted {
        match self {
            Self::Seal(_) => Wanted::Clear,
            // a version that no mark can have is none that any value is sealed under
            Self::Reseal(version) => Wanted::NotMarked(i32::try_from(version).unwrap_or(i32::MAX)),
            Self::Open => Wanted::Marked,
            Self::Check(_) => Wanted::Every { marked: true },
        }
    }
}
