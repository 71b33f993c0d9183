//! A sealed volume that is open, and its flushes. What it promises is in `docs/guide/volumes.md`,
//! and after each line of it the test.
//!
//! A write seals its blocks and appends one frame to the log; blocks that were never written, where
//! many follow each other, go to their places at once, and only their entries to the log. A flush
//! syncs the places first and the log afterwards. [`Volume::checkpoint`] puts in place what is in
//! the log.
//!
//! Not here: reads (`read`), writes (`write`), discards (`discard`), what the log contains after a
//! crash (`recovery`), and the sources of requests (`front`).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use sealstone_anchor::Anchor;
use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::KeySource;
use sealstone_seal::volume::{Epoch, Places, Root, Run, VolumeKeys};
use sealstone_seal::{FileKind, HEADER_BYTES, Identity, Layout, SealedFile};

use crate::counts::Counts;
use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::in_flight::InFlight;
use crate::index::{Index, Pending};
use crate::log::{self, Log};
use crate::marks::{HEADER_FILE_BYTES, Marks};
use crate::names;
use crate::pages::Pages;
use crate::recovery::Recovered;
use crate::roots::Roots;
use crate::segment::Segment;
use crate::sizes::Sizes;
use crate::state_on_disk::Found;
use crate::volume_anchor::Anchored;

/// The newest root, and the changes of the log beyond it.
pub(crate) struct Table {
    pub(crate) root: Arc<Root>,
    /// Newer than the root, and being put in place.
    pub(crate) old: Arc<Index>,
    /// Newer than these.
    pub(crate) fresh: Index,
}

impl Table {
    pub(crate) fn pending(&self, block: u64) -> Option<&Pending> {
        self.fresh.get(&block).or_else(|| self.old.get(&block))
    }
}

/// Flushes: one caller syncs for all that wait.
#[derive(Debug, Default)]
struct Flushing {
    /// Frames on stable storage.
    frames: u64,
    /// True while somebody syncs.
    running: bool,
}

/// A volume that is open for writing. Serves many threads at once.
pub struct Volume {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) data: Arc<dyn DiskFile>,
    pub(crate) epoch: Epoch,
    pub(crate) places: Places,
    pub(crate) sizes: Sizes,
    pub(crate) marks: Marks,
    pub(crate) roots: Roots,
    pub(crate) anchored: Anchored,
    pub(crate) pages: Pages,
    log: Mutex<Log>,
    pub(crate) table: RwLock<Table>,
    pub(crate) in_flight: InFlight,
    flushing: Mutex<Flushing>,
    flushed: Condvar,
    /// True if something was written in place since the places were synced.
    pub(crate) unsynced_places: AtomicBool,
    pub(crate) checkpointing: Mutex<()>,
    pub(crate) counts: Counts,
    poison: OnceLock<String>,
    _lock: Box<dyn std::any::Any + Send + Sync>,
}

impl Volume {
    /// Makes a volume of `bytes`, all zeros, in a directory without one. Nothing of it is in use
    /// afterwards.
    ///
    /// - `keys`: its current key wraps the volume's data key
    /// - `block_bytes`: 4096, 8192 or 16384
    ///
    /// # Errors
    /// [`Failure::Exists`]; a size that no device has; of the keys, and of the disk.
    pub fn create(
        disk: &dyn Disk,
        keys: &dyn KeySource,
        cipher: &'static Cipher,
        (block_bytes, bytes): (u32, u64),
    ) -> Result<(), Failure> {
        let there = disk.list("").map_err(Failure::of("list", "the directory"))?;
        let [first, second] = names::MAPS;
        let names = [names::HEADER, names::DATA, first, second, names::LOG];
        if let Some(name) = names.into_iter().find(|name| there.iter().any(|there| there == name)) {
            return Err(Failure::Exists { name: name.to_owned() });
        }
        let mut made = Vec::new();
        Self::make(disk, keys, cipher, (block_bytes, bytes), &mut made).inspect_err(|_| {
            // without a header they are of no use, and in the way of the next attempt
            for name in made {
                let _ = disk.remove(name);
            }
        })
    }

    /// Makes the files, and adds to `made` the name of each.
    fn make(
        disk: &dyn Disk,
        keys: &dyn KeySource,
        cipher: &'static Cipher,
        (block_bytes, bytes): (u32, u64),
        made: &mut Vec<&'static str>,
    ) -> Result<(), Failure> {
        let places = Places::of(block_bytes)?;
        let blocks = places.blocks(bytes)?;
        let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
        let layout = Layout::Volume { block_bytes };
        let (file, header) =
            SealedFile::create_as(&identity, keys, cipher, Backend::auto(), layout)?;
        let mut make = |name: &'static str| {
            let file = disk.create(name, true).map_err(Failure::of("make", name))?;
            made.push(name);
            Ok::<_, Failure>(file)
        };
        let data = make(names::DATA)?;
        data.set_bytes(places.file_bytes(blocks)).map_err(Failure::of("make", names::DATA))?;
        data.sync().map_err(Failure::of("sync", names::DATA))?;
        let roots = Roots { files: [make(names::MAPS[0])?, make(names::MAPS[1])?] };
        // the first epoch writes nothing but marks, so that there is never none
        let epoch = VolumeKeys::new(file, Vec::new())?.begin()?;
        let salts = epoch.keys().salts().to_vec();
        let root = Root { salts, ..Root::new(places, blocks) };
        roots.write(epoch.keys().file(), &root)?;
        roots.write(epoch.keys().file(), &Root { generation: 1, ..root })?;
        let stored = make(names::HEADER_NEW)?;
        let rest = [0; HEADER_FILE_BYTES as usize - HEADER_BYTES];
        stored.write(0, &[&header, &rest]).map_err(Failure::of("write", names::HEADER_NEW))?;
        Marks::new(stored, roots.files).begin(&epoch, 0)?;
        disk.make_directory(names::LOG).map_err(Failure::of("make", names::LOG))?;
        // the header last: without it there is no volume
        disk.rename(names::HEADER_NEW, names::HEADER)
            .map_err(Failure::of("rename", names::HEADER_NEW))?;
        // from here on it is one, and stays
        made.clear();
        disk.sync_directory("").map_err(Failure::of("sync", "the directory"))
    }

    /// Opens a volume for writing. After a crash this is all that it takes: the log is read, and a
    /// checkpoint may wait until later.
    ///
    /// - `keys`: must hold the key that the header names
    /// - `anchor`: gets the generation of every root. An older copy of all files is an error then
    ///
    /// # Errors
    /// [`Failure::NoVolume`], [`Failure::InUse`]; whatever is not as it was left: see
    /// [`Failure::Seal`]; of the keys, the anchor, and of the disk.
    pub fn attach(
        disk: Arc<dyn Disk>,
        keys: &dyn KeySource,
        anchor: Option<Arc<dyn Anchor>>,
        (backend, sizes): (Backend, Sizes),
    ) -> Result<Self, Failure> {
        let lock = lock(&*disk)?;
        let found = Found::read(&*disk, keys, backend, sizes)?;
        let Found { data, marks, roots, pages, keys, root, recovered } = found;
        let anchored = Anchored::open(anchor, keys.file().info().file_id, root.generation)?;
        roots.settle(root.generation)?;
        recovered.settle(&*data, keys.block_bytes())?;
        let Recovered { index, frames, used, used_bytes, .. } = recovered;
        let mut free = Vec::new();
        for name in log::segments(&*disk)? {
            if !used.iter().any(|segment| segment.name == name) {
                free.extend(Segment::open(&*disk, name)?);
            }
        }
        let used = (used, used_bytes);
        let log = Log::begin(&*disk, frames, used, free, sizes.segment_bytes)?;

        let epoch = keys.begin()?;
        let mut runs = root.runs.clone();
        // a run without frames is none
        runs.pop_if(|last| last.frame == frames);
        runs.push(Run { epoch: epoch.number(), segment: log.segment(), frame: frames });
        let root = Root {
            generation: root.generation + 1,
            salts: epoch.keys().salts().to_vec(),
            runs,
            ..root
        };
        roots.write(epoch.keys().file(), &root)?;
        marks.begin(&epoch, frames)?;
        anchored.record(root.generation)?;
        let table = Table { root: Arc::new(root), old: Arc::new(index), fresh: Index::new() };
        Ok(Self {
            places: Places::new(epoch.keys().block_bytes()),
            disk,
            data,
            epoch,
            sizes,
            marks,
            roots,
            anchored,
            pages,
            log: Mutex::new(log),
            table: RwLock::new(table),
            in_flight: InFlight::default(),
            flushing: Mutex::new(Flushing { frames, running: false }),
            flushed: Condvar::new(),
            unsynced_places: AtomicBool::new(false),
            checkpointing: Mutex::new(()),
            counts: Counts::default(),
            poison: OnceLock::new(),
            _lock: lock,
        })
    }

    /// Returns the size of the device, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.table().root.blocks * u64::from(self.epoch.keys().block_bytes())
    }

    /// Returns the length of a block, in bytes.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.epoch.keys().block_bytes()
    }

    /// Returns how many blocks were sealed, and how many opened, since the volume was opened.
    #[must_use]
    pub(crate) fn counted_blocks(&self) -> (u64, u64) {
        self.counts.blocks()
    }

    /// Makes beforehand what the log will soon need, so that no write has to wait for it.
    ///
    /// # Errors
    /// Of the disk, which may be full: then nothing changed.
    pub fn prepare(&self) -> Result<(), Failure> {
        let Some(name) = self.lock_log().wanted() else { return Ok(()) };
        let segment = Segment::create(&*self.disk, name, self.sizes.segment_bytes)?;
        self.lock_log().add(segment);
        Ok(())
    }

    /// Returns the number of roots written before the newest.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.table().root.generation
    }

    /// Returns the generation that the anchor has, if there is one.
    #[must_use]
    pub fn anchored_generation(&self) -> Option<u64> {
        self.anchored.recorded()
    }

    /// Returns whether the anchor lacks the newest root: [`Volume::checkpoint`] tries again.
    #[must_use]
    pub fn is_anchor_behind(&self) -> bool {
        self.anchored.is_behind(self.generation())
    }

    /// Returns the bytes in the log that are not in place.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        self.lock_log().used_bytes()
    }

    /// Returns the number of frames that were ever written to the log.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.lock_log().frames()
    }

    /// Returns the number of openings whose frames are in the log, this one among them.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.table().root.runs.len()
    }

    /// Returns whether enough is in the log for a checkpoint.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.exceeds(1)
    }

    /// Returns whether the log has anything that is not in place.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let table = self.table();
        !(table.fresh.is_empty() && table.old.is_empty())
    }

    // ---- flushing

    /// Makes everything durable whose write returned before this call. Of several callers one syncs
    /// for all.
    ///
    /// # Errors
    /// The sync failed, now or earlier: then nothing is written any more.
    pub fn flush(&self) -> Result<(), Failure> {
        let wanted = self.lock_log().frames();
        let mut flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            self.check_poison()?;
            if flushing.frames >= wanted {
                return Ok(());
            }
            if flushing.running {
                flushing = self.flushed.wait(flushing).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            flushing.running = true;
            drop(flushing);
            let synced = self.sync();
            flushing = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
            flushing.running = false;
            let result = match synced {
                Ok(frames) => {
                    flushing.frames = frames;
                    Ok(())
                }
                Err(failure) => Err(self.poison(failure)),
            };
            self.flushed.notify_all();
            result?;
        }
    }

    /// Syncs what was written so far, and returns the number of frames.
    fn sync(&self) -> Result<u64, Failure> {
        let (frames, segments) = self.lock_log().unsynced();
        // the places before the log: an entry must not reach the disk before its block
        if self.unsynced_places.swap(false, Ordering::AcqRel) {
            self.data.sync().map_err(Failure::of("sync", names::DATA))?;
        }
        for segment in segments {
            segment.file.sync().map_err(Failure::of("sync", &segment.name))?;
        }
        self.marks.write(&self.epoch, frames)?;
        Ok(frames)
    }

    // ---- helpers

    /// Runs a checkpoint if the log has more than it may have.
    pub(crate) fn make_room(&self) -> Result<(), Failure> {
        self.check_poison()?;
        if !self.exceeds(2) {
            return Ok(());
        }
        match self.checkpoint() {
            // there is room now; the anchor is tried again, and the operator is told
            Err(Failure::Anchor(_)) => Ok(()),
            result => result,
        }
    }

    /// Returns whether the log has `times` what a checkpoint is due for.
    fn exceeds(&self, times: u64) -> bool {
        let bytes = self.lock_log().used_bytes();
        let blocks = {
            let table = self.table();
            table.fresh.len() + table.old.len()
        };
        bytes >= times * self.sizes.checkpoint_bytes
            || blocks as u64 >= times * self.sizes.checkpoint_blocks as u64
    }

    pub(crate) fn table(&self) -> std::sync::RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn check_poison(&self) -> Result<(), Failure> {
        match self.poison.get() {
            Some(first) => Err(Failure::Poisoned { first: first.clone() }),
            None => Ok(()),
        }
    }

    /// Keeps everything from being written from now on, and returns `failure`.
    pub(crate) fn poison(&self, failure: Failure) -> Failure {
        if !matches!(failure, Failure::Poisoned { .. }) {
            self.poison.get_or_init(|| failure.to_string());
        }
        failure
    }

    pub(crate) fn poison_unless_full(&self, failure: Failure) -> Failure {
        if failure.is_full() { failure } else { self.poison(failure) }
    }

    pub(crate) fn check_range(&self, offset: u64, bytes: u64) -> Result<(), Failure> {
        let size = self.size_bytes();
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= size);
        if inside { Ok(()) } else { Err(Failure::PastEnd { offset, bytes, size }) }
    }

    /// Returns the blocks that hold a range, at least one.
    pub(crate) fn blocks_of(&self, offset: u64, bytes: u64) -> Range<u64> {
        let block_bytes = u64::from(self.block_bytes());
        offset / block_bytes..(offset + bytes).div_ceil(block_bytes)
    }
}

/// Keeps every other process from opening the volume until the returned value is dropped.
///
/// # Errors
/// [`Failure::NoVolume`], [`Failure::InUse`]; of the disk.
pub(crate) fn lock(disk: &dyn Disk) -> Result<Box<dyn std::any::Any + Send + Sync>, Failure> {
    disk.lock(names::HEADER).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::NoVolume { name: names::HEADER },
        std::io::ErrorKind::WouldBlock => Failure::InUse,
        _ => Failure::of("lock", names::HEADER)(error),
    })
}
