#![forbid(unsafe_code)]
//! An anchor: a place outside the store that records how new the store was, so that an older copy
//! of *all* its files is an error. Anyone who can change the store must not be able to change the
//! anchor: a file on other storage, for example.
//!
//! The anchor is written after the catalogue, once that is on stable storage, and so never records
//! more than the store has; a crash between the two leaves it one step behind, which is not an
//! error. It records files that came and went, but not single writes: it cannot detect an older
//! state of the newest log within one step.
//!
//! - [`FileAnchor`]: a file on other storage
//! - [`KmipAnchor`]: an attribute on a key server (feature `kmip`)
#![doc = include_str!("../README.md")]

mod address;
mod check;
mod file;
#[cfg(feature = "kmip")]
mod kmip;

use std::fmt;

pub use address::open;
pub use check::AnchorCheck;
pub use file::FileAnchor;
#[cfg(feature = "kmip")]
pub use kmip::KmipAnchor;

/// Mark of how new a store is. Of two marks of the same store the larger is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The store.
    pub store: [u8; 16],
    /// The generation of its catalogue.
    pub generation: u64,
    /// Number of changes that the generation has had.
    pub changes: u64,
}

impl Mark {
    /// Returns the generation and changes, for messages.
    #[must_use]
    pub fn age(&self) -> String {
        format!("{}.{}", self.generation, self.changes)
    }

    /// Returns in words how `found`, the mark of the store at hand, falls short of this one, which
    /// an anchor recorded; None if it is as new or newer.
    #[must_use]
    pub fn shortfall(&self, found: Option<&Self>) -> Option<String> {
        match found {
            Some(found) if found.store == self.store && found >= self => None,
            None => Some("the store has no catalogue".to_owned()),
            Some(found) if found.store != self.store => Some("it is another store".to_owned()),
            Some(found) => Some(format!("the store is at {}", found.age())),
        }
    }
}

/// An anchor could not be read or written; the text names it and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnchorError(pub String);

/// Remembers the newest mark of one store. Serves any number of threads at once.
pub trait Anchor: Send + Sync {
    /// Returns the mark; None if none was ever written.
    ///
    /// # Errors
    /// The anchor cannot be reached or makes no sense: then the store must not be opened.
    fn read(&self) -> Result<Option<Mark>, AnchorError>;
    /// Puts `mark` in place of the previous one, on stable storage.
    ///
    /// # Errors
    /// The anchor cannot be reached, or somebody else changed it; it has the previous mark, or, if
    /// the error reports that, either of the two.
    fn write(&self, mark: &Mark) -> Result<(), AnchorError>;
    /// Describes the location of the anchor, for messages.
    fn describe(&self) -> String;
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sealstone-anchor 1 ")?;
        self.store.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, " {} {}", self.generation, self.changes)
    }
}

impl std::str::FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let ["sealstone-anchor", "1", store, generation, changes] = words[..] else {
            return Err(());
        };
        if store.len() != 32 || !store.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(());
        }
        let mut mark = Self {
            store: [0; 16],
            generation: generation.parse().map_err(|_| ())?,
            changes: changes.parse().map_err(|_| ())?,
        };
        for (byte, digits) in mark.store.iter_mut().zip(store.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| ())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ())?;
        }
        Ok(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_text_and_rubbish_is_no_mark() {
        for changes in [0, 7, u64::MAX] {
            let mark = Mark { store: [0xa5; 16], generation: 3, changes };
            assert_eq!(mark.to_string().parse(), Ok(mark));
        }
        for rubbish in ["", "sealstone-anchor 1 a5 1 1", "sealstone-anchor 2 00 1 1", "x"] {
            assert_eq!(rubbish.parse::<Mark>(), Err(()), "{rubbish:?}");
        }
    }
}
