//! Compressed blocks of WiredTiger without a header of their own: snappy, in the pages of its files
//! and in the records of its journal. A length of 8 bytes, the low one first, precedes each
//! (WiredTiger, `ext/compressors/snappy`).
//!
//! Not here: blocks of zlib and zstd, which have a header (`header`).

use std::io;

use super::source::{Source, fill};
use super::window::View;

/// Most bytes of a block, compressed or not.
const BLOCK_BYTES_MAX: usize = 16 << 20;
/// Length of the length before a block.
const LENGTH_BYTES: usize = 8;
/// Most bytes that one byte of snappy stands for: a copy of 64 bytes takes three.
const RATIO_MAX: usize = 22;

/// Kind of file, by where its blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Pages begin at multiples of 4096; their first 64 bytes are never compressed.
    Pages,
    /// Records begin at multiples of 128, after a header of 16 bytes, in which a flag shows whether
    /// they are compressed.
    Journal,
}

impl Layout {
    /// Determines the kind of file; None if it is not of WiredTiger.
    pub(super) fn of(source: &dyn Source) -> io::Result<Option<Self>> {
        /// `WT_BLOCK_MAGIC`, of the descriptor at the beginning of a file.
        const PAGES: u32 = 120_897;
        /// `WT_LOG_MAGIC`, of the first record of a journal file.
        const JOURNAL: u32 = 0x10_1064;
        let mut buffer = [0; 20];
        let start = fill(source, 0, &mut buffer)?;
        Ok(match (number(start, 0), number(start, 16)) {
            (Some(PAGES), _) => Some(Self::Pages),
            (_, Some(JOURNAL)) => Some(Self::Journal),
            _ => None,
        })
    }

    /// Calls `found` for every compressed block of a page or record that begins in the piece, with
    /// the offset of its data in the file and its length in bytes.
    pub(super) fn blocks(self, view: &View<'_>, found: &mut dyn FnMut(u64, usize)) {
        let (step, skipped) = match self {
            Self::Pages => (4096, 64),
            Self::Journal => (128, 16),
        };
        let first = view.offset(view.from).next_multiple_of(step) - view.base;
        for at in (first as usize..view.to).step_by(step as usize) {
            let block = &view.bytes[at..];
            let (low, high) = (number(block, skipped), number(block, skipped + 4));
            let (Some(length), Some(0)) = (low.map(|low| low as usize), high) else { continue };
            let fits = match self {
                Self::Pages => true,
                // a flag, and the record's own length around the block's
                Self::Journal => {
                    let record = number(block, 0).unwrap_or_default() as usize;
                    block[8] & 1 != 0 && length + skipped + LENGTH_BYTES <= record
                }
            };
            if fits && (1..=BLOCK_BYTES_MAX).contains(&length) {
                found(view.offset(at + skipped + LENGTH_BYTES), length);
            }
        }
    }
}

/// Returns the number that four bytes from `at` on are.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.first_chunk().map(|four| u32::from_le_bytes(*four))
}

/// Decompresses `bytes` bytes at `offset`; None if they are no block, or cut.
pub(super) fn decompress(
    source: &dyn Source,
    offset: u64,
    bytes: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut beginning = [0; 10];
    let want = bytes.min(beginning.len());
    let beginning = fill(source, offset, &mut beginning[..want])?;
    let length = snap::raw::decompress_len(beginning).unwrap_or_default();
    if length == 0 || length > BLOCK_BYTES_MAX.min(bytes.saturating_mul(RATIO_MAX)) {
        return Ok(None);
    }
    let mut compressed = vec![0; bytes];
    if fill(source, offset, &mut compressed)?.len() < bytes {
        return Ok(None);
    }
    Ok(snap::raw::Decoder::new().decompress_vec(&compressed).ok())
}
