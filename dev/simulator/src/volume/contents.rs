//! Contents of blocks: each has one number all over, so that a block that is there in part shows.

use std::ops::Range;

use sealstone_volume::Volume;

use super::source::BLOCK_BYTES;

/// Blocks that are read at once.
const READ_BLOCKS: u64 = 256;

/// Returns the bytes of `count` blocks that have `value`.
pub(crate) fn written(value: u64, count: u64) -> Vec<u8> {
    value.to_le_bytes().repeat((count * BLOCK_BYTES) as usize / 8)
}

/// Returns the number that each of `blocks` has.
///
/// # Errors
/// Blocks do not read, or one has several things.
pub fn of(volume: &Volume, blocks: Range<u64>) -> Result<Vec<u64>, String> {
    let mut found = Vec::with_capacity((blocks.end - blocks.start) as usize);
    let mut out = Vec::new();
    let mut at = blocks.start;
    while at < blocks.end {
        let end = (at + READ_BLOCKS).min(blocks.end);
        out.resize(((end - at) * BLOCK_BYTES) as usize, 0);
        volume
            .read(at * BLOCK_BYTES, &mut out)
            .map_err(|failure| format!("blocks {:?} do not read: {failure}", at..end))?;
        for (block, data) in (at..end).zip(out.chunks_exact(BLOCK_BYTES as usize)) {
            if data[8..] != data[..data.len() - 8] {
                return Err(format!("block {block} has several things"));
            }
            found.push(u64::from_le_bytes(data[..8].try_into().expect("eight bytes")));
        }
        at = end;
    }
    Ok(found)
}
