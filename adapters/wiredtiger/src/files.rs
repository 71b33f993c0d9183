//! The file system that WiredTiger gets from us: plain files, like its own, and journal files
//! through [`Journal`].
//!
//! It follows WiredTiger's documentation of a file system: positions are given with each read and
//! write, a write is whole when the call returns, a sync that failed is never tried again, and the
//! lock is one of `fcntl`, like WiredTiger's own, so that programs with and without the extension
//! exclude each other. Files are not mapped into memory.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, FcntlArg, PosixFadviseAdvice, fallocate, fcntl, posix_fadvise};
use nix::libc::{F_UNLCK, F_WRLCK, SEEK_SET, flock};

use sealstone_file::input;

use crate::error::ExtensionError;
use crate::journal::{Journal, Role};
use crate::writeback::start_writing;

/// In the data directory, in the clear, and WiredTiger takes any setting from it, including
/// libraries to load.
const CONFIG_FILE: &str = "WiredTiger.config";

/// Mode in which a file is opened, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    /// A directory, to be synced.
    pub(crate) directory: bool,
    /// WiredTiger's journal opens it.
    pub(crate) log: bool,
    /// Made if it is not there.
    pub(crate) create: bool,
    /// It must not be there.
    pub(crate) exclusive: bool,
    /// Its directory is synced.
    pub(crate) durable: bool,
    /// Bypasses the system's cache.
    pub(crate) direct: bool,
    /// Advice to the system on how it will be read.
    pub(crate) advice: Option<PosixFadviseAdvice>,
}

/// The files of one opening.
pub(crate) struct Files {
    journal: Arc<Journal>,
    sync_failed: Arc<AtomicBool>,
}

/// One open file.
pub(crate) struct OpenFile {
    file: File,
    path: PathBuf,
    role: Role,
    journal: Arc<Journal>,
    sync_failed: Arc<AtomicBool>,
}

fn error<'a>(attempted: &'static str, path: &'a Path) -> impl Fn(io::Error) -> ExtensionError + 'a {
    move |source| ExtensionError::File { attempted, path: path.to_owned(), source }
}

fn sync_directory_of(path: &Path) -> Result<(), ExtensionError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(error("sync", dir))
}

impl Files {
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self { journal, sync_failed: Arc::default() }
    }

    /// Names in the directory `dir` that begin with `prefix`; one of them if `single`.
    pub(crate) fn list(
        &self,
        dir: &Path,
        prefix: &str,
        single: bool,
    ) -> Result<Vec<Vec<u8>>, ExtensionError> {
        use std::os::unix::ffi::OsStringExt;
        self.journal.listed(dir, prefix)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(error("list", dir))? {
            let name = entry.map_err(error("list", dir))?.file_name().into_vec();
            if name.starts_with(prefix.as_bytes()) {
                names.push(name);
                if single {
                    break;
                }
            }
        }
        Ok(names)
    }

    /// Returns whether a file exists.
    ///
    /// # Errors
    /// [`ExtensionError::ConfigFile`] where it is one that WiredTiger would take settings from, and
    /// so code.
    pub(crate) fn exists(&self, path: &Path) -> Result<bool, ExtensionError> {
        match path.try_exists().map_err(error("look for", path))? {
            true if path.file_name() == Some(OsStr::new(CONFIG_FILE)) => {
                Err(ExtensionError::ConfigFile { path: path.to_owned() })
            }
            exists => Ok(exists),
        }
    }

    pub(crate) fn bytes_of(&self, path: &Path) -> Result<u64, ExtensionError> {
        fs::metadata(path).map(|metadata| metadata.len()).map_err(error("look at", path))
    }

    pub(crate) fn remove(&self, path: &Path, durable: bool) -> Result<(), ExtensionError> {
        self.journal.removing(path)?;
        fs::remove_file(path).map_err(error("remove", path))?;
        if durable { sync_directory_of(path) } else { Ok(()) }
    }

    pub(crate) fn rename(
        &self,
        from: &Path,
        to: &Path,
        durable: bool,
    ) -> Result<(), ExtensionError> {
        self.journal.renaming(from, to)?;
        fs::rename(from, to).map_err(error("rename", from))?;
        if durable {
            sync_directory_of(from)?;
            if from.parent() != to.parent() {
                sync_directory_of(to)?;
            }
        }
        Ok(())
    }

    pub(crate) fn open(&self, path: &Path, how: How) -> Result<OpenFile, ExtensionError> {
        let role = if how.directory { Role::Plain } else { self.journal.opened(path, how.log)? };
        let file = open(path, how, matches!(role, Role::Plain)).map_err(error("open", path))?;
        if how.durable {
            sync_directory_of(path)?;
        }
        if let Some(advice) = how.advice.filter(|_| !how.direct) {
            posix_fadvise(&file, 0, 0, advice).map_err(|code| error("open", path)(code.into()))?;
        }
        let (journal, sync_failed) = (self.journal.clone(), self.sync_failed.clone());
        Ok(OpenFile { file, path: path.to_owned(), role, journal, sync_failed })
    }

    pub(crate) fn close(&self) -> Result<(), ExtensionError> {
        Ok(self.journal.close()?)
    }
}

fn open(path: &Path, how: How, plain: bool) -> io::Result<File> {
    if how.directory {
        return File::open(path);
    }
    // WiredTiger waits without end for a pipe in the place of a file
    match fs::metadata(path) {
        Ok(found) => input::check(&found)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    if how.create && how.exclusive {
        options.create_new(true);
    } else if how.create {
        options.create(true).truncate(false);
    }
    // records are read and written here from buffers that are not aligned for it
    if how.direct && plain {
        options.custom_flags(nix::libc::O_DIRECT);
    }
    match options.open(path) {
        // read-only requests are not distinguished from others: releases disagree on the flag
        Err(error)
            if !how.create
                && [Some(Errno::EACCES as i32), Some(Errno::EROFS as i32)]
                    .contains(&error.raw_os_error()) =>
        {
            let mut options = OpenOptions::new();
            options.read(true);
            if how.direct && plain {
                options.custom_flags(nix::libc::O_DIRECT);
            }
            options.open(path)
        }
        opened => opened,
    }
}

impl OpenFile {
    fn fail(&self, attempted: &'static str) -> impl Fn(io::Error) -> ExtensionError + '_ {
        error(attempted, &self.path)
    }

    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), ExtensionError> {
        match &self.role {
            Role::Journal(journal) => Ok(journal.read(&self.file, into, at)?),
            _ => self.file.read_exact_at(into, at).map_err(self.fail("read")),
        }
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), ExtensionError> {
        if self.sync_failed.load(Ordering::Acquire) {
            return Err(ExtensionError::SyncFailed);
        }
        match &self.role {
            Role::Plain => self.file.write_all_at(bytes, at).map_err(self.fail("write")),
            Role::Fresh => Ok(self.journal.write_fresh(&self.path, &self.file, bytes, at)?),
            Role::Journal(journal) => Ok(journal.write(&self.file, bytes, at)?),
        }
    }

    pub(crate) fn bytes(&self) -> Result<u64, ExtensionError> {
        let bytes = match &self.role {
            Role::Journal(journal) => journal.bytes(&self.file),
            _ => self.file.metadata().map(|metadata| metadata.len()),
        };
        bytes.map_err(self.fail("look at"))
    }

    /// Syncs the file. If this fails, written data may be lost, and the system may report this only
    /// once: nothing is written afterwards.
    pub(crate) fn sync(&self) -> Result<(), ExtensionError> {
        if self.sync_failed.load(Ordering::Acquire) {
            return Err(ExtensionError::SyncFailed);
        }
        let synced = match &self.role {
            Role::Journal(journal) => self.journal.sync(journal, &self.file).map_err(Into::into),
            _ => self.file.sync_data().map_err(self.fail("sync")),
        };
        synced.inspect_err(|_| self.sync_failed.store(true, Ordering::Release))
    }

    pub(crate) fn start_sync(&self) -> Result<(), ExtensionError> {
        start_writing(&self.file).map_err(self.fail("begin to sync"))
    }

    pub(crate) fn cut(&self, bytes: u64) -> Result<(), ExtensionError> {
        if let Role::Journal(journal) = &self.role {
            self.journal.cutting(journal, bytes)?;
        }
        self.file.set_len(bytes).map_err(self.fail("cut"))
    }

    /// Makes it at least `bytes` bytes long, with room on the disk. The bare error, without a log
    /// message: WiredTiger can do without the room, and calls often.
    pub(crate) fn extend(&self, bytes: i64) -> Result<(), i32> {
        fallocate(&self.file, FallocateFlags::empty(), 0, bytes).map_err(|code| code as i32)
    }

    pub(crate) fn advise(
        &self,
        at: i64,
        bytes: i64,
        advice: PosixFadviseAdvice,
    ) -> Result<(), i32> {
        posix_fadvise(&self.file, at, bytes, advice).map_err(|code| code as i32)
    }

    /// Locks it against other processes, or unlocks it.
    pub(crate) fn lock(&self, lock: bool) -> Result<(), ExtensionError> {
        let kind = if lock { F_WRLCK } else { F_UNLCK };
        let range = flock {
            l_type: kind as i16,
            l_whence: SEEK_SET as i16,
            l_start: 0,
            l_len: 1,
            l_pid: 0,
        };
        fcntl(&self.file, FcntlArg::F_SETLK(&range))
            .map(|_| ())
            .map_err(|code| self.fail("lock")(code.into()))
    }
}
