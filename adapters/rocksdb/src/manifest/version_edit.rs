//! One record of a MANIFEST: a change of a database's set of files. Decodes all that RocksDB writes
//! up to version 11 and skips records that a later version marks as harmless.
//!
//! Source: the tags and their values in RocksDB's `db/version_edit.h`, `db/wal_edit.h` and
//! `db/blob`.

use super::error::ManifestError;

/// Tags with this bit are followed by a length, and a reader that does not support them skips that
/// many bytes.
const TAG_MAY_BE_IGNORED: u32 = 1 << 13;
/// Fields of a table with this bit must be supported.
const TABLE_FIELD_MUST_BE_KNOWN: u32 = 1 << 6;
/// The same for fields of a blob file.
const BLOB_FIELD_MUST_BE_KNOWN: u32 = 1 << 6;
/// Most directories that tables of a column family are spread over.
const PATHS_MAX: u8 = 4;

/// Table as described in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// The number in its name.
    pub(crate) number: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// Its level.
    pub(crate) level: u32,
    /// Index of its directory among its column family's; 0 is the first.
    pub(crate) path_id: u8,
    /// Number of the oldest blob file that it refers to, if any.
    pub(crate) oldest_blob: Option<u64>,
}

/// Blob file as described in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    /// The number in its name.
    pub(crate) number: u64,
    /// Number of values that it holds.
    pub(crate) count: u64,
    /// Bytes of its values with their headers.
    pub(crate) value_bytes: u64,
}

/// Values of a blob file that nothing refers to any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Garbage {
    /// Number of the blob file.
    pub(crate) number: u64,
    /// Number of values that became garbage.
    pub(crate) count: u64,
}

/// One change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VersionEdit {
    /// Number of the column family that it is about.
    pub(super) family: u32,
    /// Name of the column family's comparator.
    pub(super) comparator: Option<String>,
    /// The column family begins, under this name.
    pub(super) add: Option<String>,
    /// The column family ends.
    pub(super) drop: bool,
    /// Logs before this one hold nothing of the column family that its tables do not.
    pub(super) log_number: Option<u64>,
    /// No file had this number or a greater one when the record was written.
    pub(super) next_file_number: Option<u64>,
    /// Logs before this one are not needed by any column family or prepared transaction.
    pub(super) min_log_number_to_keep: Option<u64>,
    /// Level and number of tables that are gone.
    pub(super) deleted: Vec<(u32, u64)>,
    /// Tables that are new on their level.
    pub(super) tables: Vec<Table>,
    /// Blob files that are new.
    pub(super) blobs: Vec<Blob>,
    /// Values that became garbage.
    pub(super) garbage: Vec<Garbage>,
    /// Existing logs, with their bytes on stable storage.
    pub(super) wals: Vec<(u64, Option<u64>)>,
    /// Logs before this one are gone.
    pub(super) wals_before: Option<u64>,
    /// Number of records of the same group that follow, if the record belongs to a group that
    /// counts as a whole or not at all.
    pub(super) remaining_in_group: Option<u32>,
}

impl VersionEdit {
    /// Decodes `record`, which begins at byte `offset` of the file.
    pub(super) fn decode(offset: u64, record: &[u8]) -> Result<Self, ManifestError> {
        let mut input = Input { offset, rest: record };
        let mut edit = Self::default();
        while !input.rest.is_empty() {
            edit.field(&mut input)?;
        }
        Ok(edit)
    }

    fn field(&mut self, input: &mut Input) -> Result<(), ManifestError> {
        match input.varint32("a tag")? {
            1 => {
                let name = input.slice("the comparator's name")?;
                self.comparator = Some(String::from_utf8_lossy(name).into_owned());
            }
            2 => self.log_number = Some(input.varint64("a log number")?),
            3 => self.next_file_number = Some(input.varint64("the next file number")?),
            4 => drop(input.varint64("the last sequence number")?),
            5 => {
                input.varint32("the level of a compaction cursor")?;
                input.slice("the key of a compaction cursor")?;
            }
            6 => {
                let level = input.varint32("the level of a deleted table")?;
                self.deleted.push((level, input.varint64("the number of a deleted table")?));
            }
            tag @ (7 | 100 | 102 | 103) => {
                let table = self.table(tag, input)?;
                self.tables.push(table);
            }
            9 => drop(input.varint64("the previous log number")?),
            10 => {
                self.min_log_number_to_keep = Some(input.varint64("the least log number to keep")?)
            }
            200 => self.family = input.varint32("a column family's number")?,
            201 => {
                let name = input.slice("a column family's name")?;
                self.add = Some(String::from_utf8_lossy(name).into_owned());
            }
            202 => self.drop = true,
            203 => drop(input.varint32("the greatest number of a column family")?),
            300 => {
                self.remaining_in_group = Some(input.varint32("the rest of a group of records")?)
            }
            // the same, once marked as harmless and now not
            400 | 8194 => self.blobs.push(blob(input)?),
            401 | 8195 => self.garbage.push(garbage(input)?),
            // tags of logs are marked as harmless, but had no length at first
            8196 => self.wals.push(wal(input)?),
            8197 => self.wals_before = Some(input.varint64("a log's number")?),
            8199 => self.wals.push(wal(&mut input.inner("a log's record")?)?),
            8200 => {
                self.wals_before =
                    Some(input.inner("the record of logs deleted")?.varint64("a log's number")?)
            }
            tag if tag & TAG_MAY_BE_IGNORED != 0 => {
                input.slice("a field that may be ignored")?;
            }
            tag => {
                return Err(ManifestError::Newer {
                    what: format!("a record field with tag {tag}"),
                });
            }
        }
        Ok(())
    }

    /// Returns a new table, in one of the four ways in which they were written over time.
    fn table(&mut self, tag: u32, input: &mut Input) -> Result<Table, ManifestError> {
        let level = input.varint32("a table's level")?;
        let number = input.varint64("a table's number")?;
        let mut path_id = 0;
        if tag == 102 {
            let id = input.varint32("a table's path")?;
            path_id = u8::try_from(id)
                .ok()
                .filter(|id| *id < PATHS_MAX)
                .ok_or_else(|| input.bad("a table's path"))?;
        }
        let bytes = input.varint64("a table's length")?;
        input.slice("a table's first key")?;
        input.slice("a table's last key")?;
        if tag != 7 {
            input.varint64("a table's first sequence number")?;
            input.varint64("a table's last sequence number")?;
        }
        let mut table = Table { number, bytes, level, path_id, oldest_blob: None };
        if tag != 103 {
            return Ok(table);
        }
        loop {
            let field = input.varint32("a table's field")?;
            if field == 1 {
                return Ok(table);
            }
            let mut value = input.inner("a table's field")?;
            match field {
                // where the record of the logs was put before records had room for more
                3 => {
                    let number = value
                        .rest
                        .first_chunk()
                        .ok_or_else(|| value.bad("the least log number to keep"))?;
                    self.min_log_number_to_keep = Some(u64::from_le_bytes(*number));
                }
                4 => {
                    table.oldest_blob =
                        Some(value.varint64("a blob file's number")?).filter(|number| *number != 0)
                }
                65 => match value.rest {
                    [id] if *id < PATHS_MAX => table.path_id = *id,
                    _ => return Err(value.bad("a table's path")),
                },
                field if field & TABLE_FIELD_MUST_BE_KNOWN != 0 => {
                    return Err(ManifestError::Newer {
                        what: format!("a table's field with tag {field}"),
                    });
                }
                _ => {}
            }
        }
    }
}

fn blob(input: &mut Input) -> Result<Blob, ManifestError> {
    let number = input.varint64("a blob file's number")?;
    let count = input.varint64("a blob file's number of values")?;
    let value_bytes = input.varint64("a blob file's length")?;
    input.slice("the name of a blob file's checksum")?;
    input.slice("a blob file's checksum")?;
    blob_fields(input)?;
    Ok(Blob { number, count, value_bytes })
}

fn garbage(input: &mut Input) -> Result<Garbage, ManifestError> {
    let number = input.varint64("a blob file's number")?;
    let count = input.varint64("a blob file's number of garbage values")?;
    input.varint64("a blob file's garbage bytes")?;
    blob_fields(input)?;
    Ok(Garbage { number, count })
}

/// Passes over what later versions may add.
fn blob_fields(input: &mut Input) -> Result<(), ManifestError> {
    loop {
        match input.varint32("a blob file's field")? {
            0 => return Ok(()),
            field if field & BLOB_FIELD_MUST_BE_KNOWN != 0 => {
                return Err(ManifestError::Newer {
                    what: format!("a blob file's field with tag {field}"),
                });
            }
            _ => drop(input.slice("a blob file's field")?),
        }
    }
}

/// Returns a log's number and how much of it was synced, if that was known.
fn wal(input: &mut Input) -> Result<(u64, Option<u64>), ManifestError> {
    let number = input.varint64("a log's number")?;
    let mut synced_bytes = None;
    loop {
        match input.varint32("a log's field")? {
            1 => return Ok((number, synced_bytes)),
            2 => synced_bytes = Some(input.varint64("a log's synced length")?),
            field => {
                return Err(ManifestError::Newer {
                    what: format!("a log's field with tag {field}"),
                });
            }
        }
    }
}

/// Remainder of a record that has not been decoded yet.
struct Input<'a> {
    /// Offset in the file at which the record begins, for errors.
    offset: u64,
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    fn bad(&self, what: &str) -> ManifestError {
        ManifestError::Damaged { offset: self.offset, found: format!("{what} cannot be decoded") }
    }

    /// Returns an integer of at most `bits` bits, seven to a byte, the least first.
    fn varint(&mut self, bits: u32, what: &str) -> Result<u64, ManifestError> {
        let mut value = 0;
        for (byte, shift) in self.rest.iter().zip((0..bits).step_by(7)) {
            let part = u64::from(byte & 0x7f);
            if shift + (64 - part.leading_zeros()) > bits {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                self.rest = &self.rest[shift as usize / 7 + 1..];
                return Ok(value);
            }
        }
        Err(self.bad(what))
    }

    fn varint32(&mut self, what: &str) -> Result<u32, ManifestError> {
        Ok(self.varint(32, what)? as u32)
    }

    fn varint64(&mut self, what: &str) -> Result<u64, ManifestError> {
        self.varint(64, what)
    }

    /// Bytes preceded by their length.
    fn slice(&mut self, what: &str) -> Result<&'a [u8], ManifestError> {
        let bytes = self.varint32(what)? as usize;
        let (slice, rest) = self.rest.split_at_checked(bytes).ok_or_else(|| self.bad(what))?;
        self.rest = rest;
        Ok(slice)
    }

    /// Returns the same, to be decoded.
    fn inner(&mut self, what: &str) -> Result<Input<'a>, ManifestError> {
        Ok(Input { offset: self.offset, rest: self.slice(what)? })
    }
}
