//! The catalogue of a directory that this process owns, as it is being written: its generations,
//! its copies, and the changes for each change of a file. Not here: taking a directory over
//! (`directory`), the operations (`catalogue`).

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::mem;
use std::sync::PoisonError;

use sealstone_seal::catalogue::{
    CatalogueWriter, Change, Entry, FileId, LogDirectory, Slot, State,
};
use sealstone_seal::{CATALOGUE_NAMES, FileKind, HeaderInfo, STORE_ID_BYTES, rocksdb_name};

use super::raw::{RawError, RawUpdate};
use super::refusal::{Refusal, refuse};
use super::sealer::Changing;
use super::state::{Known, is_temporary, live};

/// A catalogue is rewritten once its changes take this many bytes more than what it began with.
const GROWTH_BYTES: u64 = 1 << 20;

/// A catalogue that this process writes, and what it has yet to do in its directory.
pub(super) struct Written {
    pub(super) known: Known,
    /// None until a generation was begun, and after one could not be.
    writing: Option<Writing>,
    /// Files whose removal waits for the catalogue to be on stable storage.
    removals: BTreeSet<String>,
    /// Logs that were there when this process took the directory over and that have not been read
    /// since.
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

/// A directory with its catalogue, for the process that owns it.
pub(super) struct Owned<'a> {
    pub(super) path: &'a str,
    /// True if the user's anchor covers this directory.
    pub(super) anchored: bool,
    pub(super) written: &'a mut Written,
    pub(super) with: Changing<'a>,
}

impl Written {
    pub(super) fn new(known: Known) -> Self {
        Self { known, writing: None, removals: BTreeSet::new(), found_logs: BTreeSet::new() }
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.dirty) || !self.removals.is_empty()
    }

    pub(super) fn hides(&self, name: &str) -> bool {
        self.removals.contains(name)
    }
}

impl Writing {
    fn is_full(&self) -> bool {
        self.writer.stored_bytes() - self.begun_bytes > GROWTH_BYTES
    }
}

impl Owned<'_> {
    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    /// Returns the id of the store.
    pub(super) fn store(&self) -> [u8; STORE_ID_BYTES] {
        self.written.known.catalogue.store
    }

    // ----
    // writing -------------------------------------------------------------------------------------

    /// Removes the files that a crash left behind, `removals`, and records which logs were there,
    /// all in the generation that was just begun.
    pub(super) fn take_over(&mut self, removals: Vec<String>) -> Result<(), Refusal> {
        if !removals.is_empty() {
            for name in &removals {
                self.with.files.remove(&self.file(name))?;
            }
            self.with.files.sync_directory(self.path)?;
            self.append(removals.into_iter().map(|name| Change::Forget { name }).collect())?;
        }
        let is_log = |(name, entry): &(&str, &Entry)| {
            rocksdb_name(name).0 == FileKind::Log
                && matches!(entry.state, State::Live | State::Arriving { .. })
        };
        let Written { known, found_logs, .. } = &mut *self.written;
        *found_logs =
            known.catalogue.entries().filter(is_log).map(|(name, _)| name.to_owned()).collect();
        Ok(())
    }

    /// Records in the anchor how new the store is, now that this is on stable storage.
    fn advance_anchor(&self) -> Result<(), Refusal> {
        let Some(anchor) = self.with.sealer.anchor.as_ref().filter(|_| self.anchored) else {
            return Ok(());
        };
        Ok(anchor.write(&self.written.known.mark()).map_err(|error| RawError(error.0))?)
    }

    /// Writes the next generation of the catalogue, both copies, on stable storage. One copy is
    /// whole at any time.
    pub(super) fn begin(&mut self) -> Result<(), Refusal> {
        let Changing { sealer, files } = self.with;
        let paths = CATALOGUE_NAMES.map(|name| self.file(name));
        let Written { known, writing, .. } = &mut *self.written;
        let catalogue = &mut known.catalogue;
        if writing.is_some() {
            // files that were removed are gone for good from here on, unless removing one failed
            files.sync_directory(self.path)?;
            let there: BTreeSet<String> =
                files.names(self.path)?.unwrap_or_default().into_iter().collect();
            let gone: Vec<String> = catalogue
                .entries()
                .filter(|(name, entry)| entry.state == State::Removed && !there.contains(*name))
                .map(|(name, _)| name.to_owned())
                .collect();
            gone.into_iter().for_each(|name| catalogue.apply(Change::Forget { name }));
        }
        *writing = None;
        catalogue.generation += 1;
        let slots: Vec<(u16, FileId, u64)> = catalogue
            .entries()
            .filter_map(|(_, entry)| {
                Some((entry.slot?, entry.file_id, known.synced.get(&entry.file_id).copied()?))
            })
            .filter(|(_, _, synced)| *synced > 0)
            .collect();
        let mut stored = Vec::new();
        let cipher = *sealer.cipher.read().unwrap_or_else(PoisonError::into_inner);
        let writer = CatalogueWriter::begin(
            catalogue,
            &slots,
            &*sealer.keys,
            cipher,
            sealer.backend,
            &mut stored,
        )
        .or_else(|error| refuse(&paths[0], error))?;
        for path in &paths {
            let new = format!("{path}.new");
            files.create(&new, &stored)?;
            files.rename(&new, path)?;
            files.sync_directory(self.path)?;
        }
        let copies = [files.update(&paths[0])?, files.update(&paths[1])?];
        let begun_bytes = writer.stored_bytes();
        known.changes = 0;
        *writing = Some(Writing {
            writer,
            copies,
            begun_bytes,
            slots: BTreeMap::new(),
            dirty: false,
            broken: false,
        });
        self.advance_anchor()
    }

    /// Begins the next generation with `changes` in it; without them if it cannot be written.
    fn begin_with(&mut self, changes: Vec<Change>) -> Result<(), Refusal> {
        let catalogue = &mut self.written.known.catalogue;
        let before = catalogue.clone();
        changes.into_iter().for_each(|change| catalogue.apply(change));
        self.begin().inspect_err(|_| self.written.known.catalogue = before)
    }

    /// Makes `changes`, in both copies; not yet on stable storage.
    fn append(&mut self, changes: Vec<Change>) -> Result<(), Refusal> {
        let path = self.file(CATALOGUE_NAMES[0]);
        let Written { known, writing, .. } = &mut *self.written;
        let Some(writing) =
            writing.as_mut().filter(|writing| !writing.broken && !writing.is_full())
        else {
            return self.begin_with(changes);
        };
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

    /// Puts every change on stable storage, and then removes the files whose removal waits for
    /// that.
    pub(super) fn make_durable(&mut self) -> Result<(), Refusal> {
        if let Some(writing) = self.written.writing.as_mut().filter(|writing| writing.dirty) {
            // one copy on stable storage is enough to survive a crash; the other copy is against
            // attackers, who see the writes
            writing.copies[0].sync()?;
            writing.dirty = false;
            self.advance_anchor()?;
        }
        for name in mem::take(&mut self.written.removals) {
            self.with.files.remove(&self.file(&name))?;
        }
        Ok(())
    }

    /// Begins another generation, if one is being written.
    pub(super) fn renew(&mut self) -> Result<(), Refusal> {
        if self.written.writing.is_some() { self.begin() } else { Ok(()) }
    }

    /// Puts everything on stable storage, before others may use the directory.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        self.make_durable()?;
        if let Some(writing) = &mut self.written.writing {
            writing.copies[1].sync()?;
        }
        Ok(())
    }

    // ----
    // changes -------------------------------------------------------------------------------------

    fn slot_for(&self, name: &str) -> Option<u16> {
        let grows = matches!(rocksdb_name(name).0, FileKind::Log | FileKind::Manifest);
        Some(&self.written.known).filter(|_| grows).and_then(|known| known.catalogue.free_slot())
    }

    /// Lists the file `info`, which is about to be made as `name`.
    pub(super) fn create(&mut self, name: &str, info: &HeaderInfo) -> Result<(), Refusal> {
        self.clear(name)?;
        let entry = Entry { slot: self.slot_for(name), ..live(info.file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }])?;
        // A log that only a crash kept out of the catalogue would look like one that was added, and
        // what survived of it would have to be left out. One sync per log is little compared with
        // what is written to it.
        if info.identity.kind == FileKind::Log { self.make_durable() } else { Ok(()) }
    }

    /// Notes in which directory the logs are from now on, on stable storage.
    pub(super) fn set_logs(&mut self, logs: Option<LogDirectory>) -> Result<(), Refusal> {
        if self.written.known.catalogue.logs() == logs.as_ref() {
            return Ok(());
        }
        self.append(vec![Change::Logs(logs)])?;
        self.make_durable()
    }

    /// Lists a file from elsewhere, which is about to be linked to as `name`.
    pub(super) fn adopt(
        &mut self,
        name: &str,
        file_id: FileId,
        synced: u64,
    ) -> Result<(), Refusal> {
        let entry = Entry { adopted: true, synced_bytes: synced, ..live(file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }])?;
        self.written.known.synced.insert(file_id, synced);
        self.make_durable()
    }

    /// Lists a file that is about to get the name `name` by a rename, alongside the current file of
    /// that name.
    pub(super) fn arrive(
        &mut self,
        name: &str,
        file_id: FileId,
        synced: u64,
    ) -> Result<(), Refusal> {
        let before = match self.written.known.catalogue.get(name) {
            Some(Entry { state: State::Live | State::Arriving { .. }, file_id, .. }) => {
                Some(*file_id)
            }
            Some(_) => {
                self.clear(name)?;
                None
            }
            None => None,
        };
        let state = State::Arriving { before };
        let entry = Entry { adopted: true, synced_bytes: synced, state, ..live(file_id) };
        self.append(vec![Change::Put { name: name.to_owned(), entry }])?;
        self.written.known.synced.insert(file_id, synced);
        Ok(())
    }

    /// Settles the entry of `name` after a rename to it, and syncs the directory if the rename did
    /// not fail.
    pub(super) fn settle(&mut self, name: &str, done: bool) -> Result<(), Refusal> {
        let found = self.written.known.catalogue.get(name).copied();
        let Some(entry @ Entry { state: State::Arriving { before }, .. }) = found else {
            return Ok(());
        };
        if done {
            self.with.files.sync_directory(self.path)?;
        }
        let change = match (done, before) {
            (true, _) => {
                Change::Put { name: name.to_owned(), entry: Entry { state: State::Live, ..entry } }
            }
            (false, Some(before)) => Change::Put {
                name: name.to_owned(),
                entry: Entry { adopted: true, ..live(before) },
            },
            (false, None) => Change::Forget { name: name.to_owned() },
        };
        self.append(vec![change])
    }

    /// Notes that `name` may be gone from now on.
    pub(super) fn note_removed(&mut self, name: &str) -> Result<(), Refusal> {
        let Some(entry) = self.written.known.catalogue.get(name).copied() else { return Ok(()) };
        let entry = Entry { state: State::Removed, ..entry };
        self.append(vec![Change::Put { name: name.to_owned(), entry }])
    }

    /// Takes that back: the file stayed where it is.
    pub(super) fn restore(&mut self, name: &str) -> Result<(), Refusal> {
        let Some(entry) = self.written.known.catalogue.get(name).copied() else { return Ok(()) };
        let entry = Entry { state: State::Live, ..entry };
        self.append(vec![Change::Put { name: name.to_owned(), entry }])
    }

    /// Prepares the removal of `name`; `wait`: the store is open, and what must not go before the
    /// catalogue records it may wait, unless it is a log, which may be as long as a memory table.
    /// Returns whether the caller is to remove it now.
    pub(super) fn remove(
        &mut self,
        name: &str,
        kind: FileKind,
        wait: bool,
    ) -> Result<bool, Refusal> {
        if self.written.known.catalogue.get(name).is_none() {
            return Ok(true);
        }
        self.note_removed(name)?;
        if matches!(kind, FileKind::Table | FileKind::Blob) || is_temporary(name) {
            return Ok(true);
        }
        if wait && kind != FileKind::Log {
            self.written.removals.insert(name.to_owned());
            return Ok(false);
        }
        self.make_durable()?;
        Ok(true)
    }

    /// Makes sure that nothing is left at `name`, for good, so that a new file there is the only
    /// one.
    fn clear(&mut self, name: &str) -> Result<(), Refusal> {
        let path = self.file(name);
        if self.written.known.catalogue.get(name).is_none() {
            return Ok(self.with.files.remove(&path)?);
        }
        self.note_removed(name)?;
        self.make_durable()?;
        self.with.files.remove(&path)?;
        Ok(self.with.files.sync_directory(self.path)?)
    }

    /// Records that the log `name` was read up to `whole_bytes`, and that the opened store
    /// continues from it. The first time, and if the log was there before, this part is put on
    /// stable storage and is promised from now on.
    pub(super) fn recovered(
        &mut self,
        name: &str,
        file_id: &FileId,
        whole_bytes: u64,
    ) -> Result<(), Refusal> {
        let path = self.file(name);
        let Written { known, found_logs, .. } = &mut *self.written;
        let is_synced = known.synced.get(file_id).is_some_and(|synced| *synced >= whole_bytes);
        if !found_logs.remove(name) || is_synced {
            return Ok(());
        }
        self.with.files.update(&path)?.sync()?;
        self.record_synced(file_id, whole_bytes)
    }

    /// Records that the first `synced_bytes` of a file are on stable storage. Lengths only grow.
    pub(super) fn record_synced(
        &mut self,
        file_id: &FileId,
        synced_bytes: u64,
    ) -> Result<(), Refusal> {
        let path = self.file(CATALOGUE_NAMES[0]);
        let Written { known: Known { catalogue, synced, .. }, writing, .. } = &mut *self.written;
        let recorded = synced.entry(*file_id).or_default();
        let is_longer = *recorded < synced_bytes;
        *recorded = synced_bytes.max(*recorded);
        let Some(writing) = writing.as_mut().filter(|writing| !writing.broken) else {
            // the next generation takes it over from here
            return self.begin();
        };
        if !is_longer {
            return Ok(());
        }
        let slot = match writing.slots.entry(*file_id) {
            btree_map::Entry::Occupied(made) => made.into_mut(),
            btree_map::Entry::Vacant(unmade) => {
                let found = catalogue.entries().find(|(_, entry)| entry.file_id == *file_id);
                match found.map(|(name, entry)| (name.to_owned(), *entry)) {
                    Some((_, Entry { slot: Some(slot), .. })) => unmade.insert(
                        writing.writer.slot(slot, file_id).or_else(|error| refuse(&path, error))?,
                    ),
                    Some((name, entry)) => {
                        return self.append(vec![Change::Put {
                            name,
                            entry: Entry { synced_bytes, ..entry },
                        }]);
                    }
                    None => return Ok(()),
                }
            }
        };
        let record = slot.record(synced_bytes).or_else(|error| refuse(&path, error))?;
        if writing
            .copies
            .iter_mut()
            .try_for_each(|copy| copy.write(record.offset, &record.bytes))
            .is_ok()
        {
            return Ok(());
        }
        // a catalogue that cannot be written in place may be written elsewhere
        writing.broken = true;
        self.begin()
    }
}
