//! The model of a disk: files and directories as programs see them, and their state on stable
//! storage. A power cut is a function of the two and a seed.
//!
//! A power cut has exactly the possible effects that ext4 and XFS allow:
//! - Synced data is there. Content and length of a file are synced by syncing the file, entries by
//!   syncing the directory. Syncing a file also brings the entry under which it was made (or its
//!   renaming) to stable storage, as the journals of ext4 and XFS do; POSIX does not require that,
//!   but RocksDB relies on it for its manifest.
//! - Of a file's writes that were not synced, each unit of 512 or 4,096 bytes has the state after
//!   some prefix of the writes, independently of its neighbours. The length is a former length of
//!   the file, or ends with a unit. Bytes never written within the length are zero.
//! - Of the changes of directories that were not synced, either a prefix survives (a journal), or
//!   any subset in which no change survives without its dependencies: earlier changes of the same
//!   name, and the making of its directory. A rename is one change.
//!
//! Not here: faults of a running disk, and the callers (`files`).

mod fate;
mod file;

use std::collections::{BTreeMap, BTreeSet};

use crate::random::Random;
pub use fate::{Cut, Fate, LostEntries};
use fate::{DATABASE, fate};
use file::{Change, File, put};
pub use file::{Loss, Number, Tail};

/// The directory from which every path begins.
const ROOT: Number = 1;

/// Reason why a name refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The name does not exist.
    NotFound,
    /// There is one already, or the directory is not empty.
    Exists,
    /// A file where a directory is required, or the reverse.
    WrongKind,
}

/// One change of directories that was not synced.
#[derive(Clone, Debug)]
enum Entry {
    Add { directory: Number, name: String, number: Number },
    Remove { directory: Number, name: String },
    Rename { from: (Number, String), to: (Number, String), number: Number },
}

impl Entry {
    /// Returns the entries that it concerns.
    fn touches(&self) -> Vec<(Number, &str)> {
        match self {
            Self::Add { directory, name, .. } | Self::Remove { directory, name } => {
                vec![(*directory, name)]
            }
            Self::Rename { from, to, .. } => vec![(from.0, &from.1), (to.0, &to.1)],
        }
    }

    /// Returns the file or directory that got a name by the change, if any.
    fn names(&self) -> Option<Number> {
        match self {
            Self::Add { number, .. } | Self::Rename { number, .. } => Some(*number),
            Self::Remove { .. } => None,
        }
    }

    fn depends_on(&self, earlier: &Self) -> bool {
        let touched = earlier.touches();
        self.touches().iter().any(|(directory, name)| {
            touched.contains(&(*directory, *name)) || earlier.names() == Some(*directory)
        })
    }

    fn apply(&self, directories: &mut BTreeMap<Number, BTreeMap<String, Number>>) {
        match self {
            Self::Add { directory, name, number } => {
                directories.entry(*directory).or_default().insert(name.clone(), *number);
            }
            Self::Remove { directory, name } => {
                directories.entry(*directory).or_default().remove(name);
            }
            Self::Rename { from, to, number } => {
                directories.entry(from.0).or_default().remove(&from.1);
                directories.entry(to.0).or_default().insert(to.1.clone(), *number);
            }
        }
    }
}

/// A disk.
#[derive(Clone, Debug)]
pub struct Disk {
    files: BTreeMap<Number, File>,
    /// As programs see them.
    directories: BTreeMap<Number, BTreeMap<String, Number>>,
    /// The entries on stable storage.
    stable: BTreeMap<Number, BTreeMap<String, Number>>,
    /// From `stable` to `directories`.
    entries: Vec<Entry>,
    next: Number,
    /// True if entries reach stable storage in their order, as with one journal.
    journal: bool,
}

impl Disk {
    /// Returns an empty disk; `journal`: changes of directories reach stable storage in their
    /// order.
    pub fn new(journal: bool) -> Self {
        let root = BTreeMap::from([(ROOT, BTreeMap::new())]);
        let (directories, stable) = (root.clone(), root);
        Self {
            files: BTreeMap::new(),
            directories,
            stable,
            entries: Vec::new(),
            next: ROOT + 1,
            journal,
        }
    }

    // ---- names

    /// Avoids, from now on, all numbers of `other`: a ghost continues after a crash, and its files
    /// must not be taken for later files.
    pub fn number_after(&mut self, other: &Self) {
        self.next = self.next.max(other.next);
    }

    /// Returns the file or directory that `path` refers to.
    pub fn find(&self, path: &str) -> Result<Number, Missing> {
        let mut at = ROOT;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let entries = self.directories.get(&at).ok_or(Missing::WrongKind)?;
            at = *entries.get(part).ok_or(Missing::NotFound)?;
        }
        Ok(at)
    }

    /// Returns whether `number` is a directory.
    pub fn is_directory(&self, number: Number) -> bool {
        self.directories.contains_key(&number)
    }

    /// Returns the number of names that `number` has.
    pub fn links(&self, number: Number) -> u64 {
        self.directories
            .values()
            .flat_map(BTreeMap::values)
            .filter(|named| **named == number)
            .count() as u64
    }

    /// Returns the directory of `path` and the name in it.
    fn place<'a>(&self, path: &'a str) -> Result<(Number, &'a str), Missing> {
        let path = path.trim_end_matches('/');
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = self.find(directory)?;
        if !self.is_directory(directory) {
            return Err(Missing::WrongKind);
        }
        Ok((directory, name))
    }

    fn change(&mut self, entry: Entry) {
        entry.apply(&mut self.directories);
        self.entries.push(entry);
    }

    /// Returns every file with its path, in the order of the paths.
    pub fn paths(&self) -> Vec<(String, Number)> {
        let mut found = Vec::new();
        let mut open = vec![(String::new(), ROOT)];
        while let Some((path, directory)) = open.pop() {
            for (name, number) in self.directories.get(&directory).into_iter().flatten() {
                let path = format!("{path}/{name}");
                if self.is_directory(*number) {
                    open.push((path, *number));
                } else {
                    found.push((path, *number));
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the names in a directory.
    pub fn list(&self, path: &str) -> Result<Vec<String>, Missing> {
        let number = self.find(path)?;
        Ok(self.directories.get(&number).ok_or(Missing::WrongKind)?.keys().cloned().collect())
    }

    /// Makes an empty file.
    pub fn create(&mut self, path: &str) -> Result<Number, Missing> {
        let (directory, name) = self.place(path)?;
        if self.directories[&directory].contains_key(name) {
            return Err(Missing::Exists);
        }
        let number = self.next;
        self.next += 1;
        self.files.insert(number, File::default());
        self.change(Entry::Add { directory, name: name.to_owned(), number });
        Ok(number)
    }

    /// Makes a directory.
    pub fn make_directory(&mut self, path: &str) -> Result<(), Missing> {
        let (directory, name) = self.place(path)?;
        if self.directories[&directory].contains_key(name) {
            return Err(Missing::Exists);
        }
        let number = self.next;
        self.next += 1;
        self.directories.insert(number, BTreeMap::new());
        self.stable.insert(number, BTreeMap::new());
        self.change(Entry::Add { directory, name: name.to_owned(), number });
        Ok(())
    }

    /// Removes a name of a file.
    pub fn remove(&mut self, path: &str) -> Result<(), Missing> {
        let number = self.find(path)?;
        if self.is_directory(number) {
            return Err(Missing::WrongKind);
        }
        let (directory, name) = self.place(path)?;
        self.change(Entry::Remove { directory, name: name.to_owned() });
        Ok(())
    }

    /// Removes an empty directory.
    pub fn remove_directory(&mut self, path: &str) -> Result<(), Missing> {
        let number = self.find(path)?;
        match self.directories.get(&number) {
            None => return Err(Missing::WrongKind),
            Some(entries) if !entries.is_empty() => return Err(Missing::Exists),
            Some(_) => {}
        }
        let (directory, name) = self.place(path)?;
        self.change(Entry::Remove { directory, name: name.to_owned() });
        Ok(())
    }

    /// Renames a file or directory; a file in the way is replaced.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Missing> {
        let number = self.find(from)?;
        let (from_directory, from_name) = self.place(from)?;
        let (to_directory, to_name) = self.place(to)?;
        if let Some(there) = self.directories[&to_directory].get(to_name)
            && (self.is_directory(*there) || self.is_directory(number))
        {
            return Err(Missing::Exists);
        }
        let (from, to) =
            ((from_directory, from_name.to_owned()), (to_directory, to_name.to_owned()));
        self.change(Entry::Rename { from, to, number });
        Ok(())
    }

    /// Renames a file.
    pub fn link(&mut self, from: &str, to: &str) -> Result<(), Missing> {
        let number = self.find(from)?;
        let (directory, name) = self.place(to)?;
        if self.is_directory(number) {
            return Err(Missing::WrongKind);
        }
        if self.directories[&directory].contains_key(name) {
            return Err(Missing::Exists);
        }
        self.change(Entry::Add { directory, name: name.to_owned(), number });
        Ok(())
    }

    /// Returns whether an earlier crash left one of the database's files with an `ending` not as it
    /// was written.
    pub fn has_flawed(&self, ending: &str) -> bool {
        let is_flawed = |number| self.files.get(number).is_some_and(|file| file.flaw.is_some());
        self.paths().iter().any(|(path, number)| {
            path.starts_with(DATABASE) && path.ends_with(ending) && is_flawed(number)
        })
    }

    // ---- content

    /// Returns the content as programs see it.
    pub fn content(&self, number: Number) -> &[u8] {
        self.files.get(&number).map_or(&[], |file| &file.now)
    }

    /// Returns the length on stable storage, in bytes.
    pub fn stable_bytes(&self, number: Number) -> usize {
        self.files.get(&number).map_or(0, |file| file.stable.len())
    }

    /// Returns the number of pieces that were appended as a whole.
    pub fn pieces(&self, number: Number) -> usize {
        self.files.get(&number).map_or(0, |file| file.pieces.len())
    }

    /// Appends a piece; if not `whole` it is the existing part of a longer piece.
    pub fn append(&mut self, number: Number, data: &[u8], whole: bool) {
        let Some(file) = self.files.get_mut(&number) else { return };
        file.changes.push(Change::Write { offset: file.now.len(), data: data.to_vec() });
        file.now.extend_from_slice(data);
        if whole {
            file.pieces.push(file.now.len());
        }
    }

    /// Writes at `offset`; a gap before it becomes zeros.
    pub fn write(&mut self, number: Number, offset: usize, data: &[u8]) {
        let Some(file) = self.files.get_mut(&number) else { return };
        put(&mut file.now, offset, data);
        file.overwritten.push((offset, offset + data.len()));
        file.changes.push(Change::Write { offset, data: data.to_vec() });
    }

    /// Cuts or lengthens.
    pub fn truncate(&mut self, number: Number, bytes: usize) {
        let Some(file) = self.files.get_mut(&number) else { return };
        if file.now.len() != bytes {
            file.now.resize(bytes, 0);
            file.pieces.retain(|end| *end <= bytes);
            file.changes.push(Change::Truncate { bytes });
        }
    }

    // ---- stable storage

    /// Syncs a file: its content, its length, and the entry under which it was made or renamed.
    pub fn sync(&mut self, number: Number) {
        if let Some(file) = self.files.get_mut(&number) {
            if !file.changes.is_empty() {
                file.stable.clone_from(&file.now);
            }
            file.changes.clear();
        }
        self.settle(|entry| entry.names() == Some(number));
    }

    /// Syncs the entries of a directory.
    pub fn sync_directory(&mut self, path: &str) -> Result<(), Missing> {
        let number = self.find(path)?;
        if !self.is_directory(number) {
            return Err(Missing::WrongKind);
        }
        self.settle(|entry| {
            entry.names() == Some(number)
                || entry.touches().iter().any(|(directory, _)| *directory == number)
        });
        Ok(())
    }

    /// Brings the changes that are `wanted`, and their dependencies, to stable storage.
    fn settle(&mut self, wanted: impl Fn(&Entry) -> bool) {
        let mut chosen: Vec<bool> = self.entries.iter().map(wanted).collect();
        if self.journal {
            let last = chosen.iter().rposition(|chosen| *chosen);
            chosen
                .iter_mut()
                .take(last.map_or(0, |last| last + 1))
                .for_each(|chosen| *chosen = true);
        }
        close_over_dependencies(&self.entries, &mut chosen);
        let mut later = Vec::new();
        for (entry, chosen) in std::mem::take(&mut self.entries).into_iter().zip(chosen) {
            if chosen {
                entry.apply(&mut self.stable);
            } else {
                later.push(entry);
            }
        }
        self.entries = later;
    }

    // ---- crashes

    /// Returns the disk after the process was killed: nothing written is lost. Also returns the
    /// data appended to each file.
    pub fn killed(&self) -> (Self, Cut) {
        let mut disk = self.clone();
        let mut cut = Cut::default();
        for (path, number) in self.paths() {
            let file = &self.files[&number];
            let fate = fate(number, path, true, file, &file.now, Loss::Nothing);
            if let Some(file) = disk.files.get_mut(&number) {
                file.flaw = fate.flaw();
            }
            cut.files.push(fate);
        }
        // the system must still write out a killed process's data, but no other crash follows at
        // once
        for file in disk.files.values_mut() {
            if !file.changes.is_empty() {
                file.stable.clone_from(&file.now);
                file.changes.clear();
            }
            file.overwritten.clear();
        }
        disk.stable.clone_from(&disk.directories);
        disk.entries.clear();
        disk.forget_nameless();
        (disk, cut)
    }

    /// Returns the disk after a power cut.
    pub fn cut_off(&self, random: &mut Random) -> (Self, Cut) {
        let (survived, entries) = self.surviving_entries(random);
        let mut stable = self.stable.clone();
        for entry in survived {
            entry.apply(&mut stable);
        }
        let mut disk = Self {
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
            stable: BTreeMap::new(),
            entries: Vec::new(),
            next: self.next,
            journal: self.journal,
        };
        let mut open = vec![ROOT];
        let mut kept = BTreeSet::new();
        while let Some(number) = open.pop() {
            let entries = stable.get(&number).cloned().unwrap_or_default();
            for named in entries.values() {
                if self.is_directory(*named) {
                    open.push(*named);
                } else {
                    kept.insert(*named);
                }
            }
            disk.directories.insert(number, entries);
        }
        disk.stable.clone_from(&disk.directories);
        let mut cut = Cut { files: Vec::new(), entries };
        let unit = random.pick(&[512, 4096]);
        let mut paths: BTreeMap<Number, String> = BTreeMap::new();
        for (path, number) in disk.paths().into_iter().chain(self.paths()) {
            let known = paths.entry(number).or_insert_with(|| path.clone());
            // of a file that a copy of the database shares with it, the name in the database
            if !known.starts_with(DATABASE) && path.starts_with(DATABASE) {
                *known = path;
            }
        }
        for (number, file) in &self.files {
            let Some(path) = paths.remove(number) else { continue };
            let (content, loss) = file.after_cut(unit, random);
            let named = kept.contains(number);
            let (left, loss) = if named { (&content[..], loss) } else { (&[][..], Loss::All) };
            let fate = fate(*number, path, named, file, left, loss);
            if named {
                let flaw = fate.flaw();
                let pieces =
                    file.pieces.iter().copied().filter(|end| *end <= content.len()).collect();
                let after =
                    File { now: content.clone(), stable: content, pieces, flaw, ..File::default() };
                disk.files.insert(*number, after);
            }
            cut.files.push(fate);
        }
        cut.files.sort_by(|one, other| one.path.cmp(&other.path));
        (disk, cut)
    }

    /// Changes of directories that survive a power cut, and which do not.
    fn surviving_entries(&self, random: &mut Random) -> (Vec<&Entry>, LostEntries) {
        let chance = random.pick(&[10, 50, 90]);
        let mut chosen: Vec<bool> = self.entries.iter().map(|_| random.chance(chance)).collect();
        if self.journal {
            let kept = random.below(self.entries.len() + 1);
            chosen.iter_mut().enumerate().for_each(|(index, chosen)| *chosen = index < kept);
        }
        close_over_dependencies(&self.entries, &mut chosen);
        let mut lost = LostEntries::default();
        for (entry, _) in self.entries.iter().zip(&chosen).filter(|(_, chosen)| !**chosen) {
            match entry {
                Entry::Add { .. } => lost.adds += 1,
                Entry::Remove { .. } => lost.removes += 1,
                Entry::Rename { .. } => lost.renames += 1,
            }
        }
        let first_lost = chosen.iter().position(|chosen| !chosen);
        lost.reordered = first_lost.is_some_and(|first| chosen[first..].contains(&true));
        let survived =
            self.entries.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(entry, _)| entry);
        (survived.collect(), lost)
    }

    /// Forgets files without a name.
    fn forget_nameless(&mut self) {
        let named: BTreeSet<Number> =
            self.directories.values().flat_map(|entries| entries.values().copied()).collect();
        self.files.retain(|number, _| named.contains(number));
    }

    /// Puts `content` in place of what `path` holds, on stable storage: the work of an attacker, or
    /// of another program.
    pub fn replace(&mut self, path: &str, content: Vec<u8>) -> Result<(), Missing> {
        let number = self.find(path)?;
        let file = self.files.get_mut(&number).ok_or(Missing::WrongKind)?;
        let pieces = file.pieces.iter().copied().filter(|end| *end <= content.len()).collect();
        *file = File { stable: content.clone(), now: content, pieces, ..File::default() };
        Ok(())
    }
}

/// Adds to `chosen` whatever a chosen change depends on.
fn close_over_dependencies(entries: &[Entry], chosen: &mut [bool]) {
    for later in (0..entries.len()).rev() {
        if chosen[later] {
            for earlier in 0..later {
                chosen[earlier] |= entries[later].depends_on(&entries[earlier]);
            }
        }
    }
}
