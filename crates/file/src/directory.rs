//! Directories: the directory of a file, and private directories of this user.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;

use crate::kind::Kind;

/// Reason why a directory is not accepted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotOwn {
    /// The name stands for something else; a link, even to a directory, is something else.
    #[error("it is {0}, not a directory\nname a directory of your own")]
    Kind(Kind),
    /// A link; a separate variant, since it holds its target.
    #[error("it is a symbolic link to {}, perhaps somebody else's\nname the directory itself",
        .0.display())]
    Link(PathBuf),
    /// Somebody else's.
    #[error(
        "it belongs to user {owner}, who may change what is in it (you are user {user})\nname one \
         of your own"
    )]
    Owner {
        /// The owner.
        owner: u32,
        /// This user.
        user: u32,
    },
}

/// Returns the directory that `path` is in; `.` for a bare name.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts the entry of `path` in its directory on stable storage.
///
/// # Errors
/// The system's error.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// Makes the directory `path` for its owner alone, or takes an existing one: a real directory, no
/// link, of this user. Returns it, open, and whether it is new. The mode of an existing directory
/// is left unchanged.
///
/// # Errors
/// [`NotOwn`], as an [`io::Error`]; the system's error.
pub fn own(path: &Path) -> io::Result<(File, bool)> {
    let is_new = match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    Ok((opened(path, is_new)?, is_new))
}

/// Checks that `path` is a real directory of this user, no link.
///
/// # Errors
/// [`NotOwn`], as an [`io::Error`]; the system's error.
pub fn check_own(path: &Path) -> io::Result<()> {
    opened(path, false).map(drop)
}

/// Opens the directory `path`, which is this user's, or new.
fn opened(path: &Path, is_new: bool) -> io::Result<File> {
    let plain = without_slash(path);
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits()).open(&plain);
    let dir = match opened {
        Ok(dir) => dir,
        Err(error) => {
            let Ok(found) = std::fs::symlink_metadata(&plain) else { return Err(error) };
            return Err(match Kind::of(found.file_type()) {
                Kind::Directory => error,
                Kind::Link => not_own(NotOwn::Link(std::fs::read_link(&plain).unwrap_or_default())),
                kind => not_own(NotOwn::Kind(kind)),
            });
        }
    };
    let (owner, user) = (dir.metadata()?.uid(), geteuid().as_raw());
    if owner != user && !is_new {
        return Err(not_own(NotOwn::Owner { owner, user }));
    }
    Ok(dir)
}

fn not_own(found: NotOwn) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, found)
}

/// Returns `path` without slashes at its end, behind which a link would be followed.
fn without_slash(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    let kept = bytes.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    OsStr::from_bytes(&bytes[..kept.min(bytes.len())]).to_owned()
}
