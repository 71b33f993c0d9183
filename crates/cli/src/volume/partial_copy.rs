//! Volumes onto which not everything is copied yet.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::path::quoted;

/// Name of the file that is there until everything is copied and compared; it has the directory
/// from which it is copied, or the volume's id.
pub(super) const UNFINISHED: &str = ".sealstone-unfinished";

/// Returns whether nothing was copied to the directory `path` yet: there is nothing in it but files
/// named in `except`, or the marker of a run that was ended before it had written it.
pub(super) fn is_bare(path: &Path, except: &[&str]) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let is_empty_marker = entry.file_name() == UNFINISHED && entry.metadata()?.len() == 0;
        if !is_empty_marker && !except.iter().any(|name| entry.file_name() == OsStr::new(name)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Marks the directory `path` as not finished, on the disk, with `of`: from where it is copied.
pub(super) fn mark(path: &Path, of: &[u8]) -> io::Result<()> {
    let mut file = File::create(path.join(UNFINISHED))?;
    file.write_all(of)?;
    file.sync_all()?;
    File::open(path)?.sync_all()
}

/// Returns the message about a volume onto which not everything is copied yet, if the file system
/// mounted at `path` is one.
pub(super) fn found(dir: &Path, path: &Path) -> Option<String> {
    path.join(UNFINISHED).exists().then(|| text(dir))
}

/// Returns the message about it.
pub(super) fn text(dir: &Path) -> String {
    format!(
        "the files on {0} are not all there: copying them was not finished\n\
         go on with it: sealstone volume create {1} --from DIR, as it was begun",
        dir.display(),
        quoted(dir)
    )
}
