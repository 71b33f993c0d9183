//! Positions of the frames in a file, and the ways a file of frames can end, as agreed between
//! writer and readers.

use crate::header::{FILE_ID_BYTES, Layout};
use crate::limits::FRAME_BYTES_MAX;
use crate::segment::{drawn_nonce, nonce};
use crate::{SealError, SealedFile, TAG_BYTES};

/// Length of what precedes the ciphertext of a frame, in bytes: its length, and the random bits of
/// its nonce.
pub const HEAD_BYTES: usize = 8;
/// Bytes that a frame adds to its data.
pub const OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;

/// The least that a disk writes at once. A power cut leaves zeros in a sector that was allocated
/// and never written.
pub(super) const SECTOR_BYTES: u64 = 512;

/// Position of a frame, in the file and in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// Frame number, from 0.
    pub index: u64,
    /// Start of the frame, in stored bytes from the beginning of the file.
    pub stored_offset: u64,
    /// Start of its data, counting only data.
    pub logical_offset: u64,
    /// Bytes of data, 1 to [`FRAME_BYTES_MAX`].
    pub bytes: u32,
    /// Segment whose subkey seals it.
    pub(super) segment: u64,
    /// Its first block within the segment.
    pub(super) counter: u64,
}

impl FramePlace {
    /// Its length on disk.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        self.bytes as usize + OVERHEAD_BYTES
    }

    /// Returns the associated data: the tag binds to file, frame number, place and length.
    pub(super) fn associated(&self, file: &SealedFile) -> [u8; 36] {
        let mut associated = [0; 36];
        associated[..FILE_ID_BYTES].copy_from_slice(&file.info().file_id);
        associated[16..24].copy_from_slice(&self.index.to_be_bytes());
        associated[24..32].copy_from_slice(&self.stored_offset.to_be_bytes());
        associated[32..36].copy_from_slice(&self.bytes.to_be_bytes());
        associated
    }

    /// Returns the nonce, right-aligned. Where it has room for random bits it does not depend on
    /// the lengths of the frames before, so that key stream for the next frame can be made before
    /// its data are there.
    pub(super) fn nonce(&self, nonce_bytes: usize, random: u32) -> [u8; 12] {
        if nonce_bytes == 12 { drawn_nonce(self.index, random) } else { nonce(self.counter) }
    }

    #[cold]
    pub(super) fn failed(&self) -> SealError {
        SealError::Frame { index: self.index, offset: self.stored_offset }
    }
}

/// One frame, opened.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Position of the frame.
    pub place: FramePlace,
    /// Its data.
    pub data: &'a [u8],
}

/// Ending of a file of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a whole frame, or with none at all.
    Clean,
    /// Within a frame, or in a frame that lost a sector: its writer was stopped there. Everything
    /// before `offset` is whole.
    Torn {
        /// Start of the torn frame, in stored bytes from the beginning of the file.
        offset: u64,
        /// Bytes from there to the end.
        bytes: u64,
        /// True if all of these are zero: space that was allocated but never written.
        unwritten: bool,
    },
}

/// Position at which the next frame begins. Writer and readers step through the same positions,
/// since each follows from the lengths before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    block_bytes: u64,
    segment_units: u64,
    /// The place of the next frame, its length not yet known.
    pub(super) next: FramePlace,
}

impl Cursor {
    pub(super) fn new(file: &SealedFile) -> Result<Self, SealError> {
        let info = file.info();
        if info.layout != Layout::Frames {
            return Err(SealError::WrongLayout {
                found: info.layout.name(),
                want: Layout::Frames.name(),
            });
        }
        let next = FramePlace {
            index: 0,
            stored_offset: info.frames_at(),
            logical_offset: 0,
            bytes: 0,
            segment: 0,
            counter: 0,
        };
        Ok(Self {
            block_bytes: info.cipher.block_bytes as u64,
            segment_units: info.segment_units,
            next,
        })
    }

    /// Units of a segment that a frame of `bytes` takes: its blocks, and one for its tag.
    fn units(&self, bytes: u32) -> u64 {
        1 + u64::from(bytes).div_ceil(self.block_bytes)
    }

    /// Returns the place of the next frame if it has `bytes` of data: in the next segment where
    /// this one has no room left. None for a length that no frame has.
    pub(super) fn place(&self, bytes: u32) -> Option<FramePlace> {
        if bytes == 0 || bytes > FRAME_BYTES_MAX || self.units(bytes) > self.segment_units {
            return None;
        }
        let mut place = FramePlace { bytes, ..self.next };
        if place.counter + self.units(bytes) > self.segment_units {
            (place.segment, place.counter) = (place.segment + 1, 0);
        }
        Some(place)
    }

    /// Goes on behind the frame at `place`, which takes `stored_bytes` of the file.
    pub(super) fn advance(&mut self, place: &FramePlace, stored_bytes: usize) {
        self.next = FramePlace {
            index: place.index + 1,
            stored_offset: place.stored_offset + stored_bytes as u64,
            logical_offset: place.logical_offset + u64::from(place.bytes),
            bytes: 0,
            segment: place.segment,
            counter: place.counter + self.units(place.bytes),
        };
    }
}
