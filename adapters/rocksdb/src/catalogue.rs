//! The catalogue of each directory with sealed files: kept up to date as files come and go, and
//! checked before a file is opened. Its content is `sealstone_seal::catalogue`; the effects of file
//! operations are decided here.
//!
//! Three rules keep it right through a crash, whichever unsynced writes survive:
//! - A change is written before the operation that it describes, and is on stable storage before a
//!   log is made, and before anything is appended to a manifest. So every file with a promise about
//!   it is listed.
//! - The removal of a log, a manifest or a control file is on stable storage before the file goes:
//!   `remove` waits for that for a log, and defers it for the others, which are small. Tables and
//!   blob files go at once, since the manifest lists which of them must be there.
//! - A rename lists the file under its new name alongside the previous file of that name, until the
//!   directory was synced.
//!
//! A catalogue is kept twice, on the same file system as the sealed files (`raw`), so a simulator
//! below sees each of its writes. A log costs one sync when it is made, a flush or a compaction one
//! more before the manifest; syncing a log costs no second sync, since the record of how much of it
//! was synced goes, unsynced, into slots of both copies afterwards.
//!
//! Files are compared with the list when the `LOCK` of a database is taken. An environment that
//! does not write in a directory compares when `CURRENT` is read or names are listed, which is how
//! `OpenForReadOnly` begins. Another process may be writing there, so a difference counts only if
//! several looks agree on it. A name counts as there only if it is a regular file's: `place` checks
//! that for readers without RocksDB, `shim/regular_fs.cc` below the seal.

mod directory;
mod log_directory;
pub(crate) mod raw;
mod refusal;
mod sealer;
mod state;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use sealstone_anchor::{Anchor, Mark};
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::catalogue::FileId;
use sealstone_seal::{FileKind, HeaderInfo, Identity, SealError, rocksdb_name};

use directory::Directory;
use raw::{RawError, RawFiles, SystemFiles};
pub(crate) use refusal::Refusal;
use refusal::refuse;
pub(crate) use sealer::Sealer;
use sealer::{Changing, Reading};
pub(crate) use state::is_temporary;
use writer::Owned;

/// Pauses, before each further look, that the files of a store in use are given to match its
/// catalogue.
const SETTLE: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(80)];

/// The catalogues of all directories that an environment deals with. Serves any number of threads
/// at once.
pub(crate) struct Catalogues {
    sealer: Arc<Sealer>,
    files: OnceLock<Box<dyn RawFiles>>,
    directories: Mutex<BTreeMap<String, Arc<Mutex<Directory>>>>,
    /// Directories whose lock file this environment holds.
    locked: Mutex<BTreeSet<String>>,
    /// Directories of databases that are being opened for writing, and have not made their first
    /// log yet.
    opening: Mutex<BTreeSet<String>>,
    /// Directories whose database was opened for reading alone.
    read: Mutex<BTreeSet<String>>,
    /// True if a catalogue may have changes that are not on stable storage.
    dirty: AtomicBool,
}

/// Makes the result for a reader of the file at `path` that the owner of the store has removed: the
/// same as a moment later.
fn removed(path: &str) -> Refusal {
    RawError(format!(
        "{path}: No such file or directory: the process that writes the store has removed it"
    ))
    .into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the directory and name of `path`; a directory is spelled one way only.
pub(crate) fn split(path: &str) -> (String, &str) {
    let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
    (plain(directory), name)
}

/// Returns `directory` without empty and idle components.
fn plain(directory: &str) -> String {
    let parts: Vec<&str> =
        directory.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match (directory.starts_with('/'), parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".into(),
        (false, false) => parts.join("/"),
    }
}

impl Catalogues {
    pub(crate) fn new(sealer: Arc<Sealer>) -> Self {
        Self {
            sealer,
            files: OnceLock::new(),
            directories: Mutex::default(),
            locked: Mutex::default(),
            opening: Mutex::default(),
            read: Mutex::default(),
            dirty: AtomicBool::new(false),
        }
    }

    /// Sets the files that the catalogues are kept on; once, before anything else.
    pub(crate) fn attach(&self, files: Box<dyn RawFiles>) {
        let _ = self.files.set(files);
    }

    fn files(&self) -> &dyn RawFiles {
        &**self.files.get().expect("the file system attaches its files before it serves any call")
    }

    fn changing(&self) -> Changing<'_> {
        Changing { sealer: &self.sealer, files: self.files() }
    }

    fn directory(&self, path: &str) -> Arc<Mutex<Directory>> {
        let mut directories = lock(&self.directories);
        Arc::clone(
            directories
                .entry(path.to_owned())
                .or_insert_with(|| Arc::new(Mutex::new(Directory::new(path.to_owned())))),
        )
    }

    fn is_locked(&self, directory: &str) -> bool {
        lock(&self.locked).contains(directory)
    }

    /// Refuses a change of the file at `path` where nothing may be written.
    pub(crate) fn writable(&self, path: &str) -> Result<(), Refusal> {
        match self.sealer.read_only.load(Ordering::Acquire) {
            true => Err(RawError(format!("{path}: opened for reading only")).into()),
            false => Ok(()),
        }
    }

    /// Makes `change` in the catalogue of `directory`, of which this environment becomes the owner;
    /// nothing if there is no catalogue.
    fn change(
        &self,
        directory: &str,
        change: impl FnOnce(&mut Owned<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.own(directory, |found, with| found.change(change, with))
    }

    /// Makes `change` as [`Catalogues::change`] does, in a new catalogue if there is none.
    fn list<T>(
        &self,
        directory: &str,
        change: impl FnOnce(&mut Owned<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.own(directory, |found, with| found.list(change, with))
    }

    fn own<T>(
        &self,
        directory: &str,
        change: impl FnOnce(&mut Directory, Changing<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.writable(directory)?;
        let found = self.directory(directory);
        let mut found = lock(&found);
        let changed = change(&mut found, self.changing());
        if found.is_dirty() {
            self.dirty.store(true, Ordering::Release);
        }
        changed
    }

    /// Returns the identity of a file that is about to be created at `path`. Its id is listed with
    /// [`Catalogues::create`].
    pub(crate) fn identity(&self, path: &str) -> Result<Identity, Refusal> {
        let (directory, name) = split(path);
        let (kind, number) = rocksdb_name(name);
        if kind == FileKind::Loose {
            return Ok(Identity::LOOSE);
        }
        let store = self.list(&directory, |owned| Ok(owned.store()))?;
        if kind == FileKind::Log {
            self.note_logs(&directory, store)?;
        }
        Ok(Identity { kind, number, store })
    }

    /// Lists the file `info`, which is about to be made at `path`. Nothing is at `path` any more
    /// when this returns.
    pub(crate) fn create(&self, path: &str, info: &HeaderInfo) -> Result<(), Refusal> {
        if info.identity.kind == FileKind::Loose {
            return Ok(());
        }
        let (directory, name) = split(path);
        self.list(&directory, |owned| owned.create(name, info))
    }

    /// Checks that the file `info` may be opened at `path`. Returns how much of it is recorded as
    /// on stable storage, in stored bytes; 0 where nothing is.
    pub(crate) fn check(&self, path: &str, info: &HeaderInfo) -> Result<u64, Refusal> {
        let (directory, name) = split(path);
        if rocksdb_name(name).0 == FileKind::Loose {
            return Ok(0);
        }
        let found = self.directory(&directory);
        let mut found = lock(&found);
        match found.check(name, info, self.changing().reading())? {
            Err(SealError::NotListed)
                if !found.is_owned()
                    && (found.has_removed(name, &info.file_id)
                        || directory::header(self.files(), path)?.is_none()) =>
            {
                Err(removed(path))
            }
            // only CURRENT is replaced under its name; if that happened since it was opened, the
            // opened file is a moment old
            Err(SealError::OtherFile)
                if !found.is_owned() && name == "CURRENT" && self.is_replaced(path, info)? =>
            {
                Ok(0)
            }
            checked => checked.or_else(|error| refuse(path, error)),
        }
    }

    /// Returns whether another file than `info` is at `path` by now.
    fn is_replaced(&self, path: &str, info: &HeaderInfo) -> Result<bool, Refusal> {
        let now = directory::header(self.files(), path)?;
        Ok(matches!(now, Some(Ok(now)) if now.file_id != info.file_id))
    }

    /// Checks the operation that begins with opening the file at `path`. If it is the `CURRENT` of
    /// a directory whose lock this environment does not hold, a database is being opened for
    /// reading alone: it must be whole, as far as that can be checked while another process may be
    /// writing it, and not older than the anchor's record.
    pub(crate) fn reading(&self, path: &str) -> Result<(), Refusal> {
        let (directory, name) = split(path);
        if name != "CURRENT" || self.is_locked(&directory) {
            return Ok(());
        }
        lock(&self.read).insert(directory.clone());
        let mut view = View { reading: self.changing().reading(), directories: BTreeMap::new() };
        // in a directory of backups the anchor of the database does not apply
        if let Some(anchor) = self.sealer.anchor.as_ref().filter(|_| !self.is_backup(&directory)) {
            view.check_anchor(&directory, &**anchor)?;
        }
        view.refuse_wrong(&directory)
    }

    /// Checks the names in `directory`, which are about to be returned, for example to recover from
    /// logs. If this environment is not writing there, its files must be those that its catalogue
    /// lists, as in [`Catalogues::reading`].
    pub(crate) fn listing(&self, directory: &str) -> Result<(), Refusal> {
        let directory = plain(directory);
        let known = lock(&self.directories).get(&directory).cloned();
        if self.is_locked(&directory) || known.is_some_and(|known| lock(&known).is_owned()) {
            return Ok(());
        }
        let mut view = View { reading: self.changing().reading(), directories: BTreeMap::new() };
        match view
            .refuse_wrong(&directory)
            .and_then(|()| self.refuse_other_logs(&directory, &mut view))
        {
            // as in `locked`
            Err(Refusal::Seal {
                error: SealError::Key(_) | SealError::WrongKey { .. }, ..
            }) => Ok(()),
            found => found,
        }
    }

    /// Returns whether `directory` holds a backup, `private/N` next to `meta`.
    fn is_backup(&self, directory: &str) -> bool {
        let root =
            directory.rsplit_once('/').and_then(|(private, _)| private.strip_suffix("/private"));
        root.is_some_and(|root| {
            self.files().names(&format!("{root}/meta")).is_ok_and(|names| names.is_some())
        })
    }

    /// Returns how much of the file listed at `path` is recorded as on stable storage, without
    /// reading the file: for a file whose header cannot be read. None if no file is listed there.
    pub(crate) fn synced(&self, path: &str) -> Result<Option<u64>, Refusal> {
        let (directory, name) = split(path);
        let found = self.directory(&directory);
        let mut found = lock(&found);
        let synced = found.synced(name, self.changing().reading())?;
        if synced.is_none()
            && !found.is_owned()
            && (found.is_leaving(name) || directory::header(self.files(), path)?.is_none())
        {
            return Err(removed(path));
        }
        Ok(synced)
    }

    /// Records that the first `synced_bytes` bytes of the log at `path`, whose id is `file_id`, are
    /// on stable storage.
    pub(crate) fn record_synced(
        &self,
        directory: &str,
        file_id: &FileId,
        synced_bytes: u64,
    ) -> Result<(), Refusal> {
        self.change(directory, |owned| owned.record_synced(file_id, synced_bytes))
    }

    /// Records that the log at `path`, whose id is `file_id`, was read from its beginning to
    /// `whole_bytes`, in stored bytes. If this environment holds the lock of its directory, that is
    /// a recovery: its content is part of the store's state from now on, though perhaps never
    /// synced, and RocksDB may keep the log for long, for a prepared transaction.
    pub(crate) fn recovered(
        &self,
        path: &str,
        file_id: &FileId,
        whole_bytes: u64,
    ) -> Result<(), Refusal> {
        let (directory, name) = split(path);
        if !self.is_locked(&directory) {
            return Ok(());
        }
        self.change(&directory, |owned| owned.recovered(name, file_id, whole_bytes))
    }

    /// Puts every change on stable storage; to be called before any sync that promises something.
    pub(crate) fn make_durable(&self) -> Result<(), Refusal> {
        if !self.dirty.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let directories: Vec<_> = lock(&self.directories).values().cloned().collect();
        for directory in directories {
            let made = lock(&directory)
                .owned(self.changing())
                .map_or(Ok(()), |mut owned| owned.make_durable());
            if let Err(error) = made {
                self.dirty.store(true, Ordering::Release);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Prepares the removal of the file at `path`; to be called before it is removed. Returns
    /// whether the caller should remove it now; otherwise it is removed later, and must be hidden
    /// until then.
    pub(crate) fn remove(&self, path: &str) -> Result<bool, Refusal> {
        self.writable(path)?;
        let (directory, name) = split(path);
        let (kind, _) = rocksdb_name(name);
        if matches!(kind, FileKind::Loose | FileKind::Catalogue) {
            return Ok(true);
        }
        let wait = self.is_locked(&directory);
        // unlisted files go at once
        let mut now = true;
        self.change(&directory, |owned| {
            now = owned.remove(name, kind, wait)?;
            Ok(())
        })?;
        Ok(now)
    }

    /// Lists `to` as the file at `from`; to be called before it becomes a link to that file.
    pub(crate) fn link(&self, from: &str, to: &str) -> Result<(), Refusal> {
        self.writable(to)?;
        let (directory, name) = split(to);
        if rocksdb_name(name).0 == FileKind::Loose {
            return Ok(());
        }
        let Some((info, synced)) = self.look(from)? else { return Ok(()) };
        self.list(&directory, |owned| owned.adopt(name, info.file_id, synced))
    }

    /// Prepares the renaming of the file or directory at `from` to `to`; to be called before it.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        self.writable(to)?;
        let ((from_directory, from_name), (to_directory, to_name)) = (split(from), split(to));
        let (from_kind, to_kind) = (rocksdb_name(from_name).0, rocksdb_name(to_name).0);
        if from_kind == FileKind::Loose && to_kind == FileKind::Loose {
            // it may be a directory, whose catalogue then moves with it
            return self.finish_below(&plain(from));
        }
        let moved = if to_kind == FileKind::Loose { None } else { self.look(from)? };
        if let Some((info, synced)) = moved {
            self.list(&to_directory, |owned| {
                owned.arrive(to_name, info.file_id, synced)?;
                if from_directory == to_directory && from_kind != FileKind::Loose {
                    owned.note_removed(from_name)?;
                }
                owned.make_durable()
            })?;
        }
        if from_kind != FileKind::Loose
            && (from_directory != to_directory || to_kind == FileKind::Loose)
        {
            self.change(&from_directory, |owned| {
                owned.note_removed(from_name)?;
                owned.make_durable()
            })?;
        }
        Ok(())
    }

    /// Settles the entries of both names after the rename, whether it succeeded (`done`) or not.
    pub(crate) fn renamed(&self, from: &str, to: &str, done: bool) -> Result<(), Refusal> {
        let ((from_directory, from_name), (to_directory, to_name)) = (split(from), split(to));
        if rocksdb_name(to_name).0 != FileKind::Loose {
            self.change(&to_directory, |owned| owned.settle(to_name, done))?;
        }
        if rocksdb_name(from_name).0 != FileKind::Loose && !done {
            self.change(&from_directory, |owned| owned.restore(from_name))?;
        }
        Ok(())
    }

    /// Rewrites every catalogue, under the cipher and key that are current now.
    pub(crate) fn renew(&self) -> Result<(), Refusal> {
        let directories: Vec<_> = lock(&self.directories).values().cloned().collect();
        directories.into_iter().try_for_each(|directory| {
            lock(&directory).owned(self.changing()).map_or(Ok(()), |mut owned| owned.renew())
        })
    }

    /// Returns whether the file at `path` is hidden from everything above the seal.
    pub(crate) fn hides(&self, path: &str) -> bool {
        let (directory, name) = split(path);
        if rocksdb_name(name).0 == FileKind::Catalogue {
            return true;
        }
        let found = lock(&self.directories).get(&directory).cloned();
        found.is_some_and(|found| lock(&found).hides(name))
    }

    /// Begins the opening of a store, which must be whole; to be called after the lock file at
    /// `path` in its directory was taken.
    pub(crate) fn locked(&self, path: &str) -> Result<(), Refusal> {
        let (directory, _) = split(path);
        lock(&self.directories).remove(&directory);
        lock(&self.locked).insert(directory.clone());
        lock(&self.opening).insert(directory.clone());
        lock(&self.directory(&directory)).anchor();
        let owned = self.change(&directory, |_| Ok(()));
        if owned.is_err() {
            lock(&self.locked).remove(&directory);
            lock(&self.opening).remove(&directory);
            lock(&self.directories).remove(&directory);
        }
        match owned {
            // no key, or another key: the next opening of a file reports it better, and nothing is
            // written before
            Err(Refusal::Seal {
                error: SealError::Key(_) | SealError::WrongKey { .. }, ..
            }) => Ok(()),
            owned => owned,
        }
    }

    /// Ends the use of a store, which is being closed; to be called before the lock file at `path`
    /// is released.
    pub(crate) fn unlocked(&self, path: &str) -> Result<(), Refusal> {
        let (directory, _) = split(path);
        lock(&self.opening).remove(&directory);
        let none_left = {
            let mut locked = lock(&self.locked);
            locked.remove(&directory);
            locked.is_empty()
        };
        // logs and tables of the store may be in further directories
        if none_left { self.finish_below("") } else { self.finish(&directory) }
    }

    /// Removes the catalogue of `directory` if nothing else is there; to be called before the
    /// directory is removed.
    pub(crate) fn remove_directory(&self, directory: &str) -> Result<(), Refusal> {
        let directory = plain(directory);
        self.finish(&directory)?;
        let names = self.files().names(&directory)?.unwrap_or_default();
        if names.iter().all(|name| rocksdb_name(name).0 == FileKind::Catalogue) {
            for name in names {
                self.files().remove(&format!("{directory}/{name}"))?;
            }
        }
        Ok(())
    }

    /// Puts everything on stable storage and forgets the state of `directory`.
    fn finish(&self, directory: &str) -> Result<(), Refusal> {
        let found = lock(&self.directories).remove(directory);
        let Some(found) = found else { return Ok(()) };
        lock(&found).owned(self.changing()).map_or(Ok(()), |mut owned| owned.finish())
    }

    /// As [`Catalogues::finish`], for the directory `top` and all below it; all there are if `top`
    /// is empty.
    fn finish_below(&self, top: &str) -> Result<(), Refusal> {
        let below = format!("{top}/");
        let taken: Vec<String> = lock(&self.directories)
            .keys()
            .filter(|path| top.is_empty() || *path == top || path.starts_with(&below))
            .cloned()
            .collect();
        taken.into_iter().try_for_each(|path| self.finish(&path))
    }

    /// Returns the header of the file at `path`, checked against the catalogue of its own
    /// directory, and how much of the file was synced. None for a file that is not sealed.
    fn look(&self, path: &str) -> Result<Option<(HeaderInfo, u64)>, Refusal> {
        match directory::header(self.files(), path)? {
            Some(Ok(info)) => {
                let synced = self.check(path, &info)?;
                Ok(Some((info, synced)))
            }
            Some(Err(SealError::NotSealed)) | None => Ok(None),
            Some(Err(error)) => refuse(path, error),
        }
    }
}

/// The catalogues of directories that somebody else may be writing: a view from outside, on the
/// operating system's files.
pub(crate) struct View<'a> {
    reading: Reading<'a>,
    directories: BTreeMap<String, Directory>,
}

impl<'a> View<'a> {
    pub(crate) fn new(keys: &'a dyn KeySource, backend: Backend) -> Self {
        let reading = Reading { keys, backend, reads_plain: false, files: &SystemFiles };
        Self { reading, directories: BTreeMap::new() }
    }

    fn directory(&mut self, path: &str) -> Result<&mut Directory, Refusal> {
        let found = self
            .directories
            .entry(path.to_owned())
            .or_insert_with(|| Directory::new(path.to_owned()));
        found.load(self.reading)?;
        Ok(found)
    }

    /// As [`Catalogues::check`].
    pub(crate) fn check(&mut self, path: &str, info: &HeaderInfo) -> Result<u64, Refusal> {
        let (directory, name) = split(path);
        if rocksdb_name(name).0 == FileKind::Loose {
            return Ok(0);
        }
        let reading = self.reading;
        let checked = self.directory(&directory)?.check(name, info, reading)?;
        checked.or_else(|error| refuse(path, error))
    }

    /// Returns how much of the file listed at `path` was synced, in stored bytes. None if no file
    /// is listed there.
    pub(crate) fn synced(&mut self, path: &str) -> Result<Option<u64>, Refusal> {
        let (directory, name) = split(path);
        let reading = self.reading;
        self.directory(&directory)?.synced(name, reading)
    }

    /// Returns whether the file at `path` is about to be removed, or was found after a crash: of no
    /// use to the store.
    pub(crate) fn is_leaving(&mut self, path: &str) -> bool {
        let (directory, name) = split(path);
        self.directory(&directory).is_ok_and(|found| found.is_leaving(name))
    }

    /// Compares how new the store in `directory` is with the record of `anchor`. Returns the
    /// anchor's mark, and the store's.
    pub(crate) fn check_anchor(
        &mut self,
        directory: &str,
        anchor: &dyn Anchor,
    ) -> Result<(Option<Mark>, Option<Mark>), Refusal> {
        let reading = self.reading;
        let found = self.directory(&plain(directory))?;
        // first, so that it cannot remember what came after the catalogue was read
        let newest = anchor.read().map_err(|error| RawError(error.0))?;
        found.reload(reading)?;
        found.check_anchor(anchor, newest)?;
        Ok((newest, found.mark()))
    }

    /// Compares as [`View::survey`] does, where another process may be writing the directory.
    /// Returns the faults found in each of several looks, since files come and go, but real faults
    /// stay.
    pub(crate) fn settled_survey(
        &mut self,
        directory: &str,
    ) -> Result<Vec<(String, SealError)>, Refusal> {
        let mut wrong = self.look(directory)?;
        for pause in SETTLE {
            if wrong.is_empty() {
                break;
            }
            thread::sleep(pause);
            let again = self.look(directory)?;
            wrong.retain(|(name, _)| again.iter().any(|(other, _)| other == name));
        }
        Ok(wrong)
    }

    /// Compares as [`View::survey`] does. Of CURRENT, whose name stays when it is replaced, nothing
    /// counts if the catalogue was changed in the meantime.
    fn look(&mut self, directory: &str) -> Result<Vec<(String, SealError)>, Refusal> {
        let mut wrong = self.survey(directory)?;
        if wrong.iter().any(|(name, _)| name == "CURRENT") {
            let reading = self.reading;
            let found = self.directory(&plain(directory))?;
            let before = found.mark();
            found.reload(reading)?;
            if found.mark() != before {
                wrong.retain(|(name, _)| name != "CURRENT");
            }
        }
        Ok(wrong)
    }

    /// Refuses `directory` for the first of what [`View::settled_survey`] finds.
    fn refuse_wrong(&mut self, directory: &str) -> Result<(), Refusal> {
        let wrong =
            self.settled_survey(directory)?.into_iter().min_by(|one, other| one.0.cmp(&other.0));
        wrong.map_or(Ok(()), |(name, error)| refuse(format!("{directory}/{name}"), error))
    }

    /// Returns the faults of the files of `directory` as a whole: missing, not a file, or present
    /// but not listed. By name.
    pub(crate) fn survey(&mut self, directory: &str) -> Result<Vec<(String, SealError)>, Refusal> {
        let reading = self.reading;
        let found = self.directory(&plain(directory))?;
        found.reload(reading)?;
        found.survey(reading).map(|survey| survey.wrong)
    }
}
