//! Files that appear when they are whole, one process at a time. Not here: putting a file in place
//! (`sealstone_file`).

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sealstone_file::output::{self, Access};

use crate::error::FileError;

/// Number of bytes that are written at once.
const AT_ONCE: usize = 1 << 20;

/// A file that is being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Output {
    target: PathBuf,
    file: BufWriter<output::Output>,
}

impl Output {
    /// Begins the file that will be `target`; leftovers of a killed run are removed.
    ///
    /// - `private`: whether nobody but this user may read it
    ///
    /// # Errors
    /// It cannot be made there, or another process is writing it.
    pub(crate) fn create(target: &Path, private: bool) -> Result<Self, FileError> {
        let cannot = |error| FileError::Write { path: target.to_owned(), error };
        let file = output::Output::replace(target, access(private)).map_err(cannot)?;
        if file.is_contended() {
            return Err(FileError::Busy(target.to_owned()));
        }
        Ok(Self { target: target.to_owned(), file: BufWriter::with_capacity(AT_ONCE, file) })
    }

    /// Puts the file in its place, on stable storage.
    ///
    /// # Errors
    /// The system's error; nothing is left in that case.
    pub(crate) fn finish(self) -> Result<(), FileError> {
        let Self { target, file } = self;
        let whole = file.into_inner().map_err(io::IntoInnerError::into_error);
        whole
            .and_then(output::Output::commit)
            .map(drop)
            .map_err(|error| FileError::Write { path: target, error })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Checks that the file `target` can be written, before any work is done for it.
///
/// - `private`: whether nobody but this user is to read it
///
/// # Errors
/// [`FileError::Write`]: it is no file, or somebody else's, or cannot be made there.
pub fn check_target(target: &Path, private: bool) -> Result<(), FileError> {
    let cannot = |error| FileError::Write { path: target.to_owned(), error };
    output::check_replaceable(target, access(private)).map_err(cannot)
}

fn access(private: bool) -> Access {
    if private { Access::Private } else { Access::Usual }
}

/// Returns `path` with `ending` behind its name.
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
        assert!(
            Output::create(&target, false)
                .unwrap_err()
                .to_string()
                .contains("another sealstone is writing it")
        );
        drop(output);
        assert_eq!(names(), 0);
        // leftover of a killed process
        let left = dir.path().join(".out.csv.0123456789abcdef.sealstone-partial");
        std::fs::write(left, "a longer text than the new one").unwrap();
        check_target(&target, true).unwrap();
        let mut output = Output::create(&target, true).unwrap();
        output.write_all(b"whole").unwrap();
        output.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(names(), 1);
    }
}
