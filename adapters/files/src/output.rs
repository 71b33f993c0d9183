//! Files that appear when they are whole: written beside the target under another name, then renamed. Not here: what is
//! written.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::FileError;

/// What an unfinished file's name ends with, after a dot before it.
pub const ENDING: &str = ".sealstone-partial";

/// A file that is being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Output {
    target: PathBuf,
    partial: PathBuf,
    /// None when it was finished.
    file: Option<BufWriter<File>>,
}

impl Output {
    /// Begins the file that is to be `target`; what a killed run left of it is overwritten.
    ///
    /// - `private`: whether nobody but this user may read it
    ///
    /// # Errors
    /// It cannot be made there, or another process is writing it.
    pub(crate) fn create(target: &Path, private: bool) -> Result<Self, FileError> {
        let name = target.file_name().ok_or_else(|| FileError::NoName(target.to_owned()))?;
        let partial = target.with_file_name(format!(".{}{ENDING}", name.to_string_lossy()));
        let cannot = |error| FileError::Write { path: target.to_owned(), error };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        if private {
            options.mode(0o600);
        }
        let file = loop {
            let file = options.open(&partial).map_err(cannot)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(FileError::Busy(target.to_owned())),
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
            // a process that finished in between has renamed the file that was opened
            let now = partial.metadata().ok();
            let opened = file.metadata().map_err(cannot)?;
            if now.is_some_and(|now| (now.dev(), now.ino()) == (opened.dev(), opened.ino())) {
                break file;
            }
        };
        file.set_len(0).map_err(cannot)?;
        Ok(Self { target: target.to_owned(), partial, file: Some(BufWriter::with_capacity(1 << 20, file)) })
    }

    /// Puts the file in its place, on stable storage.
    ///
    /// # Errors
    /// What the system says; nothing is left in that case.
    pub(crate) fn finish(mut self) -> Result<(), FileError> {
        let finish = |mut file: BufWriter<File>| -> io::Result<()> {
            file.flush()?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            std::fs::rename(&self.partial, &self.target)?;
            let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
            File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all())
        };
        let Some(file) = self.file.take() else { return Ok(()) };
        let outcome = finish(file);
        if outcome.is_err() {
            let _ = std::fs::remove_file(&self.partial);
        }
        outcome.map_err(|error| FileError::Write { path: self.target.clone(), error })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // what is not written yet is not wanted either
            let _ = file.into_parts();
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// `path` with `ending` behind its name.
#[must_use]
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out.csv");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let mut output = Output::create(&target, false).unwrap();
        output.write_all(b"half").unwrap();
        assert!(!target.exists());
        assert!(Output::create(&target, false).unwrap_err().to_string().contains("another sealstone is writing it"));
        drop(output);
        assert_eq!(names(), 0);
        // what a killed process left
        std::fs::write(dir.path().join(".out.csv.sealstone-partial"), "a longer text than the new one").unwrap();
        let mut output = Output::create(&target, true).unwrap();
        output.write_all(b"whole").unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(names(), 1);
    }
}
