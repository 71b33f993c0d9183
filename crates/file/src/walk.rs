//! Everything below a directory, for callers that must overlook nothing: links are followed, to
//! files and to directories, and unreadable entries are listed with the reason.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::input::check;
use crate::kind::Kind;

/// A name below a directory that stands for a file, or for something that is none.
#[derive(Debug)]
pub struct Found {
    /// The path from the directory on.
    pub name: PathBuf,
    /// Length of the file in bytes. For anything but a regular file, for a dangling link, and for a
    /// directory that cannot be listed, the reason why its content is unknown.
    pub bytes: io::Result<u64>,
}

/// A link that leads nowhere.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("it is {} to {}, and nothing is there", Kind::Link, .0.display())]
pub struct Dangling(pub PathBuf);

/// Returns everything below `dir`, as [`below_with`] does where no name is that of a file.
///
/// # Errors
/// `dir` cannot be listed.
pub fn below(dir: &Path) -> io::Result<Vec<Found>> {
    below_with(dir, &|_| false)
}

/// Returns everything below `dir`, in order of names. Each directory is read once, under its own
/// name rather than the name of a link to it; a link to `dir` or to a directory around it is not
/// followed. Entries that disappear in the meantime are left out.
///
/// - `is_file`: returns whether a name is one that stands for a file, so that a directory of that
///   name is reported rather than entered
///
/// # Errors
/// `dir` cannot be listed.
pub fn below_with(dir: &Path, is_file: &dyn Fn(&Path) -> bool) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let (mut directories, mut linked) = (vec![PathBuf::new()], BTreeSet::new());
    let mut read = around(dir)?;
    while let Some(within) = directories.pop().or_else(|| linked.pop_first()) {
        let here = if within.as_os_str().is_empty() { dir.to_owned() } else { dir.join(&within) };
        let entries = fs::metadata(&here).and_then(|facts| match read.insert(place(&facts)) {
            true => fs::read_dir(&here)?.collect::<io::Result<Vec<_>>>(),
            false => Ok(Vec::new()),
        });
        let entries = match entries {
            Ok(entries) => entries,
            Err(error) if within.as_os_str().is_empty() => return Err(error),
            Err(error) if is_gone(&here, &error) => continue,
            Err(error) => {
                found.push(Found { name: within, bytes: Err(error) });
                continue;
            }
        };
        for entry in entries {
            let name = within.join(entry.file_name());
            let path = dir.join(&name);
            let bytes = match fs::metadata(&path) {
                Ok(facts) if facts.is_dir() && !is_file(&name) => {
                    match entry.file_type() {
                        Ok(kind) if kind.is_symlink() => drop(linked.insert(name)),
                        _ => directories.push(name),
                    }
                    continue;
                }
                Ok(facts) => check(&facts).map(|()| facts.len()),
                Err(error) if is_gone(&path, &error) => continue,
                Err(error) => Err(or_dangling(&path, error)),
            };
            found.push(Found { name, bytes });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Returns device and number of every directory around `dir`.
///
/// # Errors
/// The system's, of `dir`.
pub fn around(dir: &Path) -> io::Result<HashSet<(u64, u64)>> {
    let dir = dir.canonicalize()?;
    let facts = dir.ancestors().skip(1).filter_map(|dir| fs::metadata(dir).ok());
    Ok(facts.map(|facts| place(&facts)).collect())
}

fn place(facts: &fs::Metadata) -> (u64, u64) {
    (facts.dev(), facts.ino())
}

/// Opens the regular file `path`, which [`below`] found; None if it has gone away since.
///
/// # Errors
/// As [`crate::input::open`]; [`Dangling`], as an [`io::Error`].
pub fn open(path: &Path) -> io::Result<Option<fs::File>> {
    match crate::input::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if is_gone(path, &error) => Ok(None),
        Err(error) => Err(or_dangling(path, error)),
    }
}

/// Returns whether `error` means that nothing exists at `path`, not even a link.
fn is_gone(path: &Path, error: &io::Error) -> bool {
    let not_there = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    not_there(error) && fs::symlink_metadata(path).is_err_and(|error| not_there(&error))
}

fn or_dangling(path: &Path, error: io::Error) -> io::Error {
    match fs::read_link(path) {
        Ok(to) if error.kind() == io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), Dangling(to))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;

    /// Names below `dir`, with a length or a reason.
    fn names(dir: &Path) -> Vec<String> {
        let show = |found: Found| match found.bytes {
            Ok(bytes) => format!("{} {bytes}", found.name.display()),
            Err(error) => format!("{}: {error}", found.name.display()),
        };
        below(dir).unwrap().into_iter().map(show).collect()
    }

    #[test]
    fn links_are_followed_and_loops_end() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("dir");
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir_all(dir.join("own/deep")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(dir.join("own/deep/a"), "1").unwrap();
        fs::write(elsewhere.join("b"), "22").unwrap();
        fs::write(root.path().join("c"), "333").unwrap();
        symlink(&elsewhere, dir.join("away")).unwrap();
        symlink(&elsewhere, dir.join("away-again")).unwrap();
        symlink("../c", dir.join("file")).unwrap();
        // cycles: itself, a parent, a directory read under its own name, and from elsewhere back
        symlink(".", dir.join("self")).unwrap();
        symlink("../..", dir.join("own/up")).unwrap();
        symlink("own/deep", dir.join("a-link")).unwrap();
        symlink(&dir, elsewhere.join("back")).unwrap();
        assert_eq!(names(&dir), ["away/b 2", "file 3", "own/deep/a 1"]);
        symlink(&dir, root.path().join("link")).unwrap();
        assert_eq!(names(&root.path().join("link")), ["away/b 2", "file 3", "own/deep/a 1"]);
    }

    #[test]
    fn what_is_no_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        nix::unistd::mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
        UnixListener::bind(at("socket")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("/dev/zero", at("zeros")).unwrap();
        fs::write(root.path().join(OsStr::from_bytes(b"odd\xff")), "4").unwrap();
        let found = names(root.path());
        assert_eq!(found[0], "dangling: it is a symbolic link to nowhere, and nothing is there");
        assert_eq!(found[1], "fifo: it is a FIFO (a pipe), not a file");
        assert!(found[2].starts_with("loop: Too many levels of symbolic links"), "{found:?}");
        assert_eq!(found[4], "socket: it is a socket, not a file");
        assert_eq!(found[5], "zeros: it is a character device, not a file");
        let odd = below(root.path()).unwrap().swap_remove(3);
        assert_eq!(fs::metadata(root.path().join(odd.name)).unwrap().len(), odd.bytes.unwrap());
        assert!(open(&at("dangling")).is_err() && open(&at("fifo")).is_err());
        assert!(open(&at("none")).unwrap().is_none());
        assert!(below(&at("none")).is_err());
    }
}
