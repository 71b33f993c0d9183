//! Frames: the layout of append-only files, such as a write-ahead log, that must be readable up to where a crash cut
//! them. Byte by byte in `docs/formats.md`. Not here: reading and writing files.
//!
//! A frame is a head (its length, and a tag that proves the length) and a body (ciphertext, and its tag). Frames are
//! never rewritten. A file that ends within a frame, or in zeros, ends there: that is what a crash leaves behind.
//! Anything else that fails authentication is damage. So a frame that was changed, moved, repeated or left out is
//! found. So are frames cut off at the end, as far as the header says that they were synced; what was never synced may
//! be missing after a crash, and then nobody can tell.
//!
//! ```
//! # use sealstone_seal::{HEADER_BYTES, Layout, SealedFile, frame::{End, FrameReader, FrameWriter}};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let keys = sealstone_keys::file::KeyFile::create(dir.path().join("key"), "example")?;
//! # let cipher = sealstone_cipher::registry::cipher("aes-256")?;
//! # let backend = sealstone_cipher::backend::Backend::auto();
//! // write
//! let (file, header) = SealedFile::create(&keys, cipher, backend, Layout::Frames)?;
//! let mut stored = header.to_vec();
//! let mut writer = FrameWriter::new(&file)?;
//! writer.append(b"put 17 = seventeen", &mut stored)?;
//! writer.append(b"delete 4", &mut stored)?;
//!
//! // read
//! let file = SealedFile::open(&keys, backend, &stored)?;
//! let mut reader = FrameReader::new(&file)?;
//! reader.push(&stored[HEADER_BYTES..]); // in any portions
//! let mut log = Vec::new();
//! while let Some(frame) = reader.next_frame()? {
//!     log.extend_from_slice(frame.data);
//! }
//! assert_eq!(reader.end()?, End::Clean);
//! assert_eq!(log, b"put 17 = seventeendelete 4");
//! # Ok(())
//! # }
//! ```

use sealstone_cipher::aead::Context;

use crate::header::{FILE_ID_BYTES, HEADER_BYTES, Layout};
use crate::segment::nonce;
use crate::{FramePart, SealError, SealedFile, TAG_BYTES};

/// Length of a frame's head, in bytes: length and tag.
pub const HEAD_BYTES: usize = 4 + TAG_BYTES;
/// Bytes that a frame adds to its data.
pub const OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;
/// Most data in one frame, in bytes; longer portions are split. Bounds what a reader must hold.
pub const FRAME_BYTES_MAX: u32 = 1 << 20;

/// What a crash can leave behind in blocks that were allocated and never written; the smallest disk sector.
const SECTOR_BYTES: u64 = 512;

/// Where a frame lies, in the file and in the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePlace {
    /// Frame number, from 0.
    pub index: u64,
    /// Where its head starts, in stored bytes from the beginning of the file.
    pub stored_offset: u64,
    /// Where its data starts, counted in data alone.
    pub logical_offset: u64,
    /// Bytes of data, 1 to [`FRAME_BYTES_MAX`].
    pub bytes: u32,
    /// Segment whose subkey seals it.
    segment: u64,
    /// First block of it within the segment: the head takes this one, the body those after it.
    counter: u64,
}

impl FramePlace {
    /// Where its body starts, in stored bytes from the beginning of the file.
    #[must_use]
    pub fn body_offset(&self) -> u64 {
        self.stored_offset + HEAD_BYTES as u64
    }

    /// Length of its body on disk, ciphertext and tag.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.bytes as usize + TAG_BYTES
    }

    /// Where the next frame starts, in stored bytes from the beginning of the file.
    #[must_use]
    pub fn stored_end(&self) -> u64 {
        self.body_offset() + self.body_bytes() as u64
    }

    /// Both tags bind to file, frame number, place, length, and which of the two it is.
    fn associated(&self, file: &SealedFile, part: FramePart) -> [u8; 40] {
        let mut associated = [0; 40];
        associated[..FILE_ID_BYTES].copy_from_slice(&file.info().file_id);
        associated[16..24].copy_from_slice(&self.index.to_be_bytes());
        associated[24..32].copy_from_slice(&self.stored_offset.to_be_bytes());
        associated[32..36].copy_from_slice(&self.bytes.to_be_bytes());
        let part: u32 = if part == FramePart::Head { 0 } else { 1 };
        associated[36..40].copy_from_slice(&part.to_be_bytes());
        associated
    }

    fn nonce(&self, part: FramePart) -> [u8; 12] {
        nonce(if part == FramePart::Head { self.counter } else { self.counter + 1 })
    }

    /// Encrypts `data`; returns the tags of head and body.
    fn seal(&self, file: &SealedFile, data: &mut [u8]) -> Result<[[u8; TAG_BYTES]; 2], SealError> {
        let keyed = file.segment(self.segment)?;
        let parts = [FramePart::Head, FramePart::Body];
        let (nonces, associated) = (parts.map(|part| self.nonce(part)), parts.map(|part| self.associated(file, part)));
        let context =
            |part: usize| Context { nonce: &nonces[part][12 - keyed.nonce_bytes()..], associated: &associated[part] };
        keyed.seal_with_head(context(0), context(1), data).map_err(SealError::Cipher)
    }

    fn open(
        &self,
        file: &SealedFile,
        part: FramePart,
        data: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), SealError> {
        let keyed = file.segment(self.segment)?;
        let nonce = &self.nonce(part)[12 - keyed.nonce_bytes()..];
        keyed.open(nonce, &self.associated(file, part), data, tag).map_err(|error| match error {
            sealstone_cipher::aead::Error::Authentication => self.failed(part),
            other => SealError::Cipher(other),
        })
    }

    #[cold]
    fn failed(&self, part: FramePart) -> SealError {
        SealError::Frame { index: self.index, offset: self.stored_offset, part }
    }
}

/// Where the next frame begins. Writer and readers step through the same places, since each follows from the lengths
/// before it.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    block_bytes: u64,
    segment_units: u64,
    /// The place of the next frame, its length not yet known.
    next: FramePlace,
}

impl Cursor {
    fn new(file: &SealedFile) -> Result<Self, SealError> {
        let info = file.info();
        if info.layout != Layout::Frames {
            return Err(SealError::WrongLayout { found: info.layout.name(), want: Layout::Frames.name() });
        }
        let next = FramePlace {
            index: 0,
            stored_offset: HEADER_BYTES as u64,
            logical_offset: 0,
            bytes: 0,
            segment: 0,
            counter: 0,
        };
        Ok(Self { block_bytes: info.cipher.block_bytes as u64, segment_units: info.segment_units, next })
    }

    /// Blocks of a segment that a frame of `bytes` takes: one for its head, and those of its body.
    fn blocks(&self, bytes: u32) -> u64 {
        1 + u64::from(bytes).div_ceil(self.block_bytes)
    }

    /// The place of the next frame if it has `bytes` of data: in the next segment where this one has no room left.
    /// None for a length that no frame has.
    fn place(&self, bytes: u32) -> Option<FramePlace> {
        if bytes == 0 || bytes > FRAME_BYTES_MAX || self.blocks(bytes) > self.segment_units {
            return None;
        }
        let mut place = FramePlace { bytes, ..self.next };
        if place.counter + self.blocks(bytes) > self.segment_units {
            (place.segment, place.counter) = (place.segment + 1, 0);
        }
        Some(place)
    }

    /// Reads a head and checks its tag.
    fn open_head(&self, file: &SealedFile, head: &[u8; HEAD_BYTES]) -> Result<FramePlace, SealError> {
        let (bytes, tag) = head.split_first_chunk().expect("a head is longer than its length");
        let tag = tag.first_chunk().expect("the rest of a head is its tag");
        let place = self.place(u32::from_be_bytes(*bytes)).ok_or_else(|| self.next.failed(FramePart::Head))?;
        place.open(file, FramePart::Head, &mut [], tag)?;
        Ok(place)
    }

    fn advance(&mut self, place: &FramePlace) {
        self.next = FramePlace {
            index: place.index + 1,
            stored_offset: place.stored_end(),
            logical_offset: place.logical_offset + u64::from(place.bytes),
            bytes: 0,
            segment: place.segment,
            counter: place.counter + self.blocks(place.bytes),
        };
    }
}

/// The one writer of a new file of frames.
#[derive(Debug)]
pub struct FrameWriter {
    file: SealedFile,
    cursor: Cursor,
}

impl FrameWriter {
    /// The writer of the file that [`SealedFile::create`] has just made. Its stored bytes follow the header.
    ///
    /// # Errors
    /// [`SealError::WrongLayout`]; [`SealError::WrittenOnce`] for a second writer, or for a file that was opened: a
    /// log is continued in a new file.
    pub fn new(file: &SealedFile) -> Result<Self, SealError> {
        let cursor = Cursor::new(file)?;
        file.claim_writer()?;
        Ok(Self { file: file.clone(), cursor })
    }

    /// Bytes of data written so far.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.cursor.next.logical_offset
    }

    /// Length of the file once everything given out so far is written, in stored bytes, header included.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.cursor.next.stored_offset
    }

    /// Appends `data` to `stored` as one frame, or as several if it is longer than [`FRAME_BYTES_MAX`]; as none if it
    /// is empty. The stored bytes must reach the file in this order; if writing them fails, the file takes no more.
    ///
    /// # Errors
    /// [`SealError::LimitReached`]; `stored` is then as before, and the file takes no more.
    pub fn append(&mut self, data: &[u8], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let start = stored.len();
        let frames = data.len().div_ceil(FRAME_BYTES_MAX as usize);
        stored.reserve(data.len() + frames * OVERHEAD_BYTES);
        for part in data.chunks(FRAME_BYTES_MAX as usize) {
            if let Err(error) = self.append_frame(part, stored) {
                // what follows `start` may hold data in the clear
                stored.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }

    fn append_frame(&mut self, data: &[u8], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let place = self.cursor.place(data.len() as u32).expect("chunks are 1 to FRAME_BYTES_MAX bytes");
        stored.extend_from_slice(&place.bytes.to_be_bytes());
        let head = stored.len();
        stored.extend_from_slice(&[0; TAG_BYTES]);
        let body = stored.len();
        stored.extend_from_slice(data);
        let [head_tag, body_tag] = place.seal(&self.file, &mut stored[body..])?;
        stored[head..body].copy_from_slice(&head_tag);
        stored.extend_from_slice(&body_tag);
        self.cursor.advance(&place);
        Ok(())
    }
}

/// One frame, opened.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where it lies.
    pub place: FramePlace,
    /// Its data.
    pub data: &'a [u8],
}

/// How a file of frames ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a whole frame, or with none at all.
    Clean,
    /// Within a frame, or in zeros: its writer was stopped there. What precedes `offset` is whole.
    Torn {
        /// Where the torn frame starts, in stored bytes from the beginning of the file.
        offset: u64,
        /// Bytes from there to the end.
        bytes: u64,
    },
}

/// What the reader makes of the bytes at its place.
#[derive(Clone, Copy, Debug)]
enum State {
    /// At a head.
    Head,
    /// The head was genuine; the body follows.
    Body(FramePlace),
    /// A part failed, and zeros were all that was seen from within that part on: torn if zeros are all that comes.
    Zeros(FramePlace, FramePart),
    /// A part failed.
    Failed(FramePlace, FramePart),
}

/// Reads frames in order, from stored bytes handed over in any portions.
#[derive(Debug)]
pub struct FrameReader {
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
    pub fn new(file: &SealedFile) -> Result<Self, SealError> {
        let cursor = Cursor::new(file)?;
        Ok(Self {
            file: file.clone(),
            cursor,
            state: State::Head,
            buffer: Vec::new(),
            used: 0,
            pushed_end: HEADER_BYTES as u64,
        })
    }

    /// Where in the file to read on: the byte after the last one handed over.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.pushed_end
    }

    /// Bytes of data in the frames read so far.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.cursor.next.logical_offset
    }

    /// Hands over the stored bytes that follow those handed over before; the first come right after the header.
    pub fn push(&mut self, stored: &[u8]) {
        if self.used > 0 && self.used * 2 >= self.buffer.len() {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(stored);
        self.pushed_end += stored.len() as u64;
    }

    /// The next frame, or None if more stored bytes are needed. At the end of the file ask [`FrameReader::end`] how
    /// it ended; a file that still grows may be read on later.
    ///
    /// # Errors
    /// [`SealError::Frame`], again on every further call; nothing after a damaged frame can be read.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, SealError> {
        loop {
            match self.state {
                State::Head => {
                    let Some(head) = self.buffer[self.used..].first_chunk::<HEAD_BYTES>() else { return Ok(None) };
                    match self.cursor.open_head(&self.file, head) {
                        Ok(place) => {
                            self.used += HEAD_BYTES;
                            self.state = State::Body(place);
                        }
                        Err(SealError::Frame { .. }) => {
                            let place = self.cursor.next;
                            let zeros = ends_in_zeros(place.stored_offset, place.stored_offset, head);
                            self.fail(place, FramePart::Head, HEAD_BYTES, zeros);
                        }
                        Err(other) => return Err(other),
                    }
                }
                State::Body(place) => {
                    let start = self.used;
                    let Some(body) = self.buffer[start..].get_mut(..place.body_bytes()) else { return Ok(None) };
                    // a failed opening wipes the data, so look before
                    let zeros = ends_in_zeros(place.stored_offset, place.body_offset(), body);
                    let (data, tag) = body.split_last_chunk_mut().expect("a body ends with a tag");
                    match place.open(&self.file, FramePart::Body, data, tag) {
                        Ok(()) => {
                            self.used += place.body_bytes();
                            self.state = State::Head;
                            self.cursor.advance(&place);
                            let data = &self.buffer[start..start + place.bytes as usize];
                            return Ok(Some(Frame { place, data }));
                        }
                        Err(SealError::Frame { .. }) => {
                            self.fail(place, FramePart::Body, place.body_bytes(), zeros);
                        }
                        Err(other) => return Err(other),
                    }
                }
                State::Zeros(place, part) => {
                    if self.buffer[self.used..].iter().any(|byte| *byte != 0) {
                        self.state = State::Failed(place, part);
                        continue;
                    }
                    self.used = self.buffer.len();
                    return Ok(None);
                }
                State::Failed(place, part) => return Err(place.failed(part)),
            }
        }
    }

    /// How the file ends, once every stored byte was handed over and [`FrameReader::next_frame`] gave None.
    ///
    /// # Errors
    /// [`SealError::Frame`] if a frame was damaged; [`SealError::CutShort`] if more than this was synced.
    pub fn end(&self) -> Result<End, SealError> {
        let offset = self.cursor.next.stored_offset;
        let synced = self.file.synced_bytes();
        match self.state {
            State::Failed(place, part) => Err(place.failed(part)),
            _ if offset < synced => Err(SealError::CutShort { end: offset, synced }),
            State::Head if offset == self.pushed_end => Ok(End::Clean),
            _ => Ok(End::Torn { offset, bytes: self.pushed_end - offset }),
        }
    }

    fn fail(&mut self, place: FramePlace, part: FramePart, part_bytes: usize, zeros: bool) {
        self.used += part_bytes;
        self.state = if zeros { State::Zeros(place, part) } else { State::Failed(place, part) };
    }
}

/// Whether `part`, a piece of a frame, could end in sectors that were never written: all zeros from a sector's
/// beginning, or from the beginning of the frame, to the end of the part.
///
/// - `frame_offset`, `part_offset`: where frame and part start, in stored bytes from the beginning of the file
/// - `part`: head or body as stored, not empty
fn ends_in_zeros(frame_offset: u64, part_offset: u64, part: &[u8]) -> bool {
    let last = part_offset + part.len() as u64 - 1;
    let sector = (last - last % SECTOR_BYTES).max(frame_offset);
    // a sector that begins before the part holds bytes of the head too, which was genuine and so not all zeros
    sector >= part_offset && part[(sector - part_offset) as usize..].iter().all(|byte| *byte == 0)
}
