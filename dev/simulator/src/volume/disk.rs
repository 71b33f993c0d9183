//! The model of a disk under a volume. Files are sparse; every write is a change that is lost, torn
//! or kept at a power cut until its file is synced.
//!
//! A power cut has the effects that ext4 and XFS allow: of a file's unsynced writes, each unit of
//! 512 or 4,096 bytes has the state after some prefix of the writes to it, independently of its
//! neighbours; of changes of directories that were not synced, a prefix survives. A sync that fails
//! may have brought some of the writes to stable storage, and the next one reports nothing about
//! the others, which programs still read until the power goes.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_volume::{Disk, DiskFile};

use crate::random::Random;

/// Length of a page of the model, in bytes.
const PAGE: usize = 4096;

/// Pages, shared with copies of the disk until one of them writes.
type Pages = BTreeMap<u64, Arc<[u8; PAGE]>>;

/// One write that was not synced.
#[derive(Clone, Debug)]
struct Change {
    offset: u64,
    /// None for space that was given back.
    data: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
struct File {
    bytes: u64,
    now: Pages,
    stable: Pages,
    changes: Vec<Change>,
}

/// One change of names that was not synced.
#[derive(Clone, Debug)]
enum Entry {
    Add(String, u64),
    Remove(String),
    Rename(String, String),
}

/// Faults of the disk while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The power goes after this many operations.
    pub cut_after: Option<u64>,
    /// The sync with this number fails.
    pub failing_sync: Option<u64>,
    /// Pages that fit.
    pub pages: Option<usize>,
}

/// A bug in the use of the disk: see [`crate::volume::mutant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The log is only synced when the device is flushed, and not before blocks are put in place.
    PlaceBeforeLog,
    /// The log is synced before the places whose entries it has.
    EntriesBeforeData,
    /// A sync that failed is done once more, and believed.
    RetriedSync,
}

#[derive(Clone, Debug)]
struct State {
    files: BTreeMap<u64, File>,
    names: BTreeMap<String, u64>,
    stable_names: BTreeMap<String, u64>,
    entries: Vec<Entry>,
    next: u64,
    operations: u64,
    syncs: u64,
    pages: usize,
    faults: Faults,
    /// True once the power is off.
    is_off: bool,
    bug: Option<Bug>,
    /// True while the device is being flushed, and not for a checkpoint.
    is_flush: bool,
    /// Files whose sync a bug has put off.
    put_off: BTreeSet<u64>,
    hit: BTreeSet<&'static str>,
    /// Operations from one copy of the disk to the next.
    copied_every: Option<u64>,
    copies: Vec<SimulatedDisk>,
}

/// A disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct Open {
    disk: SimulatedDisk,
    number: u64,
    cached: bool,
}

fn off() -> io::Error {
    io::Error::other("the power is off")
}

impl SimulatedDisk {
    /// Returns an empty disk.
    #[must_use]
    pub fn new(bug: Option<Bug>) -> Self {
        Self(Arc::new(Mutex::new(State {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            stable_names: BTreeMap::new(),
            entries: Vec::new(),
            next: 1,
            operations: 0,
            syncs: 0,
            pages: 0,
            faults: Faults::default(),
            is_off: false,
            bug,
            is_flush: false,
            put_off: BTreeSet::new(),
            hit: BTreeSet::new(),
            copied_every: None,
            copies: Vec::new(),
        })))
    }

    /// Copies the disk from now on as it is before every operation whose number is a multiple of
    /// `every`.
    pub fn copy_every(&self, every: u64) {
        self.state(|state| (state.copied_every, state.operations) = (Some(every), 0));
    }

    /// Returns the copies that were made since the last call.
    #[must_use]
    pub fn take_copies(&self) -> Vec<Self> {
        self.state(|state| std::mem::take(&mut state.copies))
    }

    fn state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets what the disk does wrong from now on; operations and syncs count from here.
    pub fn set_faults(&self, faults: Faults) {
        self.state(|state| {
            (state.faults, state.operations, state.syncs) = (faults, 0, 0);
        });
    }

    /// Says that the device is being flushed, for [`Bug::PlaceBeforeLog`].
    pub fn set_flush(&self, is_flush: bool) {
        self.state(|state| state.is_flush = is_flush);
    }

    /// Returns whether the power is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.state(|state| state.is_off)
    }

    /// Returns the classes of faults that the disk has shown so far.
    #[must_use]
    pub fn hit(&self) -> BTreeSet<&'static str> {
        self.state(|state| state.hit.clone())
    }

    /// Returns the number of pages in use.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.state(|state| state.pages)
    }

    /// Returns the disk after the power came back.
    #[must_use]
    pub fn after_cut(&self, random: &mut Random) -> Self {
        let mut state = self.state(|state| state.clone());
        let unit = random.pick(&[512, 4096]);
        let style = random.below(4);
        for file in state.files.values_mut() {
            file.cut(unit, style, random, &mut state.hit);
        }
        let kept = random.below(state.entries.len() + 1);
        if kept < state.entries.len() {
            state.hit.insert("a change of names was lost");
        }
        let mut names = state.stable_names.clone();
        state.entries[..kept].iter().for_each(|entry| entry.apply(&mut names));
        let named: BTreeSet<u64> = names.values().copied().collect();
        state.files.retain(|number, _| named.contains(number));
        (state.stable_names, state.names) = (names.clone(), names);
        state.entries.clear();
        state.put_off.clear();
        state.pages = state.files.values().map(|file| file.now.len()).sum();
        state.is_off = false;
        state.faults = Faults::default();
        (state.copied_every, state.copies) = (None, Vec::new());
        Self(Arc::new(Mutex::new(state)))
    }
}

impl Entry {
    fn apply(&self, names: &mut BTreeMap<String, u64>) {
        match self {
            Self::Add(name, number) => {
                names.insert(name.clone(), *number);
            }
            Self::Remove(name) => {
                names.remove(name);
            }
            Self::Rename(from, to) => {
                if let Some(number) = names.remove(from) {
                    names.insert(to.clone(), number);
                }
            }
        }
    }
}

fn put(pages: &mut Pages, offset: u64, data: &[u8]) {
    let mut at = offset;
    let mut rest = data;
    while !rest.is_empty() {
        let within = (at % PAGE as u64) as usize;
        let (piece, later) = rest.split_at(rest.len().min(PAGE - within));
        let page = pages.entry(at / PAGE as u64).or_insert_with(|| Arc::new([0; PAGE]));
        Arc::make_mut(page)[within..within + piece.len()].copy_from_slice(piece);
        at += piece.len() as u64;
        rest = later;
    }
}

fn get(pages: &Pages, offset: u64, out: &mut [u8]) {
    let mut at = offset;
    let mut rest = out;
    while !rest.is_empty() {
        let within = (at % PAGE as u64) as usize;
        let (piece, later) = rest.split_at_mut(rest.len().min(PAGE - within));
        match pages.get(&(at / PAGE as u64)) {
            Some(page) => piece.copy_from_slice(&page[within..within + piece.len()]),
            None => piece.fill(0),
        }
        at += piece.len() as u64;
        rest = later;
    }
}

impl File {
    /// Loses what a power cut may lose.
    ///
    /// - `style`: 0 all that was not synced, 1 nothing, otherwise each unit for itself
    fn cut(
        &mut self,
        unit: u64,
        style: usize,
        random: &mut Random,
        hit: &mut BTreeSet<&'static str>,
    ) {
        let mut units: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, change) in self.changes.iter().enumerate() {
            let end = change.offset + change.data.len() as u64;
            for unit in change.offset / unit..end.div_ceil(unit) {
                units.entry(unit).or_default().push(index);
            }
        }
        let changes = std::mem::take(&mut self.changes);
        for (number, written) in units {
            let kept = match style {
                0 => 0,
                1 => written.len(),
                _ => random.below(written.len() + 1),
            };
            let class = match (kept, written.len()) {
                (0, _) => "a write was lost",
                (kept, all) if kept == all => "a write was kept",
                _ => "a unit kept an older write",
            };
            hit.insert(class);
            let within = number * unit..(number + 1) * unit;
            for index in &written[..kept] {
                let change = &changes[*index];
                let begin = change.offset.max(within.start);
                let end = (change.offset + change.data.len() as u64).min(within.end);
                let piece = (begin - change.offset) as usize..(end - change.offset) as usize;
                put(&mut self.stable, begin, &change.data[piece]);
            }
        }
        self.now.clone_from(&self.stable);
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.changes) {
            put(&mut self.stable, change.offset, &change.data);
        }
    }

    /// Brings each write to stable storage or not; no later sync will.
    fn fail_sync(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.changes) {
            if random.chance(50) {
                put(&mut self.stable, change.offset, &change.data);
            }
        }
    }
}

impl State {
    fn begin(&mut self) -> io::Result<()> {
        if self.is_off {
            return Err(off());
        }
        if self.copied_every.is_some_and(|every| self.operations.is_multiple_of(every)) {
            let copy = Self { copied_every: None, copies: Vec::new(), ..self.clone() };
            self.copies.push(SimulatedDisk(Arc::new(Mutex::new(copy))));
        }
        self.operations += 1;
        if self.faults.cut_after.is_some_and(|after| self.operations > after) {
            self.is_off = true;
            return Err(off());
        }
        Ok(())
    }

    fn sync(&mut self, number: u64) -> io::Result<()> {
        let name =
            self.names.iter().find(|(_, named)| **named == number).map(|(name, _)| &name[..]);
        let is_log = name.is_some_and(|name| name.starts_with("sealstone.log/"));
        let is_data = name == Some("sealstone.data");
        match self.bug {
            Some(Bug::PlaceBeforeLog) if is_log && !self.is_flush => {
                self.put_off.insert(number);
                return Ok(());
            }
            Some(Bug::PlaceBeforeLog) if is_log => {
                // what was put off comes with the next flush
                for late in std::mem::take(&mut self.put_off) {
                    self.sync_one(late)?;
                }
            }
            Some(Bug::EntriesBeforeData) if is_data => {
                self.put_off.insert(number);
                return Ok(());
            }
            Some(Bug::EntriesBeforeData) => {
                self.sync_one(number)?;
                for late in std::mem::take(&mut self.put_off) {
                    self.sync_one(late)?;
                }
                return Ok(());
            }
            Some(Bug::RetriedSync) => {
                return self.sync_one(number).or_else(|_| self.sync_one(number));
            }
            _ => {}
        }
        self.sync_one(number)
    }

    fn sync_one(&mut self, number: u64) -> io::Result<()> {
        self.begin()?;
        self.syncs += 1;
        let fails = self.faults.failing_sync == Some(self.syncs);
        let Some(file) = self.files.get_mut(&number) else { return Ok(()) };
        if fails {
            self.hit.insert("a sync failed");
            file.fail_sync(&mut Random::new(self.operations));
            return Err(io::Error::from_raw_os_error(5));
        }
        file.sync();
        Ok(())
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>> {
        let number = self.state(|state| {
            state.begin()?;
            state.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
        });
        number.map(|number| Arc::new(Open { disk: self.clone(), number, cached }) as _)
    }

    fn create(&self, name: &str, cached: bool) -> io::Result<Arc<dyn DiskFile>> {
        let number = self.state(|state| {
            state.begin()?;
            if state.names.contains_key(name) {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists));
            }
            let number = state.next;
            state.next += 1;
            state.files.insert(number, File::default());
            let entry = Entry::Add(name.to_owned(), number);
            entry.apply(&mut state.names);
            state.entries.push(entry);
            Ok(number)
        });
        number.map(|number| Arc::new(Open { disk: self.clone(), number, cached }) as _)
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.open(name, true).map(|file| Box::new(file) as _)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.state(|state| {
            state.begin()?;
            let entry = Entry::Remove(name.to_owned());
            entry.apply(&mut state.names);
            state.entries.push(entry);
            let named: BTreeSet<u64> = state.names.values().copied().collect();
            state.pages = state
                .files
                .iter()
                .filter(|(number, _)| named.contains(number))
                .map(|(_, file)| file.now.len())
                .sum();
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.state(|state| {
            state.begin()?;
            assert!(!state.names.contains_key(to), "{to} would be replaced");
            let entry = Entry::Rename(from.to_owned(), to.to_owned());
            entry.apply(&mut state.names);
            state.entries.push(entry);
            Ok(())
        })
    }

    fn list(&self, directory: &str) -> io::Result<Vec<String>> {
        self.state(|state| {
            state.begin()?;
            let names = state.names.keys().filter_map(|name| {
                let (within, last) = name.rsplit_once('/').unwrap_or(("", name));
                (within == directory).then(|| last.to_owned())
            });
            Ok(names.collect())
        })
    }

    fn make_directory(&self, _: &str) -> io::Result<()> {
        self.state(State::begin)
    }

    fn sync_directory(&self, _: &str) -> io::Result<()> {
        self.state(|state| {
            state.begin()?;
            for entry in std::mem::take(&mut state.entries) {
                entry.apply(&mut state.stable_names);
            }
            Ok(())
        })
    }
}

impl Open {
    fn file<T>(&self, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        self.disk.state(|state| {
            state.begin()?;
            work(state.files.get_mut(&self.number).expect("an open file is kept"))
        })
    }

    /// Direct I/O wants everything aligned.
    fn check(&self, offset: u64, data: &[u8]) {
        if !self.cached {
            let aligned = offset.is_multiple_of(4096)
                && data.len().is_multiple_of(4096)
                && (data.as_ptr() as usize).is_multiple_of(4096);
            assert!(aligned, "{} bytes at {offset} by direct I/O", data.len());
        }
    }
}

impl DiskFile for Open {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.check(offset, out);
        self.file(|file| {
            if offset + out.len() as u64 > file.bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            get(&file.now, offset, out);
            Ok(())
        })
    }

    fn write(&self, offset: u64, parts: &[&[u8]]) -> io::Result<()> {
        parts.iter().for_each(|part| self.check(offset, part));
        let data = parts.concat();
        self.disk.state(|state| {
            state.begin()?;
            let limit = state.faults.pages;
            let file = state.files.get_mut(&self.number).expect("an open file is kept");
            let end = offset + data.len() as u64;
            let pages = offset / PAGE as u64..end.div_ceil(PAGE as u64);
            let new = pages.filter(|page| !file.now.contains_key(page)).count();
            if limit.is_some_and(|limit| new > 0 && state.pages + new > limit) {
                state.hit.insert("the disk was full");
                return Err(io::ErrorKind::StorageFull.into());
            }
            state.pages += new;
            put(&mut file.now, offset, &data);
            file.bytes = file.bytes.max(end);
            file.changes.push(Change { offset, data });
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state(|state| state.sync(self.number))
    }

    fn bytes(&self) -> io::Result<u64> {
        self.file(|file| Ok(file.bytes))
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.file(|file| {
            file.bytes = bytes;
            Ok(())
        })
    }

    fn reserve(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.disk.state(|state| {
            state.begin()?;
            let limit = state.faults.pages;
            let file = state.files.get_mut(&self.number).expect("an open file is kept");
            let pages = offset / PAGE as u64..(offset + bytes).div_ceil(PAGE as u64);
            let new: Vec<u64> = pages.filter(|page| !file.now.contains_key(page)).collect();
            if limit.is_some_and(|limit| state.pages + new.len() > limit) {
                state.hit.insert("the disk was full");
                return Err(io::ErrorKind::StorageFull.into());
            }
            state.pages += new.len();
            for page in new {
                let zeros = Arc::new([0; PAGE]);
                file.now.insert(page, Arc::clone(&zeros));
                file.stable.insert(page, zeros);
            }
            Ok(())
        })
    }

    fn punch(&self, offset: u64, bytes: u64) -> io::Result<()> {
        // the space stays taken, since a power cut may bring back what was there
        self.file(|file| {
            let data = vec![0; bytes as usize];
            put(&mut file.now, offset, &data);
            file.changes.push(Change { offset, data });
            Ok(())
        })
    }
}
