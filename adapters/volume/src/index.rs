//! The changes of the log since the last checkpoint: the newest entry of each block, and the place
//! of its data.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_seal::volume::Entry;

use crate::segment::Segment;

/// Place of the data of a block.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// In the log.
    Logged {
        segment: Arc<Segment>,
        /// Position in it, in bytes.
        offset: u64,
    },
    /// In its place.
    InPlace,
    /// There is none.
    Hole,
}

/// A block that is newer than the root says.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) entry: Entry,
    pub(crate) source: Source,
}

impl Pending {
    /// Returns whether both are the same state of a block at the same place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let place = match (&self.source, &other.source) {
            (Source::Logged { segment, offset }, Source::Logged { segment: other, offset: at }) => {
                Arc::ptr_eq(segment, other) && offset == at
            }
            (Source::InPlace, Source::InPlace) | (Source::Hole, Source::Hole) => true,
            _ => false,
        };
        place && self.entry == other.entry
    }
}

/// Blocks by number.
pub(crate) type Index = BTreeMap<u64, Pending>;
