//! The model of a disk: files and directories as programs see them, and as they are on stable storage. A power cut is a
//! function of the two and a seed.
//!
//! What a power cut may do, which is what ext4 and XFS promise and no more:
//! - What was synced is there. Content and length of a file are synced by syncing the file, entries by syncing the
//!   directory. Syncing a file also brings the entry under which it was made (or its renaming) to stable storage, as
//!   the journals of ext4 and XFS do; POSIX does not ask for that, but RocksDB relies on it for its manifest.
//! - Of a file's writes that were not synced, each unit of 512 or 4,096 bytes is as some prefix of the writes left it,
//!   independently of its neighbours. The length is one that the file had, or ends with a unit. What was never
//!   written within the length is zero.
//! - Of the changes of directories that were not synced, either a prefix survives (a journal), or any subset in which
//!   no change survives without those on which it depends: earlier ones of the same name, and the making of its
//!   directory. A rename is one change.
//!
//! Not here: faults of a running disk, and who calls (`files`).

use std::collections::{BTreeMap, BTreeSet};

use sealstone_seal::{HEADER_BYTES, is_sealed};

use crate::random::Random;

/// How the paths of the database's files begin.
const DATABASE: &str = "/db/";

/// Bytes of the header of a record in RocksDB's logs.
const RECORD_HEADER_BYTES: usize = 7;

/// A file or directory, whatever its names.
pub type Number = u64;

/// The directory from which every path begins.
const ROOT: Number = 1;

/// What a name refers to, or why it refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No such name.
    NotFound,
    /// There is one already, or the directory is not empty.
    Exists,
    /// A file where a directory is wanted, or the other way round.
    WrongKind,
}

/// One change of a file that was not synced.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, data: Vec<u8> },
    Truncate { bytes: usize },
}

/// A file.
#[derive(Clone, Debug, Default)]
struct File {
    /// As programs see it.
    now: Vec<u8>,
    /// As it is on stable storage.
    stable: Vec<u8>,
    /// From `stable` to `now`.
    changes: Vec<Change>,
    /// Where each appended piece ends, since the file was made.
    pieces: Vec<usize>,
    /// What was written over, after it was appended.
    overwritten: Vec<(usize, usize)>,
    /// How an earlier power cut left its end, and whether that begins with zeros; this does not change.
    flaw: Option<(Tail, bool)>,
}

/// One change of directories that was not synced.
#[derive(Clone, Debug)]
enum Entry {
    Add { directory: Number, name: String, number: Number },
    Remove { directory: Number, name: String },
    Rename { from: (Number, String), to: (Number, String), number: Number },
}

impl Entry {
    /// The entries that it concerns.
    fn touches(&self) -> Vec<(Number, &str)> {
        match self {
            Self::Add { directory, name, .. } | Self::Remove { directory, name } => vec![(*directory, name)],
            Self::Rename { from, to, .. } => vec![(from.0, &from.1), (to.0, &to.1)],
        }
    }

    /// What got a name by it.
    fn names(&self) -> Option<Number> {
        match self {
            Self::Add { number, .. } | Self::Rename { number, .. } => Some(*number),
            Self::Remove { .. } => None,
        }
    }

    fn depends_on(&self, earlier: &Self) -> bool {
        let touched = earlier.touches();
        self.touches()
            .iter()
            .any(|(directory, name)| touched.contains(&(*directory, *name)) || earlier.names() == Some(*directory))
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

/// What a power cut made of a file that had changes which were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of them are present.
    Nothing,
    /// None of them is.
    All,
    /// The first of them are, each as a whole.
    Tail,
    /// The first of them are, and one in part.
    Cut,
    /// Some units are, in any order.
    Holes,
    /// The file has its length, and its end is zeros.
    ZeroTail,
    /// The file's first unit is zeros, or as it was.
    FirstUnit,
}

/// How the end of a file looks, compared with what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// It ends with a piece that was appended as a whole.
    Clean,
    /// Nothing but zeros follows such a piece.
    Zeros,
    /// A part of a piece follows, just as it was written, and then nothing.
    Short,
    /// Something else follows: a piece with a hole, or pieces after one.
    Torn,
}

/// The outcome of a crash for one file.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The file.
    pub number: Number,
    /// Its path before the crash.
    pub path: String,
    /// Whether a name of it is left.
    pub named: bool,
    /// Pieces that were appended to it.
    pub pieces: usize,
    /// This many of them, from the first on, are present.
    pub whole: usize,
    /// What follows these.
    pub tail: Tail,
    /// Whether what follows begins with zeros, as many as a record's header of RocksDB has bytes.
    pub zeros_first: bool,
    /// Whether its end was so before.
    pub flawed_before: bool,
    /// What happened to it.
    pub loss: Loss,
    /// Its length on stable storage before the crash, in bytes.
    pub stable_bytes: usize,
}

impl Fate {
    /// Whether it is a file of the database itself, and not of a copy of it.
    pub fn is_of_database(&self) -> bool {
        self.path.starts_with(DATABASE)
    }

    /// What of its end stays to be seen after the next crash.
    fn flaw(&self) -> Option<(Tail, bool)> {
        matches!(self.tail, Tail::Short | Tail::Torn).then_some((self.tail, self.zeros_first))
    }
}

/// Which changes of directories a power cut lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostEntries {
    /// Names given.
    pub adds: usize,
    /// Names removed.
    pub removes: usize,
    /// Names changed.
    pub renames: usize,
    /// Whether a later change survived an earlier one.
    pub reordered: bool,
}

/// What a power cut did.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    /// Every file that had a name.
    pub files: Vec<Fate>,
    /// Changes of directories that were lost.
    pub entries: LostEntries,
}

/// A disk.
#[derive(Clone, Debug)]
pub struct Disk {
    files: BTreeMap<Number, File>,
    /// As programs see them.
    directories: BTreeMap<Number, BTreeMap<String, Number>>,
    /// As they are on stable storage.
    stable: BTreeMap<Number, BTreeMap<String, Number>>,
    /// From `stable` to `directories`.
    entries: Vec<Entry>,
    next: Number,
    /// Whether entries reach stable storage in their order, as with one journal.
    journal: bool,
}

impl Disk {
    /// An empty disk; `journal`: changes of directories reach stable storage in their order.
    pub fn new(journal: bool) -> Self {
        let root = BTreeMap::from([(ROOT, BTreeMap::new())]);
        let (directories, stable) = (root.clone(), root);
        Self { files: BTreeMap::new(), directories, stable, entries: Vec::new(), next: ROOT + 1, journal }
    }

    // ---- names

    /// From now on reuses no number of `other`: a ghost continues after a crash, and what it wrote must not be taken
    /// for a file that is made later.
    pub fn number_after(&mut self, other: &Self) {
        self.next = self.next.max(other.next);
    }

    /// What `path` refers to.
    pub fn find(&self, path: &str) -> Result<Number, Missing> {
        let mut at = ROOT;
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let entries = self.directories.get(&at).ok_or(Missing::WrongKind)?;
            at = *entries.get(part).ok_or(Missing::NotFound)?;
        }
        Ok(at)
    }

    /// Whether `number` is a directory.
    pub fn is_directory(&self, number: Number) -> bool {
        self.directories.contains_key(&number)
    }

    /// How many names `number` has.
    pub fn links(&self, number: Number) -> u64 {
        self.directories.values().flat_map(BTreeMap::values).filter(|named| **named == number).count() as u64
    }

    /// The directory of `path` and the name in it.
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

    /// Every file with its path, in the order of the paths.
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

    /// The names in a directory.
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
        let (from, to) = ((from_directory, from_name.to_owned()), (to_directory, to_name.to_owned()));
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

    /// Whether a crash before left one of the database's files with an `ending` not as it was written.
    pub fn has_flawed(&self, ending: &str) -> bool {
        let is_flawed = |number| self.files.get(number).is_some_and(|file| file.flaw.is_some());
        self.paths()
            .iter()
            .any(|(path, number)| path.starts_with(DATABASE) && path.ends_with(ending) && is_flawed(number))
    }

    // ---- content

    /// The content as programs see it.
    pub fn content(&self, number: Number) -> &[u8] {
        self.files.get(&number).map_or(&[], |file| &file.now)
    }

    /// The length on stable storage, in bytes.
    pub fn stable_bytes(&self, number: Number) -> usize {
        self.files.get(&number).map_or(0, |file| file.stable.len())
    }

    /// How many pieces were appended as a whole.
    pub fn pieces(&self, number: Number) -> usize {
        self.files.get(&number).map_or(0, |file| file.pieces.len())
    }

    /// Appends a piece; one that is not `whole` is what is there of a longer one.
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
            entry.names() == Some(number) || entry.touches().iter().any(|(directory, _)| *directory == number)
        });
        Ok(())
    }

    /// Brings the changes that are `wanted`, and those on which they depend, to stable storage.
    fn settle(&mut self, wanted: impl Fn(&Entry) -> bool) {
        let mut chosen: Vec<bool> = self.entries.iter().map(wanted).collect();
        if self.journal {
            let last = chosen.iter().rposition(|chosen| *chosen);
            chosen.iter_mut().take(last.map_or(0, |last| last + 1)).for_each(|chosen| *chosen = true);
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

    /// The disk after the process was killed: nothing written is lost. With what was appended to each file.
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
        // what a killed process wrote is still to be written out by the system, but no other crash follows at once
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

    /// The disk after a power cut.
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
                let pieces = file.pieces.iter().copied().filter(|end| *end <= content.len()).collect();
                let after = File { now: content.clone(), stable: content, pieces, flaw, ..File::default() };
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
        let survived = self.entries.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(entry, _)| entry);
        (survived.collect(), lost)
    }

    /// Forgets files without a name.
    fn forget_nameless(&mut self) {
        let named: BTreeSet<Number> = self.directories.values().flat_map(|entries| entries.values().copied()).collect();
        self.files.retain(|number, _| named.contains(number));
    }

    /// Puts `content` in place of what `path` holds, on stable storage: the work of an attacker, or of another program.
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

fn put(content: &mut Vec<u8>, offset: usize, data: &[u8]) {
    if content.len() < offset + data.len() {
        content.resize(offset + data.len(), 0);
    }
    content[offset..offset + data.len()].copy_from_slice(data);
}

/// Compares what is left of a file with what was written.
fn fate(number: Number, path: String, named: bool, file: &File, left: &[u8], loss: Loss) -> Fate {
    // bytes that were written over may be as they were before or after
    let fixed = |from: usize, to: usize| {
        (from..to).filter(|at| !file.overwritten.iter().any(|(begin, end)| (*begin..*end).contains(at)))
    };
    let same = |from: usize, to: usize| {
        let to = to.min(left.len());
        from >= to || left[from..to] == file.now[from..to] || fixed(from, to).all(|at| left[at] == file.now[at])
    };
    // A sealed file begins with a header that is stored twice: one whole copy is as good as two, and without one what
    // is left of it is nothing that anybody wrote
    let header = if is_sealed(&file.now) { HEADER_BYTES } else { 0 };
    let has_header = left.len() >= header && (0..header).step_by(header.max(2) / 2).any(|copy| same(copy, copy + 512));
    let mut whole = 0;
    let mut end = 0;
    for piece_end in &file.pieces {
        let is_whole = if *piece_end <= header { has_header } else { same(end, *piece_end) };
        if *piece_end > left.len() || !is_whole {
            break;
        }
        whole += 1;
        end = *piece_end;
    }
    // a part of a header is not part of anything that was written after it
    let end = end.max(header);
    let rest = &left[end.min(left.len())..];
    let tail = if rest.is_empty() {
        Tail::Clean
    } else if rest.iter().all(|byte| *byte == 0) {
        Tail::Zeros
    } else if left.len() <= file.now.len() && same(end, left.len()) {
        Tail::Short
    } else {
        Tail::Torn
    };
    let zeros_first = rest.iter().take(RECORD_HEADER_BYTES).all(|byte| *byte == 0);
    let (tail, zeros_first) = file.flaw.unwrap_or((tail, zeros_first));
    let (pieces, stable_bytes) = (file.pieces.len(), file.stable.len());
    let flawed_before = file.flaw.is_some();
    Fate { number, path, named, pieces, whole, tail, zeros_first, flawed_before, loss, stable_bytes }
}

impl File {
    /// The content after a power cut that may lose units of `unit` bytes.
    fn after_cut(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        if self.changes.is_empty() {
            return (self.stable.clone(), Loss::Nothing);
        }
        let shrinks = self.changes.iter().any(|change| matches!(change, Change::Truncate { .. }));
        let style = if shrinks { random.below(3) } else { random.below(8) };
        match style {
            0 => (self.stable.clone(), Loss::All),
            1 => (self.now.clone(), Loss::Nothing),
            2 => {
                let kept = random.below(self.changes.len() + 1);
                let loss = if kept == self.changes.len() { Loss::Nothing } else { Loss::Tail };
                (self.with(kept), loss)
            }
            3 => self.cut_within(unit, random),
            4 | 5 => self.with_holes(unit, random),
            6 => self.with_zero_tail(unit, random),
            _ => self.without_first_unit(unit),
        }
    }

    /// The content after the first `kept` changes.
    fn with(&self, kept: usize) -> Vec<u8> {
        let mut content = self.stable.clone();
        for change in &self.changes[..kept] {
            match change {
                Change::Write { offset, data } => put(&mut content, *offset, data),
                Change::Truncate { bytes } => content.resize(*bytes, 0),
            }
        }
        content
    }

    /// The first changes, and the part of the next one in the first units.
    fn cut_within(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let kept = random.below(self.changes.len());
        let mut content = self.with(kept);
        let Change::Write { offset, data } = &self.changes[kept] else { return (content, Loss::Tail) };
        let first = offset / unit + 1;
        let last = (offset + data.len()) / unit;
        if first > last {
            return (content, Loss::Tail);
        }
        let end = random.within(first, last) * unit;
        put(&mut content, *offset, &data[..end - offset]);
        (content, Loss::Cut)
    }

    /// Each unit as some prefix of the changes left it.
    fn with_holes(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let keeps = random.pick(&[30, 60, 90]);
        for begin in (0..content.len()).step_by(unit) {
            let end = (begin + unit).min(content.len());
            let covering = |change: &&Change| match change {
                Change::Write { offset, data } => *offset < end && offset + data.len() > begin,
                Change::Truncate { .. } => false,
            };
            let covering: Vec<&Change> = self.changes.iter().filter(covering).collect();
            if covering.is_empty() || random.chance(keeps) {
                continue;
            }
            let mut piece = vec![0; end - begin];
            if begin < self.stable.len() {
                let there = self.stable.len().min(end) - begin;
                piece[..there].copy_from_slice(&self.stable[begin..begin + there]);
            }
            for change in &covering[..random.below(covering.len())] {
                if let Change::Write { offset, data } = change {
                    let (from, to) = (begin.max(*offset), end.min(offset + data.len()));
                    piece[from - begin..to - begin].copy_from_slice(&data[from - offset..to - offset]);
                }
            }
            content[begin..end].copy_from_slice(&piece);
        }
        if random.chance(50) {
            let shortest = self.stable.len().div_ceil(unit);
            let bytes = random.within(shortest, content.len().div_ceil(unit)) * unit;
            content.truncate(bytes.max(self.stable.len()));
        }
        (content, Loss::Holes)
    }

    /// The length of now, and zeros from some unit on.
    fn with_zero_tail(&self, unit: usize, random: &mut Random) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let begin = self.stable.len();
        if begin >= content.len() {
            return self.with_holes(unit, random);
        }
        let from = (random.within(begin.div_ceil(unit), content.len() / unit + 1) * unit).max(begin);
        let from = if random.chance(30) { begin } else { from.min(content.len()) };
        content[from..].fill(0);
        (content, Loss::ZeroTail)
    }

    /// All but the first unit, which is as it was.
    fn without_first_unit(&self, unit: usize) -> (Vec<u8>, Loss) {
        let mut content = self.now.clone();
        let end = unit.min(content.len());
        content[..end].fill(0);
        let there = self.stable.len().min(end);
        content[..there].copy_from_slice(&self.stable[..there]);
        (content, Loss::FirstUnit)
    }
}
