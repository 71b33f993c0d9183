//! Pages of files that the system keeps in memory, for measurements that begin without them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

/// Drops the files in `dir` and below from the system's cache.
///
/// # Errors
/// A directory that cannot be read.
pub fn forget(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)?.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            forget(&entry.path())?;
        } else if kind.is_file()
            && let Ok(file) = File::open(entry.path())
        {
            // one that is still being written keeps its pages
            let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/file"), "kept").unwrap();
        forget(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("below/file")).unwrap(), "kept");
        assert!(forget(&dir.path().join("none")).is_err());
    }
}
