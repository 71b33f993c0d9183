//! Stored files as the operating system has them: names, lengths, first bytes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use sealstone_file::{Kind, counts, walk};
use sealstone_seal::{HEADER_BYTES, SealError};

use super::error::RestError;
use super::report::Finding;
use crate::file_system::{RawFailed, RawRead};
use crate::place::{self, Place};

/// Description of a name that no file of RocksDB has.
const NOT_TEXT: &str = "something whose name is not UTF-8";
/// Stored bytes that are read at once.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// A stored file, read without RocksDB.
pub(crate) struct StoredFile(pub(crate) File);

impl RawRead for StoredFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed> {
        read_from(&self.0, offset, into).map_err(|_| RawFailed)
    }
}

/// Fills `into` from the beginning of the file, as far as it reaches.
pub(super) fn read_start(file: &File, into: &mut [u8]) -> io::Result<usize> {
    read_from(file, 0, into)
}

/// Fills `into` from byte `offset` on, as far as the file reaches.
fn read_from(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match file.read_at(&mut into[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

pub(super) fn read_header(file: &File) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    Ok(header)
}

/// The names below a directory, from the directory on, in order.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Every regular file, with its length.
    pub(super) files: Vec<(String, u64)>,
    /// Every name that refers to something other than a file or a directory, or whose file cannot
    /// be looked at, and what there is instead.
    pub(super) others: Vec<(String, String)>,
}

impl Listing {
    /// Returns findings for the names that are no files.
    pub(super) fn failures(&self) -> impl Iterator<Item = Finding> {
        let of = |(file, what): &(String, String)| Finding {
            file: file.clone(),
            page: None,
            frame: None,
            what: SealError::NotAFile { found: what.clone() }.to_string(),
        };
        self.others.iter().map(of)
    }

    /// Returns the first name that may stand for something sealed and is no file. Where another
    /// program listens there is nothing, but for a name that only a store's file has.
    pub(super) fn unknown(&self) -> Option<&(String, String)> {
        let socket = Kind::Socket.to_string();
        self.others.iter().find(|(name, found)| *found != socket || is_file_name(name))
    }
}

/// Lists everything below `dir` but the file of counts. Links are followed, but for those to `dir`
/// or to a directory around it, and each directory is read once, under its own name rather than
/// under that of a link to it.
pub(super) fn list(dir: &Path) -> Result<Listing, RestError> {
    if dir.to_str().is_none() {
        return Err(RestError::NotText { dir: dir.to_owned() });
    }
    let mut listing = Listing::default();
    let (mut directories, mut linked) = (vec![PathBuf::new()], BTreeSet::new());
    let mut read: HashSet<_> =
        walk::around(dir).map_err(|source| RestError::Directory { dir: dir.to_owned(), source })?;
    while let Some(below) = directories.pop().or_else(|| linked.pop_first()) {
        let here = if below.as_os_str().is_empty() { dir.to_owned() } else { dir.join(&below) };
        let cannot = |source| RestError::Directory { dir: here.clone(), source };
        let facts = match fs::metadata(&here) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && here != dir => continue,
            facts => facts.map_err(cannot)?,
        };
        if !read.insert((facts.dev(), facts.ino())) {
            continue;
        }
        for entry in fs::read_dir(&here).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let path = below.join(entry.file_name());
            let Some(name) = path.to_str().map(str::to_owned) else {
                listing.others.push((path.to_string_lossy().into_owned(), NOT_TEXT.into()));
                continue;
            };
            match place::look(&dir.join(&path)) {
                Ok(Place::Directory) if is_file_name(&name) => {
                    listing.others.push((name, Kind::Directory.to_string()));
                }
                Ok(Place::Directory) if entry.file_type().is_ok_and(|found| found.is_symlink()) => {
                    linked.insert(path);
                }
                Ok(Place::Directory) => directories.push(path),
                // for people alone, and no part of the store
                Ok(Place::File { .. }) if counts::is_ours(&name) => {}
                Ok(Place::File { bytes }) => listing.files.push((name, bytes)),
                Ok(Place::Other(found)) => listing.others.push((name, found)),
                // removed in the meantime
                Ok(Place::Nothing) => {}
                Err(error) => listing
                    .others
                    .push((name, format!("something that cannot be looked at ({error})"))),
            }
        }
    }
    listing.files.sort();
    listing.others.sort();
    Ok(listing)
}

/// Returns the directories of `files` by their names from the directory on, and that itself as the
/// empty name.
pub(super) fn directories(files: &[(String, u64)]) -> BTreeSet<&str> {
    let of_files = files.iter().map(|(name, _)| name.rsplit_once('/').map_or("", |it| it.0));
    // a directory that lost all its files counts, too
    of_files.chain([""]).collect()
}

/// Returns whether RocksDB writes files by that name: those of [`is_file_name`], and tables and
/// blobs that programs and backups name.
pub(super) fn is_stores_name(name: &str) -> bool {
    is_file_name(name) || [".sst", ".ldb", ".blob"].iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a store has a file by that name, so that nothing else may be there.
fn is_file_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    ["sst", "ldb", "log", "blob", "dbtmp"].iter().any(|ending| numbered(name, ending).is_some())
        || ["MANIFEST-", "OPTIONS-", "SEALSTONE-"].iter().any(|begin| name.starts_with(begin))
        || ["CURRENT", "CURRENT.tmp", "IDENTITY"].contains(&name)
}

/// Returns name and length of every regular file in `dir` itself, links followed. Other objects are
/// reported by the comparison with the catalogue, and by [`list`].
pub(super) fn lengths(dir: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut lengths = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string()
            && let Place::File { bytes } = place::look(&dir.join(&name))?
        {
            lengths.insert(name, bytes);
        }
    }
    Ok(lengths)
}

/// Returns the number in a name such as `000012.log`.
pub(super) fn numbered(name: &str, ending: &str) -> Option<u64> {
    let digits = name.strip_suffix(ending)?.strip_suffix('.')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
