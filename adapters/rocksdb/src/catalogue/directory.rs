//! One directory: its catalogue as it was read, and, for the environment that owns it, as it is being written. Not
//! here: which operation calls what (`catalogue`), how its files are compared with it (`survey`).

mod survey;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use sealstone_seal::catalogue::{Catalogue, CatalogueWriter, Change, Copy, Entry, FileId, LogDirectory, Slot, State};
use sealstone_seal::identity::{CATALOGUE_NAMES, Kind, STORE_ID_BYTES, rocksdb_name};
use sealstone_seal::{HEADER_BYTES, HeaderInfo, SealError, inspect};

use super::raw::{RawError, RawFiles, RawUpdate};
use super::refusal::{Refusal, refuse};
use super::sealer::{Changing, Reading};
use crate::anchor::{Anchor, Mark};

/// A catalogue is rewritten once its changes take this many bytes more than what it began with.
const GROWTH_BYTES: u64 = 1 << 20;

/// A directory that sealed files are in.
pub(super) struct Directory {
    path: String,
    /// None until it was looked for; `Some(None)` if there is no catalogue.
    loaded: Option<Option<Loaded>>,
    owned: bool,
    /// True if the user's anchor covers this directory: the directory whose lock file was taken.
    anchored: bool,
}

struct Loaded {
    catalogue: Catalogue,
    /// Number of changes that its generation has had.
    changes: u64,
    /// Synced length of each file, in stored bytes.
    synced: BTreeMap<FileId, u64>,
    writing: Option<Writing>,
    /// Files whose removal waits for the catalogue to be on stable storage.
    removals: BTreeSet<String>,
    /// Logs that were there when this process took the directory over and that have not been read since.
    found_logs: BTreeSet<String>,
}

/// The generation that this process writes.
struct Writing {
    writer: CatalogueWriter,
    copies: [Box<dyn RawUpdate>; 2],
    begun_bytes: u64,
    slots: BTreeMap<FileId, Slot>,
    /// True if the first copy has something that is not on stable storage.
    dirty: bool,
    /// Set when a write has failed: nothing after it would be read.
    broken: bool,
}

/// Reads the header of the file at `path`; None if there is no file.
pub(super) fn header(files: &dyn RawFiles, path: &str) -> Result<Option<Result<HeaderInfo, SealError>>, Refusal> {
    Ok(files.read(path, HEADER_BYTES)?.map(|start| inspect(&start)))
}

/// Returns whether a file of this name is only ever renamed, and so of no use after a crash.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.ends_with(".dbtmp") || name == "CURRENT.tmp"
}

fn live(file_id: FileId) -> Entry {
    Entry { file_id, adopted: false, slot: None, synced_bytes: 0, state: State::Live }
}

impl Directory {
    pub(super) fn new(path: String) -> Self {
        Self { path, loaded: None, owned: false, anchored: false }
    }

    /// From now on the anchor, if there is one, covers this directory.
    pub(super) fn anchor(&mut self) {
        self.anchored = true;
    }

    /// Tells whether this process writes it.
    pub(super) fn is_owned(&self) -> bool {
        self.owned
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.writing().is_some_and(|writing| writing.dirty) || self.known().is_some_and(|it| !it.removals.is_empty())
    }

    pub(super) fn hides(&self, name: &str) -> bool {
        self.known().is_some_and(|known| known.removals.contains(name))
    }

    fn known(&self) -> Option<&Loaded> {
        self.loaded.as_ref()?.as_ref()
    }

    fn known_mut(&mut self) -> Option<&mut Loaded> {
        self.loaded.as_mut()?.as_mut()
    }

    fn writing(&self) -> Option<&Writing> {
        self.known()?.writing.as_ref()
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    // ---- reading ----------------------------------------------------------------------------------------------------

    /// Reads the catalogue, unless that was done.
    pub(super) fn load(&mut self, with: Reading<'_>) -> Result<(), Refusal> {
        if self.loaded.is_none() {
            self.reload(with)?;
        }
        Ok(())
    }

    /// Reads the catalogue: the newer of its two copies, and what either says was synced.
    pub(super) fn reload(&mut self, with: Reading<'_>) -> Result<(), Refusal> {
        let mut best: Option<Copy> = None;
        let mut failed = None;
        let mut synced = BTreeMap::new();
        for name in CATALOGUE_NAMES {
            let path = self.file(name);
            let Some(stored) = with.files.read(&path, usize::MAX)? else { continue };
            match Copy::read(with.keys, with.backend, &stored) {
                Ok(copy) => {
                    for (file_id, bytes) in &copy.synced {
                        let most: &mut u64 = synced.entry(*file_id).or_default();
                        *most = (*bytes).max(*most);
                    }
                    if best.as_ref().is_none_or(|best| copy.age() > best.age()) {
                        best = Some(copy);
                    }
                }
                Err(error) => failed = failed.or(Some((path, error))),
            }
        }
        let best = match (best, failed) {
            (Some(best), _) => Some(best),
            (None, Some((path, error))) => return refuse(path, error),
            (None, None) => None,
        };
        self.loaded = Some(best.map(|best| Loaded {
            catalogue: best.catalogue,
            changes: best.changes,
            synced,
            writing: None,
            removals: BTreeSet::new(),
            found_logs: BTreeSet::new(),
        }));
        Ok(())
    }

    /// Checks that the file `info` is the file that `name` lists. Returns how much of it was
    /// synced.
    pub(super) fn check(
        &mut self,
        name: &str,
        info: &HeaderInfo,
        with: Reading<'_>,
    ) -> Result<Result<u64, SealError>, Refusal> {
        self.load(with)?;
        let checked = self.check_loaded(name, info);
        if checked.is_ok() || self.owned {
            return Ok(checked);
        }
        // the owner of the store may have made it since
        self.reload(with)?;
        Ok(self.check_loaded(name, info))
    }

    /// As [`Directory::check`], in the catalogue as it was read.
    fn check_loaded(&self, name: &str, info: &HeaderInfo) -> Result<u64, SealError> {
        let (kind, number) = rocksdb_name(name);
        let Some(known) = self.known() else {
            // files of no store need none, whatever they are called
            let free = info.identity.kind == Kind::Loose;
            return if free { Ok(0) } else { Err(SealError::NoCatalogue) };
        };
        let entry = known.catalogue.get(name).ok_or(SealError::NotListed)?;
        let (adopted, listed) = match entry.state {
            State::Live => (entry.adopted, info.file_id == entry.file_id),
            State::Arriving { before: Some(before) } if info.file_id == before => (true, true),
            State::Arriving { .. } => (true, info.file_id == entry.file_id),
            State::Removed | State::Leftover => return Err(SealError::NotListed),
        };
        if !listed {
            return Err(SealError::OtherFile);
        }
        let identity = info.identity;
        if !adopted && (identity.kind, identity.number, identity.store) != (kind, number, known.catalogue.store) {
            return Err(SealError::OtherFile);
        }
        Ok(known.synced.get(&info.file_id).copied().unwrap_or(0))
    }

    /// Returns whether the file at `name` is about to be removed, or was found after a crash.
    pub(super) fn is_leaving(&self, name: &str) -> bool {
        let state = self.known().and_then(|known| known.catalogue.get(name)).map(|entry| entry.state);
        matches!(state, Some(State::Removed | State::Leftover))
    }

    /// Tells whether `file_id` was at `name` and has been removed, or is about to be.
    pub(super) fn has_removed(&self, name: &str, file_id: &FileId) -> bool {
        let entry = self.known().and_then(|known| known.catalogue.get(name));
        entry.is_some_and(|entry| entry.state == State::Removed && entry.file_id == *file_id)
    }

    /// Returns how much of the file listed under `name` was synced.
    pub(super) fn synced(&self, name: &str) -> Option<u64> {
        let known = self.known()?;
        let entry =
            known.catalogue.get(name).filter(|entry| !matches!(entry.state, State::Removed | State::Leftover))?;
        Some(known.synced.get(&entry.file_id).copied().unwrap_or(0))
    }

    /// Id of the store, if there is a catalogue.
    pub(super) fn store_id(&self) -> Option<[u8; STORE_ID_BYTES]> {
        self.known().map(|known| known.catalogue.store)
    }

    /// The directory in which the logs are, if it is another one.
    pub(super) fn logs(&self) -> Option<&LogDirectory> {
        self.known()?.catalogue.logs()
    }

    // ---- owning -----------------------------------------------------------------------------------------------------

    /// Takes the directory over for writing: its files must be those that are listed, as far as a crash does not
    /// explain a difference, and a new generation begins.
    pub(super) fn own(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        if self.owned {
            return Ok(());
        }
        let anchor = with.sealer.anchor.as_ref().filter(|_| self.anchored);
        // first, so that it cannot remember what came after the catalogue was read
        let newest = anchor.map_or(Ok(None), |anchor| anchor.read()).map_err(|error| RawError(error.0))?;
        self.reload(with.reading())?;
        if let Some(anchor) = anchor {
            self.check_anchor(&**anchor, newest)?;
        }
        let survey = self.survey(with.reading())?;
        let mut wrong = survey.wrong;
        wrong.sort_by(|one, other| one.0.cmp(&other.0));
        if let Some((name, error)) = wrong.into_iter().next() {
            return refuse(self.file(&name), error);
        }
        if self.known().is_none() && !survey.changes.is_empty() {
            self.loaded = Some(Some(Loaded::new(&self.path)?));
        }
        self.owned = true;
        if self.known().is_some() {
            for change in survey.changes {
                self.known_mut().expect("just looked").catalogue.apply(change);
            }
            if let Some(lost) = survey.lost_from {
                let catalogue = &mut self.known_mut().expect("just looked").catalogue;
                catalogue.highest = catalogue.highest.min(lost.saturating_sub(1));
            }
            self.begin(with).inspect_err(|_| self.owned = false)?;
            if !survey.removals.is_empty() {
                for name in &survey.removals {
                    with.files.remove(&self.file(name))?;
                }
                with.files.sync_directory(&self.path)?;
                let gone: Vec<Change> = survey.removals.into_iter().map(|name| Change::Forget { name }).collect();
                self.append(gone, with)?;
            }
            let known = self.known_mut().expect("just looked");
            let is_log = |(name, entry): &(&str, &Entry)| {
                rocksdb_name(name).0 == Kind::Log && matches!(entry.state, State::Live | State::Arriving { .. })
            };
            known.found_logs = known.catalogue.entries().filter(is_log).map(|(name, _)| name.to_owned()).collect();
        }
        Ok(())
    }

    /// Returns the mark of how new the catalogue that was read is.
    pub(super) fn mark(&self) -> Option<Mark> {
        let Loaded { catalogue: Catalogue { store, generation, .. }, changes, .. } = self.known()?;
        Some(Mark { store: *store, generation: *generation, changes: *changes })
    }

    /// Compares the catalogue that was read with what `anchor` remembered before: `newest`.
    pub(super) fn check_anchor(&self, anchor: &dyn Anchor, newest: Option<Mark>) -> Result<(), Refusal> {
        let Some(newest) = newest else { return Ok(()) };
        let found = match self.mark() {
            Some(mark) if mark.store == newest.store && mark >= newest => return Ok(()),
            None => "the store has no catalogue".to_owned(),
            Some(mark) if mark.store != newest.store => "it is another store".to_owned(),
            Some(mark) => format!("the store is at {}", mark.age()),
        };
        let error = SealError::Older { anchor: anchor.describe(), newest: newest.age(), found };
        refuse(self.file(CATALOGUE_NAMES[0]), error)
    }

    /// Tells the anchor how new the store is, now that this is on stable storage.
    fn advance_anchor(&self, with: Changing<'_>) -> Result<(), Refusal> {
        let Some(anchor) = with.sealer.anchor.as_ref().filter(|_| self.anchored) else { return Ok(()) };
        let Some(mark) = self.mark() else { return Ok(()) };
        Ok(anchor.write(&mark).map_err(|error| RawError(error.0))?)
    }

    /// The id of the store; begins a catalogue if there is none.
    pub(super) fn store(&mut self, with: Changing<'_>) -> Result<[u8; STORE_ID_BYTES], Refusal> {
        if self.known().is_none() {
            self.loaded = Some(Some(Loaded::new(&self.path)?));
            self.begin(with)?;
        }
        Ok(self.known().expect("there is one by now").catalogue.store)
    }

    /// Writes the next generation of the catalogue, both copies, on stable storage. One copy is whole at any time.
    fn begin(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        let Changing { sealer, files } = with;
        let paths = CATALOGUE_NAMES.map(|name| self.file(name));
        let directory = self.path.clone();
        let known = self.known_mut().expect("only a directory with a catalogue is written");
        if known.writing.is_some() {
            // files that were removed are gone for good from here on, unless removing one failed
            files.sync_directory(&directory)?;
            let there: BTreeSet<String> = files.names(&directory)?.unwrap_or_default().into_iter().collect();
            let Loaded { catalogue, .. } = known;
            let gone: Vec<String> = catalogue
                .entries()
                .filter(|(name, entry)| entry.state == State::Removed && !there.contains(*name))
                .map(|(name, _)| name.to_owned())
                .collect();
            gone.into_iter().for_each(|name| catalogue.apply(Change::Forget { name }));
        }
        known.writing = None;
        known.catalogue.generation += 1;
        let slots: Vec<(u16, FileId, u64)> = known
            .catalogue
            .entries()
            .filter_map(|(_, entry)| Some((entry.slot?, entry.file_id, known.synced.get(&entry.file_id).copied()?)))
            .filter(|(_, _, synced)| *synced > 0)
            .collect();
        let mut stored = Vec::new();
        let cipher = *sealer.cipher.read().unwrap_or_else(PoisonError::into_inner);
        let writer =
            CatalogueWriter::begin(&known.catalogue, &slots, &*sealer.keys, cipher, sealer.backend, &mut stored)
                .or_else(|error| refuse(&paths[0], error))?;
        for path in &paths {
            let new = format!("{path}.new");
            files.create(&new, &stored)?;
            files.rename(&new, path)?;
            files.sync_directory(&directory)?;
        }
        let copies = [files.update(&paths[0])?, files.update(&paths[1])?];
        let begun_bytes = writer.stored_bytes();
        known.changes = 0;
        known.writing =
            Some(Writing { writer, copies, begun_bytes, slots: BTreeMap::new(), dirty: false, broken: false });
        self.advance_anchor(with)
    }

    /// Makes `changes`, in both copies; not yet on stable storage.
    fn append(&mut self, changes: Vec<Change>, with: Changing<'_>) -> Result<(), Refusal> {
        let full = self
            .writing()
            .is_none_or(|writing| writing.broken || writing.writer.stored_bytes() - writing.begun_bytes > GROWTH_BYTES);
        let path = self.file(CATALOGUE_NAMES[0]);
        if full {
            let before = self.known().expect("a catalogue to change").catalogue.clone();
            for change in changes {
                self.known_mut().expect("just looked").catalogue.apply(change);
            }
            return self.begin(with).inspect_err(|_| {
                if let Some(known) = self.known_mut() {
                    known.catalogue = before;
                }
            });
        }
        let known = self.known_mut().expect("a catalogue to change");
        let writing = known.writing.as_mut().expect("just looked");
        let at = writing.writer.stored_bytes();
        let mut stored = Vec::new();
        // until all of it is written, nothing that follows would be read
        writing.broken = true;
        writing.writer.append(&changes, &mut stored).or_else(|error| refuse(path, error))?;
        for copy in &mut writing.copies {
            copy.write(at, &stored)?;
        }
        writing.broken = false;
        writing.dirty = true;
        known.changes = writing.writer.changes();
        changes.into_iter().for_each(|change| known.catalogue.apply(change));
        Ok(())
    }

    /// Puts every change on stable storage, and then removes the files whose removal waits for that.
    pub(super) fn make_durable(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        let directory = self.path.clone();
        let Some(known) = self.known_mut() else { return Ok(()) };
        if let Some(writing) = known.writing.as_mut().filter(|writing| writing.dirty) {
            // one copy on stable storage is enough to survive a crash; the other one is against attackers, who see what
            // is written
            writing.copies[0].sync()?;
            writing.dirty = false;
            self.advance_anchor(with)?;
        }
        let Some(known) = self.known_mut() else { return Ok(()) };
        for name in std::mem::take(&mut known.removals) {
            with.files.remove(&format!("{directory}/{name}"))?;
        }
        Ok(())
    }

    /// Begins another generation, if there is a catalogue that this process writes.
    pub(super) fn renew(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        if self.writing().is_some() { self.begin(with) } else { Ok(()) }
    }

    /// Puts everything on stable storage, before others may use the directory.
    pub(super) fn finish(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        self.make_durable(with)?;
        if let Some(writing) = self.known_mut().and_then(|known| known.writing.as_mut()) {
            writing.copies[1].sync()?;
        }
        Ok(())
    }

    // ---- changes ----------------------------------------------------------------------------------------------------

    fn slot_for(&self, name: &str) -> Option<u16> {
        let grows = matches!(rocksdb_name(name).0, Kind::Log | Kind::Manifest);
        self.known().filter(|_| grows).and_then(|known| known.catalogue.free_slot())
    }

    /// Lists the file `info`, which is about to be made as `name`.
    pub(super) fn create(&mut self, name: &str, info: &HeaderInfo, with: Changing<'_>) -> Result<(), Refusal> {
        self.clear(name, with)?;
        let entry = Entry { slot: self.slot_for(name), ..live(info.file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }], with)?;
        // A log that only a crash kept out of the catalogue would look like one that was added, and what survived of it
        // would have to be left out. One sync per log is little compared with what is written to it.
        if info.identity.kind == Kind::Log { self.make_durable(with) } else { Ok(()) }
    }

    /// Notes in which directory the logs are from now on, on stable storage.
    pub(super) fn set_logs(&mut self, logs: Option<LogDirectory>, with: Changing<'_>) -> Result<(), Refusal> {
        if self.logs() == logs.as_ref() {
            return Ok(());
        }
        self.store(with)?;
        self.append(vec![Change::Logs(logs)], with)?;
        self.make_durable(with)
    }

    /// Lists a file from elsewhere, which is about to be linked to as `name`.
    pub(super) fn adopt(
        &mut self,
        name: &str,
        file_id: FileId,
        synced: u64,
        with: Changing<'_>,
    ) -> Result<(), Refusal> {
        self.store(with)?;
        let entry = Entry { adopted: true, synced_bytes: synced, ..live(file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }], with)?;
        self.known_mut().expect("just written").synced.insert(file_id, synced);
        self.make_durable(with)
    }

    /// Lists a file that is about to get the name `name` by a rename, alongside the one that has it.
    pub(super) fn arrive(
        &mut self,
        name: &str,
        file_id: FileId,
        synced: u64,
        with: Changing<'_>,
    ) -> Result<(), Refusal> {
        self.store(with)?;
        let known = self.known().expect("there is one by now");
        let before = match known.catalogue.get(name) {
            Some(Entry { state: State::Live | State::Arriving { .. }, file_id, .. }) => Some(*file_id),
            Some(_) => {
                self.clear(name, with)?;
                None
            }
            None => None,
        };
        let state = State::Arriving { before };
        let entry = Entry { adopted: true, synced_bytes: synced, state, ..live(file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }], with)?;
        self.known_mut().expect("just written").synced.insert(file_id, synced);
        Ok(())
    }

    /// After a rename to `name`: it is done, in which case the directory is synced, or it failed.
    pub(super) fn settle(&mut self, name: &str, done: bool, with: Changing<'_>) -> Result<(), Refusal> {
        let found = self.known().and_then(|known| known.catalogue.get(name)).copied();
        let Some(Entry { state: State::Arriving { before }, .. }) = found else { return Ok(()) };
        let entry = found.expect("just matched");
        if done {
            with.files.sync_directory(&self.path)?;
        }
        let change = match (done, before) {
            (true, _) => Change::Put { name: name.to_owned(), entry: Entry { state: State::Live, ..entry } },
            (false, Some(before)) => {
                Change::Put { name: name.to_owned(), entry: Entry { adopted: true, ..live(before) } }
            }
            (false, None) => Change::Forget { name: name.to_owned() },
        };
        self.append(vec![change], with)
    }

    /// Notes that `name` may be gone from now on.
    pub(super) fn note_removed(&mut self, name: &str, with: Changing<'_>) -> Result<(), Refusal> {
        let Some(entry) = self.known().and_then(|known| known.catalogue.get(name)).copied() else { return Ok(()) };
        let entry = Entry { state: State::Removed, ..entry };
        self.append(vec![Change::Put { name: name.to_owned(), entry }], with)
    }

    /// Takes that back: the file stayed where it is.
    pub(super) fn restore(&mut self, name: &str, with: Changing<'_>) -> Result<(), Refusal> {
        let Some(entry) = self.known().and_then(|known| known.catalogue.get(name)).copied() else { return Ok(()) };
        let entry = Entry { state: State::Live, ..entry };
        self.append(vec![Change::Put { name: name.to_owned(), entry }], with)
    }

    /// Before `name` is removed; `wait`: the store is open, and what must not go before the catalogue says so may wait,
    /// unless it is a log, which may be as long as a memory table. Returns whether the caller is to remove it now.
    pub(super) fn remove(&mut self, name: &str, kind: Kind, wait: bool, with: Changing<'_>) -> Result<bool, Refusal> {
        if self.known().is_none_or(|known| known.catalogue.get(name).is_none()) {
            return Ok(true);
        }
        self.note_removed(name, with)?;
        if matches!(kind, Kind::Table | Kind::Blob) || is_temporary(name) {
            return Ok(true);
        }
        if wait && kind != Kind::Log {
            self.known_mut().expect("just looked").removals.insert(name.to_owned());
            return Ok(false);
        }
        self.make_durable(with)?;
        Ok(true)
    }

    /// Makes sure that nothing is left at `name`, for good, so that a new file there is the only one.
    fn clear(&mut self, name: &str, with: Changing<'_>) -> Result<(), Refusal> {
        let path = self.file(name);
        let listed = self.known().is_some_and(|known| known.catalogue.get(name).is_some());
        if !listed {
            return Ok(with.files.remove(&path)?);
        }
        self.note_removed(name, with)?;
        self.make_durable(with)?;
        with.files.remove(&path)?;
        Ok(with.files.sync_directory(&self.path)?)
    }

    /// The log `name` was read up to `whole_bytes`, and the opened store continues from what it holds. The first time,
    /// and if the log was there before, all of that is put on stable storage and is promised from now on.
    pub(super) fn recovered(
        &mut self,
        name: &str,
        file_id: &FileId,
        whole_bytes: u64,
        with: Changing<'_>,
    ) -> Result<(), Refusal> {
        let path = self.file(name);
        let Some(known) = self.known_mut() else { return Ok(()) };
        let is_synced = known.synced.get(file_id).is_some_and(|synced| *synced >= whole_bytes);
        if !known.found_logs.remove(name) || is_synced {
            return Ok(());
        }
        with.files.update(&path)?.sync()?;
        self.record_synced(file_id, whole_bytes, with)
    }

    /// Records that the first `synced_bytes` of a file are on stable storage. Lengths only grow.
    pub(super) fn record_synced(
        &mut self,
        file_id: &FileId,
        synced_bytes: u64,
        with: Changing<'_>,
    ) -> Result<(), Refusal> {
        let path = self.file(CATALOGUE_NAMES[0]);
        let Some(known) = self.known_mut() else { return Ok(()) };
        let Loaded { catalogue, writing, synced, .. } = known;
        let recorded = synced.entry(*file_id).or_default();
        let is_longer = *recorded < synced_bytes;
        *recorded = synced_bytes.max(*recorded);
        let Some(writing) = writing.as_mut().filter(|writing| !writing.broken) else {
            // the next generation takes it over from here
            return self.begin(with);
        };
        if !is_longer {
            return Ok(());
        }
        if !writing.slots.contains_key(file_id) {
            let found = catalogue.entries().find(|(_, entry)| entry.file_id == *file_id);
            match found.map(|(name, entry)| (name.to_owned(), *entry)) {
                Some((_, Entry { slot: Some(slot), .. })) => {
                    let slot = writing.writer.slot(slot, file_id).or_else(|error| refuse(&path, error))?;
                    writing.slots.insert(*file_id, slot);
                }
                Some((name, entry)) => {
                    return self.append(vec![Change::Put { name, entry: Entry { synced_bytes, ..entry } }], with);
                }
                None => return Ok(()),
            }
        }
        let slot = writing.slots.get_mut(file_id).expect("just made");
        let record = slot.record(synced_bytes).or_else(|error| refuse(&path, error))?;
        if writing.copies.iter_mut().try_for_each(|copy| copy.write(record.offset, &record.bytes)).is_ok() {
            return Ok(());
        }
        // a catalogue that cannot be written in place may be written elsewhere
        writing.broken = true;
        self.begin(with)
    }
}

impl Loaded {
    fn new(directory: &str) -> Result<Self, Refusal> {
        let catalogue = Catalogue::new().or_else(|error| refuse(directory, error))?;
        Ok(Self {
            catalogue,
            changes: 0,
            synced: BTreeMap::new(),
            writing: None,
            removals: BTreeSet::new(),
            found_logs: BTreeSet::new(),
        })
    }
}
