//! Directories that servers and labs work in: made with a mode, and found by their real path. Not
//! here: directories that belong to another user (`privilege`).

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::LabError;
use crate::error::io;

/// Mode of a directory that only its owner gets into.
pub(crate) const PRIVATE: u32 = 0o700;
/// Mode of a directory that other users get through, but do not see the contents of.
pub(crate) const PASSABLE: u32 = 0o711;
/// Mode of a directory like any other: the process's mask decides.
pub(crate) const USUAL: u32 = 0o777;

/// Makes the directory `dir` with `mode`, and those above it, where they are not there.
///
/// # Errors
/// [`LabError::Io`].
pub(crate) fn make(dir: &Path, mode: u32) -> Result<(), LabError> {
    let made = DirBuilder::new().recursive(true).mode(mode).create(dir);
    made.map_err(|error| io("create directory", dir, error))
}

/// Returns the real path of `dir`, without links.
///
/// # Errors
/// [`LabError::Io`] if there is no such directory.
pub(crate) fn real(dir: &Path) -> Result<PathBuf, LabError> {
    dir.canonicalize().map_err(|error| io("look at", dir, error))
}

/// Makes the directory `dir` as [`make`] does, and returns its real path.
///
/// # Errors
/// [`LabError::Io`].
pub(crate) fn made(dir: &Path, mode: u32) -> Result<PathBuf, LabError> {
    make(dir, mode)?;
    real(dir)
}
