//! Resealing: the blocks of a volume onto another one, under another key or cipher. Neither is in
//! use.
//!
//! The first blocks come last, after everything else was compared: until then there is no file
//! system on the new volume, so nobody takes it for a whole one.

use crate::error::Failure;
use crate::volume::Volume;

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Callback that receives the bytes of the device that are done, in each of two passes; false stops
/// the work.
pub type Progress<'a> = dyn FnMut(Pass, u64) -> bool + 'a;

/// Part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Copying.
    Copy,
    /// Comparing what was copied, which is read from the disk.
    Compare,
}

/// Result of resealing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resealed {
    /// Both volumes read the same; so many bytes were written, the rest was there already.
    Done {
        /// The bytes.
        written: u64,
    },
    /// The caller stopped it; the same call goes on.
    Stopped,
}

/// Returns whether `to` may be written by [`reseal`]: its first blocks are zeros, as on a new
/// volume and on one that is not finished.
///
/// # Errors
/// As [`Volume::read`].
pub fn is_unfinished(to: &Volume) -> Result<bool, Failure> {
    let mut first = vec![0; PIECE_BYTES.min(to.size_bytes()) as usize];
    to.read(0, &mut first)?;
    Ok(is_zeros(&first))
}

/// Makes `to` read as `from` does, and compares both.
///
/// # Errors
/// [`Failure::Smaller`]; [`Failure::Differs`] if they do not read the same afterwards; as reads
/// and writes of the two. The same call goes on.
pub fn reseal(
    from: &Volume,
    to: &Volume,
    progress: &mut Progress<'_>,
) -> Result<Resealed, Failure> {
    let (bytes, size) = (to.size_bytes(), from.size_bytes());
    if bytes < size {
        return Err(Failure::Smaller { bytes, size });
    }
    let mut written = 0;
    for (begin, end) in [(PIECE_BYTES.min(size), size), (0, PIECE_BYTES.min(size))] {
        let copied = each(from, to, (begin, end), &mut |offset, [wanted, found]| {
            if !progress(Pass::Copy, offset) {
                return Ok(false);
            }
            if wanted != found {
                written += wanted.len() as u64;
                match is_zeros(wanted) {
                    true => to.discard(offset, wanted.len() as u64)?,
                    false => to.write(offset, wanted)?,
                }
            }
            Ok(true)
        })?;
        if !copied {
            return Ok(Resealed::Stopped);
        }
        to.flush()?;
        to.checkpoint()?;
        let compared = each(from, to, (begin, end), &mut |offset, [wanted, found]| {
            let differs = wanted.iter().zip(found).position(|(wanted, found)| wanted != found);
            match differs {
                Some(at) => Err(Failure::Differs { offset: offset + at as u64 }),
                // with its first blocks it is a whole volume, and no other run would go on with it
                None => Ok(progress(Pass::Compare, offset) || begin == 0),
            }
        })?;
        if !compared {
            return Ok(Resealed::Stopped);
        }
    }
    Ok(Resealed::Done { written })
}

/// Gets the offset of a piece, and its bytes on both volumes; false stops.
type OnPiece<'a> = dyn FnMut(u64, [&[u8]; 2]) -> Result<bool, Failure> + 'a;

/// Calls `call` for each piece of the range in which one of the two may have data, with its offset
/// and the bytes of both, until that returns false. Returns whether it came to the end.
fn each(
    from: &Volume,
    to: &Volume,
    (begin, end): (u64, u64),
    call: &mut OnPiece<'_>,
) -> Result<bool, Failure> {
    let (mut wanted, mut found) = (Vec::new(), Vec::new());
    let mut offset = begin;
    while offset < end {
        let next = from.data_from(offset)?.min(to.data_from(offset)?);
        // whole pieces, wherever the data begins in one
        offset = next / PIECE_BYTES * PIECE_BYTES;
        if offset >= end {
            break;
        }
        let bytes = PIECE_BYTES.min(end - offset) as usize;
        wanted.resize(bytes, 0);
        found.resize(bytes, 0);
        from.read(offset, &mut wanted)?;
        to.read(offset, &mut found)?;
        if !call(offset, [&wanted, &found])? {
            return Ok(false);
        }
        offset += bytes as u64;
    }
    Ok(true)
}

fn is_zeros(data: &[u8]) -> bool {
    data.iter().all(|byte| *byte == 0)
}
