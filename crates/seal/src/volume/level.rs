//! Levels of pages of entries.

use std::fmt;

use super::binding::Piece;

/// Level of a page: the kind of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Entries of blocks.
    Tags,
    /// Entries of tag pages.
    Leaf,
}

impl Level {
    pub(super) fn piece(self) -> Piece {
        match self {
            Self::Tags => Piece::TagPage,
            Self::Leaf => Piece::LeafPage,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tags => "tag page",
            Self::Leaf => "leaf page",
        })
    }
}
