//! Blocks of RocksDB's tables and records of its blob files, which have no header of their own:
//! only the index of a table tells where they are. Tables of LevelDB are the same, with an older
//! footer (RocksDB, `table/format.h`, `table/block_based/block_builder.cc`,
//! `db/blob/blob_log_format.h`).
//!
//! Not here: what zstd has compressed, whose frames have a header (`header`), but for the keys in
//! it. Not read, and counted so: blocks that were compressed with a dictionary, with bzip2, XPRESS
//! or somebody's own program, or with zlib or lz4 before version 2; keys of blocks that have their
//! values apart; plain tables. Without its footer a file is no table.

use std::cell::Cell;
use std::io;

use flate2::{Decompress, FlushDecompress};
use zeroize::Zeroizing;

use super::hit::Compression;
use super::source::{Source, fill};

/// Most bytes of a block of data, compressed or not.
const BLOCK_BYTES_MAX: u64 = 16 << 20;
/// Most bytes of a block of an index, which names all blocks of data of a table.
const INDEX_BYTES_MAX: u64 = 64 << 20;
/// Bytes behind each block of a table: its compression and a checksum.
const TRAILER_BYTES: u64 = 5;
/// First bytes of a blob file.
const BLOBS: u32 = 0x0024_8F37;
/// Last bytes of a table (`kBlockBasedTableMagicNumber`).
const TABLE: u64 = 0x88E2_41B7_85F4_CFF7;
/// Last bytes of a table of LevelDB, and of RocksDB's first versions.
const LEVELDB_TABLE: u64 = 0xDB47_7524_8B80_FB57;
/// Last bytes of tables of other forms, whose keys may be stored in part.
const PLAIN_TABLES: [u64; 2] = [0x8242_2296_63BF_9564, 0x4F34_18EB_7A8F_13B8];

/// Data in a file, compressed or not.
pub(super) struct Block {
    /// Offset of its first byte in the file.
    pub(super) offset: u64,
    /// Number of bytes in the file.
    pub(super) bytes: u64,
    packing: Packing,
    has_keys: bool,
}

/// Compression of a block's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Snappy,
    /// Deflate without a header, behind the length of what it makes.
    Deflate,
    /// A block of lz4, behind the length of what it makes.
    Lz4,
    /// A frame of zstd; behind the length of what it makes, except in LevelDB.
    Zstd {
        has_length: bool,
    },
    /// Nothing that can be read here.
    Other,
}

impl Packing {
    /// Returns how a block is compressed.
    ///
    /// - `number`: the byte behind it
    /// - `version`: of the format of the table, 0 for LevelDB's
    fn of(number: u8, version: u32) -> Self {
        match (number, version) {
            (0, _) => Self::Plain,
            (1, _) => Self::Snappy,
            (2, 0) => Self::Zstd { has_length: false },
            // 0x40: the same, by those who tried it first
            (7 | 0x40, _) => Self::Zstd { has_length: true },
            (2, 2..) => Self::Deflate,
            (4 | 5, 2..) => Self::Lz4,
            _ => Self::Other,
        }
    }

    /// Returns the most bytes that each byte can stand for.
    fn ratio_max(self) -> u64 {
        match self {
            Self::Plain | Self::Other => 1,
            // a copy of 64 bytes takes three
            Self::Snappy => 22,
            // a byte more of a length
            Self::Lz4 => 255,
            // 258 bytes take two bits
            Self::Deflate => 1032,
            // a block of 128 KiB of one byte takes four
            Self::Zstd { .. } => 32 << 10,
        }
    }
}

/// A block that was tried.
pub(super) struct Tried {
    /// Content of it; None if it is damaged, too long, or compressed in a way that is not read.
    pub(super) content: Option<Zeroizing<Vec<u8>>>,
    /// Bytes that were read and made for that.
    pub(super) bytes: u64,
}

impl Block {
    /// Returns the compression of the block's bytes; None if they are as they are.
    pub(super) fn compression(&self) -> Option<Compression> {
        match self.packing {
            Packing::Snappy => Some(Compression::Snappy),
            Packing::Deflate => Some(Compression::Zlib),
            Packing::Lz4 => Some(Compression::Lz4),
            Packing::Zstd { .. } => Some(Compression::Zstd),
            Packing::Plain | Packing::Other => None,
        }
    }

    /// Returns whether a search of the file's own bytes has seen the block's content: it is as it
    /// is, or in a frame.
    pub(super) fn is_seen(&self) -> bool {
        matches!(self.packing, Packing::Plain | Packing::Zstd { .. })
    }

    /// Returns whether its entries have keys that leave out what the key before has.
    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Reads it.
    pub(super) fn read(&self, source: &dyn Source) -> Tried {
        self.read_up_to(source, BLOCK_BYTES_MAX)
    }

    fn read_up_to(&self, source: &dyn Source, most: u64) -> Tried {
        let mut tried = Tried { content: None, bytes: 0 };
        if self.bytes > most || self.packing == Packing::Other {
            return tried;
        }
        tried.bytes = self.bytes;
        let mut packed = Zeroizing::new(vec![0; self.bytes as usize]);
        let read = fill(source, self.offset, &mut packed);
        if !read.is_ok_and(|read| read.len() as u64 == self.bytes) {
            return tried;
        }
        if self.packing == Packing::Plain {
            tried.content = Some(packed);
            return tried;
        }
        let mut rest = Cursor(&packed);
        let length = self.length(&mut rest);
        let Some(length) = length.filter(|length| {
            // a file may claim anything, and room for it takes time
            let possible = self.packing.ratio_max().saturating_mul(self.bytes);
            *length <= most.min(possible)
        }) else {
            return tried;
        };
        tried.bytes += length;
        let mut made = Zeroizing::new(vec![0; length as usize]);
        let count = self.unpack(rest.0, &mut made);
        tried.content = count.filter(|count| *count == made.len()).map(|_| made);
        tried
    }

    /// Returns the length that the block states of its content, and leaves what is behind that.
    fn length(&self, rest: &mut Cursor<'_>) -> Option<u64> {
        match self.packing {
            Packing::Snappy => Cursor(rest.0).number(),
            Packing::Zstd { has_length: false } => {
                zstd::zstd_safe::get_frame_content_size(rest.0).ok()?
            }
            _ => rest.number(),
        }
    }

    /// Decompresses `packed` into `made`; returns the number of bytes made.
    fn unpack(&self, packed: &[u8], made: &mut [u8]) -> Option<usize> {
        match self.packing {
            Packing::Snappy => snap::raw::Decoder::new().decompress(packed, made).ok(),
            Packing::Deflate => {
                let mut inflate = Decompress::new(false);
                inflate.decompress(packed, made, FlushDecompress::Finish).ok()?;
                Some(inflate.total_out() as usize)
            }
            Packing::Lz4 => lz4_flex::block::decompress_into(packed, made).ok(),
            Packing::Zstd { .. } => zstd::bulk::decompress_to_buffer(packed, made).ok(),
            Packing::Plain | Packing::Other => None,
        }
    }

    /// Calls `found` with every whole key that shares bytes with the key before, of the block's
    /// `content`, and with the number of the bytes that it shares. Returns whether these are all:
    /// the block may be damaged, or have its values apart.
    pub(super) fn keys(&self, content: &[u8], found: &mut dyn FnMut(&[u8], usize)) -> bool {
        // so long that it never moves, and leaves no copy behind
        let mut key = Zeroizing::new(Vec::with_capacity(content.len()));
        let Some(entries) = entries(content) else { return false };
        let mut rest = Cursor(entries);
        while !rest.0.is_empty() {
            let Some((shared, own, _)) = rest.entry().filter(|entry| entry.0 <= key.len()) else {
                return false;
            };
            key.truncate(shared);
            key.extend_from_slice(own);
            if shared > 0 {
                found(&key, shared);
            }
        }
        true
    }
}

/// Receiver of blocks; returns whether it wants more.
pub(super) type Found<'a> = &'a mut dyn FnMut(Block) -> bool;

/// Calls `found` for every block of data of a file of RocksDB, in the order in which they are in
/// the file; for none if it is no such file. Returns whether these are all of them: what tells
/// where they are may be damaged, or too long.
///
/// # Errors
/// The file cannot be read.
pub(super) fn blocks(source: &dyn Source, found: Found<'_>) -> io::Result<bool> {
    let end = source.end()?;
    let mut header = [0; BLOB_HEADER_BYTES as usize];
    let header = fill(source, 0, &mut header)?;
    let magic = header.first_chunk().map(|four| u32::from_le_bytes(*four));
    if let (Some(BLOBS), Some(packing)) = (magic, header.get(BLOB_PACKING)) {
        // blobs are compressed as the blocks of a table of version 2
        return blobs(source, end, Packing::of(*packing, 2), found);
    }
    let mut footer = [0; FOOTER_BYTES];
    let Some(at) = end.checked_sub(FOOTER_BYTES as u64) else { return Ok(true) };
    if fill(source, at, &mut footer)?.len() < FOOTER_BYTES {
        return Ok(true);
    }
    let magic = footer.last_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
    let (end, version) = match magic {
        TABLE => (at, footer[41..].first_chunk().map_or(0, |four| u32::from_le_bytes(*four))),
        LEVELDB_TABLE => (end - LEVELDB_FOOTER_BYTES as u64, 0),
        other => return Ok(!PLAIN_TABLES.contains(&other)),
    };
    let left = Cell::new(INDEX_WORK_BYTES.saturating_add(end.saturating_mul(INDEX_WORK_RATIO)));
    let table = Table { source, end, version, left };
    Ok(table.blocks(&footer, found).is_some())
}

/// Length of the header of a blob file.
const BLOB_HEADER_BYTES: u64 = 30;
/// Index in it of the byte that states how the values are compressed.
const BLOB_PACKING: usize = 13;
/// Length of the header of each of its records.
const RECORD_HEADER_BYTES: usize = 32;
/// Length of the footer of a blob file.
const BLOB_FOOTER_BYTES: u64 = 32;

/// Calls `found` for every value of a blob file of `end` bytes.
fn blobs(source: &dyn Source, end: u64, packing: Packing, found: Found<'_>) -> io::Result<bool> {
    let mut at = BLOB_HEADER_BYTES;
    let mut header = [0; RECORD_HEADER_BYTES];
    loop {
        let is_end = at + BLOB_FOOTER_BYTES >= end;
        if is_end || fill(source, at, &mut header)?.len() < RECORD_HEADER_BYTES {
            return Ok(true);
        }
        let length =
            |at: usize| header[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        if (length(0), length(8)) == (0, 0) {
            // room that was never written to
            return Ok(true);
        }
        let offset = (at + RECORD_HEADER_BYTES as u64).checked_add(length(0));
        let next = offset.and_then(|offset| offset.checked_add(length(8)));
        let (Some(offset), Some(next)) = (offset, next.filter(|next| *next <= end)) else {
            return Ok(false);
        };
        if !found(Block { offset, bytes: next - offset, packing, has_keys: false }) {
            return Ok(false);
        }
        at = next;
    }
}

/// Length of the footer of a table; LevelDB's has fewer bytes.
const FOOTER_BYTES: usize = 53;
const LEVELDB_FOOTER_BYTES: usize = 48;

/// Place of a block: its offset, and its length without the trailer.
#[derive(Clone, Copy)]
struct Handle {
    offset: u64,
    bytes: u64,
}

/// Bytes that may be read and made of the blocks of an index, and for each byte of the file.
const INDEX_WORK_BYTES: u64 = 1 << 30;
const INDEX_WORK_RATIO: u64 = 32;
/// Work that a block of an index is counted as besides.
const INDEX_ATTEMPT_BYTES: u64 = 4 << 10;

/// Kind of index with an index of its blocks, by its number in a table's properties.
const TWO_LEVELS: u32 = 2;
/// Kind of index that names the first key of each block as well.
const WITH_FIRST_KEY: u32 = 3;

/// Form of the entries of a table's index.
#[derive(Clone, Copy)]
struct Index {
    handle: Handle,
    /// True if a handle has no length before it, and may be a difference to the one before.
    is_delta: bool,
    kind: u32,
}

/// A table.
struct Table<'a> {
    source: &'a dyn Source,
    /// Offset of its footer.
    end: u64,
    version: u32,
    /// Bytes that may still be read and made of its index.
    left: Cell<u64>,
}

impl Table<'_> {
    /// Calls `found` for every block of data; None if the table is damaged or its index too long,
    /// or no more are wanted.
    fn blocks(&self, footer: &[u8; FOOTER_BYTES], found: Found<'_>) -> Option<()> {
        let index = self.index(footer)?;
        let block = self.read(index.handle)?;
        // each block is behind the one before, so none is read again and again
        let mut next = 0;
        let mut show = |handle: Handle| {
            let block = self.block(handle).filter(|block| block.offset >= next)?;
            next = block.offset + block.bytes + TRAILER_BYTES;
            found(block).then_some(())
        };
        handles(&block, index, &mut |handle| match index.kind {
            TWO_LEVELS => handles(&self.read_up_to(handle, BLOCK_BYTES_MAX)?, index, &mut show),
            _ => show(handle),
        })
    }

    /// Returns the block at `handle`.
    fn block(&self, handle: Handle) -> Option<Block> {
        let Handle { offset, bytes } = handle;
        let trailer = offset.checked_add(bytes)?;
        (trailer.checked_add(TRAILER_BYTES)? <= self.end).then_some(())?;
        let mut number = [0];
        fill(self.source, trailer, &mut number).ok()?;
        let packing = Packing::of(number[0], self.version);
        Some(Block { offset, bytes, packing, has_keys: true })
    }

    /// Reads a block of its index or of its description.
    fn read(&self, handle: Handle) -> Option<Zeroizing<Vec<u8>>> {
        self.read_up_to(handle, INDEX_BYTES_MAX)
    }

    fn read_up_to(&self, handle: Handle, most: u64) -> Option<Zeroizing<Vec<u8>>> {
        let tried = self.block(handle)?.read_up_to(self.source, most);
        self.left.set(self.left.get().checked_sub(tried.bytes + INDEX_ATTEMPT_BYTES)?);
        tried.content
    }

    /// Returns where the index is, and its form.
    fn index(&self, footer: &[u8; FOOTER_BYTES]) -> Option<Index> {
        let (meta, mut index);
        if self.version >= 6 {
            let length = footer[13..].first_chunk().map(|four| u32::from_le_bytes(*four))?;
            let offset = self.end.checked_sub(u64::from(length) + TRAILER_BYTES)?;
            (meta, index) = (Some(Handle { offset, bytes: length.into() }), None);
        } else {
            // behind the kind of checksum, which LevelDB does not have
            let begin = if self.version == 0 { FOOTER_BYTES - LEVELDB_FOOTER_BYTES } else { 1 };
            let mut handles = Cursor(&footer[begin..]);
            (meta, index) = (handles.handle(), handles.handle());
        }
        let mut properties = None;
        let block = self.read(meta?)?;
        each(&block, &mut |name, value| match name {
            b"rocksdb.index" => index = Cursor(value).handle(),
            b"rocksdb.properties" => properties = Cursor(value).handle(),
            _ => {}
        });
        let (mut is_delta, mut kind) = (false, 0);
        if let Some(handle) = properties {
            each(&self.read(handle)?, &mut |name, value| match name {
                b"rocksdb.index.value.is.delta.encoded" => is_delta = value != [0],
                b"rocksdb.block.based.table.index.type" => {
                    kind = value.first_chunk().map_or(0, |four| u32::from_le_bytes(*four));
                }
                _ => {}
            });
        }
        Some(Index { handle: index?, is_delta, kind })
    }
}

/// Calls `found` for every handle in `block`, of an index, whose blocks are one behind the other.
/// None if it is damaged, or `found` returns that.
fn handles(block: &[u8], index: Index, found: &mut dyn FnMut(Handle) -> Option<()>) -> Option<()> {
    let mut rest = Cursor(entries(block)?);
    let mut before: Option<Handle> = None;
    while !rest.0.is_empty() {
        let handle = if index.is_delta {
            let (shared, own) = (rest.number()?, rest.number()?);
            rest.take(own)?;
            let handle = match shared {
                0 => rest.handle()?,
                _ => before?.next(rest.number()?)?,
            };
            if index.kind == WITH_FIRST_KEY {
                let length = rest.number()?;
                rest.take(length)?;
            }
            handle
        } else {
            let (_, _, value) = rest.entry()?;
            Cursor(value).handle()?
        };
        let next = before.map_or(Some(0), |before| before.end());
        (handle.offset >= next?).then_some(())?;
        found(handle)?;
        before = Some(handle);
    }
    Some(())
}

impl Handle {
    /// Returns where the next block may begin.
    fn end(self) -> Option<u64> {
        self.offset.checked_add(self.bytes)?.checked_add(TRAILER_BYTES)
    }

    /// Returns the handle of the block behind this one.
    ///
    /// - `difference`: between their lengths, its sign in the lowest bit
    fn next(self, difference: u64) -> Option<Self> {
        let change = (difference >> 1) as i64 ^ -((difference & 1) as i64);
        Some(Self { offset: self.end()?, bytes: self.bytes.checked_add_signed(change)? })
    }
}

/// Returns the entries of a block, without what is behind them; None if it is damaged, or has its
/// values apart, behind all keys: a bit of the last four bytes that makes the number of restarts
/// impossible.
fn entries(block: &[u8]) -> Option<&[u8]> {
    /// In the last four bytes: what else is before the number of restarts.
    const HAS_HASHES: u32 = 1 << 31;
    const IS_UNIFORM: u32 = 1 << 29;
    let (rest, count) = block.split_last_chunk()?;
    let word = u32::from_le_bytes(*count);
    let restarts = (word & !(HAS_HASHES | IS_UNIFORM)) as usize;
    let rest = match word & HAS_HASHES {
        0 => rest,
        _ => {
            let (rest, hashes) = rest.split_last_chunk()?;
            let hashes = u16::from_le_bytes(*hashes);
            &rest[..rest.len().checked_sub(hashes.into())?]
        }
    };
    Some(&rest[..rest.len().checked_sub(restarts.checked_mul(4)?)?])
}

/// Calls `found` for every name and value in `block`, of a table's own description.
fn each(block: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) {
    let mut name = Vec::new();
    let mut rest = Cursor(entries(block).unwrap_or_default());
    while let Some((shared, more, value)) = rest.entry() {
        name.truncate(shared);
        name.extend_from_slice(more);
        found(&name, value);
    }
}

/// Bytes that are read from their beginning on.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Reads a number, seven bits a byte, the low ones first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, bytes: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(bytes).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn handle(&mut self) -> Option<Handle> {
        Some(Handle { offset: self.number()?, bytes: self.number()? })
    }

    /// Reads an entry: the number of bytes that its key shares with the one before, the rest of
    /// the key, and the value.
    fn entry(&mut self) -> Option<(usize, &'a [u8], &'a [u8])> {
        let (shared, own, value) = (self.number()?, self.number()?, self.number()?);
        let (own, value) = (self.take(own)?, self.take(value)?);
        Some((usize::try_from(shared).ok()?, own, value))
    }
}

#[cfg(test)]
mod tests;
