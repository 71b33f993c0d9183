//! Puts a key file in place on disk, and makes processes that change it take turns. Not here: its
//! content (`format`), and atomic replacement (`sealstone_file`).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sealstone_file::output::{Access, Output};

/// Puts a file of `text` at `path`, where nothing may exist yet, accessible only to its owner.
/// Returns once file and directory entry are on disk, with the file, open.
///
/// # Errors
/// `AlreadyExists` if anything is at `path`, even a dangling link; it stays as it is. After any
/// error nothing new is left behind.
pub(super) fn create(path: &Path, text: &[u8]) -> io::Result<File> {
    let mut output = Output::new_file(path, Access::Private)?;
    output.write_all(text)?;
    output.commit()
}

/// Puts a file of `text` in the place of the key file at `path`, which [`lock`] holds as `old`.
/// Until the last moment the old file is there, from then on the new one, whole; owner and group
/// stay. Returns once both are on disk, with the new file, open.
///
/// # Errors
/// The system's error; the old file is then still there, unless only the directory could not be
/// synced.
pub(super) fn replace(path: &Path, text: &[u8], old: &File) -> io::Result<File> {
    let old = old.metadata()?;
    let mut output = Output::replace_for(path, Access::Private, old.uid(), old.gid())?;
    output.write_all(text)?;
    output.commit()
}

/// Waits until no other process changes the key file at `path`, and keeps others from it until the
/// file is dropped.
///
/// # Errors
/// The system's error; `NotFound` if there is no file.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        file.lock()?;
        // who held the lock before may have put another file in its place
        let (held, there) = (file.metadata()?, fs::metadata(path)?);
        if (held.dev(), held.ino()) == (there.dev(), there.ino()) {
            return Ok(file);
        }
    }
}
