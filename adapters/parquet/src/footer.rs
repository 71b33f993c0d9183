//! The footer of a Parquet file: as a tree, whose parts unrelated to sealed columns are kept
//! unchanged, and as the crate `parquet` reads it, for reading columns. Not here: its changes
//! (`schema`, `splice`).

use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::error::ParquetError;
use crate::field_types;
use crate::guard::guarded;
use crate::source::Source;
use crate::thrift::{Struct, Value};

/// Bytes at the beginning and the end of a Parquet file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// Bytes at the beginning and the end of a file whose footer is encrypted.
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
/// Length of the footer's length and the magic after it.
const TAIL_BYTES: u64 = 8;
/// The longest footer that is read: a tree of it takes several times its length in memory.
const FOOTER_BYTES_MAX: u64 = 256 << 20;

// numbers of fields in parquet.thrift; FileMetaData
pub(crate) const FILE_SCHEMA: i16 = 2;
pub(crate) const FILE_ROWS: i16 = 3;
pub(crate) const FILE_GROUPS: i16 = 4;
pub(crate) const FILE_KEY_VALUES: i16 = 5;
pub(crate) const FILE_ORDERS: i16 = 7;
const FILE_ENCRYPTION: i16 = 8;
const FILE_KNOWN: i16 = 7;
// RowGroup
pub(crate) const GROUP_CHUNKS: i16 = 1;
pub(crate) const GROUP_BYTES: i16 = 2;
pub(crate) const GROUP_ROWS: i16 = 3;
pub(crate) const GROUP_SORTING: i16 = 4;
pub(crate) const GROUP_OFFSET: i16 = 5;
pub(crate) const GROUP_COMPRESSED: i16 = 6;
pub(crate) const GROUP_ORDINAL: i16 = 7;
const GROUP_KNOWN: i16 = 7;
// ColumnChunk
const CHUNK_PATH: i16 = 1;
pub(crate) const CHUNK_OFFSET: i16 = 2;
pub(crate) const CHUNK_META: i16 = 3;
pub(crate) const CHUNK_OFFSET_INDEX: i16 = 4;
pub(crate) const CHUNK_OFFSET_INDEX_LENGTH: i16 = 5;
pub(crate) const CHUNK_COLUMN_INDEX: i16 = 6;
pub(crate) const CHUNK_COLUMN_INDEX_LENGTH: i16 = 7;
const CHUNK_CRYPTO: i16 = 8;
const CHUNK_ENCRYPTED: i16 = 9;
const CHUNK_KNOWN: i16 = 7;
// ColumnMetaData
pub(crate) const META_UNCOMPRESSED: i16 = 6;
pub(crate) const META_COMPRESSED: i16 = 7;
pub(crate) const META_DATA_PAGE: i16 = 9;
pub(crate) const META_INDEX_PAGE: i16 = 10;
pub(crate) const META_DICTIONARY: i16 = 11;
pub(crate) const META_BLOOM: i16 = 14;
pub(crate) const META_BLOOM_LENGTH: i16 = 15;
const META_KNOWN: i16 = 17;

/// Metadata that a file holds about itself.
#[derive(Debug)]
pub(crate) struct Footer {
    /// The stored footer, without unknown fields: they could hold values, or places that change.
    pub(crate) file: Struct,
    /// As the crate `parquet` reads it.
    pub(crate) metadata: ParquetMetaData,
}

impl Footer {
    pub(crate) fn read(source: &Source) -> Result<Self, ParquetError> {
        let length = source.length();
        if length < 4 + TAIL_BYTES {
            return Err(ParquetError::NoFooter("it is too short for a Parquet file"));
        }
        let (head, tail) =
            (source.bytes_at(0, 4)?, source.bytes_at(length - TAIL_BYTES, TAIL_BYTES)?);
        if head == MAGIC_ENCRYPTED || tail[4..] == *MAGIC_ENCRYPTED {
            return Err(ParquetError::Encrypted);
        }
        if head != MAGIC || tail[4..] != *MAGIC {
            return Err(ParquetError::NoFooter("it does not both begin and end as a Parquet file"));
        }
        let bytes = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        if bytes > length - TAIL_BYTES - 4 {
            return Err(ParquetError::NoFooter("its footer is longer than the file"));
        }
        if bytes > FOOTER_BYTES_MAX {
            return Err(ParquetError::FooterTooLong { bytes, limit: FOOTER_BYTES_MAX });
        }
        let end = length - TAIL_BYTES - bytes;
        let footer = source.bytes_at(end, bytes)?;
        let (mut file, _) =
            Struct::read(&footer).map_err(|_| ParquetError::damaged("its footer"))?;
        if !field_types::hold(&file) {
            return Err(ParquetError::damaged(
                "its footer (a field has another type than the format gives it)",
            ));
        }
        if file.get(FILE_ENCRYPTION).is_some() {
            return Err(ParquetError::Encrypted);
        }
        let chunks = file
            .list(FILE_GROUPS)
            .iter()
            .filter_map(Value::as_struct)
            .flat_map(|group| group.list(1));
        if chunks
            .filter_map(Value::as_struct)
            .any(|chunk| [CHUNK_CRYPTO, CHUNK_ENCRYPTED].iter().any(|id| chunk.get(*id).is_some()))
        {
            return Err(ParquetError::Encrypted);
        }
        // the crate refuses empty lists without a type, which some writers make: of row groups
        // where no row is
        let lists = [FILE_GROUPS, FILE_KEY_VALUES, FILE_ORDERS];
        let footer = match lists.into_iter().filter(|list| file.give_type(*list)).count() {
            0 => footer,
            _ => {
                let mut typed = Vec::new();
                file.write(&mut typed);
                typed
            }
        };
        let metadata = guarded("its footer", || {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer);
            metadata.map_err(|error| ParquetError::of("its footer", error))
        })?;
        keep_known(&mut file);
        let read = Self { file, metadata };
        read.check(end)?;
        Ok(read)
    }

    /// Returns the row groups as they are stored.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Struct> {
        self.file.list(FILE_GROUPS).iter().filter_map(Value::as_struct)
    }

    /// Takes the row groups out.
    pub(crate) fn take_groups(&mut self) -> Vec<Struct> {
        let groups = self.file.list_mut(FILE_GROUPS).map(std::mem::take).unwrap_or_default();
        let group = |value| if let Value::Struct(group) = value { Some(group) } else { None };
        groups.into_iter().filter_map(group).collect()
    }

    /// Checks that every place it names is before `end`, where it begins itself, and that both
    /// readings agree.
    fn check(&self, end: u64) -> Result<(), ParquetError> {
        let damaged = || ParquetError::damaged("its footer");
        if self.groups().count() != self.metadata.num_row_groups() {
            return Err(damaged());
        }
        for (stored, group) in self.groups().zip(self.metadata.row_groups()) {
            let chunks: Vec<&Struct> = chunks(stored).collect();
            if chunks.len() != group.num_columns() || group.num_rows() < 0 {
                return Err(damaged());
            }
            for (chunk, column) in chunks.into_iter().zip(group.columns()) {
                let name = || column.column_path().string();
                if chunk.get(CHUNK_PATH).is_some() {
                    return Err(ParquetError::OtherFile { column: name() });
                }
                let inside = |place: Option<(u64, u64)>| {
                    place.is_some_and(|(start, length)| {
                        start >= 4 && start.checked_add(length).is_some_and(|stop| stop <= end)
                    })
                };
                let index =
                    |offset: i16, length: i16| match (chunk.number(offset), chunk.number(length)) {
                        (Some(offset), Some(length)) => inside(place(offset, length)),
                        _ => true,
                    };
                let whole = inside(pages(chunk))
                    && index(CHUNK_OFFSET_INDEX, CHUNK_OFFSET_INDEX_LENGTH)
                    && index(CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH)
                    // where the crate would look
                    && place(column.data_page_offset(), column.compressed_size()).is_some()
                    && column.dictionary_page_offset().is_none_or(|offset| offset >= 0);
                if !whole {
                    return Err(ParquetError::damaged(format!(
                        "what its footer says of column {}",
                        name()
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Returns the footer of a file that was written in memory.
pub(crate) fn of_bytes(file: &[u8]) -> Option<Struct> {
    let end = file.len().checked_sub(TAIL_BYTES as usize)?;
    let length = u32::from_le_bytes(file[end..end + 4].try_into().ok()?) as usize;
    Struct::read(&file[end.checked_sub(length)?..end]).ok().map(|(footer, _)| footer)
}

/// Returns the column chunks of a row group.
pub(crate) fn chunks(group: &Struct) -> impl Iterator<Item = &Struct> {
    group.list(GROUP_CHUNKS).iter().filter_map(Value::as_struct)
}

/// Returns the position of the pages of a column chunk, including a dictionary page: offset and
/// length.
pub(crate) fn pages(chunk: &Struct) -> Option<(u64, u64)> {
    let meta = chunk.structure(CHUNK_META)?;
    let (data, bytes) = (meta.number(META_DATA_PAGE)?, meta.number(META_COMPRESSED)?);
    // some writers store a zero where the page is missing: no dictionary, or no rows
    let dictionary = meta.number(META_DICTIONARY).filter(|offset| *offset > 0);
    match (data, dictionary) {
        (0, None) if bytes == 0 => Some((MAGIC.len() as u64, 0)),
        (0, Some(first)) => place(first, bytes),
        (data, dictionary) => place(dictionary.map_or(data, |offset| offset.min(data)), bytes),
    }
}

/// Returns an offset and a length, unless one is negative.
fn place(offset: i64, length: i64) -> Option<(u64, u64)> {
    Some((u64::try_from(offset).ok()?, u64::try_from(length).ok()?))
}

/// Removes all fields that are unknown.
fn keep_known(file: &mut Struct) {
    file.keep(1..=FILE_KNOWN);
    for group in file.list_mut(FILE_GROUPS).into_iter().flatten() {
        let Value::Struct(group) = group else { continue };
        group.keep(1..=GROUP_KNOWN);
        for chunk in group.list_mut(GROUP_CHUNKS).into_iter().flatten() {
            let Value::Struct(chunk) = chunk else { continue };
            chunk.keep(1..=CHUNK_KNOWN);
            if let Some(meta) = chunk.structure_mut(CHUNK_META) {
                meta.keep(1..=META_KNOWN);
            }
        }
    }
}
