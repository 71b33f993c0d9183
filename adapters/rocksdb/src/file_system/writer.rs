//! Writing sealed files: from data to bytes to store, and the record for each sync.
//!
//! Sealing in parallel with other work:
//!
//! - One thread builds a table, so the time for sealing would add to the time for building. From
//!   the second large piece on a thread for the file seals and stores the data that RocksDB
//!   appended (`shim/write_behind.h`). A failure there is reported at the next append or at the
//!   sync, before which RocksDB counts nothing as written. Handing over costs CPU time, so it pays
//!   only where a core is idle (`results/at-rest-oltp-batch-2gb.md`); for long reads it does not
//!   pay.
//! - A log is sealed under the lock that all writers of a database share. Its key stream is made
//!   ahead (`sealstone_seal::frame`) by the next thread that comes to write
//!   (`SealedFiles::prepare_logs`), so that an XOR and a hash remain under the lock. Frames of
//!   several kilobytes are sealed directly, as is everything under ciphers with blocks of 64 bits
//!   or with instructions of the processor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use sealstone_seal::catalogue::FileId;
use sealstone_seal::frame::{FrameWriter, KeyStreamAhead};
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{FileKind, HeaderInfo, SealError, SealedFile, SyncedMark};

use super::failure::{Failure, failure};
use crate::catalogue::{Catalogues, split};
use crate::meter::CipherMeter;

/// The writer of one sealed file: takes data, returns bytes to store.
pub(crate) struct Writer {
    pub(super) name: String,
    pub(super) file: SealedFile,
    pub(super) kind: Kind,
    /// Result of the last call.
    pub(super) stored: Vec<u8>,
    pub(super) meter: Arc<CipherMeter>,
    pub(super) spare: Arc<Spare>,
    pub(super) catalogues: Arc<Catalogues>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.spare.give_back(std::mem::take(&mut self.stored));
    }
}

/// Layout of the file's data.
pub(super) enum Kind {
    /// None once the last page is sealed.
    Pages(Option<PageWriter>),
    Frames(FrameWriter),
}

impl Writer {
    /// Returns what the last call produced for storing; after `create`, the header.
    pub(crate) fn stored(&self) -> &[u8] {
        &self.stored
    }

    /// Returns the object that keeps the record of syncs, for a file of frames.
    pub(crate) fn syncer(&self) -> Result<Option<Syncer>, Failure> {
        let Kind::Frames(_) = self.kind else { return Ok(None) };
        let (directory, _) = split(&self.name);
        let mark = self
            .file
            .synced_mark()
            .map_err(|error| failure(&self.name, Some(&self.file), error))?;
        let catalogues = Arc::clone(&self.catalogues);
        let HeaderInfo { file_id, identity, .. } = *self.file.info();
        let is_manifest = identity.kind == FileKind::Manifest;
        Ok(Some(Syncer {
            directory,
            is_manifest,
            file_id,
            mark,
            marked: OnceLock::new(),
            catalogues,
        }))
    }

    /// Seals `data`. Returns the bytes to store now, which for pages may be none yet.
    pub(crate) fn append(&mut self, data: &[u8]) -> Result<&[u8], Failure> {
        if self.file.info().identity.kind == FileKind::Manifest {
            // its content may reach the disk before it is synced, and names files that must then be
            // listed
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

    /// Ends the file: returns the last bytes to store. A second call returns nothing.
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

/// The record of how much of a file of frames is on stable storage. Serves many threads at once,
/// alongside the writer.
pub(crate) struct Syncer {
    directory: String,
    is_manifest: bool,
    file_id: FileId,
    mark: SyncedMark,
    marked: OnceLock<()>,
    catalogues: Arc<Catalogues>,
}

impl Syncer {
    /// Prepares for a sync of the file: everything that the sync promises must be listed on stable
    /// storage.
    pub(crate) fn before(&self) -> Result<(), Failure> {
        Ok(self.catalogues.make_durable()?)
    }

    /// Records that the first `stored_bytes` bytes of the file are on stable storage. The first
    /// time, returns the mark to write into the file's own header area.
    pub(crate) fn synced(&self, stored_bytes: u64) -> Result<Option<SyncedMark>, Failure> {
        match self.catalogues.record_synced(&self.directory, &self.file_id, stored_bytes) {
            // An edit of a manifest is on stable storage. If RocksDB heard otherwise, it would
            // remove the tables that the edit names, and the store could not be opened again. The
            // next change of the catalogue has to record it first, or fails.
            Err(_) if self.is_manifest => {}
            recorded => recorded?,
        }
        let first = self.marked.get().is_none() && self.marked.set(()).is_ok();
        Ok(first.then_some(self.mark))
    }
}

/// The logs being written, whose key stream is made by threads that wait for them: sealing happens
/// under the lock that all writers of a database share, and work done beforehand does not hold them
/// up.
#[derive(Default)]
pub(super) struct Ahead {
    /// True if a log needs key stream.
    pub(super) wanted: Arc<AtomicBool>,
    logs: Mutex<Vec<Weak<KeyStreamAhead>>>,
}

impl Ahead {
    /// Has the key stream of `log` made ahead from now on, if its cipher allows it.
    pub(super) fn follow(&self, log: &mut FrameWriter) -> Result<(), SealError> {
        if let Some(ahead) = log.make_ahead(Arc::clone(&self.wanted))? {
            let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            logs.retain(|log| log.strong_count() > 0);
            logs.push(Arc::downgrade(&ahead));
        }
        Ok(())
    }

    #[cold]
    pub(super) fn prepare(&self, meter: &CipherMeter) {
        // one is enough, and no thread should wait
        let Ok(logs) = self.logs.try_lock() else { return };
        self.wanted.store(false, Ordering::Relaxed);
        let logs = logs.iter().filter_map(Weak::upgrade);
        // the bytes are counted when they are sealed
        meter.encrypting(0, || logs.for_each(|log| log.prepare()));
    }
}

/// Memory of writers that have ended, for the next ones: growing a new megabyte for each file costs
/// as much as sealing it.
#[derive(Default)]
pub(super) struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    /// Most that is kept, in buffers and bytes each.
    const BUFFERS_MAX: usize = 4;
    const BYTES_MAX: usize = 4 << 20;

    /// Returns an empty buffer.
    pub(super) fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, mut buffer: Vec<u8>) {
        let mut buffers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < Self::BUFFERS_MAX && (1..=Self::BYTES_MAX).contains(&buffer.capacity()) {
            buffer.clear();
            buffers.push(buffer);
        }
    }
}
