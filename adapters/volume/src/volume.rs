//! A sealed volume that is open: reads, writes, flushes and discards. What it promises is in
//! `docs/guide/volumes.md`, and after each line of it the test.
//!
//! A write seals its blocks and appends one frame to the log; blocks that were never written, where
//! many follow each other, go to their places at once, and only their entries to the log. A flush
//! syncs the places first and the log afterwards. [`Volume::checkpoint`] puts in place what is in
//! the log.
//!
//! Not here: what the log says after a crash (`recovery`), and who asks (`front`).

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use sealstone_anchor::Anchor;
use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::KeySource;
use sealstone_seal::volume::frame::{Data, RECORDS_MAX, Record};
use sealstone_seal::volume::{
    BlockPlace, Entry, Epoch, Level, PAGE_BYTES, Places, Root, Run, VolumeKeys,
};
use sealstone_seal::{FileKind, HEADER_BYTES, Identity, Layout, SealedFile};

use crate::aligned::Aligned;
use crate::anchored::Anchored;
use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::found::Found;
use crate::in_flight::InFlight;
use crate::index::{Index, Pending, Source};
use crate::log::{self, Log};
use crate::marks::{HEADER_FILE_BYTES, Marks};
use crate::names;
use crate::pages::Pages;
use crate::recovery::Recovered;
use crate::roots::Roots;
use crate::segment::Segment;
use crate::sizes::Sizes;

/// The newest root, and the changes of the log beyond it.
pub(crate) struct Table {
    pub(crate) root: Arc<Root>,
    /// Newer than the root, and being put in place.
    pub(crate) old: Arc<Index>,
    /// Newer than these.
    pub(crate) fresh: Index,
}

impl Table {
    fn pending(&self, block: u64) -> Option<&Pending> {
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
    sizes: Sizes,
    pub(crate) marks: Marks,
    pub(crate) roots: Roots,
    pub(crate) anchored: Anchored,
    pub(crate) pages: Pages,
    log: Mutex<Log>,
    pub(crate) table: RwLock<Table>,
    in_flight: InFlight,
    flushing: Mutex<Flushing>,
    flushed: Condvar,
    /// True if something was written in place since the places were synced.
    unsynced_places: AtomicBool,
    pub(crate) checkpointing: Mutex<()>,
    poison: OnceLock<String>,
    _lock: Box<dyn std::any::Any + Send + Sync>,
}

/// State of a block.
#[derive(Clone, Debug)]
struct Located {
    state: Pending,
    /// True if the log has it.
    pending: bool,
}

impl Located {
    fn is_same(&self, other: &Self) -> bool {
        self.pending == other.pending && self.state.is_same(&other.state)
    }

    /// Returns whether nothing was ever written to its place, as far as any root will say after a
    /// crash.
    fn is_untouched(&self) -> bool {
        !self.pending && self.state.entry.is_hole()
    }
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
        let places = Places::of(block_bytes)?;
        let blocks = places.blocks(bytes)?;
        let identity = Identity { kind: FileKind::Volume, ..Identity::LOOSE };
        let layout = Layout::Volume { block_bytes };
        let (file, header) =
            SealedFile::create_as(&identity, keys, cipher, Backend::auto(), layout)?;
        let make = |name: &str| disk.create(name, true).map_err(Failure::of("make", name));
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
        disk.make_directory(names::LOG).map_err(Failure::of("make", names::LOG))?;
        let stored = make(names::HEADER_NEW)?;
        let rest = [0; HEADER_FILE_BYTES as usize - HEADER_BYTES];
        stored.write(0, &[&header, &rest]).map_err(Failure::of("write", names::HEADER_NEW))?;
        Marks::new(stored, roots.files).begin(&epoch, 0)?;
        // the header last: without it there is no volume
        disk.rename(names::HEADER_NEW, names::HEADER)
            .map_err(Failure::of("rename", names::HEADER_NEW))?;
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

    // ---- reading

    /// Reads the bytes at `offset` into all of `out`.
    ///
    /// # Errors
    /// [`Failure::PastEnd`]; [`Failure::Seal`] for what was changed on the disk; of the disk. `out`
    /// is zeros then.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Failure> {
        self.check_range(offset, out.len() as u64)?;
        let block_bytes = u64::from(self.block_bytes());
        let blocks = self.blocks_of(offset, out.len() as u64);
        let whole = (blocks.end - blocks.start) * block_bytes;
        let result = if whole == out.len() as u64 {
            self.read_blocks(blocks, out)
        } else {
            let mut wider = vec![0; whole as usize];
            let skip = (offset - blocks.start * block_bytes) as usize;
            self.read_blocks(blocks, &mut wider)
                .map(|()| out.copy_from_slice(&wider[skip..skip + out.len()]))
        };
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    fn read_blocks(&self, blocks: Range<u64>, out: &mut [u8]) -> Result<(), Failure> {
        let mut located = self.locate(blocks.clone())?;
        loop {
            let failure = match self.fetch(blocks.start, &located, out) {
                Err(Failure::Seal(error)) => Failure::Seal(error),
                result => return result,
            };
            // a checkpoint may have moved them meanwhile, and something else may be there now
            let again = self.locate(blocks.clone())?;
            if located.iter().zip(&again).all(|(one, other)| one.is_same(other)) {
                return Err(failure);
            }
            located = again;
        }
    }

    /// Returns the states of `blocks`.
    fn locate(&self, blocks: Range<u64>) -> Result<Vec<Located>, Failure> {
        loop {
            let (root, pending) = {
                let table = self.table();
                let pending: Vec<Option<Pending>> =
                    blocks.clone().map(|block| table.pending(block).cloned()).collect();
                (Arc::clone(&table.root), pending)
            };
            match self.locate_at(&root, blocks.start, pending) {
                // its pages may be those of a later root by now
                Err(Failure::Seal(_)) if !Arc::ptr_eq(&root, &self.table().root) => {}
                result => return result,
            }
        }
    }

    fn locate_at(
        &self,
        root: &Root,
        first: u64,
        pending: Vec<Option<Pending>>,
    ) -> Result<Vec<Located>, Failure> {
        let mut page = None;
        let mut located = Vec::with_capacity(pending.len());
        for (block, pending) in (first..).zip(pending) {
            if let Some(state) = pending {
                located.push(Located { state, pending: true });
                continue;
            }
            let (number, index) = self.places.tag_page(block);
            let tags = match &page {
                Some((kept, tags)) if *kept == number => tags,
                _ => {
                    let tags = self.pages.tags(self.epoch.keys(), root, number)?;
                    &page.insert((number, tags)).1
                }
            };
            let entry = tags.get(index);
            let source = if entry.is_hole() { Source::Hole } else { Source::InPlace };
            located.push(Located { state: Pending { entry, source }, pending: false });
        }
        Ok(located)
    }

    /// Reads and opens blocks that follow each other from `first` on, wherever they are.
    fn fetch(&self, first: u64, located: &[Located], out: &mut [u8]) -> Result<(), Failure> {
        let block_bytes = self.block_bytes() as usize;
        let mut begin = 0;
        while begin < located.len() {
            let count = self.together(first + begin as u64, &located[begin..]);
            let run = &located[begin..begin + count];
            let out = &mut out[begin * block_bytes..(begin + count) * block_bytes];
            let block = first + begin as u64;
            let mut sealed = Aligned::new(out.len());
            match &run[0].state.source {
                Source::Hole => {
                    out.fill(0);
                    begin += count;
                    continue;
                }
                Source::InPlace => self
                    .data
                    .read(self.places.block(block), &mut sealed)
                    .map_err(Failure::of("read", names::DATA))?,
                Source::Logged { segment, offset } => segment
                    .file
                    .read(*offset, &mut sealed)
                    .map_err(Failure::of("read", &segment.name))?,
            }
            let blocks: Vec<BlockPlace> = (block..)
                .zip(run)
                .map(|(number, located)| BlockPlace { number, entry: located.state.entry })
                .collect();
            self.epoch.keys().open_blocks(&blocks, &sealed, out)?;
            begin += count;
        }
        Ok(())
    }

    /// Returns how many of `located`, from the block `first` on, lie side by side.
    fn together(&self, first: u64, located: &[Located]) -> usize {
        let block_bytes = u64::from(self.block_bytes());
        let follows = |index: usize| match (&located[0].state.source, &located[index].state.source)
        {
            (Source::Hole, Source::Hole) => true,
            (Source::InPlace, Source::InPlace) => {
                self.places.together(first, index as u64 + 1) > index as u64
            }
            (
                Source::Logged { segment, offset },
                Source::Logged { segment: other, offset: next },
            ) => Arc::ptr_eq(segment, other) && *next == offset + index as u64 * block_bytes,
            _ => false,
        };
        (1..located.len()).find(|index| !follows(*index)).unwrap_or(located.len())
    }

    // ---- writing

    /// Writes `data` at `offset`. It is durable after the next [`Volume::flush`]; after a crash
    /// before that every piece of [`Sizes::request_bytes`] is wholly there or not at all.
    ///
    /// # Errors
    /// [`Failure::PastEnd`]; that the disk is full; [`Failure::Poisoned`]; of the disk. The blocks
    /// of the piece that failed read as before.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), Failure> {
        self.check_range(offset, data.len() as u64)?;
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(rest.len().min(self.sizes.request_bytes as usize));
            self.write_piece(at, piece)?;
            at += piece.len() as u64;
            rest = later;
        }
        Ok(())
    }

    fn write_piece(&self, offset: u64, data: &[u8]) -> Result<(), Failure> {
        self.make_room()?;
        let block_bytes = u64::from(self.block_bytes());
        let blocks = self.blocks_of(offset, data.len() as u64);
        let _entered = self.in_flight.enter(blocks.clone());
        let mut sealed = Aligned::new(((blocks.end - blocks.start) * block_bytes) as usize);
        let skip = (offset - blocks.start * block_bytes) as usize;
        if sealed.len() != data.len() {
            // a block of which only a part is written is read first
            let (first, last) = (blocks.start, blocks.end - 1);
            let one = block_bytes as usize;
            self.read_blocks(first..first + 1, &mut sealed[..one])?;
            if last > first {
                let at = sealed.len() - one;
                self.read_blocks(last..last + 1, &mut sealed[at..])?;
            }
        }
        sealed[skip..skip + data.len()].copy_from_slice(data);
        self.write_blocks(blocks, sealed)
    }

    /// Writes whole blocks, which nobody else writes meanwhile.
    fn write_blocks(&self, blocks: Range<u64>, mut sealed: Aligned) -> Result<(), Failure> {
        let located = self.locate(blocks.clone())?;
        let numbers: Vec<u64> = blocks.clone().collect();
        let entries = self.epoch.seal_blocks(&numbers, &mut sealed)?;
        let at_once = self.at_once(&located);
        let block_bytes = self.block_bytes() as usize;
        let records: Vec<Record> = numbers
            .iter()
            .zip(&entries)
            .zip(&at_once)
            .map(|((block, entry), at_once)| {
                let data = if *at_once { Data::InPlace } else { Data::Logged };
                Record { block: *block, entry: *entry, data }
            })
            .collect();
        let is_any_at_once = at_once.contains(&true);
        if is_any_at_once {
            self.place_at_once(blocks.start, &at_once, &sealed)?;
        }
        self.reserve(blocks.start, &located, &at_once)?;
        let logged: Vec<u8>;
        let logged = if is_any_at_once {
            let kept = sealed.chunks_exact(block_bytes).zip(&at_once);
            logged = kept
                .filter(|(_, at_once)| !**at_once)
                .flat_map(|(data, _)| data)
                .copied()
                .collect();
            &logged[..]
        } else {
            &sealed[..]
        };
        match self.append(&records, logged) {
            // there is room where the log is, once that is in place
            Err(failure) if failure.is_full() => {
                self.checkpoint()?;
                self.append(&records, logged)
            }
            result => result,
        }
    }

    /// Appends a frame, and makes its blocks visible.
    fn append(&self, records: &[Record], data: &[u8]) -> Result<(), Failure> {
        let mut log = self.lock_log();
        self.check_poison()?;
        let block_bytes = self.block_bytes().into();
        let states = log.append(&*self.disk, &self.epoch, records, data, block_bytes);
        let states = states.map_err(|failure| self.poison_unless_full(failure))?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.fresh.extend(states);
        Ok(())
    }

    /// Returns which blocks go to their places at once: untouched ones, where enough are side by
    /// side.
    fn at_once(&self, located: &[Located]) -> Vec<bool> {
        let block_bytes = u64::from(self.block_bytes());
        let mut at_once = vec![false; located.len()];
        let mut begin = 0;
        while begin < located.len() {
            let untouched =
                located[begin..].iter().take_while(|block| block.is_untouched()).count();
            if untouched as u64 * block_bytes >= self.sizes.at_once_bytes {
                at_once[begin..begin + untouched].fill(true);
            }
            begin += untouched.max(1);
        }
        at_once
    }

    /// Writes the blocks that go to their places at once, unsynced.
    fn place_at_once(&self, first: u64, at_once: &[bool], sealed: &[u8]) -> Result<(), Failure> {
        let block_bytes = self.block_bytes() as usize;
        let mut begin = 0;
        while begin < at_once.len() {
            let count = at_once[begin..].iter().take_while(|at_once| **at_once).count();
            let block = first + begin as u64;
            let count = self.places.together(block, count as u64) as usize;
            if count > 0 {
                let piece = &sealed[begin * block_bytes..(begin + count) * block_bytes];
                self.data
                    .write(self.places.block(block), &[piece])
                    .map_err(Failure::of("write", names::DATA))?;
                // before their frame is in the log: whoever sees that one syncs these first
                self.unsynced_places.store(true, Ordering::Release);
            }
            begin += count.max(1);
        }
        Ok(())
    }

    /// Reserves the places of blocks that will be needed at the next checkpoint, so that a full
    /// disk is an error now and not then.
    fn reserve(&self, first: u64, located: &[Located], at_once: &[bool]) -> Result<(), Failure> {
        let block_bytes = u64::from(self.block_bytes());
        let mut begin = 0;
        while begin < located.len() {
            let block = first + begin as u64;
            let run = located[begin..].iter().zip(&at_once[begin..]);
            let wanted =
                run.take_while(|(block, at_once)| block.state.entry.is_hole() && !**at_once);
            let count = self.places.together(block, wanted.count() as u64);
            if count > 0 {
                self.reserve_at(self.places.block(block), count * block_bytes)?;
                let page = self.places.tag_page(block).0;
                let root = Arc::clone(&self.table().root);
                let leaf = self.places.leaf_page(page).0;
                if root.leaves[leaf as usize].is_hole() {
                    self.reserve_at(self.places.pair(Level::Leaf, leaf), 2 * PAGE_BYTES as u64)?;
                }
                if self.pages.tags(self.epoch.keys(), &root, page)?.own().is_hole() {
                    self.reserve_at(self.places.pair(Level::Tags, page), 2 * PAGE_BYTES as u64)?;
                }
            }
            begin += count.max(1) as usize;
        }
        Ok(())
    }

    fn reserve_at(&self, at: u64, bytes: u64) -> Result<(), Failure> {
        self.data.reserve(at, bytes).map_err(Failure::of("reserve space in", names::DATA))
    }

    // ---- discarding

    /// Makes `bytes` at `offset` zeros, and returns the space of whole blocks at the next
    /// checkpoint.
    ///
    /// # Errors
    /// As [`Volume::write`]; part of the range may be zeros then.
    pub fn discard(&self, offset: u64, bytes: u64) -> Result<(), Failure> {
        self.check_range(offset, bytes)?;
        let block_bytes = u64::from(self.block_bytes());
        let end = offset + bytes;
        let whole = offset.div_ceil(block_bytes)..end / block_bytes;
        if whole.start >= whole.end {
            return self.write(offset, &vec![0; bytes as usize]);
        }
        self.write(offset, &vec![0; (whole.start * block_bytes - offset) as usize])?;
        self.write(whole.end * block_bytes, &vec![0; (end - whole.end * block_bytes) as usize])?;
        let mut block = whole.start;
        while block < whole.end {
            let next = self.after_holes(block)?;
            if next > block {
                block = next;
                continue;
            }
            let count = (whole.end - block).min(RECORDS_MAX as u64);
            self.discard_blocks(block..block + count)?;
            block += count;
        }
        Ok(())
    }

    /// Returns the first block after the stretch of holes at `block`, as far as a look at few pages
    /// tells; `block` if it may be none.
    fn after_holes(&self, block: u64) -> Result<u64, Failure> {
        loop {
            let root = Arc::clone(&self.table().root);
            let next = match self.pages.after_holes(self.epoch.keys(), &root, block) {
                Err(Failure::Seal(_)) if !Arc::ptr_eq(&root, &self.table().root) => continue,
                result => result?,
            };
            let table = self.table();
            if !Arc::ptr_eq(&root, &table.root) {
                continue;
            }
            let first =
                |index: &Index| index.range(block..next.max(block)).next().map(|one| *one.0);
            let pending = [first(&table.fresh), first(&table.old)].into_iter().flatten().min();
            return Ok(pending.unwrap_or(next));
        }
    }

    fn discard_blocks(&self, blocks: Range<u64>) -> Result<(), Failure> {
        self.make_room()?;
        let _entered = self.in_flight.enter(blocks.clone());
        let located = self.locate(blocks.clone())?;
        let records: Vec<Record> = blocks
            .zip(&located)
            .filter(|(_, located)| !located.state.entry.is_hole())
            .map(|(block, _)| Record { block, entry: Entry::HOLE, data: Data::Hole })
            .collect();
        if records.is_empty() { Ok(()) } else { self.append(&records, &[]) }
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
    fn make_room(&self) -> Result<(), Failure> {
        self.check_poison()?;
        if !self.exceeds(2) {
            return Ok(());
        }
        match self.checkpoint() {
            // there is room now; the anchor is tried again, and whoever runs the volume is told
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

    fn check_range(&self, offset: u64, bytes: u64) -> Result<(), Failure> {
        let size = self.size_bytes();
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= size);
        if inside { Ok(()) } else { Err(Failure::PastEnd { offset, bytes, size }) }
    }

    /// Returns the blocks that hold a range, at least one.
    fn blocks_of(&self, offset: u64, bytes: u64) -> Range<u64> {
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
