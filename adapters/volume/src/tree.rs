//! Directories with all that is below them, as a whole: copied in pieces that a later copy goes on
//! from, and compared afterwards, byte by byte. `cp` does the copying, so that owners, times,
//! holes, hard links, attributes and access lists are what they were.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use walkdir::WalkDir;

/// Time between two looks at a copy that is being made.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes that are compared at once.
const PIECE_BYTES: usize = 1 << 20;
/// Name of what ext4 makes in every file system for its check to put files in.
const LOST: &str = "lost+found";

/// Reason why a tree cannot be copied or compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The operating system refused.
    #[error("cannot {attempt} {}: {source}", path.display())]
    File {
        /// Description of the attempt, such as `read`.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// `cp` failed.
    #[error("{said}")]
    Copy {
        /// Its own words.
        said: String,
    },
    /// The caller no longer wants it.
    #[error("interrupted")]
    Stopped,
}

impl TreeError {
    fn of(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { attempt, path, source }
    }
}

/// One entry below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    mode: u32,
    owner: u32,
    group: u32,
    links: u64,
    /// Time of the last change: seconds and nanoseconds.
    modified: (i64, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Directory,
    File { bytes: u64 },
    Link { target: PathBuf },
    Other { file_type: u32, device: u64 },
}

impl Entry {
    fn of(path: &Path, metadata: &Metadata) -> Result<Self, TreeError> {
        let file_type = metadata.file_type();
        let kind = if file_type.is_dir() {
            Kind::Directory
        } else if file_type.is_file() {
            Kind::File { bytes: metadata.len() }
        } else if file_type.is_symlink() {
            let target = fs::read_link(path).map_err(TreeError::of("read the link", path))?;
            Kind::Link { target }
        } else {
            let is_device = file_type.is_block_device() || file_type.is_char_device();
            let device = if is_device { metadata.rdev() } else { 0 };
            Kind::Other { file_type: metadata.mode() & libc::S_IFMT, device }
        };
        Ok(Self {
            mode: metadata.mode() & 0o7777,
            owner: metadata.uid(),
            group: metadata.gid(),
            // for a directory it counts what is in it, and not on every file system
            links: if matches!(kind, Kind::Directory) { 1 } else { metadata.nlink() },
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            kind,
        })
    }
}

/// Everything below a directory, and the directory itself under the empty path.
#[derive(Debug)]
pub struct Tree {
    dir: PathBuf,
    entries: BTreeMap<PathBuf, Entry>,
    /// Space that its files take, in bytes.
    disk_bytes: u64,
}

impl Tree {
    /// Reads the tree at `dir`, and follows no link.
    ///
    /// - `without`: names directly in `dir` that are not part of it; an empty `lost+found` is none
    ///
    /// # Errors
    /// [`TreeError::File`].
    pub fn read(dir: &Path, without: &[&str]) -> Result<Self, TreeError> {
        let (mut entries, mut disk_bytes) = (BTreeMap::new(), 0);
        let is_part = |entry: &walkdir::DirEntry| {
            let name = entry.file_name();
            let is_lost = || name == LOST && is_empty(entry.path());
            entry.depth() != 1 || !(without.iter().any(|one| name == *one) || is_lost())
        };
        for entry in WalkDir::new(dir).into_iter().filter_entry(is_part) {
            let failed = |error: walkdir::Error| {
                let path = error.path().unwrap_or(dir).to_owned();
                TreeError::File { attempt: "look at", path, source: error.into() }
            };
            let entry = entry.map_err(failed)?;
            let metadata = entry.metadata().map_err(failed)?;
            disk_bytes += metadata.blocks() * 512;
            let inner = entry.path().strip_prefix(dir).unwrap_or(entry.path()).to_owned();
            entries.insert(inner, Entry::of(entry.path(), &metadata)?);
        }
        Ok(Self { dir: dir.to_owned(), entries, disk_bytes })
    }

    /// Returns the number of files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.entries.values().filter(|entry| matches!(entry.kind, Kind::File { .. })).count()
    }

    /// Returns the bytes in its files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = |entry: &Entry| match entry.kind {
            Kind::File { bytes } => bytes,
            _ => 0,
        };
        self.entries.values().map(bytes).sum()
    }

    /// Returns the space that its files take, in bytes.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.disk_bytes
    }

    /// Returns the links that lead out of it: a copy of it lacks what they name.
    #[must_use]
    pub fn links_out(&self) -> Vec<PathBuf> {
        let leads_out = |(path, entry): &(&PathBuf, &Entry)| {
            let Kind::Link { target } = &entry.kind else { return false };
            let at = self.dir.join(path);
            let named = at.parent().unwrap_or(&self.dir).join(target);
            let (named, within) = (named.canonicalize(), self.dir.canonicalize());
            matches!((named, within), (Ok(named), Ok(within)) if !named.starts_with(&within))
        };
        self.entries.iter().filter(leads_out).map(|(path, _)| path.clone()).collect()
    }

    /// Copies it to `to`, a directory that is there: what an earlier copy wrote wholly stays, and
    /// what is there and not in this tree is removed.
    ///
    /// - `without`: names directly in `to` that are left alone
    /// - `tick`: called again and again while it copies; false stops it
    ///
    /// # Errors
    /// [`TreeError`]; the same call goes on afterwards.
    pub fn copy(
        &self,
        to: &Path,
        without: &[&str],
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<(), TreeError> {
        self.clear(to, without)?;
        let mut command = Command::new("cp");
        command.args(["--archive", "--update", "--sparse=auto", "--no-target-directory", "--"]);
        command.arg(&self.dir).arg(to);
        command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| TreeError::Copy { said: format!("cp: {error}") })?;
        let mut hear = child.stderr.take().expect("piped");
        // it prints a line for each file that fails, and must not have to wait for us
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            let _ = hear.read_to_string(&mut said);
            said
        });
        let failed = |error: io::Error| TreeError::Copy { said: format!("cp: {error}") };
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            if !tick() {
                let _ = child.kill();
                let _ = child.wait();
                return Err(TreeError::Stopped);
            }
            std::thread::sleep(LOOK);
        };
        let said = said.join().unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let first = said.lines().next().map_or_else(|| status.to_string(), str::to_owned);
        let more = said.lines().count().saturating_sub(1);
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        Err(TreeError::Copy { said: format!("{first}{more}") })
    }

    /// Removes below `to` what is not, or not wholly, in this tree. A file that was cut off has not
    /// the time of its original yet.
    fn clear(&self, to: &Path, without: &[&str]) -> Result<(), TreeError> {
        let there = Self::read(to, without)?;
        // of a directory, what is in it before itself
        for (path, entry) in there.entries.iter().rev().filter(|one| one.0 != Path::new("")) {
            let is_dir = entry.kind == Kind::Directory;
            let stays = self.entries.get(path).is_some_and(|original| match is_dir {
                true => original.kind == Kind::Directory,
                // links to one file are made together
                false => original == entry && original.links == 1,
            });
            let at = to.join(path);
            let removed = match (stays, is_dir) {
                (true, _) => Ok(()),
                (false, true) => fs::remove_dir(&at),
                (false, false) => fs::remove_file(&at),
            };
            removed.map_err(TreeError::of("remove", &at))?;
        }
        Ok(())
    }

    /// Returns whether `other` has the same entries, whatever is in the files.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        let is_same = |(path, entry): (&PathBuf, &Entry)| {
            other.entries.get(path).is_some_and(|found| difference(path, entry, found).is_none())
        };
        self.entries.len() == other.entries.len() && self.entries.iter().all(is_same)
    }

    /// Returns what differs between this tree and `other`, by name, in words; both are read to the
    /// last byte.
    ///
    /// - `tick`: called with the bytes compared so far; false stops it
    ///
    /// # Errors
    /// [`TreeError`].
    pub fn differences(
        &self,
        other: &Self,
        tick: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Vec<Difference>, TreeError> {
        let mut differences = Vec::new();
        let mut differs = |path: &Path, how| {
            differences.push(Difference { path: path.to_owned(), how });
        };
        for path in other.entries.keys().filter(|path| !self.entries.contains_key(*path)) {
            differs(path, "is new");
        }
        let mut done = 0;
        for (path, entry) in &self.entries {
            let Some(found) = other.entries.get(path) else {
                differs(path, "is missing");
                continue;
            };
            if let Some(how) = difference(path, entry, found) {
                differs(path, how);
                continue;
            }
            if let Kind::File { bytes } = entry.kind {
                let (one, two) = (self.dir.join(path), other.dir.join(path));
                if !is_same(&one, &two, &mut |read| tick(done + read))? {
                    differs(path, "has other contents");
                }
                done += bytes;
            }
        }
        Ok(differences)
    }
}

/// A difference between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name within the trees.
    pub path: PathBuf,
    /// Predicate for it, of the second tree.
    pub how: &'static str,
}

fn difference(path: &Path, one: &Entry, two: &Entry) -> Option<&'static str> {
    // a file system need not keep that of a link; that of the directory itself changes with what is
    // no part of the tree
    let has_no_time = matches!(one.kind, Kind::Link { .. }) || path == Path::new("");
    let pairs = [
        (one.kind == two.kind, "is another kind of file, or has another length"),
        ((one.owner, one.group) == (two.owner, two.group), "has another owner"),
        (one.mode == two.mode, "has other permissions"),
        (one.links == two.links, "has another number of names"),
        (one.modified == two.modified || has_no_time, "has another time of change"),
    ];
    pairs.into_iter().find(|(is_same, _)| !is_same).map(|(_, how)| how)
}

fn is_empty(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns whether two files of the same length have the same bytes.
fn is_same(one: &Path, two: &Path, tick: &mut dyn FnMut(u64) -> bool) -> Result<bool, TreeError> {
    let open = |path: &Path| File::open(path).map_err(TreeError::of("open", path));
    let (mut first, mut second) = (open(one)?, open(two)?);
    let (mut left, mut right) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let mut done = 0;
    loop {
        let count = read_full(&mut first, &mut left).map_err(TreeError::of("read", one))?;
        let other = read_full(&mut second, &mut right).map_err(TreeError::of("read", two))?;
        if left[..count] != right[..other] {
            return Ok(false);
        }
        done += count as u64;
        if !tick(done) {
            return Err(TreeError::Stopped);
        }
        if count < PIECE_BYTES {
            return Ok(true);
        }
    }
}

/// Reads until `out` is full or the file ends, and returns how much was read.
fn read_full(file: &mut File, out: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < out.len() {
        match file.read(&mut out[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn made() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("from");
        fs::create_dir_all(dir.join("base/1")).unwrap();
        fs::create_dir(home.path().join("to")).unwrap();
        fs::write(dir.join("base/1/table"), vec![7; 3 << 20]).unwrap();
        fs::write(dir.join("base/1/empty"), "").unwrap();
        fs::write(dir.join("name with\nline"), "text").unwrap();
        symlink("base/1", dir.join("inside")).unwrap();
        symlink("/etc", dir.join("outside")).unwrap();
        symlink("nowhere", dir.join("dangling")).unwrap();
        fs::hard_link(dir.join("base/1/table"), dir.join("again")).unwrap();
        home
    }

    fn copy(home: &Path) -> Result<(), TreeError> {
        Tree::read(&home.join("from"), &[])?.copy(&home.join("to"), &["kept"], &mut || true)
    }

    fn differences(home: &Path) -> Vec<(String, &'static str)> {
        let one = Tree::read(&home.join("from"), &[]).unwrap();
        let two = Tree::read(&home.join("to"), &["kept"]).unwrap();
        let all = one.differences(&two, &mut |_| true).unwrap();
        all.into_iter().map(|one| (one.path.display().to_string(), one.how)).collect()
    }

    #[test]
    fn a_copy_is_the_same_and_is_gone_on_with() {
        let home = made();
        let (home, to) = (home.path(), home.path().join("to"));
        fs::write(to.join("kept"), "ours").unwrap();
        fs::create_dir_all(to.join("base/gone/deep")).unwrap();
        copy(home).unwrap();
        assert_eq!(differences(home), []);
        let tree = |dir: &Path| Tree::read(dir, &["kept"]).unwrap();
        assert!(tree(&home.join("from")).is_alike(&tree(&to)));
        assert_eq!(fs::read(to.join("kept")).unwrap(), b"ours");
        let inode = |name: &str| fs::metadata(to.join(name)).unwrap().ino();
        assert_eq!(inode("again"), inode("base/1/table"), "one file with two names");

        // as if it had been cut off in a file, with more in it than is known
        let (kept, cut) = (inode("base/1/empty"), to.join("name with\nline"));
        fs::write(&cut, "te").unwrap();
        fs::remove_file(to.join("again")).unwrap();
        fs::write(to.join("more"), "").unwrap();
        assert!(!tree(&home.join("from")).is_alike(&tree(&to)));
        let found = differences(home);
        assert!(found.contains(&("more".into(), "is new")), "{found:?}");
        assert!(found.contains(&("again".into(), "is missing")), "{found:?}");
        assert!(found.contains(&("base/1/table".into(), "has another number of names")));
        copy(home).unwrap();
        assert_eq!(differences(home), []);
        assert_eq!(inode("base/1/empty"), kept, "what is whole is not copied again");
        assert_eq!(inode("again"), inode("base/1/table"));
    }

    #[test]
    fn what_was_changed_is_found() {
        let home = made();
        let (home, to) = (home.path(), home.path().join("to"));
        copy(home).unwrap();
        let table = to.join("base/1/table");
        let times = fs::metadata(&table).unwrap().modified().unwrap();
        let mut bytes = fs::read(&table).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&table, bytes).unwrap();
        File::options().write(true).open(&table).unwrap().set_modified(times).unwrap();
        let wanted = ["again", "base/1/table"].map(|name| (name.into(), "has other contents"));
        assert_eq!(differences(home), wanted);
        fs::remove_file(to.join("inside")).unwrap();
        symlink("base/2", to.join("inside")).unwrap();
        let found = differences(home);
        assert!(found.iter().any(|one| one.0 == "inside"), "{found:?}");
    }

    #[test]
    fn links_that_lead_out_are_named() {
        let home = made();
        let tree = Tree::read(&home.path().join("from"), &[]).unwrap();
        assert_eq!(tree.links_out(), [Path::new("outside")]);
        assert_eq!((tree.files(), tree.bytes()), (4, (6 << 20) + 4));
    }

    #[test]
    fn a_copy_that_is_stopped_or_fails_says_so() {
        let home = made();
        let tree = Tree::read(&home.path().join("from"), &[]).unwrap();
        let to = home.path().join("to");
        let compared = tree.differences(&tree, &mut |_| false);
        assert!(matches!(compared, Err(TreeError::Stopped)), "{compared:?}");
        fs::remove_dir(&to).unwrap();
        let missing = tree.copy(&to, &[], &mut || true);
        assert!(missing.unwrap_err().to_string().starts_with("cannot look at "));
    }
}
