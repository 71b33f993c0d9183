//! The tally of one file: hits with their first place and number.

use std::collections::BTreeMap;

use super::hit::{Compression, Encoding};

/// Kind of hit: number of the marker or form, encoding, compression.
pub(super) type Row = (u32, Encoding, Option<Compression>);

/// Hits so far.
#[derive(Default)]
pub(super) struct Tally {
    /// First offset and number.
    pub(super) rows: BTreeMap<Row, (u64, u64)>,
    /// Streams that were not searched to their end because of a limit, and blocks that could not be
    /// read.
    pub(super) cut: u64,
}

impl Tally {
    pub(super) fn add(&mut self, row: Row, offset: u64) {
        let (first, count) = self.rows.entry(row).or_insert((offset, 0));
        *first = offset.min(*first);
        *count += 1;
    }

    /// Adds the hits of `other`, which is of the same file.
    pub(super) fn merge(&mut self, other: Self) {
        for (row, (offset, more)) in other.rows {
            let (first, count) = self.rows.entry(row).or_insert((offset, 0));
            *first = offset.min(*first);
            *count += more;
        }
        self.cut += other.cut;
    }
}
