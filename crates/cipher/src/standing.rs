//! Standing of a cipher.

/// Standing of a cipher: the kind of body behind it, which decides when it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// An international standard without a known weakness.
    Standard,
    /// A national standard, required or accepted by that nation's validation scheme.
    National,
    /// Published, not standardised: used only when requested by name.
    Experimental,
    /// Withdrawn or outdated: for comparison and old data, only when requested by name.
    Legacy,
}

impl Standing {
    /// Returns the word for tables and reports: `standard`, `national`, `experimental`, `legacy`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::National => "national",
            Self::Experimental => "experimental",
            Self::Legacy => "legacy",
        }
    }

    /// Returns whether such a cipher may be used without being requested by name.
    #[must_use]
    pub fn by_default(self) -> bool {
        matches!(self, Self::Standard | Self::National)
    }
}
