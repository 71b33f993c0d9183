//! One directory: its catalogue as read, and the owner of the directory. Not here: the operations
//! (`catalogue`), the comparison with files (`survey`), writing it (`writer`).

mod survey;

use std::collections::BTreeMap;
use std::mem;

use sealstone_anchor::{Anchor, Mark};
use sealstone_seal::catalogue::{Copy, FileId, LogDirectory, State};
use sealstone_seal::{
    CATALOGUE_NAMES, FileKind, HEADER_BYTES, HeaderInfo, STORE_ID_BYTES, SealError, inspect,
    rocksdb_name,
};

use super::raw::{RawError, RawFiles};
use super::refusal::{Refusal, refuse};
use super::sealer::{Changing, Reading};
use super::state::Known;
use super::writer::{Owned, Written};

/// A directory that sealed files are in.
pub(super) struct Directory {
    path: String,
    standing: Standing,
    /// True if the user's anchor covers this directory: the directory whose lock file was taken.
    anchored: bool,
}

/// Standing of this process in a directory, with the catalogue that is there.
enum Standing {
    /// Nobody has looked for a catalogue yet.
    Unread,
    /// There was no catalogue, and this process does not own the directory.
    Absent,
    /// There was a catalogue, and this process does not own the directory.
    Foreign(Known),
    /// This process owns the directory, which gets a catalogue once something is listed.
    Vacant,
    /// This process owns the directory and writes its catalogue.
    Owned(Box<Written>),
}

/// Reads the header of the file at `path`; None if there is no file.
pub(super) fn header(
    files: &dyn RawFiles,
    path: &str,
) -> Result<Option<Result<HeaderInfo, SealError>>, Refusal> {
    Ok(files.read(path, HEADER_BYTES)?.map(|start| inspect(&start)))
}

impl Directory {
    pub(super) fn new(path: String) -> Self {
        Self { path, standing: Standing::Unread, anchored: false }
    }

    /// Makes the anchor, if there is one, cover this directory from now on.
    pub(super) fn anchor(&mut self) {
        self.anchored = true;
    }

    /// Returns whether this process writes it.
    pub(super) fn is_owned(&self) -> bool {
        matches!(self.standing, Standing::Vacant | Standing::Owned(_))
    }

    pub(super) fn is_dirty(&self) -> bool {
        matches!(&self.standing, Standing::Owned(written) if written.is_dirty())
    }

    pub(super) fn hides(&self, name: &str) -> bool {
        matches!(&self.standing, Standing::Owned(written) if written.hides(name))
    }

    fn known(&self) -> Option<&Known> {
        match &self.standing {
            Standing::Unread | Standing::Absent | Standing::Vacant => None,
            Standing::Foreign(known) => Some(known),
            Standing::Owned(written) => Some(&written.known),
        }
    }

    fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    // ----
    // reading -------------------------------------------------------------------------------------

    /// Reads the catalogue, unless that was done.
    pub(super) fn load(&mut self, with: Reading<'_>) -> Result<(), Refusal> {
        if matches!(self.standing, Standing::Unread) {
            self.reload(with)?;
        }
        Ok(())
    }

    /// Reads the catalogue, of a directory that this process does not own: the newer of its two
    /// copies, and the synced lengths in either.
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
        self.standing = match (best, failed) {
            (Some(Copy { catalogue, changes, .. }), _) => {
                Standing::Foreign(Known { catalogue, changes, synced })
            }
            (None, Some((path, error))) => return refuse(path, error),
            (None, None) => Standing::Absent,
        };
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
        if checked.is_ok() || self.is_owned() {
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
            let free = info.identity.kind == FileKind::Loose;
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
        if !adopted
            && (identity.kind, identity.number, identity.store)
                != (kind, number, known.catalogue.store)
        {
            return Err(SealError::OtherFile);
        }
        Ok(known.synced.get(&info.file_id).copied().unwrap_or(0))
    }

    /// Returns whether the file at `name` is about to be removed, or was found after a crash.
    pub(super) fn is_leaving(&self, name: &str) -> bool {
        let state =
            self.known().and_then(|known| known.catalogue.get(name)).map(|entry| entry.state);
        matches!(state, Some(State::Removed | State::Leftover))
    }

    /// Returns whether `file_id` was at `name` and has been removed, or is about to be.
    pub(super) fn has_removed(&self, name: &str, file_id: &FileId) -> bool {
        let entry = self.known().and_then(|known| known.catalogue.get(name));
        entry.is_some_and(|entry| entry.state == State::Removed && entry.file_id == *file_id)
    }

    /// Returns how much of the file listed under `name` was synced. None if none is listed there.
    pub(super) fn synced(&mut self, name: &str, with: Reading<'_>) -> Result<Option<u64>, Refusal> {
        self.load(with)?;
        let synced = self.synced_loaded(name);
        if synced.is_some() || self.is_owned() {
            return Ok(synced);
        }
        // the owner of the store may have made it since
        self.reload(with)?;
        Ok(self.synced_loaded(name))
    }

    /// As [`Directory::synced`], in the catalogue as it was read.
    fn synced_loaded(&self, name: &str) -> Option<u64> {
        let known = self.known()?;
        let entry = known
            .catalogue
            .get(name)
            .filter(|entry| !matches!(entry.state, State::Removed | State::Leftover))?;
        Some(known.synced.get(&entry.file_id).copied().unwrap_or(0))
    }

    /// Returns the id of the store, if there is a catalogue.
    pub(super) fn store_id(&self) -> Option<[u8; STORE_ID_BYTES]> {
        self.known().map(|known| known.catalogue.store)
    }

    /// Returns the directory in which the logs are, if it is another one.
    pub(super) fn logs(&self) -> Option<&LogDirectory> {
        self.known()?.catalogue.logs()
    }

    // ----
    // owning --------------------------------------------------------------------------------------

    /// Takes the directory over for writing: its files must be the listed files, apart from
    /// differences that a crash explains, and a new generation begins.
    fn own(&mut self, with: Changing<'_>) -> Result<(), Refusal> {
        if self.is_owned() {
            return Ok(());
        }
        let anchor = with.sealer.anchor.as_ref().filter(|_| self.anchored);
        // first, so that it cannot remember what came after the catalogue was read
        let newest =
            anchor.map_or(Ok(None), |anchor| anchor.read()).map_err(|error| RawError(error.0))?;
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
            self.standing = Standing::Foreign(Known::new(&self.path, with.sealer.provider())?);
        }
        let Standing::Foreign(mut known) = mem::replace(&mut self.standing, Standing::Vacant)
        else {
            return Ok(());
        };
        for change in survey.changes {
            known.catalogue.apply(change);
        }
        if let Some(lost) = survey.lost_from {
            known.catalogue.highest = known.catalogue.highest.min(lost.saturating_sub(1));
        }
        let mut written = Box::new(Written::new(known));
        let mut owned = self.owner(&mut written, with);
        if let Err(refusal) = owned.begin() {
            self.standing = Standing::Foreign(written.known);
            return Err(refusal);
        }
        let taken_over = owned.take_over(survey.removals);
        self.standing = Standing::Owned(written);
        taken_over
    }

    fn owner<'a>(&'a self, written: &'a mut Written, with: Changing<'a>) -> Owned<'a> {
        Owned { path: &self.path, anchored: self.anchored, written, with }
    }

    /// Returns the directory with its catalogue, to be written; None if this process does not own
    /// it, or nothing was listed in it yet.
    pub(super) fn owned<'a>(&'a mut self, with: Changing<'a>) -> Option<Owned<'a>> {
        let Standing::Owned(written) = &mut self.standing else { return None };
        Some(Owned { path: &self.path, anchored: self.anchored, written, with })
    }

    /// Takes the directory over, and makes `change` if there is a catalogue: without one nothing is
    /// listed that could change.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut Owned<'_>) -> Result<(), Refusal>,
        with: Changing<'_>,
    ) -> Result<(), Refusal> {
        self.own(with)?;
        self.owned(with).map_or(Ok(()), |mut owned| change(&mut owned))
    }

    /// Takes the directory over, begins a catalogue if there is none, and makes `change`.
    pub(super) fn list<T>(
        &mut self,
        change: impl FnOnce(&mut Owned<'_>) -> Result<T, Refusal>,
        with: Changing<'_>,
    ) -> Result<T, Refusal> {
        self.own(with)?;
        if let Some(mut owned) = self.owned(with) {
            return change(&mut owned);
        }
        let mut written = Box::new(Written::new(Known::new(&self.path, with.sealer.provider())?));
        let mut owned = self.owner(&mut written, with);
        let changed = owned.begin().and_then(|()| change(&mut owned));
        self.standing = Standing::Owned(written);
        changed
    }

    /// Returns the mark of how new the catalogue that was read is.
    pub(super) fn mark(&self) -> Option<Mark> {
        self.known().map(Known::mark)
    }

    /// Compares the catalogue that was read with what `anchor` remembered before: `newest`.
    pub(super) fn check_anchor(
        &self,
        anchor: &dyn Anchor,
        newest: Option<Mark>,
    ) -> Result<(), Refusal> {
        let Some(newest) = newest else { return Ok(()) };
        let Some(found) = newest.shortfall(self.mark().as_ref()) else { return Ok(()) };
        let error = SealError::Older { anchor: anchor.describe(), newest: newest.age(), found };
        refuse(self.file(CATALOGUE_NAMES[0]), error)
    }
}
