//! Sealing as the file system sees it: new files get a key and a format, existing files are read by
//! their header. The C++ half (`shim/sealed_fs.cc`) moves the stored bytes.
//!
//! A table writes through the shim, which hands its bytes to Rust; pages of 1,024 bytes are filled,
//! sealed, and handed back for the file below. For reading, the stored pages that cover a request
//! are read in one call and verified, and then the bytes asked for are decrypted straight into
//! RocksDB's buffer: the thread's own buffer holds ciphertext alone. Logs and manifests are frame
//! files: each append is one frame. Control files (`CURRENT`, `OPTIONS`, `IDENTITY`) are paged.
//!
//! Not here: the formats (`sealstone-seal`), and the callers (`ffi`).

mod failure;
mod reader;
mod writer;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use sealstone_cipher::Cipher;
use sealstone_file::counts::Keeper;
use sealstone_keys::KeySource;
use sealstone_seal::frame::{FrameWriter, KeyStreamAhead};
use sealstone_seal::paged::{PageWriter, Pages, Shape};
use sealstone_seal::{
    FileKind, HEADER_BYTES, Layout, SealError, SealedFile, is_sealed, rocksdb_name,
};

use crate::catalogue::{Catalogues, Refusal, Sealer};
use crate::file_keys::{self, Header};
use crate::meter::{CipherMeter, CipherWork};
use crate::sealing_options::{self, Sealing};
use failure::failure;
pub(crate) use failure::{Failure, RawFailed, RawRead};
pub(crate) use reader::Reader;
use reader::{Content, FRAMES_READ_BYTES, FrameStream, torn_record};
use writer::{Ahead, Kind, Spare};
pub(crate) use writer::{Syncer, Writer};

/// Makes and opens sealed files. Serves many threads at once.
pub(crate) struct SealedFiles {
    sealer: Arc<Sealer>,
    page_bytes: Option<u32>,
    meter: Arc<CipherMeter>,
    spare: Arc<Spare>,
    catalogues: Arc<Catalogues>,
    ahead: Ahead,
    /// Held while a database of this environment is resealed.
    pub(crate) resealing: Mutex<()>,
    /// None where nothing is counted in a file.
    _keeper: Option<Keeper>,
}

impl SealedFiles {
    /// Seals new files according to `sealing`; existing files are read according to their headers.
    pub(crate) fn new(sealing: Sealing) -> Self {
        let Sealing { keys, cipher, backend, page_bytes, anchor, counts_dir } = sealing;
        let (reads_plain, meter) = (AtomicBool::new(false), Arc::new(CipherMeter::default()));
        let (cipher, read_only) = (RwLock::new(cipher), AtomicBool::new(false));
        let sealer = Arc::new(Sealer { keys, cipher, backend, reads_plain, read_only, anchor });
        let catalogues = Arc::new(Catalogues::new(Arc::clone(&sealer)));
        let (spare, ahead) = (Arc::default(), Ahead::default());
        let resealing = Mutex::new(());
        // the store works without: what keeps counts from being written shows by their age
        let _keeper = counts_dir.and_then(|dir| {
            let meter = Arc::clone(&meter);
            Keeper::start(&dir, move || meter.counts(), |_| {}).ok()
        });
        Self { sealer, page_bytes, meter, spare, catalogues, ahead, resealing, _keeper }
    }

    /// Returns the counts of encrypted and decrypted data so far.
    pub(crate) fn cipher_work(&self) -> CipherWork {
        self.meter.work()
    }

    /// Returns the source of its keys.
    pub(crate) fn keys(&self) -> &dyn KeySource {
        &*self.sealer.keys
    }

    /// Returns the catalogues of the files in its directories.
    pub(crate) fn catalogues(&self) -> &Catalogues {
        &self.catalogues
    }

    /// Returns the cipher of new files.
    pub(crate) fn cipher(&self) -> &'static Cipher {
        *self.sealer.cipher.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets `cipher` for new files from now on.
    pub(crate) fn set_cipher(&self, cipher: &'static Cipher) {
        *self.sealer.cipher.write().unwrap_or_else(PoisonError::into_inner) = cipher;
    }

    /// Returns whether unsealed files are read unchanged, for the duration of a conversion.
    pub(crate) fn reads_plain(&self) -> bool {
        self.sealer.reads_plain.load(Ordering::Acquire)
    }

    /// Begins or ends the reading of files that are not sealed.
    pub(crate) fn set_reads_plain(&self, reads_plain: bool) {
        self.sealer.reads_plain.store(reads_plain, Ordering::Release);
    }

    /// Refuses every change of a file from now on.
    pub(crate) fn set_read_only(&self) {
        self.sealer.read_only.store(true, Ordering::Release);
    }

    /// Begins a file called `name` under a fresh key, and lists it. Whatever had that name is gone
    /// when this returns.
    pub(crate) fn create(&self, name: &str) -> Result<Writer, Failure> {
        self.catalogues.writable(name)?;
        let identity = self.catalogues.identity(name)?;
        let kind = identity.kind;
        let cipher = self.cipher();
        let layout = if kind.grows() {
            Layout::Frames
        } else {
            let page_bytes =
                self.page_bytes.unwrap_or_else(|| sealing_options::page_bytes(kind, cipher));
            Layout::Paged { page_bytes }
        };
        let explained = |error| failure(name, None, error);
        let (file, header) =
            SealedFile::create_as(&identity, self.keys(), cipher, self.sealer.backend, layout)
                .map_err(explained)?;
        self.catalogues.create(name, file.info())?;
        let kind = match layout {
            Layout::Volume { .. } => unreachable!("a file of an engine is pages or frames"),
            Layout::Paged { .. } => Kind::Pages(Some(PageWriter::new(&file).map_err(explained)?)),
            Layout::Frames => {
                let mut frames = FrameWriter::new(&file).map_err(explained)?;
                if identity.kind == FileKind::Log
                    && KeyStreamAhead::pays(file.info().cipher, self.sealer.backend)
                {
                    self.ahead.follow(&mut frames).map_err(explained)?;
                }
                Kind::Frames(frames)
            }
        };
        let mut stored = self.spare.take();
        stored.extend_from_slice(&header);
        let (meter, spare) = (Arc::clone(&self.meter), Arc::clone(&self.spare));
        Ok(Writer {
            name: name.to_owned(),
            file,
            kind,
            stored,
            meter,
            spare,
            catalogues: Arc::clone(&self.catalogues),
        })
    }

    /// Makes key stream for the log of a database of this environment, if it needs some. For a
    /// thread that is about to write, and so to wait for that log.
    #[inline]
    pub(crate) fn prepare_logs(&self) {
        if self.ahead.wanted.load(Ordering::Relaxed) {
            self.ahead.prepare(&self.meter);
        }
    }

    /// Opens the file called `name`, of `stored_bytes` bytes, by its header, if its directory's
    /// catalogue lists it. A paged file proves by its last page that it is whole; a log is read
    /// once from end to end, so that damage in it stops the opening, whatever RocksDB makes of a
    /// failed read later.
    pub(crate) fn open(
        &self,
        name: &str,
        stored_bytes: u64,
        raw: &dyn RawRead,
    ) -> Result<Reader, Failure> {
        let mut read = |into: &mut [u8]| raw.read_at(0, into);
        let header = Header::read(&mut read)?;
        if self.reads_plain() && !is_sealed(header.stored()) {
            let empty_log = header.got == 0 && is_log_name(name);
            let content =
                if empty_log { Content::Nothing } else { Content::Plain { bytes: stored_bytes } };
            return Ok(Reader::new(name, None, Arc::clone(&self.meter), content));
        }
        let file = match file_keys::open(self.keys(), self.sealer.backend, header, read)? {
            Ok(file) => file,
            Err(SealError::Unfinished { found }) if is_log_name(name) => {
                let log = self.open_lost_log(name, found, stored_bytes, raw);
                // its writer may have begun it in the meantime
                let again = Header::read(&mut |into: &mut [u8]| raw.read_at(0, into))?;
                let unfinished = matches!(
                    sealstone_seal::inspect(again.stored()),
                    Err(SealError::Unfinished { .. })
                );
                return if unfinished || log.is_ok() {
                    log
                } else {
                    self.open(name, stored_bytes, raw)
                };
            }
            Err(error) => return Err(failure(name, None, error)),
        };
        let explained = |error| failure(name, Some(&file), error);
        let synced_bytes = match self.catalogues.check(name, file.info()) {
            Ok(synced_bytes) => synced_bytes,
            Err(Refusal::Seal { path, error }) if path == name => return Err(explained(error)),
            Err(refusal) => return Err(refusal.into()),
        };
        self.catalogues.reading(name)?;
        let content = match file.info().layout {
            // a whole file of another kind, put here to pass for a log that ends at once
            layout @ Layout::Paged { .. } if is_log_name(name) || is_manifest_name(name) => {
                return Err(explained(SealError::WrongLayout {
                    found: layout.name(),
                    want: Layout::Frames.name(),
                }));
            }
            layout @ Layout::Volume { .. } => {
                return Err(explained(SealError::WrongLayout {
                    found: layout.name(),
                    want: Layout::Paged { page_bytes: 0 }.name(),
                }));
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
                let reader = Reader::new(
                    name,
                    Some(file.clone()),
                    Arc::clone(&self.meter),
                    Content::Nothing,
                );
                let mut whole = stream()?;
                while whole.advance(&reader, raw)? {}
                if is_log_name(name) {
                    self.catalogues.recovered(
                        name,
                        &file.info().file_id,
                        whole.reader.whole_bytes(),
                    )?;
                }
                Content::Frames(Box::new(Mutex::new(stream()?)))
            }
        };
        Ok(Reader::new(name, Some(file), Arc::clone(&self.meter), content))
    }

    /// Opens a log whose header is missing (`found` is the form): a power cut leaves this of a log
    /// that was never synced. If nothing follows, it was empty, or is now; data that follows is
    /// lost, and RocksDB must see that.
    fn open_lost_log(
        &self,
        name: &str,
        found: String,
        stored_bytes: u64,
        raw: &dyn RawRead,
    ) -> Result<Reader, Failure> {
        match self.catalogues.synced(name)? {
            Some(0) => {}
            Some(synced) => {
                return Err(failure(name, None, SealError::CutShort { end: 0, synced }));
            }
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

/// Returns whether `path` is that of a write-ahead log.
pub(crate) fn is_log_name(path: &str) -> bool {
    rocksdb_name(path.rsplit('/').next().unwrap_or(path)).0 == FileKind::Log
}

/// Returns whether `path` is that of a manifest.
pub(crate) fn is_manifest_name(path: &str) -> bool {
    rocksdb_name(path.rsplit('/').next().unwrap_or(path)).0 == FileKind::Manifest
}
