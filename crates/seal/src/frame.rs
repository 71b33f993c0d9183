//! Frames: the layout of append-only files, such as a write-ahead log, that must be readable up to
//! the point where a crash cut them. Byte by byte in `docs/formats.md`.
//!
//! A frame is a length, random bits of its nonce, ciphertext and a tag. Frames are never rewritten.
//! A reader gets the synced length of the file, which the store's catalogue records: up to there
//! every frame must be genuine. Beyond that, a file that ends within a frame, or that lost a
//! sector, ends there: a power cut leaves unsynced bytes in such a state. Any other failed
//! authentication is damage. So frames that were changed, moved, repeated or left out are found,
//! and so are synced frames cut off at the end. Unsynced data may be missing after a crash, and
//! that cannot be detected.
//!
//! ```
//! # use sealstone_seal::frame::{End, FrameReader, FrameWriter};
//! # use sealstone_seal::{HEADER_BYTES, Layout, SealedFile};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let keys = sealstone_keys::KeyFile::create(dir.path().join("key"), "example")?;
//! # let cipher = sealstone_cipher::cipher("aes-256")?;
//! # let backend = sealstone_cipher::Backend::auto();
//! // write
//! let (file, header) = SealedFile::create(&keys, cipher, backend, Layout::Frames)?;
//! let mut stored = header.to_vec();
//! let mut writer = FrameWriter::new(&file)?;
//! writer.append(b"put 17 = seventeen", &mut stored)?;
//! writer.append(b"delete 4", &mut stored)?;
//!
//! // read
//! let file = SealedFile::open(&keys, backend, &stored)?;
//! let mut reader = FrameReader::new(&file, stored.len() as u64)?;
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

mod key_stream;
mod place;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use key_stream::KeyStreamAhead;
use place::{Cursor, SECTOR_BYTES};
pub use place::{End, Frame, FramePlace, HEAD_BYTES, OVERHEAD_BYTES};

pub use crate::limits::FRAME_BYTES_MAX;
use crate::random::nonce_bits;
use crate::segment::drawn_nonce;
use crate::{SealError, SealedFile, TAG_BYTES};

/// The only writer of a new file of frames.
#[derive(Debug)]
pub struct FrameWriter {
    file: SealedFile,
    cursor: Cursor,
    ahead: Option<key_stream::Consumer>,
}

impl FrameWriter {
    /// Returns the writer of the file that [`SealedFile::create`] has just made. Its stored bytes
    /// follow the header area.
    ///
    /// # Errors
    /// [`SealError::WrongLayout`]; [`SealError::WrittenOnce`] for a second writer, or for a file
    /// that was opened: a log is continued in a new file.
    pub fn new(file: &SealedFile) -> Result<Self, SealError> {
        let cursor = Cursor::new(file)?;
        file.claim_writer()?;
        Ok(Self { file: file.clone(), cursor, ahead: None })
    }

    /// Makes, from now on, the key stream of several short frames at a time, before their data
    /// arrive, or lets others do so by calling [`KeyStreamAhead::prepare`] on the returned value.
    /// The frames are the same. None for a cipher of 64-bit blocks, whose nonces depend on the
    /// lengths of all earlier frames.
    ///
    /// - `wanted`: set each time there is something to prepare. Others may share it; clear it
    ///   before preparing
    ///
    /// # Errors
    /// [`SealError::Cipher`], [`SealError::Forked`].
    pub fn make_ahead(
        &mut self,
        wanted: Arc<AtomicBool>,
    ) -> Result<Option<Arc<KeyStreamAhead>>, SealError> {
        let Some(keyed) = self.file.ahead(0)? else { return Ok(None) };
        let shared = Arc::new(KeyStreamAhead::new(keyed, wanted));
        self.ahead = Some(key_stream::Consumer::new(Arc::clone(&shared)));
        Ok(Some(shared))
    }

    /// Bytes of data written so far.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.cursor.next.logical_offset
    }

    /// Returns the length of the file once everything returned so far is written, in stored bytes,
    /// header area included.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.cursor.next.stored_offset
    }

    /// Appends `data` to `stored` as one frame, or as several if it is longer than
    /// [`FRAME_BYTES_MAX`]; as none if it is empty. The stored bytes must reach the file in this
    /// order; if writing them fails, the file takes no more.
    ///
    /// # Errors
    /// [`SealError::LimitReached`], [`SealError::Random`]; `stored` is then as before, and the file
    /// takes no more.
    pub fn append(&mut self, data: &[u8], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let start = stored.len();
        let frames = data.len().div_ceil(FRAME_BYTES_MAX as usize);
        stored.reserve(data.len() + frames * OVERHEAD_BYTES);
        for part in data.chunks(FRAME_BYTES_MAX as usize) {
            if let Err(error) = self.append_frame(part, stored) {
                // the bytes after `start` may hold data in the clear
                stored.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }

    fn append_frame(&mut self, data: &[u8], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let place =
            self.cursor.place(data.len() as u32).expect("chunks are 1 to FRAME_BYTES_MAX bytes");
        let keyed = self.file.segment(place.segment)?;
        // the key stream is that of the first segment, which is longer than any log
        let taken = match &mut self.ahead {
            Some(ahead) if place.segment == 0 => ahead.take(place.index, data.len())?,
            _ => None,
        };
        let random = match &taken {
            Some(taken) => taken.random,
            None if keyed.nonce_bytes() == 12 => nonce_bits(self.file.provider())?,
            None => 0,
        };
        stored.extend_from_slice(&place.bytes.to_be_bytes());
        stored.extend_from_slice(&random.to_be_bytes());
        let body = stored.len();
        stored.extend_from_slice(data);
        let (body, associated) = (&mut stored[body..], place.associated(&self.file));
        let tag = match taken {
            Some(taken) => {
                taken.keyed.seal(&drawn_nonce(place.index, random), &associated, body, taken.stream)
            }
            None => {
                let nonce = place.nonce(keyed.nonce_bytes(), random);
                keyed.seal(&nonce[12 - keyed.nonce_bytes()..], &associated, body)
            }
        };
        let tag = tag.map_err(SealError::from)?;
        stored.extend_from_slice(&tag);
        self.cursor.advance(&place, place.stored_bytes());
        Ok(())
    }
}

/// The reader's interpretation of the bytes at its position.
#[derive(Clone, Copy, Debug)]
enum State {
    /// At a frame.
    Frame,
    /// A frame that was not synced lost a sector; nothing after it counts.
    Torn {
        /// True if everything seen from its beginning on is zero.
        unwritten: bool,
    },
    /// A frame failed.
    Failed(FramePlace),
}

/// Reads frames in order, from stored bytes handed over in any portions.
#[derive(Debug)]
pub struct FrameReader {
    file: SealedFile,
    cursor: Cursor,
    synced_bytes: u64,
    state: State,
    /// Stored bytes not yet used up, from `used` on.
    buffer: Vec<u8>,
    used: usize,
    /// Stored bytes handed over so far, and what precedes them.
    pushed_end: u64,
}

impl FrameReader {
    /// Returns a reader at the first frame, right after the header area.
    ///
    /// - `synced_bytes`: length of the file that is on stable storage, in stored bytes; 0 if
    ///   unknown
    ///
    /// # Errors
    /// [`SealError::WrongLayout`].
    pub fn new(file: &SealedFile, synced_bytes: u64) -> Result<Self, SealError> {
        let cursor = Cursor::new(file)?;
        let pushed_end = cursor.next.stored_offset;
        Ok(Self {
            file: file.clone(),
            cursor,
            synced_bytes,
            state: State::Frame,
            buffer: Vec::new(),
            used: 0,
            pushed_end,
        })
    }

    /// Returns the position in the file at which to continue reading: the byte after the last one
    /// handed over.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.pushed_end
    }

    /// Bytes of data in the frames read so far.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.cursor.next.logical_offset
    }

    /// Returns the end of the last whole frame read so far, in stored bytes from the beginning of
    /// the file.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        self.cursor.next.stored_offset
    }

    /// Hands over the next stored bytes; the first are right after the header area.
    pub fn push(&mut self, stored: &[u8]) {
        if self.used > 0 && self.used * 2 >= self.buffer.len() {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(stored);
        self.pushed_end += stored.len() as u64;
    }

    /// Returns the next frame, or None if more stored bytes are needed. At the end of the file
    /// [`FrameReader::end`] reports how it ended; if the file still grows, reading may continue
    /// later.
    ///
    /// # Errors
    /// [`SealError::Frame`], again on every further call; nothing after a damaged frame can be
    /// read.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, SealError> {
        match self.state {
            State::Frame => {}
            State::Torn { unwritten } => {
                let unwritten = unwritten && is_zero(&self.buffer[self.used..]);
                self.state = State::Torn { unwritten };
                self.used = self.buffer.len();
                return Ok(None);
            }
            State::Failed(place) => return Err(place.failed()),
        }
        let next = self.cursor.next;
        let unused = &mut self.buffer[self.used..];
        let Some(head) = unused.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let [bytes, random] = [&head[..4], &head[4..]]
            .map(|word| u32::from_be_bytes(word.try_into().expect("4 bytes")));
        let Some(place) = self.cursor.place(bytes) else {
            let lost = lost_sector(next.stored_offset, unused, HEAD_BYTES);
            return self.fail(next, lost);
        };
        let stored_bytes = place.stored_bytes();
        if unused.len() < stored_bytes {
            return Ok(None);
        }
        // a failed opening wipes the data, so look first
        let lost = lost_sector(place.stored_offset, unused, stored_bytes);
        let keyed = self.file.segment(place.segment)?;
        let nonce = place.nonce(keyed.nonce_bytes(), random);
        if keyed.nonce_bytes() != 12 && random != 0 {
            return self.fail(place, lost);
        }
        let (data, tag) = unused[HEAD_BYTES..stored_bytes]
            .split_last_chunk_mut::<TAG_BYTES>()
            .expect("a frame ends with a tag");
        match keyed.open(
            &nonce[12 - keyed.nonce_bytes()..],
            &place.associated(&self.file),
            data,
            tag,
        ) {
            Ok(()) => {
                let start = self.used + HEAD_BYTES;
                self.used += stored_bytes;
                self.cursor.advance(&place, place.stored_bytes());
                Ok(Some(Frame { place, data: &self.buffer[start..start + place.bytes as usize] }))
            }
            Err(sealstone_cipher::Error::Authentication) => self.fail(place, lost),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns how the file ends, once every stored byte was handed over and
    /// [`FrameReader::next_frame`] returned None.
    ///
    /// # Errors
    /// [`SealError::Frame`] if a frame was damaged; [`SealError::CutShort`] if more than this was
    /// synced.
    pub fn end(&self) -> Result<End, SealError> {
        let offset = self.cursor.next.stored_offset;
        match self.state {
            State::Failed(place) => Err(place.failed()),
            _ if offset < self.synced_bytes => {
                Err(SealError::CutShort { end: offset, synced: self.synced_bytes })
            }
            State::Frame if offset == self.pushed_end => Ok(End::Clean),
            State::Frame => {
                let unwritten = is_zero(&self.buffer[self.used..]);
                Ok(End::Torn { offset, bytes: self.pushed_end - offset, unwritten })
            }
            State::Torn { unwritten } => {
                Ok(End::Torn { offset, bytes: self.pushed_end - offset, unwritten })
            }
        }
    }

    /// Treats the frame at `place` as torn if it may be, and otherwise as damaged.
    fn fail(&mut self, place: FramePlace, lost: bool) -> Result<Option<Frame<'_>>, SealError> {
        if lost && place.stored_offset >= self.synced_bytes {
            // a head that was not zero still is not: only a body was opened in place, and wiped
            self.state = State::Torn { unwritten: is_zero(&self.buffer[self.used..]) };
            self.used = self.buffer.len();
            return Ok(None);
        }
        self.state = State::Failed(place);
        Err(place.failed())
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Returns whether a sector that holds part of the frame at `offset` has not been written since the
/// frame was: the frame's part of the sector, and what follows there, is all zero.
///
/// - `stored`: the stored bytes from the frame's beginning on, of which the frame takes
///   `frame_bytes`
fn lost_sector(offset: u64, stored: &[u8], frame_bytes: usize) -> bool {
    let sector = SECTOR_BYTES as usize;
    // the frame begins within a sector whose first bytes belong to others, which may have been
    // written before
    let first = (offset.next_multiple_of(SECTOR_BYTES) - offset) as usize;
    let starts = std::iter::once(0)
        .filter(|_| first > 0)
        .chain((first..frame_bytes.min(stored.len())).step_by(sector));
    starts.into_iter().any(|start| {
        let end = if start < first { first } else { start + sector };
        // an intact sector is random bytes, so nearly always its first bytes settle it
        is_zero(&stored[start..stored.len().min(end)])
    })
}
