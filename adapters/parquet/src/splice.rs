//! Column chunks moved unchanged from one file to another: pages, Bloom filter and page indexes
//! keep every byte, except the offsets of the pages.

use crate::error::ParquetError;
use crate::footer::{
    CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH, CHUNK_META, CHUNK_OFFSET, CHUNK_OFFSET_INDEX,
    CHUNK_OFFSET_INDEX_LENGTH, META_BLOOM, META_BLOOM_LENGTH, META_DATA_PAGE, META_DICTIONARY,
    META_INDEX_PAGE, pages,
};
use crate::output::Out;
use crate::source::Source;
use crate::thrift::{Struct, Value};

/// Number of bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;
/// Longest header of a Bloom filter, in bytes.
const BLOOM_HEADER_BYTES_MAX: u64 = 64;
/// The longest Bloom filter, in bytes: the limit of the format's own writers.
const BLOOM_BYTES_MAX: u64 = 128 << 20;
// fields of an OffsetIndex, of its PageLocations, and of a BloomFilterHeader
const INDEX_LOCATIONS: i16 = 1;
const LOCATION_OFFSET: i16 = 1;
const BLOOM_BYTES: i16 = 1;

/// Place where a chunk is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stored<'a> {
    File(&'a Source),
    Memory(&'a [u8]),
}

/// A chunk whose pages were written, and what comes after them.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Description of the chunk in the footer.
    pub(crate) chunk: Struct,
    bloom: Option<Vec<u8>>,
    column_index: Option<Vec<u8>>,
    offset_index: Option<Vec<u8>>,
}

impl Stored<'_> {
    fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, ParquetError> {
        match self {
            Self::File(source) => source.bytes_at(offset, length),
            Self::Memory(bytes) => {
                let range = offset as usize..(offset + length) as usize;
                Ok(bytes.get(range).ok_or(ParquetError::Changed)?.to_vec())
            }
        }
    }

    fn length(&self) -> u64 {
        match self {
            Self::File(source) => source.length(),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl Placed {
    /// Writes the pages of `chunk` of the column `name`.
    pub(crate) fn pages(
        chunk: &Struct,
        name: &str,
        stored: Stored<'_>,
        out: &mut Out<'_>,
    ) -> Result<Self, ParquetError> {
        let damaged = || ParquetError::damaged(format!("what its footer says of column {name}"));
        let (start, length) = pages(chunk).ok_or_else(damaged)?;
        let shift = out.position() as i64 - start as i64;
        let mut at = start;
        while at < start + length {
            let piece = COPY_BYTES.min(start + length - at);
            out.put(&stored.read(at, piece)?)?;
            at += piece;
        }
        let mut placed =
            Self { chunk: chunk.clone(), bloom: None, column_index: None, offset_index: None };
        let meta = placed.chunk.structure(CHUNK_META).ok_or_else(damaged)?;
        placed.bloom = bloom(meta, stored).map_err(|()| damaged())?;
        let index = |offset: i16, length: i16| match (chunk.number(offset), chunk.number(length)) {
            (Some(offset), Some(length)) => stored.read(offset as u64, length as u64).map(Some),
            _ => Ok(None),
        };
        placed.column_index = index(CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH)?;
        let offset_index = index(CHUNK_OFFSET_INDEX, CHUNK_OFFSET_INDEX_LENGTH)?;
        let moved = offset_index.map(|index| moved(&index, shift).ok_or_else(damaged));
        placed.offset_index = moved.transpose()?;
        placed.shift(shift);
        Ok(placed)
    }

    /// Moves the offsets of pages.
    fn shift(&mut self, by: i64) {
        let old = self.chunk.number(CHUNK_OFFSET);
        let mut file_offset = 0;
        if let Some(meta) = self.chunk.structure_mut(CHUNK_META) {
            for id in [META_DATA_PAGE, META_INDEX_PAGE, META_DICTIONARY] {
                let Some(offset) = meta.number(id) else { continue };
                if offset <= 0 {
                    // the page is missing; the data page must be named
                    if id != META_DATA_PAGE {
                        meta.remove(id);
                    }
                    continue;
                }
                let moved = offset.wrapping_add(by);
                meta.set(id, Value::i64(moved));
                if old == Some(offset) {
                    file_offset = moved;
                }
            }
            meta.remove(META_BLOOM);
            meta.remove(META_BLOOM_LENGTH);
        }
        // where some writers put a second copy of the column's metadata, and others the first page
        self.chunk.set(CHUNK_OFFSET, Value::i64(file_offset));
        for id in [
            CHUNK_OFFSET_INDEX,
            CHUNK_OFFSET_INDEX_LENGTH,
            CHUNK_COLUMN_INDEX,
            CHUNK_COLUMN_INDEX_LENGTH,
        ] {
            self.chunk.remove(id);
        }
    }

    /// Writes the Bloom filter.
    pub(crate) fn bloom(&mut self, out: &mut Out<'_>) -> Result<(), ParquetError> {
        let Some(bloom) = self.bloom.take() else { return Ok(()) };
        if let Some(meta) = self.chunk.structure_mut(CHUNK_META) {
            meta.set(META_BLOOM, Value::i64(out.position() as i64));
            meta.set(META_BLOOM_LENGTH, Value::i32(bloom.len() as i32));
        }
        out.put(&bloom)
    }

    /// Writes the column index.
    pub(crate) fn column_index(&mut self, out: &mut Out<'_>) -> Result<(), ParquetError> {
        let index = self.column_index.take();
        self.index(index, CHUNK_COLUMN_INDEX, CHUNK_COLUMN_INDEX_LENGTH, out)
    }

    /// Writes the offset index.
    pub(crate) fn offset_index(&mut self, out: &mut Out<'_>) -> Result<(), ParquetError> {
        let index = self.offset_index.take();
        self.index(index, CHUNK_OFFSET_INDEX, CHUNK_OFFSET_INDEX_LENGTH, out)
    }

    fn index(
        &mut self,
        index: Option<Vec<u8>>,
        offset: i16,
        length: i16,
        out: &mut Out<'_>,
    ) -> Result<(), ParquetError> {
        let Some(index) = index else { return Ok(()) };
        self.chunk.set(offset, Value::i64(out.position() as i64));
        self.chunk.set(length, Value::i32(index.len() as i32));
        out.put(&index)
    }
}

/// Returns the Bloom filter of a chunk, if it has one.
fn bloom(meta: &Struct, stored: Stored<'_>) -> Result<Option<Vec<u8>>, ()> {
    let Some(offset) = meta.number(META_BLOOM) else { return Ok(None) };
    let offset = u64::try_from(offset).map_err(|_| ())?;
    let left = stored.length().checked_sub(offset).ok_or(())?;
    let length = match meta.number(META_BLOOM_LENGTH) {
        Some(length) => u64::try_from(length).map_err(|_| ())?,
        // older writers leave it to the header
        None => {
            let header = stored.read(offset, left.min(BLOOM_HEADER_BYTES_MAX)).map_err(|_| ())?;
            let (header, length) = Struct::read(&header).map_err(|_| ())?;
            let bytes =
                header.number(BLOOM_BYTES).and_then(|bytes| u64::try_from(bytes).ok()).ok_or(())?;
            length as u64 + bytes
        }
    };
    if length > left.min(BLOOM_BYTES_MAX) {
        return Err(());
    }
    stored.read(offset, length).map(Some).map_err(|_| ())
}

/// Returns an offset index whose pages moved.
fn moved(index: &[u8], by: i64) -> Option<Vec<u8>> {
    let (mut index, _) = Struct::read(index).ok()?;
    for location in index.list_mut(INDEX_LOCATIONS)? {
        let Value::Struct(location) = location else { return None };
        let offset = location.number(LOCATION_OFFSET)?.checked_add(by)?;
        location.set(LOCATION_OFFSET, Value::i64(offset));
    }
    let mut bytes = Vec::new();
    index.write(&mut bytes);
    Some(bytes)
}
