//! The file with what a program on this machine prints. Not here: reading it (`log`).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;

use crate::LabError;
use crate::error::io;

/// Creates the file `path`, or empties the one that is there. A link is not followed, and nothing
/// is waited for. Returns it twice: for the output of a program and for its errors.
///
/// # Errors
/// [`LabError::Io`]: a link or a pipe is there, or the file cannot be made.
pub(crate) fn create(path: &Path) -> Result<(File, File), LabError> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(flags.bits())
        .open(path);
    let cannot = |error| io("create", path, error);
    let file = opened.map_err(cannot)?;
    let again = file.try_clone().map_err(cannot)?;
    Ok((file, again))
}
