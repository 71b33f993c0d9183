//! Check that a single file is unchanged since sealing: every page and frame is opened, and the
//! file is looked up in the catalogue. Not here: the required files (`live_set`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::frame::{End, FrameReader};
use sealstone_seal::paged::{Pages, Shape};
use sealstone_seal::{
    FileKind, HEADER_BYTES, Layout, SealError, SealedFile, TAG_BYTES, copies_agree, rocksdb_name,
};

use super::files_on_disk::{CHUNK_BYTES, read_start};
use super::report::{Finding, Progress, Verification};
use crate::catalogue::{Refusal, View, is_temporary};
use crate::file_keys::{self, Header};

/// The check of one file.
pub(super) struct Check<'a, 'k> {
    pub(super) name: &'a str,
    pub(super) path: &'a Path,
    pub(super) keys: &'k dyn KeySource,
    pub(super) backend: Backend,
    pub(super) view: &'a mut View<'k>,
    pub(super) report: &'a mut Verification,
    pub(super) progress: &'a mut dyn FnMut(Progress<'_>),
    pub(super) total_bytes: u64,
}

impl Check<'_, '_> {
    pub(super) fn file(&mut self, file: &File) -> io::Result<()> {
        let stored_bytes = file.metadata()?.len();
        let base = self.name.rsplit('/').next().unwrap_or(self.name);
        let (kind, _) = rocksdb_name(base);
        let path = self.path.to_string_lossy().into_owned();
        // for an empty file the comparison with the live set shows what is missing; for a log the
        // catalogue does
        if stored_bytes == 0 && kind != FileKind::Log {
            return Ok(());
        }
        let mut read = |into: &mut [u8]| read_start(file, into);
        let header = Header::read(&mut read)?;
        let sealed = match file_keys::open(self.keys, self.backend, header, read)? {
            Ok(sealed) => sealed,
            Err(error @ SealError::Unfinished { .. }) if kind == FileKind::Log => {
                match self.view.synced(&path) {
                    Ok(Some(0)) => self.note(
                        "holds nothing: it was never synced, and its writer was stopped".into(),
                    ),
                    Ok(Some(synced)) => self.fail_with(&SealError::CutShort { end: 0, synced }),
                    _ => self.fail_with(&error),
                }
                return Ok(());
            }
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let mut header = [0; HEADER_BYTES];
        let got = read_start(file, &mut header)?;
        if !copies_agree(&header[..got]) {
            self.note(
                "the copies of its header differ; `rest rotate` makes both whole again".into(),
            );
        }
        let synced_bytes = match kind {
            FileKind::Loose | FileKind::Catalogue => 0,
            _ if is_temporary(base) => 0,
            _ => match self.view.check(&path, sealed.info()) {
                Ok(synced_bytes) => synced_bytes,
                // removed in the meantime
                Err(_) if !self.path.exists() || self.view.is_leaving(&path) => return Ok(()),
                Err(Refusal::Seal { error, .. }) => {
                    self.fail_with(&error);
                    return Ok(());
                }
                Err(Refusal::Raw(error)) => return Err(io::Error::other(error.0)),
            },
        };
        match sealed.info().layout {
            Layout::Paged { .. } => self.pages(file, &sealed, stored_bytes),
            Layout::Frames => self.frames(file, &sealed, synced_bytes),
            layout @ Layout::Volume { .. } => {
                let (found, want) = (layout.name(), Layout::Paged { page_bytes: 0 }.name());
                self.fail_with(&SealError::WrongLayout { found, want });
                Ok(())
            }
        }
    }

    fn pages(&mut self, file: &File, sealed: &SealedFile, stored_bytes: u64) -> io::Result<()> {
        let shape = match Shape::of(sealed, stored_bytes) {
            Ok(shape) => shape,
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let last = shape.last_page();
        let mut stored = vec![0; last.bytes];
        file.read_exact_at(&mut stored, last.offset)?;
        let pages = match Pages::open(sealed, stored_bytes, &mut stored) {
            Ok((pages, _)) => {
                self.report.pages += 1;
                pages
            }
            Err(error) => {
                self.fail_with(&error);
                match Pages::unproven(sealed, stored_bytes) {
                    Ok(pages) => pages,
                    Err(_) => return Ok(()),
                }
            }
        };
        let stride = shape.page_bytes() as usize + TAG_BYTES;
        let at_once = (CHUNK_BYTES / stride).max(1) as u64;
        let before_last = shape.pages() - 1;
        let mut first = 0;
        while first < before_last {
            let count = at_once.min(before_last - first);
            stored.resize(count as usize * stride, 0);
            file.read_exact_at(&mut stored, shape.page(first).offset)?;
            for (page, stored) in (first..).zip(stored.chunks_exact_mut(stride)) {
                match pages.open_stored(page, stored) {
                    Ok(_) => self.report.pages += 1,
                    Err(error) => self.fail_with(&error),
                }
            }
            self.done(stored.len() as u64);
            first += count;
        }
        self.done(last.bytes as u64);
        Ok(())
    }

    fn frames(&mut self, file: &File, sealed: &SealedFile, synced_bytes: u64) -> io::Result<()> {
        let mut reader = match FrameReader::new(sealed, synced_bytes) {
            Ok(reader) => reader,
            Err(error) => {
                self.fail_with(&error);
                return Ok(());
            }
        };
        let mut stored = vec![0; CHUNK_BYTES];
        loop {
            loop {
                match reader.next_frame() {
                    Ok(Some(_)) => self.report.frames += 1,
                    Ok(None) => break,
                    Err(error) => {
                        self.fail_with(&error);
                        return Ok(());
                    }
                }
            }
            let got = file.read_at(&mut stored, reader.next_offset())?;
            if got == 0 {
                break;
            }
            reader.push(&stored[..got]);
            self.done(got as u64);
        }
        match reader.end() {
            Ok(End::Clean) => {}
            Ok(End::Torn { offset, bytes, .. }) => {
                self.note(format!(
                    "ends within a frame: {bytes} bytes from byte {offset} on; its writer was \
                     stopped there, and recovery ends before them"
                ));
            }
            Err(error) => self.fail_with(&error),
        }
        Ok(())
    }

    fn done(&mut self, bytes: u64) {
        self.report.stored_bytes += bytes;
        self.report_progress();
    }

    pub(super) fn report_progress(&mut self) {
        (self.progress)(Progress {
            file: self.name,
            done_bytes: self.report.stored_bytes,
            total_bytes: self.total_bytes,
        });
    }

    fn fail_with(&mut self, error: &SealError) {
        // RocksDB gives a file its name only once all of it is written; a file without one is never
        // read
        if self.name.ends_with(".dbtmp")
            && matches!(error, SealError::Unfinished { .. } | SealError::Page { .. })
        {
            self.note("left unfinished by a writer that was stopped; nothing reads it".into());
            return;
        }
        let (page, frame) = match error {
            SealError::Page { page, .. } => (Some(*page), None),
            SealError::Frame { index, .. } => (None, Some(*index)),
            _ => (None, None),
        };
        self.fail(page, frame, error.to_string());
    }

    pub(super) fn fail(&mut self, page: Option<u64>, frame: Option<u64>, what: String) {
        self.report.failures.push(Finding { file: self.name.to_owned(), page, frame, what });
    }

    fn note(&mut self, what: String) {
        self.report.notes.push(Finding {
            file: self.name.to_owned(),
            page: None,
            frame: None,
            what,
        });
    }
}
