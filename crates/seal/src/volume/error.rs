//! Errors concerning a sealed volume. The messages name block, page, frame and generation; the
//! adapter puts the volume's directory before them, since a seal does not have it. Never holds key
//! bytes or data.

use super::level::Level;
use crate::SealError;

/// Reason why a piece of a volume did not open, or could not be sealed. Displays without the
/// volume's directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// A block differs from the block sealed there.
    #[error(
        "block {block} at byte {offset} of the device failed authentication: changed, moved, or an \
         older one\n\
         restore the volume from a backup"
    )]
    Block {
        /// Number of the block, from 0.
        block: u64,
        /// Its first byte, in bytes of the device.
        offset: u64,
    },
    /// A page of entries differs from the page that the one above it names.
    #[error(
        "{level} {number} at byte {offset} of sealstone.data failed authentication: changed, \
         moved, or an older one\n\
         restore the volume from a backup"
    )]
    EntryPage {
        /// Level of the page.
        level: Level,
        /// Number of the page within its level, from 0.
        number: u64,
        /// Position where it was read, in bytes from the beginning of the file with the blocks.
        offset: u64,
    },
    /// A frame of the log that was synced is not there as it was written.
    #[error(
        "frame {frame} of the log, at byte {offset} of segment {segment}, is missing or changed, \
         and {synced} frames were synced\n\
         no crash does that; restore the volume from a backup"
    )]
    Frame {
        /// Number of the frame, from 0.
        frame: u64,
        /// Number of the segment.
        segment: u64,
        /// Position in it, in bytes.
        offset: u64,
        /// Number of frames that were synced.
        synced: u64,
    },
    /// No copy of the map is whole.
    #[error(
        "the map of the volume is missing or damaged: {found}\n\
         restore the volume from a backup"
    )]
    Root {
        /// Description of the finding.
        found: String,
    },
    /// A length that no block has.
    #[error("blocks of {found} bytes; a volume has blocks of 4096, 8192 or 16384")]
    BlockBytes {
        /// The requested length, in bytes.
        found: u32,
    },
    /// An impossible size.
    #[error("a device of {found} bytes; a device has {min} to {max}, in blocks of {block_bytes}")]
    Size {
        /// The requested size, in bytes.
        found: u64,
        /// The smallest, in bytes.
        min: u64,
        /// The largest, in bytes.
        max: u64,
        /// Length of a block, in bytes.
        block_bytes: u32,
    },
    /// The volume was opened for writing too often.
    #[error(
        "opened for writing {epochs} times, and no more is possible\n\
         make a new volume and copy the files from this one"
    )]
    Epochs {
        /// Number of times.
        epochs: usize,
    },
    /// The header, a key or the cipher.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl From<sealstone_cipher::memory::Forked> for VolumeError {
    fn from(forked: sealstone_cipher::memory::Forked) -> Self {
        Self::Seal(forked.into())
    }
}
