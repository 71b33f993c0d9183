//! Puts a key file in place on disk whole or not at all, and makes processes that change one take turns. Not here: what
//! is in it (`format`).

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Puts a file of `text` at `path`, where nothing may exist yet, accessible only to its owner. Returns once file and
/// directory entry are on disk, with the file, open.
///
/// # Errors
/// `AlreadyExists` if anything is at `path`, even a dangling link; it stays as it is. After any error nothing new is
/// left behind.
pub(super) fn create(path: &Path, text: &[u8]) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let temporary = beside(path, &format!("{:08x}.new", u32::from_ne_bytes(random)));
    let mut file = create_private(&temporary)?;
    // a link, since a rename would replace a file created there meanwhile
    let made = file
        .write_all(text)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&temporary, path))
        .and_then(|()| fs::remove_file(&temporary));
    if made.is_err() {
        // made a moment ago by this call, under a unique name
        let _ = fs::remove_file(&temporary);
        made?;
    }
    sync_parent(path)?;
    Ok(file)
}

/// Puts a file of `text` in the place of the key file at `path`, which [`lock`] holds. Until the last moment the old
/// file is there, from then on the new one, whole; owner and group stay. Returns once both are on disk, with the new
/// file, open.
///
/// # Errors
/// What the system says; the old file is then still there, unless only the directory could not be synced.
pub(super) fn replace(path: &Path, text: &[u8], old: &File) -> io::Result<File> {
    let temporary = beside(path, "new");
    // the lock is held, so what is there was left by a process that was killed
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_private(&temporary)?;
    let replaced = file
        .write_all(text)
        .and_then(|()| keep_owner(old, &file))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
        replaced?;
    }
    sync_parent(path)?;
    Ok(file)
}

/// Waits until no other process changes the key file at `path`, and keeps others from it until the file is dropped.
///
/// # Errors
/// What the system says; `NotFound` if there is no file.
pub(super) fn lock(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        file.lock()?;
        // who held the lock before may have put another file in its place
        if same(&file.metadata()?, &fs::metadata(path)?) {
            return Ok(file);
        }
    }
}

/// Makes the directory entry of `path` survive a power cut.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// A hidden name in the same directory.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

/// Creates `path`, which must not exist (not even as a link), for the owner alone.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

/// A key file rotated by root stays that of the service that reads it.
#[cfg(unix)]
fn keep_owner(old: &File, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (old, found) = (old.metadata()?, new.metadata()?);
    if (old.uid(), old.gid()) == (found.uid(), found.gid()) {
        return Ok(());
    }
    fchown(new, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}
