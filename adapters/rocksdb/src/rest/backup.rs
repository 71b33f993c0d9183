//! Directories of RocksDB's backup engine, in which the files of a database are kept apart:
//! `private/N` holds CURRENT, MANIFEST and logs of backup `N`, `shared` or `shared_checksum` the
//! tables and blob files of all backups, and `meta/N` lists the files of backup `N`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::content::Contents;
use super::file_state::State;
use super::files_on_disk::lengths;
use crate::place::{self, Place};

/// Longest list of the files of a backup.
const META_BYTES_MAX: usize = 256 << 20;
/// Directories that hold files of several backups.
const SHARED: [&str; 2] = ["shared_checksum", "shared"];

/// The tables and blob files that the backups next to a directory share.
pub(super) struct Shared {
    files: BTreeMap<u64, Vec<(PathBuf, u64)>>,
}

impl Shared {
    /// Returns the files that may be file `number` of a database, with their lengths on disk.
    pub(super) fn candidates(
        &self,
        number: u64,
        ending: &str,
    ) -> impl Iterator<Item = (PathBuf, u64)> {
        let found = self.files.get(&number).into_iter().flatten();
        found
            .filter(move |(path, _)| path.extension().is_some_and(|found| found == ending))
            .cloned()
    }
}

/// Returns the files that backups share, if `dir` is the private directory of a backup.
pub(super) fn shared(dir: &Path) -> Option<Shared> {
    let dir = dir.canonicalize().ok()?;
    let private = dir.parent().filter(|parent| parent.ends_with("private"))?;
    let root = private.parent().filter(|root| root.join("meta").is_dir())?;
    let mut files: BTreeMap<u64, Vec<(PathBuf, u64)>> = BTreeMap::new();
    for shared in SHARED.map(|name| root.join(name)) {
        // a backup engine makes only the directory that it uses
        for (name, bytes) in lengths(&shared).unwrap_or_default() {
            let digits = name
                .split(|character: char| !character.is_ascii_digit())
                .next()
                .unwrap_or_default();
            if let Ok(number) = digits.parse() {
                files.entry(number).or_default().push((shared.join(&name), bytes));
            }
        }
    }
    Some(Shared { files })
}

/// Returns the files that a backup lacks, and why, if `dir` is the directory `meta` of backups and
/// `files` is what it contains.
pub(super) fn missing(
    dir: &Path,
    files: &[(&str, State)],
    contents: Contents<'_>,
) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let root = match dir.parent() {
        Some(root) if dir.ends_with("meta") && root.join("private").is_dir() => root,
        _ => return found,
    };
    for (name, _) in files.iter().filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let meta = dir.join(name);
        let content = match contents.small(&meta, META_BYTES_MAX) {
            Ok(content) => content,
            Err(unread) => {
                let what = unread.explain(&format!("it should list the files of backup {name}"));
                found.push((meta, what));
                continue;
            }
        };
        let text = String::from_utf8_lossy(&content);
        let listed = text.lines().filter_map(|line| line.split(' ').next()).map(Path::new);
        let is_file =
            |path: &&Path| SHARED.iter().chain(&["private"]).any(|first| path.starts_with(first));
        for path in listed.filter(is_file).map(|path| root.join(path)) {
            // a backup that is being deleted loses its list first
            let is_there = matches!(place::look(&path), Ok(Place::File { .. }));
            if !is_there && meta.exists() {
                found.push((path, format!("missing: backup {name} holds it\ntake another backup")));
            }
        }
    }
    found
}
