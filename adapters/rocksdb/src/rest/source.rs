//! A sealed store that no process has open, to be read without changing a byte of it: its lock, its
//! key, and the check of its files against its catalogue.
//!
//! The lock belongs to the open file, where RocksDB's own belongs to the process.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use sealstone_cipher::{Backend, DEFAULT_CIPHER};
use sealstone_keys::{KeyError, KeyRef, KeySource};
use sealstone_seal::{FileKind, rocksdb_name};

use super::content::Contents;
use super::error::RestError;
use super::file_state::State;
use super::files_on_disk::StoredFile;
use super::live_set::{self, log_directory};
use super::status::status;
use crate::catalogue::raw::SystemFiles;
use crate::catalogue::{Refusal, View};
use crate::directory::DirectoryError;
use crate::file_system::{Failure, SealedFiles};
use crate::manifest::LiveSet;
use crate::place;
use crate::sealing_options::Sealing;

/// Reason why a sealed store cannot be read. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// Its directory cannot be listed, or is none of a store.
    #[error(transparent)]
    Rest(#[from] RestError),
    /// A key that its files are under cannot be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Nothing of it is sealed.
    #[error("the store in {} is not sealed\nRocksDB's own tools read it as it is", dir.display())]
    Plain {
        /// The directory.
        dir: PathBuf,
    },
    /// Some of its files are in the clear.
    #[error(
        "the store in {} is sealed, but {file} in it is not\n\
         if sealing it was interrupted, resume with `sealstone rest reseal --from-plain`; if not, \
         somebody put it there: restore a backup", dir.display()
    )]
    PlainFile {
        /// The directory.
        dir: PathBuf,
        /// Name of one of the files.
        file: String,
    },
    /// Another process has it open.
    #[error(transparent)]
    Open(#[from] DirectoryError),
    /// Stored data that differs from the sealed data, or a different key of the same name; the text
    /// names the file.
    #[error("cannot read the store in {}: {text}", dir.display())]
    Unreadable {
        /// The directory.
        dir: PathBuf,
        /// Description of the finding, the file, and the next step.
        text: String,
    },
}

/// A closed sealed store. While this lives, no process can open it for writing.
pub(super) struct Source {
    pub(super) dir: PathBuf,
    pub(super) keys: Arc<dyn KeySource>,
    pub(super) backend: Backend,
    /// Opens its files, each checked against the catalogue.
    pub(super) files: SealedFiles,
    _lock: Option<File>,
}

impl Source {
    /// Looks at the store in `dir`, and keeps others from changing it.
    pub(super) fn open(
        dir: &Path,
        keys: Arc<dyn KeySource>,
        backend: Backend,
    ) -> Result<Self, SourceError> {
        let status = status(dir)?;
        if !status.files.iter().any(|file| file.name == "CURRENT") {
            return Err(RestError::NoStore { dir: dir.to_owned() }.into());
        }
        // backups and the like below the directory are none of its files
        let own =
            || status.files.iter().filter(|file| rocksdb_name(&file.name).0 != FileKind::Loose);
        let under = own().filter_map(|file| match &file.state {
            State::Sealed(sealed) => Some((sealed.key_id.clone(), sealed.key_version)),
            _ => None,
        });
        let under: BTreeSet<(String, u32)> = under.collect();
        match own().find(|file| file.state == State::NotSealed) {
            Some(_) if under.is_empty() => return Err(SourceError::Plain { dir: dir.to_owned() }),
            Some(file) => {
                return Err(SourceError::PlainFile {
                    dir: dir.to_owned(),
                    file: file.name.clone(),
                });
            }
            None => {}
        }
        for (id, version) in under {
            keys.get(&KeyRef { id, version })?;
        }
        let lock = lock(dir)?;
        let files = SealedFiles::new(Sealing::new(Arc::clone(&keys), DEFAULT_CIPHER, backend));
        files.set_read_only();
        files.catalogues().attach(Box::new(SystemFiles));
        let source = Self { dir: dir.to_owned(), keys, backend, files, _lock: lock };
        source.survey()?;
        Ok(source)
    }

    pub(super) fn contents(&self) -> Contents<'_> {
        Contents { keys: &*self.keys, backend: self.backend, reads_plain: false }
    }

    /// Returns the name and the content of its MANIFEST.
    pub(super) fn live_set(&self) -> Result<(String, LiveSet), SourceError> {
        let found = live_set::named_by_current(&self.dir, self.contents());
        let manifest = found.as_ref().map_or_else(|(name, _)| name, |(manifest, _)| manifest);
        // its content is useful only if complete, which the catalogue records
        for name in ["CURRENT", manifest] {
            self.check(name)?;
        }
        found.map_err(|(name, unread)| {
            let what = unread.explain("it should say what the store consists of");
            self.unreadable(format!("{}: {what}", self.dir.join(name).display()))
        })
    }

    /// Opens file `name` as RocksDB would.
    fn check(&self, name: &str) -> Result<(), SourceError> {
        let path = self.dir.join(name);
        let shown = path.to_string_lossy();
        let cannot =
            |error: io::Error| self.unreadable(format!("{shown}: cannot be read: {error}"));
        let stored = StoredFile(place::open(&path).map_err(cannot)?);
        let stored_bytes = stored.0.metadata().map_err(cannot)?.len();
        self.files
            .open(&shown, stored_bytes, &stored)
            .map(drop)
            .map_err(|failure| self.failed(failure))
    }

    /// Returns the error that the store cannot be read, for the reason `text`.
    pub(super) fn unreadable(&self, text: String) -> SourceError {
        SourceError::Unreadable { dir: self.dir.clone(), text }
    }

    pub(super) fn failed(&self, failure: Failure) -> SourceError {
        self.unreadable(failure.text())
    }

    pub(super) fn refused(&self, refusal: Refusal) -> SourceError {
        self.failed(refusal.into())
    }

    /// Compares the files with what the catalogue lists, in the directory of the logs, too.
    fn survey(&self) -> Result<(), SourceError> {
        let mut view = View::new(&*self.keys, self.backend);
        let logs = log_directory(&self.dir, self.contents()).ok().flatten();
        for dir in [Some(self.dir.clone()), logs].into_iter().flatten() {
            let wrong =
                view.survey(&dir.to_string_lossy()).map_err(|refusal| self.refused(refusal))?;
            if let Some((name, error)) = wrong.into_iter().next() {
                return Err(self.unreadable(format!("{}: {error}", dir.join(name).display())));
            }
        }
        Ok(())
    }
}

/// Takes the lock of the store in `dir` as one that only reads: RocksDB, which takes it to write,
/// is kept out, and other readers are not. The file is not opened for writing. None if there is no
/// lock file, so that no process has the store open.
fn lock(dir: &Path) -> Result<Option<File>, SourceError> {
    let path = dir.join("LOCK");
    let file = match place::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DirectoryError::Io { attempt: "open", path, source }.into()),
    };
    let shared = libc::flock {
        l_type: libc::F_RDLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(&file, FcntlArg::F_OFD_SETLK(&shared)) {
        Ok(_) => Ok(Some(file)),
        Err(Errno::EAGAIN | Errno::EACCES) => {
            Err(DirectoryError::InUse { dir: dir.to_owned() }.into())
        }
        Err(error) => {
            Err(DirectoryError::Io { attempt: "lock", path, source: error.into() }.into())
        }
    }
}
