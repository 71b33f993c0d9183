//! Sealing as the file system sees it: new files get a key and a format, existing ones are read by their header. The
//! C++ half (`shim/sealed_fs.cc`) moves the stored bytes.
//!
//! Not here: the formats (`sealstone-seal`), and who calls (`ffi`).

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use sealstone_cipher::registry::Cipher;
use sealstone_keys::KeySource;
use sealstone_seal::catalogue::FileId;
use sealstone_seal::frame::{End, FrameReader, FrameWriter, KeyStreamAhead};
use sealstone_seal::identity::{Kind as FileKind, rocksdb_name};
use sealstone_seal::paged::{PageWriter, Pages, Shape};
use sealstone_seal::{HEADER_BYTES, HeaderInfo, Layout, SealError, SealedFile, SyncedMark, TAG_BYTES, is_sealed};

use crate::catalogue::{Catalogues, Refusal, Sealer, split};
use crate::meter::{CipherMeter, CipherWork};
use crate::opening::{self, Header};
use crate::sealing::Sealing;

/// How much of a frame file is fetched at once.
const FRAMES_READ_BYTES: usize = 256 << 10;
/// Stored bytes of pages that are fetched and opened at once: few enough to stay in the CPU's cache from the read to
/// the copy into RocksDB's buffer.
const PIECE_BYTES: usize = 256 << 10;

/// Reading stored bytes failed; the implementation that reads knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawFailed;

/// A file as it is stored.
pub(crate) trait RawRead {
    /// Reads up to `into.len()` stored bytes from `offset` on; fewer only at the end of the file.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed>;
}

/// Why a file could not be read or written; texts begin with the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// What is stored is not what was sealed.
    Damaged(String),
    /// The file may be sound, but it cannot be used: no key, another key, unknown format, used up.
    Refused(String),
    /// An operation on stored files failed.
    Io(String),
    /// Reading failed below.
    Raw,
}

impl Failure {
    /// What happened to which file, and the next step.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Damaged(text) | Self::Refused(text) | Self::Io(text) => text,
            Self::Raw => "it cannot be read\ncheck the device".into(),
        }
    }
}

impl From<RawFailed> for Failure {
    fn from(_: RawFailed) -> Self {
        Self::Raw
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Seal { path, error } => failure(&path, None, error),
            Refusal::Raw(error) => Self::Io(error.0),
        }
    }
}

/// Makes and opens sealed files. Serves many threads at once.
pub(crate) struct SealedFiles {
    sealer: Arc<Sealer>,
    page_bytes: u32,
    meter: Arc<CipherMeter>,
    spare: Arc<Spare>,
    catalogues: Arc<Catalogues>,
    ahead: Ahead,
    /// Held while a database of this environment is resealed.
    pub(crate) resealing: Mutex<()>,
}

impl SealedFiles {
    /// New files are sealed as `sealing` says; existing ones are read as their headers say.
    pub(crate) fn new(sealing: Sealing) -> Self {
        let Sealing { keys, cipher, backend, page_bytes, anchor } = sealing;
        let (reads_plain, meter) = (AtomicBool::new(false), Arc::new(CipherMeter::default()));
        let (cipher, read_only) = (RwLock::new(cipher), AtomicBool::new(false));
        let sealer = Arc::new(Sealer { keys, cipher, backend, reads_plain, read_only, anchor });
        let catalogues = Arc::new(Catalogues::new(Arc::clone(&sealer)));
        let (spare, ahead) = (Arc::default(), Ahead::default());
        Self { sealer, page_bytes, meter, spare, catalogues, ahead, resealing: Mutex::new(()) }
    }

    /// What was encrypted and decrypted so far.
    pub(crate) fn cipher_work(&self) -> CipherWork {
        self.meter.work()
    }

    /// Where its keys come from.
    pub(crate) fn keys(&self) -> &dyn KeySource {
        &*self.sealer.keys
    }

    /// Which files its directories have.
    pub(crate) fn catalogues(&self) -> &Catalogues {
        &self.catalogues
    }

    /// The cipher of new files.
    pub(crate) fn cipher(&self) -> &'static Cipher {
        *self.sealer.cipher.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on new files get `cipher`.
    pub(crate) fn set_cipher(&self, cipher: &'static Cipher) {
        *self.sealer.cipher.write().unwrap_or_else(PoisonError::into_inner) = cipher;
    }

    /// Whether files that are not sealed are read as they are, for the time of a conversion.
    pub(crate) fn reads_plain(&self) -> bool {
        self.sealer.reads_plain.load(Ordering::Acquire)
    }

    /// Begins or ends the reading of files that are not sealed.
    pub(crate) fn set_reads_plain(&self, reads_plain: bool) {
        self.sealer.reads_plain.store(reads_plain, Ordering::Release);
    }

    /// From now on every change of a file is refused.
    pub(crate) fn set_read_only(&self) {
        self.sealer.read_only.store(true, Ordering::Release);
    }

    /// Begins a file called `name` under a fresh key, and lists it. Whatever had that name is gone when this returns.
    pub(crate) fn create(&self, name: &str) -> Result<Writer, Failure> {
        self.catalogues.writable(name)?;
        let identity = self.catalogues.identity(name)?;
        let kind = identity.kind;
        let layout = if kind.grows() { Layout::Frames } else { Layout::Paged { page_bytes: self.page_bytes } };
        let explained = |error| failure(name, None, error);
        let (file, header) = SealedFile::create_as(&identity, self.keys(), self.cipher(), self.sealer.backend, layout)
            .map_err(explained)?;
        self.catalogues.create(name, file.info())?;
        let kind = match layout {
            Layout::Paged { .. } => Kind::Pages(Some(PageWriter::new(&file).map_err(explained)?)),
            Layout::Frames => {
                let mut frames = FrameWriter::new(&file).map_err(explained)?;
                if identity.kind == FileKind::Log && KeyStreamAhead::pays(file.info().cipher, self.sealer.backend) {
                    self.ahead.follow(&mut frames).map_err(explained)?;
                }
                Kind::Frames(frames)
            }
        };
        let mut stored = self.spare.take();
        stored.extend_from_slice(&header);
        let (meter, spare) = (Arc::clone(&self.meter), Arc::clone(&self.spare));
        Ok(Writer { name: name.to_owned(), file, kind, stored, meter, spare, catalogues: Arc::clone(&self.catalogues) })
    }

    /// For a thread that is about to write, and so to wait for the log of a database of this environment: makes key
    /// stream for that log, if it needs some.
    #[inline]
    pub(crate) fn prepare_logs(&self) {
        if self.ahead.wanted.load(Ordering::Relaxed) {
            self.ahead.prepare(&self.meter);
        }
    }

    /// Opens the file called `name`, of `stored_bytes` bytes, by its header, if its directory's catalogue lists it. A
    /// paged file proves by its last page that it is whole; a log is read once from end to end, so that damage in it
    /// stops the opening, whatever RocksDB makes of a failed read later.
    pub(crate) fn open(&self, name: &str, stored_bytes: u64, raw: &dyn RawRead) -> Result<Reader, Failure> {
        let mut read = |into: &mut [u8]| raw.read_at(0, into);
        let header = Header::read(&mut read)?;
        if self.reads_plain() && !is_sealed(header.stored()) {
            let empty_log = header.got == 0 && is_log_name(name);
            let content = if empty_log { Content::Nothing } else { Content::Plain { bytes: stored_bytes } };
            return Ok(Reader::new(name, None, Arc::clone(&self.meter), content));
        }
        let file = match opening::open(self.keys(), self.sealer.backend, header, read)? {
            Ok(file) => file,
            Err(SealError::Unfinished { found }) if is_log_name(name) => {
                return self.open_lost_log(name, found, stored_bytes, raw);
            }
            Err(error) => return Err(failure(name, None, error)),
        };
        let explained = |error| failure(name, Some(&file), error);
        let synced_bytes = match self.catalogues.check(name, file.info()) {
            Ok(synced_bytes) => synced_bytes,
            Err(Refusal::Seal { path, error }) if path == name => return Err(explained(error)),
            Err(refusal) => return Err(refusal.into()),
        };
        let content = match file.info().layout {
            // a whole file of another kind, put here to pass for a log that ends at once
            layout @ Layout::Paged { .. } if is_log_name(name) || is_manifest_name(name) => {
                return Err(explained(SealError::WrongLayout { found: layout.name(), want: Layout::Frames.name() }));
            }
            Layout::Paged { .. } => {
                let last = Shape::of(&file, stored_bytes).map_err(explained)?.last_page();
                let mut stored = vec![0; last.bytes];
                let got = raw.read_at(last.offset, &mut stored)?;
                stored.truncate(got);
                let opened = self.meter.decrypting(got, || {
                    let (pages, data) = Pages::open(&file, stored_bytes, &mut stored)?;
                    Ok((pages, data.len()))
                });
                let (pages, data_bytes) = opened.map_err(explained)?;
                stored.truncate(data_bytes);
                Content::Pages { pages, last_page: stored.into_boxed_slice() }
            }
            Layout::Frames => {
                let stream = || FrameStream::new(name, &file, synced_bytes).map_err(explained);
                let reader = Reader::new(name, Some(file.clone()), Arc::clone(&self.meter), Content::Nothing);
                let mut whole = stream()?;
                while whole.advance(&reader, raw)? {}
                if is_log_name(name) && file.info().format_version > 1 {
                    self.catalogues.recovered(name, &file.info().file_id, whole.reader.whole_bytes())?;
                }
                Content::Frames(Box::new(Mutex::new(stream()?)))
            }
        };
        Ok(Reader::new(name, Some(file), Arc::clone(&self.meter), content))
    }

    /// Opens a log whose header is not there (`found` says how): what a power cut leaves of one that was never synced.
    /// If nothing follows, it was empty, or is now; if something does, that is lost and RocksDB must see that.
    fn open_lost_log(
        &self,
        name: &str,
        found: String,
        stored_bytes: u64,
        raw: &dyn RawRead,
    ) -> Result<Reader, Failure> {
        match self.catalogues.synced(name)? {
            Some(0) => {}
            Some(synced) => return Err(failure(name, None, SealError::CutShort { end: 0, synced })),
            None => return Err(failure(name, None, SealError::Unfinished { found })),
        }
        let mut offset = HEADER_BYTES as u64;
        let mut piece = vec![0; FRAMES_READ_BYTES];
        let mut empty = true;
        while empty && offset < stored_bytes {
            let got = raw.read_at(offset, &mut piece)?;
            if got == 0 {
                break;
            }
            empty = piece[..got].iter().all(|byte| *byte == 0);
            offset += got as u64;
        }
        let content = if empty { Content::Nothing } else { Content::Torn(torn_record(0)) };
        Ok(Reader::new(name, None, Arc::clone(&self.meter), content))
    }
}

impl fmt::Debug for SealedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedFiles")
            .field("keys", &self.keys().describe())
            .field("cipher", &self.cipher().name)
            .field("backend", &self.sealer.backend.name())
            .field("page_bytes", &self.page_bytes)
            .field("reads_plain", &self.reads_plain())
            .finish_non_exhaustive()
    }
}

/// Whether `path` is that of a write-ahead log.
pub(crate) fn is_log_name(path: &str) -> bool {
    rocksdb_name(path.rsplit('/').next().unwrap_or(path)).0 == FileKind::Log
}

/// Whether `path` is that of a manifest.
pub(crate) fn is_manifest_name(path: &str) -> bool {
    rocksdb_name(path.rsplit('/').next().unwrap_or(path)).0 == FileKind::Manifest
}

/// Length of a block of RocksDB's logs, in bytes, and of what precedes the data of a record in it.
const LOG_BLOCK_BYTES: u64 = 32 << 10;
const LOG_RECORD_HEADER_BYTES: u64 = 7;

/// What follows the data of a log at `end` where a record was torn: bytes that RocksDB's reader takes for the beginning
/// of a record that its writer did not complete. Without them the log would seem to end there on purpose, and the
/// recovery modes that stop at a hole would continue after it.
///
/// A record never begins in the last six bytes of a block; the writer fills those with zeros. So does this.
fn torn_record(end: u64) -> Vec<u8> {
    let room = LOG_BLOCK_BYTES - end % LOG_BLOCK_BYTES;
    let filler = if room < LOG_RECORD_HEADER_BYTES { room as usize } else { 0 };
    let mut torn = vec![0; filler];
    torn.push(0xff);
    torn
}

/// Names the file, and once its header is known also cipher and key, in the first line of what the seal said.
fn failure(name: &str, file: Option<&SealedFile>, error: SealError) -> Failure {
    let text = error.to_string();
    let (first, rest) = text.split_once('\n').map_or((text.as_str(), None), |(first, rest)| (first, Some(rest)));
    let mut text = format!("{name}: {first}");
    if let Some(file) = file {
        let info = file.info();
        text.push_str(&format!(" (sealed with {} under key {})", info.cipher.name, info.key));
    }
    if let Some(rest) = rest {
        text.push('\n');
        text.push_str(rest);
    }
    match error {
        SealError::NotSealed
        | SealError::Damaged { .. }
        | SealError::Unfinished { .. }
        | SealError::CutShort { .. }
        | SealError::Page { .. }
        | SealError::Frame { .. }
        | SealError::PastEnd { .. }
        | SealError::NoCatalogue
        | SealError::NotListed
        | SealError::OtherFile
        | SealError::Missing { .. }
        | SealError::Older { .. }
        | SealError::WrongLayout { .. } => Failure::Damaged(text),
        _ => Failure::Refused(text),
    }
}

// ---- writing --------------------------------------------------------------------------------------------------------

/// Writes one sealed file: takes data, returns what is to be stored.
pub(crate) struct Writer {
    name: String,
    file: SealedFile,
    kind: Kind,
    /// What the last call returned.
    stored: Vec<u8>,
    meter: Arc<CipherMeter>,
    spare: Arc<Spare>,
    catalogues: Arc<Catalogues>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.spare.give_back(std::mem::take(&mut self.stored));
    }
}

/// The logs being written, whose key stream is made by threads that wait for them: sealing happens under the lock that
/// all writers of a database share, and what is done beforehand does not hold them up.
#[derive(Default)]
struct Ahead {
    /// Whether a log needs key stream.
    wanted: Arc<AtomicBool>,
    logs: Mutex<Vec<Weak<KeyStreamAhead>>>,
}

impl Ahead {
    /// Has the key stream of `log` made ahead from now on, if its cipher allows it.
    fn follow(&self, log: &mut FrameWriter) -> Result<(), SealError> {
        if let Some(ahead) = log.make_ahead(Arc::clone(&self.wanted))? {
            let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            logs.retain(|log| log.strong_count() > 0);
            logs.push(Arc::downgrade(&ahead));
        }
        Ok(())
    }

    #[cold]
    fn prepare(&self, meter: &CipherMeter) {
        // one is enough, and no thread should wait
        let Ok(logs) = self.logs.try_lock() else { return };
        self.wanted.store(false, Ordering::Relaxed);
        let logs = logs.iter().filter_map(Weak::upgrade);
        // the bytes are counted when they are sealed
        meter.encrypting(0, || logs.for_each(|log| log.prepare()));
    }
}

/// Memory of writers that have ended, for the next ones: growing a megabyte anew for each file costs as much as sealing
/// it.
#[derive(Default)]
struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    /// Most that is kept, in buffers and bytes each.
    const BUFFERS_MAX: usize = 4;
    const BYTES_MAX: usize = 4 << 20;

    /// An empty buffer.
    fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        let mut buffers = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buffers.len() < Self::BUFFERS_MAX && (1..=Self::BYTES_MAX).contains(&buffer.capacity()) {
            buffer.clear();
            buffers.push(buffer);
        }
    }
}

/// Says how much of a file of frames is on stable storage. Serves many threads at once, alongside the writer.
pub(crate) struct Syncer {
    directory: String,
    is_manifest: bool,
    file_id: FileId,
    mark: SyncedMark,
    marked: OnceLock<()>,
    catalogues: Arc<Catalogues>,
}

impl Syncer {
    /// Before the file is synced: everything that the sync promises must be listed on stable storage.
    pub(crate) fn before(&self) -> Result<(), Failure> {
        Ok(self.catalogues.make_durable()?)
    }

    /// Records that the first `stored_bytes` bytes of the file are on stable storage. The first time, returns what is
    /// to be written into the file's own header area.
    pub(crate) fn synced(&self, stored_bytes: u64) -> Result<Option<SyncedMark>, Failure> {
        match self.catalogues.record_synced(&self.directory, &self.file_id, stored_bytes) {
            // An edit of a manifest is on stable storage. If RocksDB heard otherwise, it would remove the tables that
            // the edit names, and the store could not be opened again. The next change of the catalogue has to record
            // it first, or fails.
            Err(_) if self.is_manifest => {}
            recorded => recorded?,
        }
        let first = self.marked.get().is_none() && self.marked.set(()).is_ok();
        Ok(first.then_some(self.mark))
    }
}

enum Kind {
    /// None once the last page is sealed.
    Pages(Option<PageWriter>),
    Frames(FrameWriter),
}

impl Writer {
    /// What the last call returned to be stored; after `create` the header.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// What keeps the record of syncs, for a file of frames.
    pub(crate) fn syncer(&self) -> Result<Option<Syncer>, Failure> {
        let Kind::Frames(_) = self.kind else { return Ok(None) };
        let (directory, _) = split(&self.name);
        let mark = self.file.synced_mark().map_err(|error| failure(&self.name, Some(&self.file), error))?;
        let catalogues = Arc::clone(&self.catalogues);
        let HeaderInfo { file_id, identity, .. } = *self.file.info();
        let is_manifest = identity.kind == FileKind::Manifest;
        Ok(Some(Syncer { directory, is_manifest, file_id, mark, marked: OnceLock::new(), catalogues }))
    }

    /// Seals `data`. Returns what is to be stored now, which for pages may be nothing yet.
    pub(crate) fn append(&mut self, data: &[u8]) -> Result<&[u8], Failure> {
        if self.file.info().identity.kind == FileKind::Manifest {
            // what it says may reach the disk before it is synced, and names files that must then be listed
            self.catalogues.make_durable()?;
        }
        let Self { kind, stored, meter, .. } = self;
        stored.clear();
        let appended = match kind {
            Kind::Pages(Some(pages)) => meter.encrypting(data.len(), || pages.append(data, stored)),
            Kind::Pages(None) => Err(SealError::WrittenOnce),
            Kind::Frames(frames) => meter.encrypting(data.len(), || frames.append(data, stored)),
        };
        appended.map_err(|error| failure(&self.name, Some(&self.file), error))?;
        Ok(&self.stored)
    }

    /// Ends the file: returns what is to be stored last. A second call returns nothing.
    pub(crate) fn finish(&mut self) -> Result<&[u8], Failure> {
        let Self { kind, stored, meter, .. } = self;
        stored.clear();
        if let Kind::Pages(pages) = kind
            && let Some(pages) = pages.take()
        {
            // its data was counted when it arrived
            meter
                .encrypting(0, || pages.finish(stored))
                .map_err(|error| failure(&self.name, Some(&self.file), error))?;
        }
        Ok(&self.stored)
    }
}

// ---- reading --------------------------------------------------------------------------------------------------------

/// Reads one sealed file. Serves many threads at once.
pub(crate) struct Reader {
    name: String,
    file: Option<SealedFile>,
    meter: Arc<CipherMeter>,
    content: Content,
}

enum Content {
    /// A log that ends before its header does.
    Nothing,
    /// A log whose header is lost, with something after it: the record that RocksDB is to see torn.
    Torn(Vec<u8>),
    /// A file that is not sealed, during a conversion.
    Plain {
        /// Its length when it was opened: such a file is no longer written.
        bytes: u64,
    },
    Pages {
        pages: Pages,
        /// Data of the last page: RocksDB keeps a table's footer and index there and reads them first.
        last_page: Box<[u8]>,
    },
    Frames(Box<Mutex<FrameStream>>),
}

impl Reader {
    fn new(name: &str, file: Option<SealedFile>, meter: Arc<CipherMeter>, content: Content) -> Self {
        Self { name: name.to_owned(), file, meter, content }
    }

    /// Length of the pieces in which reading is cheapest: reads that begin and end at multiples of it open no page
    /// twice.
    pub(crate) fn page_bytes(&self) -> u64 {
        match &self.content {
            Content::Pages { pages, .. } => u64::from(pages.shape().page_bytes()),
            Content::Frames(_) | Content::Nothing | Content::Torn(_) | Content::Plain { .. } => 4096,
        }
    }

    /// Reads up to `into.len()` bytes of data from `offset` on; fewer only at the end of the file. After a failure
    /// `into` holds no data of the file.
    pub(crate) fn read(&self, raw: &dyn RawRead, offset: u64, into: &mut [u8]) -> Result<usize, Failure> {
        let read = match &self.content {
            Content::Nothing => Ok(0),
            Content::Torn(torn) => {
                let rest = torn.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
                let take = rest.len().min(into.len());
                into[..take].copy_from_slice(&rest[..take]);
                Ok(take)
            }
            Content::Plain { .. } => raw.read_at(offset, into).map_err(Failure::from),
            Content::Pages { pages, last_page } => self.read_pages(pages, last_page, raw, offset, into),
            Content::Frames(stream) => {
                let mut stream = stream.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
                let mut stream = stream.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
            self.meter
                .decrypting(stored.len(), || {
                    (page..)
                        .zip(stored.chunks_exact_mut(stride))
                        .try_for_each(|(page, stored)| pages.open_stored(page, stored).map(|_| ()))
                })
                .map_err(|error| self.explained(error))?;
            for opened in stored.chunks_exact(stride) {
                let data = &opened[skip..stride - TAG_BYTES];
                let take = data.len().min(into.len() - filled);
                into[filled..filled + take].copy_from_slice(&data[..take]);
                filled += take;
                skip = 0;
            }
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

/// A place in a file of frames, moving forward; going back means starting again, which RocksDB does not do with logs.
struct FrameStream {
    name: String,
    file: SealedFile,
    synced_bytes: u64,
    reader: FrameReader,
    /// Data of the newest frame read, and where it starts.
    frame: Vec<u8>,
    frame_offset: u64,
    /// At the end of a file that ends in a torn frame: what RocksDB is to see there.
    torn: Vec<u8>,
    fetched: Vec<u8>,
}

impl FrameStream {
    fn new(name: &str, file: &SealedFile, synced_bytes: u64) -> Result<Self, SealError> {
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

    /// Where the data read so far ends.
    fn end(&self) -> u64 {
        self.frame_offset + self.frame.len() as u64
    }

    fn read(&mut self, of: &Reader, raw: &dyn RawRead, mut offset: u64, into: &mut [u8]) -> Result<usize, Failure> {
        if offset < self.frame_offset {
            *self = Self::new(&self.name, &self.file, self.synced_bytes).map_err(|error| of.explained(error))?;
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

    /// Goes to the next frame; false at the end of the file, torn or not. It may have grown when asked again.
    fn advance(&mut self, of: &Reader, raw: &dyn RawRead) -> Result<bool, Failure> {
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

// ---- buffers --------------------------------------------------------------------------------------------------------

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
