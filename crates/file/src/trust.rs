//! Check of who, besides its owner, may change a file that is read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::directory::parent;

/// The owner and mode of something that somebody else may change.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Untrusted {
    /// The owner is neither this user nor root.
    #[error(
        "it belongs to user {owner}, who may change it (you are user {user})\nmake it yours with \
         chown, or use a copy"
    )]
    Owner {
        /// The owner.
        owner: u32,
        /// This user.
        user: u32,
    },
    /// Everybody may write to it.
    #[error(
        "everybody may write to it (mode {mode:04o})\nallow that to its owner alone, with: chmod \
         o-w FILE"
    )]
    Mode {
        /// The bits of its permissions.
        mode: u32,
    },
    /// Everybody may put something else in its place.
    #[error(
        "everybody may put another file in its place: the directory {} has mode {mode:04o}\n\
         allow that to its owner alone, with: chmod o-w {}", directory.display(),
         directory.display()
    )]
    Directory {
        /// The directory in which it is.
        directory: PathBuf,
        /// The bits of its permissions.
        mode: u32,
    },
    /// Another user may put something else in its place.
    #[error(
        "user {owner} may put another file in its place: the directory {} is that user's (you are \
         user {user})\nkeep it in a directory of your own, or of root", directory.display()
    )]
    DirectoryOwner {
        /// The directory in which it is.
        directory: PathBuf,
        /// The owner of the directory.
        owner: u32,
        /// This user.
        user: u32,
    },
}

/// Checks that nobody but its owner, who is this user or root, can change the file that `found` is
/// of. For root, the user who called `sudo` counts, too.
///
/// # Errors
/// [`Untrusted::Owner`], [`Untrusted::Mode`].
pub(crate) fn check_file(found: &Metadata) -> Result<(), Untrusted> {
    check_file_of(found, geteuid().as_raw(), caller_of_sudo())
}

fn check_file_of(found: &Metadata, user: u32, caller: Option<u32>) -> Result<(), Untrusted> {
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if !is_trusted(owner, user, caller) {
        return Err(Untrusted::Owner { owner, user });
    }
    if mode & 0o002 != 0 {
        return Err(Untrusted::Mode { mode });
    }
    Ok(())
}

/// Returns whether `owner` is `user`, root, or, for root, the `caller` of sudo.
fn is_trusted(owner: u32, user: u32, caller: Option<u32>) -> bool {
    owner == user || owner == 0 || (user == 0 && caller == Some(owner))
}

/// Checks that `path` is a regular file that nobody but this user and root can change or replace.
///
/// # Errors
/// As [`crate::input::open`], and [`Untrusted`], as an [`io::Error`] of kind `PermissionDenied`.
pub fn check(path: &Path) -> io::Result<()> {
    check_opened(path, &crate::input::open(path)?.metadata()?)
}

/// Checks that neither everybody nor another user can put another file in the place of `path`: that
/// the directory of this name and the directory of a link's target are this user's or root's, and
/// not writable for everybody, unless sticky like `/tmp`. For root, the user who called `sudo`
/// counts, too.
///
/// # Errors
/// [`Untrusted::Directory`], [`Untrusted::DirectoryOwner`]. Unreadable directories are left to the
/// caller that opens `path`.
pub fn check_place(path: &Path) -> Result<(), Untrusted> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let user = geteuid().as_raw();
    for directory in [parent(path), parent(&real)] {
        let Ok(found) = directory.metadata() else { continue };
        let directory = directory.to_owned();
        if is_open_to_all(&found) {
            return Err(Untrusted::Directory { directory, mode: found.mode() & 0o7777 });
        }
        if !is_trusted(found.uid(), user, caller_of_sudo()) {
            return Err(Untrusted::DirectoryOwner { directory, owner: found.uid(), user });
        }
    }
    Ok(())
}

/// Returns whether everybody may replace the contents of the directory that `found` describes.
pub(crate) fn is_open_to_all(found: &Metadata) -> bool {
    found.mode() & 0o1002 == 0o002
}

fn caller_of_sudo() -> Option<u32> {
    std::env::var("SUDO_UID").ok()?.parse().ok()
}

/// Reads the regular file `path`, which names keys, servers or commands, and so must be this user's
/// or root's, and nobody else may write to it or put another in its place.
///
/// # Errors
/// As [`crate::input::read_to_string`], and [`Untrusted`], as an [`io::Error`] of kind
/// `PermissionDenied`.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut file = crate::input::open(path)?;
    check_opened(path, &file.metadata()?)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Reads what [`crate::input::open_given`] opens, where a file must be as [`read_to_string`] wants
/// it.
///
/// # Errors
/// As [`crate::input::read_given_to_string`], and [`Untrusted`], as an [`io::Error`] of kind
/// `PermissionDenied`.
pub fn read_given_to_string(path: &Path) -> io::Result<String> {
    let mut file = crate::input::open_given(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        check_opened(path, &found)?;
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn check_opened(path: &Path, found: &Metadata) -> io::Result<()> {
    check_file(found)
        .and_then(|()| check_place(path))
        .map_err(|found| io::Error::new(io::ErrorKind::PermissionDenied, found))
}

/// Checks that not everybody may replace files in the directory `dir`, which is at `path`.
pub(crate) fn check_directory(dir: &File, path: &Path) -> io::Result<()> {
    let found = dir.metadata()?;
    if is_open_to_all(&found) {
        let mode = found.mode() & 0o7777;
        let found = Untrusted::Directory { directory: path.to_owned(), mode };
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, found));
    }
    Ok(())
}
