//! Output files, which appear under their name when they are whole: written beside it under a fresh
//! name, synced, renamed.
//!
//! Nothing prepared by others is written into: this process makes the unfinished file, under an
//! unpredictable name (`O_EXCL`), with its mode set before the first byte, and the rename replaces
//! a name, never the target of a link. A killed run leaves `.NAME.<16 hexadecimal
//! digits>.sealstone-partial`, which the next run for the same name removes.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, FcntlArg, OFlag, fcntl, openat, readlinkat, renameat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstatat};
use nix::unistd::{UnlinkatFlags, geteuid, linkat, unlinkat};

use crate::directory::parent;
use crate::kind::Kind;
use crate::trust;

/// Suffix of an unfinished file's name.
pub const ENDING: &str = ".sealstone-partial";
/// Hexadecimal digits before it, that nobody can guess.
const DIGITS: usize = 16;
/// Number of bytes of a name that go into that of the unfinished file, so that it is not longer
/// than file systems allow.
const NAME_BYTES_MAX: usize = 200;

/// The users, besides this user, who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nobody, whatever the umask: mode 0600, in a directory where not everybody may replace it.
    Private,
    /// The users that the umask allows.
    Usual,
    /// The mode of the file, as that of another one that it is a copy of.
    Mode(u32),
}

/// The reason why a file is not made in the requested place.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// A path such as `..`, or one with a slash behind it.
    #[error("it is the name of a directory\nname a file in it")]
    NoName,
    /// Something that is no file has the name.
    #[error("it is {0}, and only a file can be replaced\nname another file")]
    Kind(Kind),
    /// A link has the name.
    #[error(
        "it is a symbolic link to {}, and links are not written through\nname that file itself, or \
         remove the link",
        .0.display()
    )]
    Link(PathBuf),
    /// The file is somebody else's.
    #[error(
        "it belongs to user {owner}, and the new one would be of user {user}\nname another file, \
         or remove this one"
    )]
    Owner {
        /// The owner.
        owner: u32,
        /// The owner of the new file.
        user: u32,
    },
    /// The file system has no permissions.
    #[error(
        "its file system does not keep it from others (mode {mode:04o})\nname a file elsewhere"
    )]
    NotPrivate {
        /// The mode that it got.
        mode: u32,
    },
    /// The unfinished file was exchanged.
    #[error(
        "somebody removed or replaced {} while it was written\nname a file in a directory of your \
         own",
        .0.display()
    )]
    Exchanged(PathBuf),
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::NoName | Refusal::Kind(Kind::Directory) => io::ErrorKind::IsADirectory,
            Refusal::Kind(_) | Refusal::Link(_) | Refusal::Exchanged(_) => {
                io::ErrorKind::InvalidInput
            }
            Refusal::Owner { .. } | Refusal::NotPrivate { .. } => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, refusal)
    }
}

/// Treatment of an existing file with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    Stays,
    IsReplaced,
    /// Also if it is somebody else's; the new one is of that user.
    IsReplacedFor {
        owner: u32,
        group: u32,
    },
}

/// A file that is being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct Output {
    target: PathBuf,
    dir: File,
    name: OsString,
    partial: OsString,
    file: File,
    access: Access,
    existing: Existing,
    is_contended: bool,
    is_done: bool,
}

impl Output {
    /// Begins the file that will be `target`, where nothing may be, neither now nor when it is
    /// whole.
    ///
    /// # Errors
    /// `AlreadyExists` if anything is there, even a dangling link; [`Refusal`] and
    /// [`trust::Untrusted`], as an [`io::Error`]; the system's error.
    pub fn new_file(target: &Path, access: Access) -> io::Result<Self> {
        Self::begin(target, access, Existing::Stays)
    }

    /// Begins the file that will be `target`, in place of a regular file of this user or of none.
    ///
    /// # Errors
    /// As [`Output::new_file`], but for `AlreadyExists`.
    pub fn replace(target: &Path, access: Access) -> io::Result<Self> {
        Self::begin(target, access, Existing::IsReplaced)
    }

    /// As [`Output::replace`], whosever the file is that it replaces: the new one is of the user
    /// `owner` and of the group `group`, as a server's is that root starts.
    ///
    /// # Errors
    /// As [`Output::replace`].
    pub fn replace_for(target: &Path, access: Access, owner: u32, group: u32) -> io::Result<Self> {
        Self::begin(target, access, Existing::IsReplacedFor { owner, group })
    }

    fn begin(target: &Path, access: Access, existing: Existing) -> io::Result<Self> {
        let is_named = !target.as_os_str().as_bytes().ends_with(b"/");
        let name = target.file_name().filter(|_| is_named).ok_or(Refusal::NoName)?.to_owned();
        let path = parent(target);
        let flags = OFlag::O_DIRECTORY | OFlag::O_NONBLOCK;
        let dir = File::options().read(true).custom_flags(flags.bits()).open(path)?;
        if access == Access::Private {
            trust::check_directory(&dir, path)?;
        }
        let there = check(&dir, &name, existing)?;
        let (partial, file) = fresh(&dir, &name, access)?;
        let mut output = Self {
            target: target.to_owned(),
            dir,
            name,
            partial,
            file,
            access,
            existing,
            is_contended: false,
            is_done: false,
        };
        set_mode(&output.file, access)?;
        let user = output.file.metadata()?.uid();
        match (existing, there) {
            // as the new file has it: a file system may have its own idea of who owns what
            (Existing::IsReplaced, Some(there)) if there.st_uid != user => {
                return Err(Refusal::Owner { owner: there.st_uid, user }.into());
            }
            (Existing::IsReplacedFor { owner, group }, _) => {
                let found = output.file.metadata()?;
                if (found.uid(), found.gid()) != (owner, group) {
                    std::os::unix::fs::fchown(&output.file, Some(owner), Some(group))?;
                }
            }
            _ => {}
        }
        output.is_contended = sweep(&output.dir, path, &output.name, &output.partial)?;
        Ok(output)
    }

    /// Returns whether another process was already writing a file for the same name.
    #[must_use]
    pub fn is_contended(&self) -> bool {
        self.is_contended
    }

    /// Puts the file in its place, on stable storage, and returns it, open.
    ///
    /// # Errors
    /// [`Refusal`], as an [`io::Error`]; the system's error. The old file is then still there, and
    /// nothing new, unless only the sync of the directory failed.
    pub fn commit(mut self) -> io::Result<File> {
        self.file.sync_all()?;
        let exchanged = || Refusal::Exchanged(self.target.with_file_name(&self.partial));
        if !is_at(&self.file, &self.dir, &self.partial)? {
            return Err(exchanged().into());
        }
        match self.existing {
            Existing::Stays => rename_new(&self.dir, &self.partial, &self.name)?,
            _ => {
                check(&self.dir, &self.name, self.existing)?;
                renameat(&self.dir, self.partial.as_os_str(), &self.dir, self.name.as_os_str())?;
            }
        }
        self.is_done = true;
        // Anyone who may write to the directory could have exchanged it in between. Of a private
        // file a next one of the same owner is no attack: another process was waiting to put it
        // there, and this one was in place.
        let is_followed = || -> io::Result<bool> {
            Ok(self.access == Access::Private && is_of_owner(&self.file, &self.dir, &self.name)?)
        };
        if !is_at(&self.file, &self.dir, &self.name)? && !is_followed()? {
            return Err(exchanged().into());
        }
        self.dir.sync_all()?;
        let file = self.file.try_clone()?;
        // it is only for the unfinished file
        let _ = lock(&file, libc::F_UNLCK);
        Ok(file)
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

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_done && is_at(&self.file, &self.dir, &self.partial).unwrap_or(false) {
            // it is useless, and the next run would remove it
            let _ = unlinkat(&self.dir, self.partial.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Puts a file of `bytes` at `target`, whole, on stable storage, in the place of a regular file of
/// this user or of none.
///
/// # Errors
/// As [`Output::replace`] and [`Output::commit`].
pub fn replace(target: &Path, access: Access, bytes: &[u8]) -> io::Result<()> {
    let mut output = Output::replace(target, access)?;
    output.write_all(bytes)?;
    output.commit().map(drop)
}

/// Puts a file of `bytes` at `target`, where nothing may be yet, whole, on stable storage.
///
/// # Errors
/// As [`Output::new_file`] and [`Output::commit`].
pub fn create(target: &Path, access: Access, bytes: &[u8]) -> io::Result<()> {
    let mut output = Output::new_file(target, access)?;
    output.write_all(bytes)?;
    output.commit().map(drop)
}

/// Checks that a file can be put at `target`, before any work is done for it; nothing is left.
///
/// # Errors
/// As [`Output::replace`].
pub fn check_replaceable(target: &Path, access: Access) -> io::Result<()> {
    Output::replace(target, access).map(drop)
}

/// Returns the status of what exists at `name`, if that may be replaced.
fn check(dir: &File, name: &OsStr, existing: Existing) -> io::Result<Option<FileStat>> {
    let there = match fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => return Ok(None),
        outcome => outcome?,
    };
    if existing == Existing::Stays {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match Kind::of_mode(there.st_mode) {
        Kind::File => Ok(Some(there)),
        Kind::Link => Err(Refusal::Link(readlinkat(dir, name)?.into()).into()),
        kind => Err(Refusal::Kind(kind).into()),
    }
}

/// Makes the unfinished file, which nobody else has, and which no other process removes while it is
/// open here.
fn fresh(dir: &File, name: &OsStr, access: Access) -> io::Result<(OsString, File)> {
    let flags =
        OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mode = if access == Access::Usual { 0o666 } else { 0o600 };
    loop {
        let mut random = [0; DIGITS / 2];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let mut partial = beginning(name);
        partial.push(format!("{:016x}{ENDING}", u64::from_ne_bytes(random)));
        let file: OwnedFd =
            match openat(dir, partial.as_os_str(), flags, Mode::from_bits_truncate(mode)) {
                Err(Errno::EEXIST) => continue,
                outcome => outcome?,
            };
        let file = File::from(file);
        // not where another process takes it for one that was left behind
        if lock(&file, libc::F_WRLCK) != Lock::OfAnother && is_at(&file, dir, &partial)? {
            return Ok((partial, file));
        }
    }
}

/// Result of a request for a lock.
#[derive(PartialEq, Eq)]
enum Lock {
    Own,
    OfAnother,
    /// The file system has none, so nothing that was left behind is removed, either.
    Unknown,
}

/// Requests or releases the lock of an unfinished file, which distinguishes it from a leftover. The
/// lock belongs to the open file, and is not the lock of `File::lock`, by which users of the
/// finished file take turns.
fn lock(file: &File, kind: libc::c_int) -> Lock {
    let whole = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    match fcntl(file, FcntlArg::F_OFD_SETLK(&whole)) {
        Ok(_) => Lock::Own,
        Err(Errno::EAGAIN | Errno::EACCES) => Lock::OfAnother,
        Err(_) => Lock::Unknown,
    }
}

/// Builds the beginning of the name of an unfinished file that will become `name`.
fn beginning(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let kept = &bytes[..bytes.len().min(NAME_BYTES_MAX)];
    OsString::from_vec([b".", kept, b"."].concat())
}

/// Returns whether `found` is the name of an unfinished file that will become `name`.
#[must_use]
pub fn is_partial_of(found: &[u8], name: &OsStr) -> bool {
    let digits = found
        .strip_prefix(beginning(name).as_bytes())
        .and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

fn set_mode(file: &File, access: Access) -> io::Result<()> {
    let mode = match access {
        Access::Usual => return Ok(()),
        Access::Private => 0o600,
        Access::Mode(mode) => mode & 0o7777,
    };
    file.set_permissions(Permissions::from_mode(mode))?;
    let found = file.metadata()?.mode() & 0o7777;
    match access {
        Access::Private if found & 0o077 != 0 => Err(Refusal::NotPrivate { mode: found }.into()),
        _ => Ok(()),
    }
}

/// Removes what killed runs left for `name` in `dir`, which is at `path`; whether a running one is
/// writing it, too.
fn sweep(dir: &File, path: &Path, name: &OsStr, own: &OsStr) -> io::Result<bool> {
    let flags =
        OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let mut is_contended = false;
    for entry in std::fs::read_dir(path)? {
        let found = entry?.file_name();
        if !is_partial_of(found.as_bytes(), name) || found == own {
            continue;
        }
        // files that are not ours, or gone by now, are left alone
        let Ok(other) = openat(dir, found.as_os_str(), flags, Mode::empty()).map(File::from) else {
            continue;
        };
        let of = other.metadata()?;
        if !of.is_file() || of.uid() != geteuid().as_raw() {
            continue;
        }
        match lock(&other, libc::F_WRLCK) {
            Lock::Own => {
                let _ = unlinkat(dir, found.as_os_str(), UnlinkatFlags::NoRemoveDir);
            }
            Lock::OfAnother => is_contended = true,
            Lock::Unknown => {}
        }
    }
    Ok(is_contended)
}

/// Returns whether `name` is the file that is open as `file`.
fn is_at(file: &File, dir: &File, name: &OsStr) -> io::Result<bool> {
    let open = nix::sys::stat::fstat(file)?;
    match fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(false),
        found => found
            .map(|found| (found.st_dev, found.st_ino) == (open.st_dev, open.st_ino))
            .map_err(Into::into),
    }
}

/// Returns whether `name` is a regular file of the user whose file is open as `file`.
fn is_of_owner(file: &File, dir: &File, name: &OsStr) -> io::Result<bool> {
    let open = nix::sys::stat::fstat(file)?;
    match fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Err(Errno::ENOENT) => Ok(false),
        found => found
            .map(|found| Kind::of_mode(found.st_mode) == Kind::File && found.st_uid == open.st_uid)
            .map_err(Into::into),
    }
}

/// Renames `partial` to `name`, where nothing may be.
fn rename_new(dir: &File, partial: &OsStr, name: &OsStr) -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{RenameFlags, renameat2};
        match renameat2(dir, partial, dir, name, RenameFlags::RENAME_NOREPLACE) {
            // the file system does not support it
            Err(Errno::EINVAL | Errno::ENOSYS) => {}
            outcome => return Ok(outcome?),
        }
    }
    linkat(dir, partial, dir, name, AtFlags::empty())?;
    Ok(unlinkat(dir, partial, UnlinkatFlags::NoRemoveDir)?)
}
