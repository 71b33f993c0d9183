//! Reading sealed files: from stored bytes to data, by pages or frame by frame.

use std::sync::{Arc, Mutex, PoisonError};

use sealstone_seal::frame::{End, FrameReader};
use sealstone_seal::paged::{Pages, Span, Stored};
use sealstone_seal::{SealError, SealedFile, TAG_BYTES};

use super::failure::{Failure, RawRead, failure};
use crate::meter::CipherMeter;

/// Number of bytes of a frame file that are fetched at once.
pub(super) const FRAMES_READ_BYTES: usize = 256 << 10;
/// Stored bytes of pages that are fetched and opened at once: few enough to stay in the CPU's cache
/// from the read until they are decrypted into RocksDB's buffer.
const PIECE_BYTES: usize = 256 << 10;

/// Reads one sealed file. Serves many threads at once.
pub(crate) struct Reader {
    name: String,
    file: Option<SealedFile>,
    meter: Arc<CipherMeter>,
    content: Content,
}

/// Content of a file.
pub(super) enum Content {
    /// A log that ends before its header does.
    Nothing,
    /// A log whose header is lost, with something after it: the record that RocksDB is to see torn.
    Torn(Vec<u8>),
    /// A file that is not sealed, during a conversion.
    Plain {
        /// Its length when it was opened: the file is no longer written.
        bytes: u64,
    },
    Pages {
        pages: Pages,
        /// Data of the last page: RocksDB keeps a table's footer and index there and reads them
        /// first.
        last_page: Box<[u8]>,
    },
    Frames(Box<Mutex<FrameStream>>),
}

impl Reader {
    pub(super) fn new(
        name: &str,
        file: Option<SealedFile>,
        meter: Arc<CipherMeter>,
        content: Content,
    ) -> Self {
        Self { name: name.to_owned(), file, meter, content }
    }

    /// Returns the length of the pieces in which reading is cheapest: reads that begin and end at
    /// multiples of it open no page twice.
    pub(crate) fn page_bytes(&self) -> u64 {
        match &self.content {
            Content::Pages { pages, .. } => u64::from(pages.shape().page_bytes()),
            Content::Frames(_) | Content::Nothing | Content::Torn(_) | Content::Plain { .. } => {
                4096
            }
        }
    }

    /// Reads up to `into.len()` bytes of data from `offset` on; fewer only at the end of the file.
    /// After a failure `into` holds no data of the file.
    pub(crate) fn read(
        &self,
        raw: &dyn RawRead,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Failure> {
        let read = match &self.content {
            Content::Nothing => Ok(0),
            Content::Torn(torn) => {
                let rest =
                    torn.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
                let take = rest.len().min(into.len());
                into[..take].copy_from_slice(&rest[..take]);
                Ok(take)
            }
            Content::Plain { .. } => raw.read_at(offset, into).map_err(Failure::from),
            Content::Pages { pages, last_page } => {
                self.read_pages(pages, last_page, raw, offset, into)
            }
            Content::Frames(stream) => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.read(self, raw, offset, into)
            }
        };
        if read.is_err() {
            into.fill(0);
        }
        read
    }

    /// Bytes of data in the file as of now.
    pub(crate) fn size(&self, raw: &dyn RawRead) -> Result<u64, Failure> {
        match &self.content {
            Content::Nothing => Ok(0),
            Content::Torn(torn) => Ok(torn.len() as u64),
            Content::Plain { bytes } => Ok(*bytes),
            Content::Pages { pages, .. } => Ok(pages.logical_bytes()),
            Content::Frames(stream) => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                while stream.advance(self, raw)? {}
                Ok(stream.end() + stream.torn.len() as u64)
            }
        }
    }

    fn read_pages(
        &self,
        pages: &Pages,
        last_page: &[u8],
        raw: &dyn RawRead,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Failure> {
        let shape = pages.shape();
        if offset >= shape.logical_bytes() {
            return Ok(0);
        }
        let span = pages.locate(offset, into.len()).map_err(|error| self.explained(error))?;
        let into = &mut into[..span.bytes];
        let mut skip = span.skip_bytes;
        let mut filled = 0;
        // the last page is here already
        let has_last = span.first_page + span.pages == shape.pages() && span.pages > 0;
        let to_fetch = if has_last { span.pages - 1 } else { span.pages };
        let mut page = span.first_page;
        let end = page + to_fetch;
        let stride = shape.page_bytes() as usize + TAG_BYTES;
        let at_once = (PIECE_BYTES / stride).max(1) as u64;
        while page < end {
            let count = at_once.min(end - page);
            let mut buffer = Buffer::take(count as usize * stride);
            let stored = buffer.as_mut();
            let got = raw.read_at(shape.page(page).offset, stored)?;
            // a page that is not there in full must fail as one that is wrong
            stored[got..].fill(0);
            let opened_bytes = count as usize * shape.page_bytes() as usize - skip;
            let piece = Span {
                first_page: page,
                pages: count,
                stored: Stored { offset: shape.page(page).offset, bytes: stored.len() },
                skip_bytes: skip,
                bytes: opened_bytes.min(into.len() - filled),
            };
            let out = &mut into[filled..filled + piece.bytes];
            self.meter
                .decrypting(stored.len(), || pages.read(&piece, stored, out))
                .map_err(|error| self.explained(error))?;
            filled += piece.bytes;
            skip = 0;
            page += count;
        }
        if has_last {
            let rest = into.len() - filled;
            into[filled..].copy_from_slice(&last_page[skip..skip + rest]);
            filled += rest;
        }
        Ok(filled)
    }

    fn explained(&self, error: SealError) -> Failure {
        failure(&self.name, self.file.as_ref(), error)
    }
}

/// A place in a file of frames, moving forward; going back means starting again, which RocksDB does
/// not do with logs.
pub(super) struct FrameStream {
    name: String,
    file: SealedFile,
    synced_bytes: u64,
    pub(super) reader: FrameReader,
    /// Data of the newest frame read, and where it starts.
    frame: Vec<u8>,
    frame_offset: u64,
    /// At the end of a file that ends in a torn frame: the bytes that RocksDB should see there.
    torn: Vec<u8>,
    fetched: Vec<u8>,
}

impl FrameStream {
    pub(super) fn new(name: &str, file: &SealedFile, synced_bytes: u64) -> Result<Self, SealError> {
        Ok(Self {
            name: name.to_owned(),
            file: file.clone(),
            synced_bytes,
            reader: FrameReader::new(file, synced_bytes)?,
            frame: Vec::new(),
            frame_offset: 0,
            torn: Vec::new(),
            fetched: Vec::new(),
        })
    }

    /// Returns the offset at which the data read so far ends.
    fn end(&self) -> u64 {
        self.frame_offset + self.frame.len() as u64
    }

    fn read(
        &mut self,
        of: &Reader,
        raw: &dyn RawRead,
        mut offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Failure> {
        if offset < self.frame_offset {
            *self = Self::new(&self.name, &self.file, self.synced_bytes)
                .map_err(|error| of.explained(error))?;
        }
        let mut filled = 0;
        while filled < into.len() {
            if offset >= self.end() {
                if self.advance(of, raw)? {
                    continue;
                }
                let rest = self.torn.get((offset - self.end()) as usize..).unwrap_or_default();
                let take = rest.len().min(into.len() - filled);
                into[filled..filled + take].copy_from_slice(&rest[..take]);
                filled += take;
                break;
            }
            let start = (offset - self.frame_offset) as usize;
            let take = (self.frame.len() - start).min(into.len() - filled);
            into[filled..filled + take].copy_from_slice(&self.frame[start..start + take]);
            filled += take;
            offset += take as u64;
        }
        Ok(filled)
    }

    /// Goes to the next frame; false at the end of the file, torn or not. It may have grown by the
    /// next call.
    pub(super) fn advance(&mut self, of: &Reader, raw: &dyn RawRead) -> Result<bool, Failure> {
        loop {
            let Self { reader, frame, frame_offset, .. } = self;
            let next = of.meter.decrypting(0, || {
                Ok(reader.next_frame()?.map(|found| {
                    frame.clear();
                    frame.extend_from_slice(found.data);
                    *frame_offset = found.place.logical_offset;
                    found.data.len()
                }))
            });
            match next.map_err(|error| of.explained(error))? {
                Some(bytes) => {
                    self.torn.clear();
                    of.meter.decrypted(bytes);
                    return Ok(true);
                }
                None => {
                    self.fetched.resize(FRAMES_READ_BYTES, 0);
                    let got = raw.read_at(self.reader.next_offset(), &mut self.fetched)?;
                    if got == 0 {
                        let end = self.reader.end().map_err(|error| of.explained(error))?;
                        let torn = matches!(end, End::Torn { unwritten: false, .. });
                        self.torn = if torn { torn_record(self.end()) } else { Vec::new() };
                        return Ok(false);
                    }
                    self.reader.push(&self.fetched[..got]);
                }
            }
        }
    }
}

/// Length of a block of RocksDB's logs, in bytes, and of what precedes the data of a record in it.
const LOG_BLOCK_BYTES: u64 = 32 << 10;
const LOG_RECORD_HEADER_BYTES: u64 = 7;

/// Builds what follows the data of a log at `end` if a record was torn: bytes that RocksDB's reader
/// takes for the beginning of a record that its writer did not complete. Without them the log would
/// seem to end there on purpose, and the recovery modes that stop at a hole would continue after
/// it.
///
/// A record never begins in the last six bytes of a block; the writer fills these with zeros. So
/// does this function.
pub(super) fn torn_record(end: u64) -> Vec<u8> {
    let room = LOG_BLOCK_BYTES - end % LOG_BLOCK_BYTES;
    let filler = if room < LOG_RECORD_HEADER_BYTES { room as usize } else { 0 };
    let mut torn = vec![0; filler];
    torn.push(0xff);
    torn
}

/// A read buffer that goes back to its thread, so that no read allocates.
struct Buffer {
    bytes: Vec<u8>,
    length: usize,
}

thread_local!(static SPARE: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) });

impl Buffer {
    fn take(length: usize) -> Self {
        let mut bytes = SPARE.take();
        if bytes.len() < length {
            bytes.resize(length, 0);
        }
        Self { bytes, length }
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        SPARE.set(std::mem::take(&mut self.bytes));
    }
}
