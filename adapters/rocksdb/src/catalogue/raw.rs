//! The stored files of a catalogue: a few whole-file operations, on the file system below the seal
//! or, for tools that read a store without RocksDB, on the operating system's.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::place::{self, Place};

/// An operation on stored files failed; the text names the file and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawError(pub(crate) String);

/// Operations on stored files. Serves any number of threads at once.
pub(crate) trait RawFiles: Send + Sync {
    /// Returns the kind of file at `path`, links followed.
    fn look(&self, path: &str) -> Result<Place, RawError>;
    /// Returns the first `bytes` bytes of the file at `path`, or all of a shorter one; None if
    /// there is no such file.
    fn read(&self, path: &str, bytes: usize) -> Result<Option<Vec<u8>>, RawError>;
    /// Puts a new file at `path`, in place of the file or link that is there, holding `bytes` on
    /// stable storage.
    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), RawError>;
    /// Opens an existing file for writing anywhere in it, even beyond its end.
    fn update(&self, path: &str) -> Result<Box<dyn RawUpdate>, RawError>;
    /// Renames the file `from` to `to`, replacing any file there.
    fn rename(&self, from: &str, to: &str) -> Result<(), RawError>;
    /// Removes a file or link; one that is not there is not an error.
    fn remove(&self, path: &str) -> Result<(), RawError>;
    /// Puts names in `directory` on stable storage.
    fn sync_directory(&self, directory: &str) -> Result<(), RawError>;
    /// Returns the names in `directory`; None if there is no such directory.
    fn names(&self, directory: &str) -> Result<Option<Vec<String>>, RawError>;
}

/// A file that is written in place.
pub(crate) trait RawUpdate: Send {
    /// Writes `bytes` at `offset`.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RawError>;
    /// Puts the written data on stable storage.
    fn sync(&mut self) -> Result<(), RawError>;
}

/// The operating system's files, without an engine in between.
pub(crate) struct SystemFiles;

fn cannot(attempt: &str, path: &str, error: &io::Error) -> RawError {
    RawError(format!("cannot {attempt} {path}: {error}"))
}

fn or_none<T>(result: io::Result<T>, attempt: &str, path: &str) -> Result<Option<T>, RawError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(attempt, path, &error)),
    }
}

impl RawFiles for SystemFiles {
    fn look(&self, path: &str) -> Result<Place, RawError> {
        place::look(Path::new(path)).map_err(|error| cannot("look at", path, &error))
    }

    fn read(&self, path: &str, bytes: usize) -> Result<Option<Vec<u8>>, RawError> {
        let read = |file: File| {
            let mut start = Vec::new();
            file.take(bytes as u64).read_to_end(&mut start)?;
            Ok(start)
        };
        or_none(place::open(Path::new(path)).and_then(read), "read", path)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), RawError> {
        let write = |file: File| {
            file.write_all_at(bytes, 0)?;
            file.sync_all()
        };
        self.remove(path)?;
        File::create_new(path).and_then(write).map_err(|error| cannot("write", path, &error))
    }

    fn update(&self, path: &str) -> Result<Box<dyn RawUpdate>, RawError> {
        let opened =
            place::open_to_update(Path::new(path)).map_err(|error| cannot("open", path, &error))?;
        Ok(Box::new(SystemFile(opened, path.to_owned())))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), RawError> {
        fs::rename(from, to).map_err(|error| cannot("rename", from, &error))
    }

    fn remove(&self, path: &str) -> Result<(), RawError> {
        or_none(fs::remove_file(path), "remove", path).map(|_| ())
    }

    fn sync_directory(&self, directory: &str) -> Result<(), RawError> {
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| cannot("sync directory", directory, &error))
    }

    fn names(&self, directory: &str) -> Result<Option<Vec<String>>, RawError> {
        let list = || -> io::Result<Vec<String>> {
            fs::read_dir(directory)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect()
        };
        or_none(list(), "list directory", directory)
    }
}

struct SystemFile(File, String);

impl RawUpdate for SystemFile {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RawError> {
        self.0.write_all_at(bytes, offset).map_err(|error| cannot("write", &self.1, &error))
    }

    fn sync(&mut self) -> Result<(), RawError> {
        self.0.sync_data().map_err(|error| cannot("sync", &self.1, &error))
    }
}
