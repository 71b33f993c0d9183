//! The files of a directory compared with its catalogue: the differences that a crash explains, and
//! the resulting actions.

use std::collections::BTreeSet;

use sealstone_seal::catalogue::{Change, Entry, State};
use sealstone_seal::{FileKind, HEADER_BYTES, SealError, SealedFile, inspect, rocksdb_name};

use super::{Directory, header};
use crate::catalogue::refusal::Refusal;
use crate::catalogue::sealer::Reading;
use crate::catalogue::state::{Known, is_temporary, live};
use crate::place::Place;

/// The file that RocksDB locks, which holds nothing.
const LOCK: &str = "LOCK";

/// Findings of a look at all files of a directory.
#[derive(Default)]
pub(in crate::catalogue) struct Survey {
    /// Errors that no crash explains.
    pub(in crate::catalogue) wrong: Vec<(String, SealError)>,
    /// Changes to be noted in the next generation.
    pub(super) changes: Vec<Change>,
    /// Files to be removed once that is on stable storage.
    pub(super) removals: Vec<String>,
    /// The lowest number of a listed file that was lost in a crash. RocksDB, which lost them too,
    /// will reuse their numbers.
    pub(super) lost_from: Option<u64>,
}

impl Directory {
    /// Compares the existing files with the listed files.
    pub(in crate::catalogue) fn survey(&self, with: Reading<'_>) -> Result<Survey, Refusal> {
        let mut survey = Survey::default();
        let mut names: BTreeSet<String> =
            with.files.names(&self.path)?.unwrap_or_default().into_iter().collect();
        let others = self.survey_places(&mut names, with, &mut survey)?;
        let Some(known) = self.known() else {
            for name in &names {
                self.survey_uncatalogued(name, with, &mut survey)?;
            }
            return Ok(survey);
        };
        for (name, entry) in known.catalogue.entries() {
            if !others.contains(name) {
                self.survey_listed((name, entry), names.contains(name), known, with, &mut survey)?;
            }
        }
        for name in &names {
            if known.catalogue.get(name).is_none() {
                self.survey_unlisted(name, known, with, &mut survey)?;
            }
        }
        Ok(survey)
    }

    /// Removes names from `names` that are not files, which is a fault, and names that no longer
    /// exist. Returns the faults.
    fn survey_places(
        &self,
        names: &mut BTreeSet<String>,
        with: Reading<'_>,
        survey: &mut Survey,
    ) -> Result<BTreeSet<String>, Refusal> {
        let mut others = BTreeSet::new();
        let mut gone = BTreeSet::new();
        for name in
            names.iter().filter(|name| rocksdb_name(name).0 != FileKind::Loose || *name == LOCK)
        {
            let place = with.files.look(&self.file(name))?;
            if place == Place::Nothing {
                gone.insert(name.clone());
            } else if let Some(found) = place.not_a_file() {
                others.insert(name.clone());
                survey.wrong.push((name.clone(), SealError::NotAFile { found }));
            }
        }
        names.retain(|name| !gone.contains(name) && !others.contains(name));
        Ok(others)
    }

    /// Surveys a file where there is no catalogue: a sealed file that belongs to a store is a fault
    /// there.
    fn survey_uncatalogued(
        &self,
        name: &str,
        with: Reading<'_>,
        survey: &mut Survey,
    ) -> Result<(), Refusal> {
        let (kind, _) = rocksdb_name(name);
        if matches!(kind, FileKind::Loose | FileKind::Catalogue) {
            return Ok(());
        }
        match header(with.files, &self.file(name))? {
            Some(Ok(info)) if info.identity.kind != FileKind::Loose => {
                survey.wrong.push((name.to_owned(), SealError::NoCatalogue));
            }
            // RocksDB leaves an empty log of a store in the clear where it is, so it must be listed
            // once that is sealed
            Some(Err(SealError::Unfinished { .. }))
                if kind == FileKind::Log && with.reads_plain =>
            {
                let entry = Entry { adopted: true, ..live([0; 16]) };
                survey.changes.push(Change::Put { name: name.to_owned(), entry });
            }
            Some(_) | None => {}
        }
        Ok(())
    }

    fn survey_listed(
        &self,
        (name, entry): (&str, &Entry),
        there: bool,
        known: &Known,
        with: Reading<'_>,
        survey: &mut Survey,
    ) -> Result<(), Refusal> {
        let (kind, number) = rocksdb_name(name);
        if !there && matches!(entry.state, State::Live | State::Arriving { .. }) {
            survey.lost_from = Some(survey.lost_from.map_or(number, |lost| lost.min(number)));
        }
        let forget = Change::Forget { name: name.to_owned() };
        let synced = known.synced.get(&entry.file_id).copied().unwrap_or(0);
        let missing = || (name.to_owned(), SealError::Missing { synced });
        match (entry.state, there) {
            (State::Removed, true) => survey.removals.push(name.to_owned()),
            (State::Removed | State::Leftover, false) => survey.changes.push(forget),
            (State::Leftover, true) => {}
            (State::Live, true) => {}
            (State::Live, false) => match kind {
                // the manifest records whether it must be there; if it must, it can be put back
                // from a backup
                FileKind::Table | FileKind::Blob => {}
                FileKind::Log | FileKind::Manifest if synced == 0 => survey.changes.push(forget),
                _ if is_temporary(name) => survey.changes.push(forget),
                _ => survey.wrong.push(missing()),
            },
            (State::Arriving { before: None }, false) => survey.changes.push(forget),
            (State::Arriving { before: Some(_) }, false) => survey.wrong.push(missing()),
            (State::Arriving { before }, true) => match header(with.files, &self.file(name))? {
                Some(Ok(info)) if info.file_id == entry.file_id => {
                    let entry = Entry { state: State::Live, ..*entry };
                    survey.changes.push(Change::Put { name: name.to_owned(), entry });
                }
                Some(Ok(info)) if Some(info.file_id) == before => {
                    let entry = Entry { adopted: true, ..live(info.file_id) };
                    survey.changes.push(Change::Put { name: name.to_owned(), entry });
                }
                // a conversion was killed before the sealed copy took the place of the file in the
                // clear
                Some(Err(SealError::NotSealed)) if before.is_none() && with.reads_plain => {
                    survey.changes.push(forget)
                }
                _ => survey.wrong.push((name.to_owned(), SealError::OtherFile)),
            },
        }
        Ok(())
    }

    /// Surveys a file that is not in the catalogue: it was made, and the change that lists it did
    /// not reach the disk, so that nothing was promised about it; or somebody put it there.
    fn survey_unlisted(
        &self,
        name: &str,
        known: &Known,
        with: Reading<'_>,
        survey: &mut Survey,
    ) -> Result<(), Refusal> {
        let (kind, number) = rocksdb_name(name);
        if matches!(kind, FileKind::Loose | FileKind::Catalogue) {
            return Ok(());
        }
        let path = self.file(name);
        let Some(start) = with.files.read(&path, HEADER_BYTES)? else { return Ok(()) };
        // a conversion was killed before RocksDB removed a log in the clear, which this opening
        // reads, or removes
        let is_plain = || start.is_empty() || matches!(inspect(&start), Err(SealError::NotSealed));
        if kind == FileKind::Log && with.reads_plain && is_plain() {
            return Ok(());
        }
        // a store whose first opening was cut off has no CURRENT, and RocksDB starts again with the
        // lowest numbers
        let newest = number > known.catalogue.highest || known.catalogue.get("CURRENT").is_none();
        let mut leftover = Entry { state: State::Leftover, ..live([0; 16]) };
        // a log is listed on stable storage before it is made
        let explained = kind != FileKind::Log
            && match SealedFile::open(with.keys, with.backend, &start) {
                Ok(file) => {
                    let identity = file.info().identity;
                    leftover.file_id = file.info().file_id;
                    let own = (identity.kind, identity.number, identity.store)
                        == (kind, number, known.catalogue.store);
                    is_temporary(name) || (own && newest && !file.was_synced())
                }
                Err(SealError::Unfinished { .. }) => is_temporary(name) || newest,
                Err(SealError::NotSealed) => is_temporary(name) || with.reads_plain,
                Err(_) => is_temporary(name),
            };
        if !explained {
            survey.wrong.push((name.to_owned(), SealError::NotListed));
        } else if !matches!(inspect(&start), Err(SealError::NotSealed)) {
            survey.changes.push(Change::Put { name: name.to_owned(), entry: leftover });
        }
        Ok(())
    }
}
