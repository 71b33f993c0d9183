//! Who may change what is read, besides its owner. Not here: who may read it, which is for the reader of secrets to
//! ask.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::directory::parent;

/// The owner and mode of something that somebody else may change.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Untrusted {
    /// The owner is neither this user nor root.
    #[error("it belongs to user {owner}, who may change it (you are user {user})")]
    Owner {
        /// Whose it is.
        owner: u32,
        /// Who asked.
        user: u32,
    },
    /// Everybody may write to it.
    #[error("everybody may write to it (mode {mode:04o})")]
    Mode {
        /// The bits of its permissions.
        mode: u32,
    },
    /// Everybody may put something else in its place.
    #[error("everybody may put another file in its place: the directory {} has mode {mode:04o}", directory.display())]
    Directory {
        /// The directory in which it is.
        directory: PathBuf,
        /// The bits of its permissions.
        mode: u32,
    },
}

/// Checks that nobody but its owner, who is this user or root, can change the file that `found` is of. For root, the
/// user who called `sudo` counts, too.
///
/// # Errors
/// [`Untrusted::Owner`], [`Untrusted::Mode`].
pub fn check_file(found: &Metadata) -> Result<(), Untrusted> {
    check_file_of(found, geteuid().as_raw(), caller_of_sudo())
}

fn check_file_of(found: &Metadata, user: u32, caller: Option<u32>) -> Result<(), Untrusted> {
    // what is no file was handed to this process: a pipe, /dev/null
    if !found.is_file() {
        return Ok(());
    }
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if owner != user && owner != 0 && !(user == 0 && caller == Some(owner)) {
        return Err(Untrusted::Owner { owner, user });
    }
    if mode & 0o002 != 0 {
        return Err(Untrusted::Mode { mode });
    }
    Ok(())
}

/// Checks that not everybody can put another file in the place of `path`: that the directory in which it is, links
/// resolved, is not one where everybody may write, unless it is sticky as `/tmp` is.
///
/// # Errors
/// [`Untrusted::Directory`]. What cannot be looked at is left to whoever opens `path`.
pub fn check_place(path: &Path) -> Result<(), Untrusted> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = parent(&real);
    match directory.metadata() {
        Ok(found) if is_open_to_all(&found) => {
            Err(Untrusted::Directory { directory: directory.to_owned(), mode: found.mode() & 0o7777 })
        }
        _ => Ok(()),
    }
}

/// Whether everybody may replace what is in the directory that `found` is of.
pub(crate) fn is_open_to_all(found: &Metadata) -> bool {
    found.mode() & 0o1002 == 0o002
}

fn caller_of_sudo() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

/// Reads the file `path`, which names keys or commands, and so must be this user's or root's, and nobody else may write
/// to it. As [`crate::input::open_given`] it takes what was handed to this process.
///
/// # Errors
/// As [`crate::input::open_given`], and [`Untrusted`], as an [`io::Error`] of kind `PermissionDenied`.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut given = crate::input::open_given(path)?;
    let refused = |found| io::Error::new(io::ErrorKind::PermissionDenied, found);
    check_file(&given.metadata()?).map_err(refused)?;
    let mut text = String::new();
    io::Read::read_to_string(&mut given, &mut text)?;
    Ok(text)
}

/// Checks that not everybody may replace what is in the directory `dir`, which is at `path`.
pub(crate) fn check_directory(dir: &File, path: &Path) -> io::Result<()> {
    let found = dir.metadata()?;
    if is_open_to_all(&found) {
        let mode = found.mode() & 0o7777;
        let found = Untrusted::Directory { directory: path.to_owned(), mode };
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, found));
    }
    Ok(())
}
