//! The directory that a store is copied into: its permitted content, leftovers of a killed attempt,
//! and the moment at which the copy becomes a store.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sealstone_file::{input, own_directory, sync_parent};
use sealstone_seal::{FileKind, STORE_ID_BYTES, rocksdb_name};

use super::error::UnsealError;
use super::journal::{Copied, Journal, line};

/// A file before it is whole and gets its name.
pub(super) const TEMPORARY: &str = "sealstone-unsealing.tmp";
/// Directory that a new file system has in its root directory.
const OF_THE_DEVICE: &str = "lost+found";
/// Mode of the directory and of its files: anyone who reads them reads everything.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The directory for the copy, which no other process is copying into.
pub(super) struct Target {
    pub(super) out: PathBuf,
    /// The files that are whole.
    pub(super) files: BTreeMap<String, Copied>,
    /// File that lists them; none once the copy is a store.
    journal: Option<File>,
    /// Held for its lock, and to sync.
    handle: File,
}

impl Target {
    /// Takes `out` for a copy of the store `store` in `dir`: a new or empty directory, an
    /// unfinished copy of the same store, or a store, which has no journal then.
    pub(super) fn open(
        dir: &Path,
        out: &Path,
        store: [u8; STORE_ID_BYTES],
    ) -> Result<Self, UnsealError> {
        let made = |source| UnsealError::Make { out: out.to_owned(), source };
        let own = fs::canonicalize(dir).map_err(made)?;
        if resolved(out).map_err(made)?.starts_with(&own) {
            return Err(UnsealError::Inside { dir: dir.to_owned(), out: out.to_owned() });
        }
        // what is copied is in the clear, so the directory must be nobody else's
        let (handle, _) = own_directory(out).map_err(made)?;
        match handle.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(UnsealError::Busy { out: out.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(made(error)),
        }
        let mut target =
            Self { out: out.to_owned(), files: BTreeMap::new(), journal: None, handle };
        let names = target.names()?;
        let current = target.out.join("CURRENT");
        let found = match input::read(&current) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(target.copy_failed("read", "CURRENT", source)),
        };
        let journal =
            found.as_deref().and_then(|found| Journal::parse(&String::from_utf8_lossy(found)));
        match (journal, found.is_some()) {
            (Some(journal), _) if journal.store == store => target.resume(journal, &names)?,
            (Some(journal), _) => {
                return Err(UnsealError::OtherStore { out: out.to_owned(), from: journal.from });
            }
            // whether it is this store is for the caller to see
            (None, true) => return Ok(target),
            (None, false) => match names.iter().find(|name| *name != TEMPORARY) {
                Some(holds) => return Err(target.not_empty(holds)),
                None => sync_parent(&resolved(out).map_err(made)?).map_err(made)?,
            },
        }
        target.handle.set_permissions(Permissions::from_mode(DIRECTORY_MODE)).map_err(made)?;
        let from = own.to_string_lossy().into_owned();
        let journal = Journal { store, from, files: target.files.clone() };
        target.put("CURRENT", journal.text().as_bytes())?;
        let opened = File::options().append(true).open(&current);
        target.journal =
            Some(opened.map_err(|source| target.copy_failed("open", "CURRENT", source))?);
        Ok(target)
    }

    /// Returns whether the directory holds a store already.
    pub(super) fn is_store(&self) -> bool {
        self.journal.is_none()
    }

    /// Names in the directory, but for what every device has.
    pub(super) fn names(&self) -> Result<Vec<String>, UnsealError> {
        let list = || -> io::Result<Vec<String>> {
            fs::read_dir(&self.out)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect()
        };
        let mut names =
            list().map_err(|source| UnsealError::Make { out: self.out.clone(), source })?;
        names.retain(|name| name != OF_THE_DEVICE);
        names.sort();
        Ok(names)
    }

    pub(super) fn not_empty(&self, holds: &str) -> UnsealError {
        UnsealError::NotEmpty { out: self.out.clone(), holds: holds.into() }
    }

    pub(super) fn copy_failed(
        &self,
        attempt: &'static str,
        name: &str,
        source: io::Error,
    ) -> UnsealError {
        UnsealError::Copy { attempt, path: self.out.join(name), source }
    }

    /// Takes over the complete files of an earlier attempt. Other leftovers are removed later.
    fn resume(&mut self, journal: Journal, names: &[String]) -> Result<(), UnsealError> {
        if let Some(foreign) = names.iter().find(|name| !is_own(name)) {
            return Err(self.not_empty(foreign));
        }
        self.files = journal.files;
        self.files.retain(|name, _| names.contains(name));
        Ok(())
    }

    /// Removes every file of the copy for which `keeps` is false.
    pub(super) fn keep(
        &mut self,
        keeps: impl Fn(&str, &Copied) -> bool,
    ) -> Result<(), UnsealError> {
        self.files.retain(|name, copied| keeps(name, copied));
        for name in self
            .names()?
            .iter()
            .filter(|name| *name != "CURRENT" && !self.files.contains_key(*name))
        {
            fs::remove_file(self.out.join(name))
                .map_err(|source| self.copy_failed("remove", name, source))?;
        }
        Ok(())
    }

    /// Begins a file, in the place of what a kill left of one.
    pub(super) fn begin(&self) -> Result<File, UnsealError> {
        let path = self.out.join(TEMPORARY);
        let begun = match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => File::options().write(true).create_new(true).mode(FILE_MODE).open(&path),
        };
        begun.map_err(|source| self.copy_failed("make", TEMPORARY, source))
    }

    /// Puts the file that was begun on stable storage under its name, and lists it.
    pub(super) fn end(
        &mut self,
        file: &File,
        name: &str,
        copied: Copied,
    ) -> Result<(), UnsealError> {
        self.place(file, name)?;
        if let Some(journal) = &mut self.journal {
            let written = journal.write_all(line(name, &copied).as_bytes());
            written.map_err(|source| self.copy_failed("write", "CURRENT", source))?;
        }
        self.files.insert(name.to_owned(), copied);
        Ok(())
    }

    fn place(&self, file: &File, name: &str) -> Result<(), UnsealError> {
        file.sync_all()
            .and_then(|()| fs::rename(self.out.join(TEMPORARY), self.out.join(name)))
            .map_err(|source| self.copy_failed("write", name, source))
    }

    /// Puts a small file in place, on stable storage.
    fn put(&self, name: &str, content: &[u8]) -> Result<(), UnsealError> {
        let mut file = self.begin()?;
        file.write_all(content).map_err(|source| self.copy_failed("write", name, source))?;
        self.place(&file, name)?;
        self.sync(name)
    }

    fn sync(&self, name: &str) -> Result<(), UnsealError> {
        self.handle.sync_all().map_err(|source| self.copy_failed("sync", name, source))
    }

    /// Takes a file that is not as it was written out of the copy.
    pub(super) fn discard(&mut self, name: &str) -> UnsealError {
        let path = self.out.join(name);
        // the next attempt finds it gone and copies it again; if it stays, it is found to differ
        // again
        let _ = fs::remove_file(&path);
        UnsealError::ReadBack { path }
    }

    /// Makes the copy a store: `CURRENT` names `manifest` from now on. Every other file is on
    /// stable storage before.
    pub(super) fn publish(&mut self, manifest: &str) -> Result<(), UnsealError> {
        self.sync("CURRENT")?;
        self.put("CURRENT", format!("{manifest}\n").as_bytes())?;
        self.journal = None;
        Ok(())
    }
}

/// Returns whether a file of this name in an unfinished copy is ours, or was made by RocksDB in an
/// attempt to open the copy.
fn is_own(name: &str) -> bool {
    let of_rocksdb = name == "LOCK" || name == "LOG" || name.starts_with("LOG.old.");
    name == TEMPORARY || of_rocksdb || rocksdb_name(name).0 != FileKind::Loose
}

/// Returns the path where `out` is or would be.
fn resolved(out: &Path) -> io::Result<PathBuf> {
    match (fs::canonicalize(out), out.file_name()) {
        (Err(error), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            let parent = out
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            Ok(fs::canonicalize(parent)?.join(name))
        }
        (found, _) => found,
    }
}
