//! Reading of a RocksDB MANIFEST, which determines the contents of a database: its *live set* of
//! tables, blob files and logs. Pure: bytes in, the set out; every length in the bytes is checked
//! before it is used, and no memory is allocated for missing data.
//!
//! Its tests make the engine create stores of every shape and compare the result with the engine's
//! after each step.

mod error;
mod log_record;
#[cfg(test)]
mod tests;
mod version_edit;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use error::ManifestError;
use log_record::Records;
use version_edit::VersionEdit;
pub(crate) use version_edit::{Blob, Garbage, Table};

/// Bytes of a blob file besides its values: a header of 30 and a footer of 32.
const BLOB_FRAME_BYTES: u64 = 30 + 32;

/// Returns the number of the MANIFEST that the content of a file `CURRENT` names.
///
/// # Errors
/// [`ManifestError::NotCurrent`] for anything but `MANIFEST-`, digits and a line feed.
pub(crate) fn named_by_current(content: &[u8]) -> Result<u64, ManifestError> {
    let number = content
        .strip_prefix(b"MANIFEST-")
        .and_then(|rest| rest.strip_suffix(b"\n"))
        .filter(|digits| digits.iter().all(u8::is_ascii_digit))
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    number.ok_or_else(|| {
        let found = String::from_utf8_lossy(&content[..content.len().min(40)]).into_owned();
        ManifestError::NotCurrent { found }
    })
}

/// One column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Family {
    /// Its name.
    pub(crate) name: String,
    /// Name of its comparator; empty where no record names it.
    pub(crate) comparator: String,
    /// Logs before this one hold nothing of it that its tables do not.
    pub(crate) log_number: u64,
    /// Its tables, by number.
    pub(crate) tables: BTreeMap<u64, Table>,
    blobs: BTreeMap<u64, Blob>,
    /// Values of each blob file that are garbage.
    garbage: BTreeMap<u64, u64>,
}

impl Family {
    fn new(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the number and length in bytes of its blob files. One is part of the database as
    /// long as a table begins in it, or one does in an older file and some of its values are not
    /// garbage.
    pub(crate) fn blob_files(&self) -> impl Iterator<Item = (u64, u64)> {
        let referred: BTreeSet<u64> =
            self.tables.values().filter_map(|table| table.oldest_blob).collect();
        let oldest = self.blobs.keys().find(|number| referred.contains(number)).copied();
        let from_oldest = oldest.map(|oldest| self.blobs.range(oldest..)).into_iter().flatten();
        let live = from_oldest.filter(move |(number, blob)| {
            referred.contains(number) || self.garbage.get(number).copied().unwrap_or(0) < blob.count
        });
        live.map(|(number, blob)| (*number, blob.value_bytes.saturating_add(BLOB_FRAME_BYTES)))
    }
}

/// Files that are part of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveSet {
    /// Its column families by number; the default one is 0.
    pub(crate) families: BTreeMap<u32, Family>,
    /// No file had this number or a greater one when the last record was written.
    pub(crate) next_file_number: u64,
    /// Logs before this one are not needed.
    pub(crate) min_log_number_to_keep: u64,
    /// Logs that the database records, with the minimum of their bytes on stable storage. Only
    /// where it was opened with `track_and_verify_wals_in_manifest`, and only logs that are no
    /// longer written.
    pub(crate) wals: BTreeMap<u64, Option<u64>>,
    /// Bytes at the end that are not a whole record: a writer was stopped there, and they do not
    /// count.
    pub(crate) unfinished_bytes: u64,
}

impl LiveSet {
    /// Logs before this one need not be there and are not read: their content is in tables.
    pub(crate) fn first_log_needed(&self) -> u64 {
        if self.min_log_number_to_keep > 0 {
            return self.min_log_number_to_keep;
        }
        self.families.values().map(|family| family.log_number).min().unwrap_or(0)
    }

    /// Returns every table with its column family.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Table> {
        self.families.values().flat_map(|family| family.tables.values())
    }

    /// Returns the number and length of every blob file.
    pub(crate) fn blob_files(&self) -> impl Iterator<Item = (u64, u64)> {
        self.families.values().flat_map(Family::blob_files)
    }
}

/// Reads a MANIFEST from its beginning to its end.
pub(crate) struct Replay {
    records: Records,
    state: State,
}

/// Accumulated result of the records read so far.
struct State {
    live: LiveSet,
    /// Logs before this number are gone.
    wals_before: u64,
    /// Records of a group that is not complete yet, and how many are missing.
    group: Vec<(u64, VersionEdit)>,
    missing_in_group: u32,
}

impl Replay {
    /// Starts at the beginning of a MANIFEST.
    pub(crate) fn new() -> Self {
        let live = LiveSet {
            families: BTreeMap::from([(0, Family::new("default"))]),
            next_file_number: 0,
            min_log_number_to_keep: 0,
            wals: BTreeMap::new(),
            unfinished_bytes: 0,
        };
        let state = State { live, wals_before: 0, group: Vec::new(), missing_in_group: 0 };
        Self { records: Records::new(0), state }
    }

    /// Takes the next bytes of its content, in pieces of any length.
    ///
    /// # Errors
    /// [`ManifestError::Damaged`], [`ManifestError::Newer`]; nothing more can be read then.
    pub(crate) fn push(&mut self, content: &[u8]) -> Result<(), ManifestError> {
        let state = &mut self.state;
        self.records.push(content, &mut |offset, record| {
            state.take(offset, VersionEdit::decode(offset, record)?)
        })
    }

    /// Returns the live set at the end. A group of records that is not complete does not count, as
    /// in RocksDB.
    ///
    /// # Errors
    /// [`ManifestError::Damaged`] where there was no record, or none with the numbers in use.
    pub(crate) fn finish(self) -> Result<LiveSet, ManifestError> {
        let mut live = self.state.live;
        live.unfinished_bytes = self.records.unfinished_bytes();
        if live.next_file_number == 0 {
            let found = "it ends before it says what the database is".to_owned();
            return Err(ManifestError::Damaged { offset: 0, found });
        }
        Ok(live)
    }
}

impl State {
    fn take(&mut self, offset: u64, edit: VersionEdit) -> Result<(), ManifestError> {
        let Some(remaining) = edit.remaining_in_group else {
            return match self.missing_in_group {
                0 => self.apply(offset, edit),
                _ => Err(damaged(offset, "a record comes in the middle of a group of records")),
            };
        };
        if self.missing_in_group != 0 && remaining != self.missing_in_group - 1 {
            return Err(damaged(offset, "a group of records is not in order"));
        }
        self.missing_in_group = remaining;
        self.group.push((offset, edit));
        if remaining == 0 {
            for (offset, edit) in std::mem::take(&mut self.group) {
                self.apply(offset, edit)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, offset: u64, edit: VersionEdit) -> Result<(), ManifestError> {
        let live = &mut self.live;
        if let Some(name) = &edit.add
            && live.families.insert(edit.family, Family::new(name)).is_some()
        {
            return Err(damaged(offset, "a column family is added twice"));
        }
        let Some(family) = live.families.get_mut(&edit.family) else {
            return Err(damaged(offset, "a record is about a column family that is not there"));
        };
        family.apply(offset, &edit)?;
        if edit.drop {
            live.families.remove(&edit.family);
        }
        live.next_file_number = edit.next_file_number.unwrap_or(live.next_file_number);
        live.min_log_number_to_keep =
            live.min_log_number_to_keep.max(edit.min_log_number_to_keep.unwrap_or(0));
        for (number, synced_bytes) in edit.wals {
            // reports of two threads may come in any order
            if number >= self.wals_before {
                let known = live.wals.entry(number).or_default();
                *known = (*known).max(synced_bytes);
            }
        }
        if let Some(before) = edit.wals_before {
            self.wals_before = self.wals_before.max(before);
            live.wals = live.wals.split_off(&self.wals_before);
        }
        Ok(())
    }
}

impl Family {
    fn apply(&mut self, offset: u64, edit: &VersionEdit) -> Result<(), ManifestError> {
        if let Some(comparator) = &edit.comparator {
            self.comparator.clone_from(comparator);
        }
        self.log_number = self.log_number.max(edit.log_number.unwrap_or(0));
        for blob in &edit.blobs {
            if self.blobs.insert(blob.number, blob.clone()).is_some() {
                return Err(damaged(offset, &format!("blob file {} is added twice", blob.number)));
            }
        }
        for Garbage { number, count } in &edit.garbage {
            if !self.blobs.contains_key(number) {
                return Err(damaged(
                    offset,
                    &format!("garbage in blob file {number}, which is not there"),
                ));
            }
            let sum = self.garbage.entry(*number).or_default();
            *sum = sum.saturating_add(*count);
        }
        for (level, number) in &edit.deleted {
            match self.tables.remove(number) {
                Some(table) if table.level == *level => {}
                _ => {
                    return Err(damaged(
                        offset,
                        &format!("table {number} is deleted from level {level}, where it is not"),
                    ));
                }
            }
        }
        for table in &edit.tables {
            if self.tables.insert(table.number, table.clone()).is_some() {
                return Err(damaged(offset, &format!("table {} is added twice", table.number)));
            }
        }
        Ok(())
    }
}

fn damaged(offset: u64, found: &str) -> ManifestError {
    ManifestError::Damaged { offset, found: found.into() }
}
