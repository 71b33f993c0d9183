//! The separate directory in which a database keeps its logs (`wal_dir`): recorded in the catalogue
//! of the database when a log is made there, and compared when it is listed to recover from. So it
//! cannot be emptied, removed or exchanged as a whole unnoticed. A database that has since been
//! opened with another `wal_dir`, or was moved, lists another directory, and nothing is compared.

use sealstone_seal::catalogue::LogDirectory;
use sealstone_seal::{CATALOGUE_NAMES, STORE_ID_BYTES, SealError};

use super::refusal::{Refusal, refuse};
use super::{Catalogues, View, lock, plain, split};

impl Catalogues {
    /// Records that a database keeps its logs in `directory`, where a log is about to be made, if
    /// this is the first log since that database was locked: later logs may be copies, in a backup
    /// or a checkpoint.
    ///
    /// - `store`: the store of the catalogue of `directory`, which is on stable storage
    pub(super) fn note_logs(
        &self,
        directory: &str,
        store: [u8; STORE_ID_BYTES],
    ) -> Result<(), Refusal> {
        let Some(database) = self.opened_with(directory) else { return Ok(()) };
        let logs = match database == directory {
            true => None,
            false => Some(LogDirectory { path: directory.to_owned(), store }),
        };
        if logs.is_some() {
            // Otherwise a crash might lose the directory and keep the note. Without the right to
            // open the parent, the directory is one that somebody else made before.
            let _ = self.files().sync_directory(&split(directory).0);
        }
        match logs {
            None => self.change(&database, |owned| owned.set_logs(None))?,
            Some(logs) => self.list(&database, |owned| owned.set_logs(Some(logs)))?,
        }
        lock(&self.opening).remove(&database);
        Ok(())
    }

    /// Returns the database that is being opened with its logs in `directory`: the database in it,
    /// the only database, or the database that had them there before. None where several are being
    /// opened at once and it is ambiguous.
    fn opened_with(&self, directory: &str) -> Option<String> {
        let opening = lock(&self.opening).clone();
        if opening.contains(directory) {
            return Some(directory.to_owned());
        }
        if opening.is_empty() || directory.ends_with(".tmp") || self.is_backup(directory) {
            return None;
        }
        let had = |database: &&String| {
            lock(&self.directory(database)).logs().is_some_and(|it| it.path == directory)
        };
        let found = opening.iter().find(had);
        found.or_else(|| opening.first().filter(|_| opening.len() == 1)).cloned()
    }

    /// Refuses `directory`, which is being listed, if it is where a database that is being opened
    /// has its logs, and no longer the directory that it was.
    pub(super) fn refuse_other_logs(
        &self,
        directory: &str,
        view: &mut View<'_>,
    ) -> Result<(), Refusal> {
        let (locked, read) = (lock(&self.locked).clone(), lock(&self.read).clone());
        for database in locked.union(&read).filter(|database| *database != directory) {
            let logs = match locked.contains(database) {
                true => lock(&self.directory(database)).logs().cloned(),
                false => view.logs(database)?,
            };
            if let Some(logs) = logs.filter(|logs| logs.path == directory)
                && let Some((path, error)) = view.other_logs(database, &logs)?
            {
                return refuse(path, error);
            }
        }
        Ok(())
    }
}

impl View<'_> {
    /// Returns the directory in which the database in `directory` has its logs, if it is another
    /// one.
    pub(crate) fn logs(&mut self, directory: &str) -> Result<Option<LogDirectory>, Refusal> {
        Ok(self.directory(&plain(directory))?.logs().cloned())
    }

    /// Returns the fault of the directory in which the database in `directory` has its `logs`, and
    /// its path; none if it is still the same.
    pub(crate) fn other_logs(
        &mut self,
        directory: &str,
        logs: &LogDirectory,
    ) -> Result<Option<(String, SealError)>, Refusal> {
        let reading = self.reading;
        let found = self.directory(&logs.path)?;
        if found.store_id() != Some(logs.store) {
            // it may have been made since this view read it
            found.reload(reading)?;
        }
        let found = match found.store_id() {
            Some(store) if store == logs.store => return Ok(None),
            Some(_) => "the catalogue of another directory",
            None => "no catalogue",
        };
        let error = SealError::OtherLogs { database: plain(directory), found };
        Ok(Some((format!("{}/{}", logs.path, CATALOGUE_NAMES[0]), error)))
    }
}
