//! The changes of the log since the last checkpoint: the newest entry of each block, and the place
//! of its data.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_seal::volume::Entry;
use sealstone_seal::volume::frame::{Data, Record};

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

impl Source {
    /// Returns whether `other` is in the log directly behind this block of `block_bytes`.
    pub(crate) fn is_followed_by(&self, other: &Self, block_bytes: u64) -> bool {
        match (self, other) {
            (Self::Logged { segment, offset }, Self::Logged { segment: other, offset: next }) => {
                Arc::ptr_eq(segment, other) && *next == offset + block_bytes
            }
            _ => false,
        }
    }
}

/// A block that is newer than the root records.
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

/// Returns the states of the blocks of a frame.
///
/// - `segment`, `data_at`: position of the blocks that are in the frame
pub(crate) fn states(
    records: &[Record],
    segment: &Arc<Segment>,
    mut data_at: u64,
    block_bytes: u64,
) -> Vec<(u64, Pending)> {
    let state = |record: &Record| {
        let source = match record.data {
            Data::Logged => {
                let source = Source::Logged { segment: Arc::clone(segment), offset: data_at };
                data_at += block_bytes;
                source
            }
            Data::InPlace => Source::InPlace,
            Data::Hole => Source::Hole,
        };
        (record.block, Pending { entry: record.entry, source })
    };
    records.iter().map(state).collect()
}

/// Blocks by number.
pub(crate) type Index = BTreeMap<u64, Pending>;
