//! Frames of format version 1: a head (length and a tag of its own) and a body (ciphertext and its tag). Read only,
//! since nothing writes this version any more. Byte by byte in `docs/formats.md`.

use super::place::{Cursor, End, Frame, FramePlace, SECTOR_BYTES};
use crate::header::{FILE_ID_BYTES, HEADER_BYTES_V1};
use crate::segment::nonce;
use crate::{SealError, SealedFile, TAG_BYTES};

/// Length of a frame's head, in bytes: length and tag.
const HEAD_BYTES: usize = 4 + TAG_BYTES;

/// One of the two parts of a frame, each of which has its own tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FramePart {
    Head,
    Body,
}

/// Values that version 1 computes from a place.
trait Place {
    fn body_offset(&self) -> u64;
    fn body_bytes(&self) -> usize;
    fn associated_v1(&self, file: &SealedFile, part: FramePart) -> [u8; 40];
    fn open(&self, file: &SealedFile, part: FramePart, data: &mut [u8], tag: &[u8; TAG_BYTES])
    -> Result<(), SealError>;
}

impl Place for FramePlace {
    /// Returns the start of its body, in stored bytes from the beginning of the file.
    fn body_offset(&self) -> u64 {
        self.stored_offset + HEAD_BYTES as u64
    }

    /// Length of its body on disk, ciphertext and tag.
    fn body_bytes(&self) -> usize {
        self.bytes as usize + TAG_BYTES
    }

    /// Both tags bind to file, frame number, place, length, and which of the two it is.
    fn associated_v1(&self, file: &SealedFile, part: FramePart) -> [u8; 40] {
        let mut associated = [0; 40];
        associated[..FILE_ID_BYTES].copy_from_slice(&file.info().file_id);
        associated[16..24].copy_from_slice(&self.index.to_be_bytes());
        associated[24..32].copy_from_slice(&self.stored_offset.to_be_bytes());
        associated[32..36].copy_from_slice(&self.bytes.to_be_bytes());
        let part: u32 = if part == FramePart::Head { 0 } else { 1 };
        associated[36..40].copy_from_slice(&part.to_be_bytes());
        associated
    }

    fn open(
        &self,
        file: &SealedFile,
        part: FramePart,
        data: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), SealError> {
        let keyed = file.segment(self.segment)?;
        // the head takes the first block of a frame, the body those after it
        let nonce = &nonce(if part == FramePart::Head { self.counter } else { self.counter + 1 });
        let nonce = &nonce[12 - keyed.nonce_bytes()..];
        keyed.open(nonce, &self.associated_v1(file, part), data, tag).map_err(|error| match error {
            sealstone_cipher::aead::Error::Authentication => self.failed(),
            other => SealError::Cipher(other),
        })
    }
}

/// Reads a head and checks its tag.
fn open_head(cursor: &Cursor, file: &SealedFile, head: &[u8; HEAD_BYTES]) -> Result<FramePlace, SealError> {
    let (bytes, tag) = head.split_first_chunk().expect("a head is longer than its length");
    let tag = tag.first_chunk().expect("the rest of a head is its tag");
    let place = cursor.place(u32::from_be_bytes(*bytes)).ok_or_else(|| cursor.next.failed())?;
    place.open(file, FramePart::Head, &mut [], tag)?;
    Ok(place)
}

/// The reader's interpretation of the bytes at its position.
#[derive(Clone, Copy, Debug)]
enum State {
    /// At a head.
    Head,
    /// The head was genuine; the body follows.
    Body(FramePlace),
    /// A part failed, and only zeros were seen from within that part on: torn if only zeros follow.
    Zeros(FramePlace),
    /// A part failed.
    Failed(FramePlace),
}

/// Reads frames in order, from stored bytes handed over in any portions.
#[derive(Debug)]
pub(super) struct FrameReader {
    file: SealedFile,
    cursor: Cursor,
    state: State,
    /// Stored bytes not yet used up, from `used` on.
    buffer: Vec<u8>,
    used: usize,
    /// Stored bytes handed over so far, and the header before them.
    pushed_end: u64,
}

impl FrameReader {
    /// A reader at the first frame, right after the header.
    ///
    /// # Errors
    /// [`SealError::WrongLayout`].
    pub(super) fn new(file: &SealedFile) -> Result<Self, SealError> {
        let cursor = Cursor::new(file)?;
        Ok(Self {
            file: file.clone(),
            cursor,
            state: State::Head,
            buffer: Vec::new(),
            used: 0,
            pushed_end: HEADER_BYTES_V1 as u64,
        })
    }

    /// Returns the position in the file at which to continue reading: the byte after the last one
    /// handed over.
    pub(super) fn next_offset(&self) -> u64 {
        self.pushed_end
    }

    /// Bytes of data in the frames read so far.
    pub(super) fn logical_bytes(&self) -> u64 {
        self.cursor.next.logical_offset
    }

    /// Returns the end of the last whole frame read so far, in stored bytes from the beginning of
    /// the file.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.cursor.next.stored_offset
    }

    /// Hands over the stored bytes that follow those handed over before; the first are right after the header.
    pub(super) fn push(&mut self, stored: &[u8]) {
        if self.used > 0 && self.used * 2 >= self.buffer.len() {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(stored);
        self.pushed_end += stored.len() as u64;
    }

    /// The next frame, or None if more stored bytes are needed. At the end of the file ask [`FrameReader::end`] how it
    /// ended; if the file still grows, reading may continue later.
    ///
    /// # Errors
    /// [`SealError::Frame`], again on every further call; nothing after a damaged frame can be read.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame<'_>>, SealError> {
        loop {
            match self.state {
                State::Head => {
                    let Some(head) = self.buffer[self.used..].first_chunk::<HEAD_BYTES>() else { return Ok(None) };
                    match open_head(&self.cursor, &self.file, head) {
                        Ok(place) => {
                            self.used += HEAD_BYTES;
                            self.state = State::Body(place);
                        }
                        Err(SealError::Frame { .. }) => {
                            let place = self.cursor.next;
                            let zeros = ends_in_zeros(place.stored_offset, place.stored_offset, head);
                            self.fail(place, HEAD_BYTES, zeros);
                        }
                        Err(other) => return Err(other),
                    }
                }
                State::Body(place) => {
                    let start = self.used;
                    let Some(body) = self.buffer[start..].get_mut(..place.body_bytes()) else { return Ok(None) };
                    // a failed opening wipes the data, so look first
                    let zeros = ends_in_zeros(place.stored_offset, place.body_offset(), body);
                    let (data, tag) = body.split_last_chunk_mut().expect("a body ends with a tag");
                    match place.open(&self.file, FramePart::Body, data, tag) {
                        Ok(()) => {
                            self.used += place.body_bytes();
                            self.state = State::Head;
                            self.cursor.advance(&place, HEAD_BYTES + place.body_bytes());
                            let data = &self.buffer[start..start + place.bytes as usize];
                            return Ok(Some(Frame { place, data }));
                        }
                        Err(SealError::Frame { .. }) => {
                            self.fail(place, place.body_bytes(), zeros);
                        }
                        Err(other) => return Err(other),
                    }
                }
                State::Zeros(place) => {
                    if self.buffer[self.used..].iter().any(|byte| *byte != 0) {
                        self.state = State::Failed(place);
                        continue;
                    }
                    self.used = self.buffer.len();
                    return Ok(None);
                }
                State::Failed(place) => return Err(place.failed()),
            }
        }
    }

    /// Returns how the file ends, once every stored byte was handed over and
    /// [`FrameReader::next_frame`] returned None.
    ///
    /// # Errors
    /// [`SealError::Frame`] if a frame was damaged; [`SealError::CutShort`] if more than this was synced.
    pub(super) fn end(&self) -> Result<End, SealError> {
        let offset = self.cursor.next.stored_offset;
        let synced = self.file.synced_bytes();
        match self.state {
            State::Failed(place) => Err(place.failed()),
            _ if offset < synced => Err(SealError::CutShort { end: offset, synced }),
            State::Head if offset == self.pushed_end => Ok(End::Clean),
            _ => Ok(End::Torn { offset, bytes: self.pushed_end - offset, unwritten: false }),
        }
    }

    fn fail(&mut self, place: FramePlace, part_bytes: usize, zeros: bool) {
        self.used += part_bytes;
        self.state = if zeros { State::Zeros(place) } else { State::Failed(place) };
    }
}

/// Returns whether `part`, a piece of a frame, could end in sectors that were never written: all
/// zeros from a sector's beginning, or from the beginning of the frame, to the end of the part.
///
/// - `frame_offset`, `part_offset`: where frame and part start, in stored bytes from the beginning of the file
/// - `part`: head or body as stored, not empty
fn ends_in_zeros(frame_offset: u64, part_offset: u64, part: &[u8]) -> bool {
    let last = part_offset + part.len() as u64 - 1;
    let sector = (last - last % SECTOR_BYTES).max(frame_offset);
    // a sector that begins before the part holds bytes of the head too, which was genuine and so not all zeros
    sector >= part_offset && part[(sector - part_offset) as usize..].iter().all(|byte| *byte == 0)
}
