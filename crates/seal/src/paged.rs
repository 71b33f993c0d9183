//! Pages: the layout of files that are written once, front to back, and then read at random. Byte
//! by byte in `docs/formats.md`.
//!
//! Data is cut into pages of `page_bytes`; the last one may be shorter. Each is stored as its
//! ciphertext and a 16-byte tag over file id, page number, length and "is the last". An empty file
//! has one empty last page. A file without its last page does not open.
//!
//! ```
//! # use sealstone_seal::{HEADER_BYTES, Layout, SealError, SealedFile, paged};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let keys = sealstone_keys::KeyFile::create(dir.path().join("key"), "example")?;
//! # let cipher = sealstone_cipher::cipher("aes-256")?;
//! # let backend = sealstone_cipher::Backend::auto();
//! // write
//! let layout = Layout::Paged { page_bytes: 4096 };
//! let (file, header) = SealedFile::create(&keys, cipher, backend, layout)?;
//! let mut stored = header.to_vec();
//! let mut writer = paged::PageWriter::new(&file)?;
//! writer.append(b"forty thousand orders", &mut stored)?;
//! writer.finish(&mut stored)?;
//!
//! // read: the last page first, since it proves that the file is whole
//! let file = SealedFile::open(&keys, backend, &stored)?;
//! let last = paged::Shape::of(&file, stored.len() as u64)?.last_page();
//! let mut buffer = stored[last.offset as usize..][..last.bytes].to_vec();
//! let (pages, _last_page_data) = paged::Pages::open(&file, stored.len() as u64, &mut buffer)?;
//!
//! let span = pages.locate(6, 8)?;
//! let buffer = &stored[span.stored.offset as usize..][..span.stored.bytes];
//! let mut data = [0; 8];
//! pages.read(&span, buffer, &mut data)?;
//! assert_eq!(&data, b"thousand");
//! # Ok(())
//! # }
//! ```

use std::ops::Range;

use arrayvec::ArrayVec;
use sealstone_cipher::{Context, PARTS_MAX, Part, Unsealed};

use crate::header::{FILE_ID_BYTES, HEADER_BYTES, HeaderInfo, Layout};
pub use crate::limits::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};
use crate::segment::nonce;
use crate::{SealError, SealedFile, TAG_BYTES};

/// A run of stored bytes, to be read from the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// First byte, counted from the beginning of the file, header included.
    pub offset: u64,
    /// Length in bytes, tags included.
    pub bytes: usize,
}

/// Returns the length of a whole paged file, header and tags included, that holds `logical_bytes`
/// of data.
///
/// # Panics
/// If `page_bytes` is 0.
#[must_use]
pub fn stored_bytes(page_bytes: u32, logical_bytes: u64) -> u64 {
    let pages = logical_bytes.div_ceil(u64::from(page_bytes)).max(1);
    HEADER_BYTES as u64 + logical_bytes + pages * TAG_BYTES as u64
}

/// Returns the bytes of data in a whole paged file with the header `info` and the length
/// `stored_bytes` on disk. Only arithmetic: [`Pages::open`] checks that the last page is really
/// there.
///
/// # Errors
/// [`SealError::WrongLayout`]; [`SealError::Unfinished`] if no finished file has this length.
pub fn logical_bytes(info: &HeaderInfo, stored_bytes: u64) -> Result<u64, SealError> {
    Shape::new(info, stored_bytes).map(|shape| shape.logical_bytes)
}

/// Number and positions of the pages of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    page_bytes: u32,
    pages: u64,
    logical_bytes: u64,
}

impl Shape {
    /// Returns the shape of the sealed file `file` whose length on disk is `stored_bytes`.
    ///
    /// # Errors
    /// [`SealError::WrongLayout`]; [`SealError::Unfinished`] if no finished file has this length.
    pub fn of(file: &SealedFile, stored_bytes: u64) -> Result<Self, SealError> {
        Self::new(file.info(), stored_bytes)
    }

    fn new(info: &HeaderInfo, stored_bytes: u64) -> Result<Self, SealError> {
        let page_bytes = page_bytes(info)?;
        let unfinished = |found: String| Err(SealError::Unfinished { found });
        let Some(body) = stored_bytes.checked_sub((HEADER_BYTES + TAG_BYTES) as u64) else {
            return unfinished(format!(
                "{stored_bytes} bytes, shorter than a header and an empty last page"
            ));
        };
        // `body` leaves out one tag, that of the last page
        let stride = u64::from(page_bytes) + TAG_BYTES as u64;
        let (full, last) = (body / stride, body % stride);
        let cut_in = match last {
            0 if full > 0 => Some(full),
            more if more > u64::from(page_bytes) => Some(full + 1),
            _ => None,
        };
        if let Some(page) = cut_in {
            return unfinished(format!("its {stored_bytes} bytes end early in page {page}"));
        }
        Ok(Self { page_bytes, pages: full + 1, logical_bytes: full * u64::from(page_bytes) + last })
    }

    /// Bytes of data in the file.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.logical_bytes
    }

    /// Bytes of data in a full page.
    #[must_use]
    pub fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    /// Returns the number of pages, at least 1.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the position of page `page`, ciphertext and tag.
    ///
    /// # Panics
    /// If the file has no such page.
    #[must_use]
    pub fn page(&self, page: u64) -> Stored {
        assert!(page < self.pages, "page {page} of {}", self.pages);
        Stored { offset: self.page_offset(page), bytes: self.data_bytes(page) + TAG_BYTES }
    }

    /// Returns the position of the last page, which [`Pages::open`] needs.
    #[must_use]
    pub fn last_page(&self) -> Stored {
        self.page(self.pages - 1)
    }

    /// Returns the start of page `page`, in stored bytes from the beginning of the file, even if
    /// the file has no such page.
    fn page_offset(&self, page: u64) -> u64 {
        HEADER_BYTES as u64 + page.saturating_mul(u64::from(self.page_bytes) + TAG_BYTES as u64)
    }

    /// Bytes of data in page `page`, which must be one of the file.
    fn data_bytes(&self, page: u64) -> usize {
        if page + 1 < self.pages {
            self.page_bytes as usize
        } else {
            (self.logical_bytes - (self.pages - 1) * u64::from(self.page_bytes)) as usize
        }
    }
}

/// The pages that hold a stretch of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the first page, from 0.
    pub first_page: u64,
    /// Number of pages.
    pub pages: u64,
    /// Range to read from the file: whole pages with their tags.
    pub stored: Stored,
    /// Bytes of the first page's data that come before the stretch.
    pub skip_bytes: usize,
    /// Bytes of data in the stretch, which may be fewer than requested at the end of the file.
    pub bytes: usize,
}

/// A sealed paged file whose last page has been seen, ready for reading at random. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pages {
    file: SealedFile,
    shape: Shape,
}

impl Pages {
    /// Opens the file through its last page, which proves that the file is whole.
    ///
    /// - `stored_bytes`: length of the file on disk
    /// - `last_page`: the stored bytes at [`Shape::last_page`], opened in place
    ///
    /// Returns the pages and the data of the last one, a slice of `last_page`, worth keeping:
    /// engines keep their index of the file there.
    ///
    /// # Errors
    /// Errors of [`Shape::of`]; [`SealError::Unfinished`] if the file ends with a page that is not
    /// its last; [`SealError::Page`]. `last_page` then holds no data.
    pub fn open<'a>(
        file: &SealedFile,
        stored_bytes: u64,
        last_page: &'a mut [u8],
    ) -> Result<(Self, &'a mut [u8]), SealError> {
        let shape = Shape::of(file, stored_bytes)?;
        let pages = Self { file: file.clone(), shape };
        let last = shape.pages - 1;
        // a file cut between two pages ends with a page that is whole but is not the last; failing
        // to open it wipes it
        let copy =
            (shape.data_bytes(last) == shape.page_bytes as usize).then(|| last_page.to_vec());
        match pages.open_stored(last, last_page) {
            Ok(data_bytes) => Ok((pages, &mut last_page[..data_bytes])),
            Err(error) => {
                let cut = copy.is_some_and(|mut copy| pages.opens_as(last, false, &mut copy));
                Err(if cut {
                    SealError::Unfinished {
                        found: format!("it ends with page {last}, which is not its last page"),
                    }
                } else {
                    error
                })
            }
        }
    }

    /// Returns the pages of a file whose end was not proven, to inspect the rest of a damaged file.
    /// Each page still authenticates, but that does not prove that the file is whole.
    ///
    /// # Errors
    /// Errors of [`Shape::of`].
    pub fn unproven(file: &SealedFile, stored_bytes: u64) -> Result<Self, SealError> {
        Ok(Self { file: file.clone(), shape: Shape::of(file, stored_bytes)? })
    }

    /// Returns the file's keys and header.
    #[must_use]
    pub fn file(&self) -> &SealedFile {
        &self.file
    }

    /// Returns the file's shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Bytes of data in the file.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.shape.logical_bytes
    }

    /// Opens page `page` in place.
    ///
    /// - `data`: its ciphertext, exactly as long as the page's data; holds the data afterwards
    /// - `tag`: the 16 bytes stored after it
    ///
    /// # Errors
    /// [`SealError::Page`] if the page differs from the page sealed there, or has another length;
    /// [`SealError::PastEnd`] if the file has no such page. `data` then holds no data of the file.
    #[inline]
    pub fn open_page(
        &self,
        page: u64,
        data: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), SealError> {
        if page >= self.shape.pages {
            return Err(SealError::PastEnd {
                offset: page.saturating_mul(u64::from(self.shape.page_bytes)),
                bytes: data.len() as u64,
                available: self.shape.logical_bytes,
            });
        }
        if data.len() != self.shape.data_bytes(page) {
            return Err(self.bad_page(page));
        }
        match self.place(page).open(&self.file, data, tag) {
            Ok(()) => Ok(()),
            Err(SealError::Cipher(sealstone_cipher::Error::Authentication)) => {
                Err(self.bad_page(page))
            }
            Err(other) => Err(other),
        }
    }

    /// Opens page `page` in place, as it is stored: ciphertext, then tag. Returns how many bytes of
    /// data `stored` begins with; the tag follows them.
    ///
    /// # Errors
    /// As [`Pages::open_page`].
    #[inline]
    pub fn open_stored(&self, page: u64, stored: &mut [u8]) -> Result<usize, SealError> {
        match stored.split_last_chunk_mut::<TAG_BYTES>() {
            Some((data, tag)) => {
                self.open_page(page, data, tag)?;
                Ok(data.len())
            }
            None => Err(self.bad_page(page)),
        }
    }

    /// Locates the `bytes` of data from `offset` on; fewer if the file ends earlier.
    ///
    /// # Errors
    /// [`SealError::PastEnd`] if `offset` is beyond the end. Right at the end is an empty span of
    /// no pages.
    #[inline]
    pub fn locate(&self, offset: u64, bytes: usize) -> Result<Span, SealError> {
        let available = self.shape.logical_bytes;
        let Some(left) = available.checked_sub(offset) else {
            return Err(SealError::PastEnd { offset, bytes: bytes as u64, available });
        };
        let bytes = left.min(bytes as u64) as usize;
        let page_bytes = u64::from(self.shape.page_bytes);
        let first_page = offset / page_bytes;
        let stored_offset = self.shape.page_offset(first_page);
        if bytes == 0 {
            let stored = Stored { offset: stored_offset, bytes: 0 };
            return Ok(Span { first_page, pages: 0, stored, skip_bytes: 0, bytes: 0 });
        }
        let last_page = (offset + bytes as u64 - 1) / page_bytes;
        let last = self.shape.page(last_page);
        let stored = Stored {
            offset: stored_offset,
            bytes: (last.offset - stored_offset) as usize + last.bytes,
        };
        let skip_bytes = (offset % page_bytes) as usize;
        Ok(Span { first_page, pages: last_page - first_page + 1, stored, skip_bytes, bytes })
    }

    /// Opens the pages of `span` into `out`: pages are verified as a whole, up to [`PARTS_MAX`] at
    /// once, and then what is in the stretch is decrypted, from one buffer into the other.
    ///
    /// - `span`: from [`Pages::locate`]
    /// - `stored`: the bytes at `span.stored`
    /// - `out`: receives `span.bytes` bytes; at least as long
    ///
    /// # Errors
    /// As [`Pages::open_page`], or [`SealError::Page`] if `stored` is too short. `out` then holds
    /// none of the file.
    ///
    /// # Panics
    /// If `out` is shorter than `span.bytes`.
    pub fn read(&self, span: &Span, stored: &[u8], out: &mut [u8]) -> Result<(), SealError> {
        let out = &mut out[..span.bytes];
        let (mut rest, mut filled, mut skip) = (stored, 0, span.skip_bytes);
        let (mut page, end) = (span.first_page, span.first_page + span.pages);
        while page < end {
            let count = run_of(self.file.info(), page).min(end - page);
            match self.open_run(page..page + count, rest, skip, &mut out[filled..]) {
                Ok(opened) => {
                    (rest, filled) = (&rest[opened.stored_bytes..], filled + opened.data_bytes);
                }
                Err(error) => {
                    out.fill(0);
                    return Err(error);
                }
            }
            (page, skip) = (page + count, 0);
        }
        Ok(())
    }

    /// Opens `run`, pages of the file and of one segment, from the beginning of `stored`: what they
    /// hold after the first `skip` bytes, as far as `out` reaches.
    fn open_run(
        &self,
        run: Range<u64>,
        stored: &[u8],
        skip: usize,
        out: &mut [u8],
    ) -> Result<Opened, SealError> {
        let (segment, counter) = self.place(run.start).segment(&self.file);
        let keyed = self.file.segment(segment)?;
        let unused_nonce = 12 - keyed.nonce_bytes();
        let mut bound = ArrayVec::<([u8; 12], [u8; ASSOCIATED_BYTES]), PARTS_MAX>::new();
        for page in run.clone() {
            let place = self.place(page);
            let nonce = nonce(counter + (page - run.start) * place.blocks(&self.file));
            bound.push((nonce, place.associated(&self.file, self.shape.data_bytes(page))));
        }
        let mut parts = ArrayVec::<Part<'_>, PARTS_MAX>::new();
        let (mut at, mut filled, mut skip) = (0, 0, skip);
        for (page, (nonce, associated)) in run.clone().zip(&bound) {
            let data_bytes = self.shape.data_bytes(page);
            let page_end = at + data_bytes + TAG_BYTES;
            let Some((sealed, tag)) =
                stored.get(at..page_end).and_then(|page| page.split_last_chunk::<TAG_BYTES>())
            else {
                return Err(self.bad_page(page));
            };
            let context = Context { nonce: &nonce[unused_nonce..], associated };
            let bytes = (data_bytes - skip).min(out.len() - filled);
            parts.push(Part { context, sealed, tag, skip, bytes });
            (at, filled, skip) = (page_end, filled + bytes, 0);
        }
        keyed.open_parts(&parts, &mut out[..filled]).map_err(|failed| match failed.error {
            sealstone_cipher::Error::Authentication => {
                self.bad_page(run.start + failed.index as u64)
            }
            other => other.into(),
        })?;
        Ok(Opened { stored_bytes: at, data_bytes: filled })
    }

    fn place(&self, page: u64) -> Place {
        Place { page_bytes: self.shape.page_bytes, page, last: page + 1 == self.shape.pages }
    }

    fn opens_as(&self, page: u64, last: bool, stored: &mut [u8]) -> bool {
        let place = Place { page_bytes: self.shape.page_bytes, page, last };
        let opened = stored
            .split_last_chunk_mut()
            .map(|(data, tag)| place.open(&self.file, data, tag).is_ok());
        opened.unwrap_or(false)
    }

    #[cold]
    fn bad_page(&self, page: u64) -> SealError {
        SealError::Page { page, offset: self.shape.page_offset(page) }
    }
}

/// The only writer of a new paged file: takes data in any portions, returns stored bytes.
///
/// A full page is sealed once more data follows it, the last page at [`PageWriter::finish`];
/// nothing is sealed twice. So up to a page of data waits here, and a file that was never finished
/// does not open.
#[derive(Debug)]
pub struct PageWriter {
    file: SealedFile,
    page_bytes: u32,
    /// Number of the page being filled.
    page: u64,
    /// Its data so far, up to a full page.
    partial: Vec<u8>,
}

impl PageWriter {
    /// Returns the writer of the file that [`SealedFile::create`] has just made. Its stored bytes
    /// follow the header.
    ///
    /// # Errors
    /// [`SealError::WrongLayout`]; [`SealError::WrittenOnce`] for a second writer, or for a file
    /// that was opened.
    pub fn new(file: &SealedFile) -> Result<Self, SealError> {
        let page_bytes = page_bytes(file.info())?;
        file.claim_writer()?;
        Ok(Self {
            file: file.clone(),
            page_bytes,
            page: 0,
            partial: Vec::with_capacity(page_bytes as usize),
        })
    }

    /// Bytes of data taken so far.
    #[must_use]
    pub fn logical_bytes(&self) -> u64 {
        self.page * u64::from(self.page_bytes) + self.partial.len() as u64
    }

    /// Takes `data` and appends to `stored` every page that is full and followed by more data.
    ///
    /// # Errors
    /// [`SealError::LimitReached`]. The file cannot be finished then; drop it.
    pub fn append(&mut self, mut data: &[u8], stored: &mut Vec<u8>) -> Result<(), SealError> {
        let page_bytes = self.page_bytes as usize;
        stored.reserve(data.len() + data.len() / page_bytes * TAG_BYTES + TAG_BYTES);
        while !data.is_empty() {
            let start = stored.len();
            if self.partial.len() == page_bytes {
                stored.extend_from_slice(&self.partial);
                stored.extend_from_slice(&[0; TAG_BYTES]);
                self.partial.clear();
            }
            if self.partial.is_empty() {
                let run = run_of(self.file.info(), self.page) - u64::from(stored.len() > start);
                // one byte at least has to follow a page that is not the last
                let full = (data.len() - 1) / page_bytes;
                let (now, later) = data.split_at(full.min(run as usize) * page_bytes);
                for page in now.chunks_exact(page_bytes) {
                    stored.extend_from_slice(page);
                    stored.extend_from_slice(&[0; TAG_BYTES]);
                }
                data = later;
            }
            if stored.len() > start {
                self.seal_run(start, stored)?;
            } else {
                let take = data.len().min(page_bytes - self.partial.len());
                self.partial.extend_from_slice(&data[..take]);
                data = &data[take..];
            }
        }
        Ok(())
    }

    /// Appends the last page to `stored`. Without it the file does not open.
    ///
    /// # Errors
    /// [`SealError::LimitReached`].
    pub fn finish(mut self, stored: &mut Vec<u8>) -> Result<(), SealError> {
        let start = stored.len();
        stored.extend_from_slice(&self.partial);
        self.seal_last(start, stored)
    }

    /// Seals what `stored` holds from `start` on in place: full pages of one segment, each with
    /// room for its tag, of which none is the last.
    fn seal_run(&mut self, start: usize, stored: &mut Vec<u8>) -> Result<(), SealError> {
        let stride = self.page_bytes as usize + TAG_BYTES;
        let pages = (stored.len() - start) / stride;
        let sealed = self.seal_pages(&mut stored[start..], stride);
        match sealed {
            Ok(()) => self.page += pages as u64,
            // it holds data in the clear
            Err(_) => stored.truncate(start),
        }
        sealed
    }

    /// Seals `run`, pages in strides of `stride` bytes, from the current page on.
    fn seal_pages(&self, run: &mut [u8], stride: usize) -> Result<(), SealError> {
        let place = |page| Place { page_bytes: self.page_bytes, page, last: false };
        let (segment, counter) = place(self.page).segment(&self.file);
        let keyed = self.file.segment(segment)?;
        let unused_nonce = 12 - keyed.nonce_bytes();
        let mut bound = ArrayVec::<([u8; 12], [u8; ASSOCIATED_BYTES]), PARTS_MAX>::new();
        for page in self.page..self.page + (run.len() / stride) as u64 {
            let place = place(page);
            let nonce = nonce(counter + (page - self.page) * place.blocks(&self.file));
            bound.push((nonce, place.associated(&self.file, stride - TAG_BYTES)));
        }
        let mut messages = ArrayVec::<Unsealed<'_>, PARTS_MAX>::new();
        for (stored, (nonce, associated)) in run.chunks_exact_mut(stride).zip(&bound) {
            let (data, tag) = stored.split_last_chunk_mut().expect("a page and its tag");
            let context = Context { nonce: &nonce[unused_nonce..], associated };
            messages.push(Unsealed { context, data, tag });
        }
        keyed.seal_run(&mut messages).map_err(|failed| failed.error.into())
    }

    /// Seals what `stored` holds from `start` on as the last page, in place, and adds the tag.
    fn seal_last(&mut self, start: usize, stored: &mut Vec<u8>) -> Result<(), SealError> {
        let place = Place { page_bytes: self.page_bytes, page: self.page, last: true };
        match place.seal(&self.file, &mut stored[start..]) {
            Ok(tag) => {
                stored.extend_from_slice(&tag);
                Ok(())
            }
            Err(error) => {
                // it holds data in the clear
                stored.truncate(start);
                Err(error)
            }
        }
    }
}

/// Bytes of data in pages that are sealed or verified together at most: few enough to be in the
/// CPU's first cache still when they are decrypted.
const RUN_BYTES: u64 = 24 << 10;

/// Returns how many pages from `page` on are sealed or verified together at most: at least one, all
/// of one segment, which has one key.
fn run_of(info: &HeaderInfo, page: u64) -> u64 {
    let page_bytes = match info.layout {
        Layout::Paged { page_bytes } => u64::from(page_bytes),
        Layout::Frames | Layout::Volume { .. } => RUN_BYTES,
    };
    let together = (RUN_BYTES / page_bytes).clamp(1, PARTS_MAX as u64);
    together.min(info.segment_units - page % info.segment_units)
}

/// Bytes of associated data of a page.
const ASSOCIATED_BYTES: usize = 32;

/// Stretch of a run of pages that was opened.
struct Opened {
    /// Bytes that the pages have in the file.
    stored_bytes: usize,
    /// Bytes of data.
    data_bytes: usize,
}

/// Context to which a page is bound, besides its file.
struct Place {
    page_bytes: u32,
    page: u64,
    last: bool,
}

impl Place {
    /// Returns the segment, and first block within it.
    fn segment(&self, file: &SealedFile) -> (u64, u64) {
        let info = file.info();
        (self.page / info.segment_units, self.page % info.segment_units * self.blocks(file))
    }

    /// Returns the blocks of the cipher in a full page.
    fn blocks(&self, file: &SealedFile) -> u64 {
        u64::from(self.page_bytes) / file.info().cipher.block_bytes as u64
    }

    fn associated(&self, file: &SealedFile, data_bytes: usize) -> [u8; ASSOCIATED_BYTES] {
        let mut associated = [0; ASSOCIATED_BYTES];
        associated[..FILE_ID_BYTES].copy_from_slice(&file.info().file_id);
        associated[16..24].copy_from_slice(&self.page.to_be_bytes());
        associated[24..28].copy_from_slice(&(data_bytes as u32).to_be_bytes());
        associated[28..32].copy_from_slice(&u32::from(self.last).to_be_bytes());
        associated
    }

    /// Seals a page. Each page of a file must be sealed once: `PageWriter` ensures that.
    fn seal(&self, file: &SealedFile, data: &mut [u8]) -> Result<[u8; TAG_BYTES], SealError> {
        let (segment, counter) = self.segment(file);
        let keyed = file.segment(segment)?;
        let associated = self.associated(file, data.len());
        keyed
            .seal(&nonce(counter)[12 - keyed.nonce_bytes()..], &associated, data)
            .map_err(SealError::from)
    }

    #[inline]
    fn open(
        &self,
        file: &SealedFile,
        data: &mut [u8],
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), SealError> {
        let (segment, counter) = self.segment(file);
        let keyed = file.segment(segment)?;
        let associated = self.associated(file, data.len());
        keyed
            .open(&nonce(counter)[12 - keyed.nonce_bytes()..], &associated, data, tag)
            .map_err(SealError::from)
    }
}

fn page_bytes(info: &HeaderInfo) -> Result<u32, SealError> {
    match info.layout {
        Layout::Paged { page_bytes } => Ok(page_bytes),
        other => Err(SealError::WrongLayout {
            found: other.name(),
            want: Layout::Paged { page_bytes: 0 }.name(),
        }),
    }
}
