//! The journal of one opening: the protection of its files, its records and their order against
//! anyone who can write in the directory. Records are bound to their place when they are stored,
//! the account lists the files and how much of each was synced, and an existing journal is examined
//! as a whole before WiredTiger sees any of it.
//!
//! A record's tag can be made only when its place is known, and WiredTiger has made its checksum by
//! then. So encryption leaves room for the tag, and the checksum, which is linear, is corrected for
//! the tag.
//!
//! The order of writes decides which crashes can be distinguished from attacks. The account is on
//! the disk before a journal file gets its name or is removed, and is written after each sync. A
//! setting determines whether a sync waits for that, since a second flush takes as long as the
//! first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::account::{Account, Entry, Sync};
pub(crate) use self::account::{
    COPIES_AT as ACCOUNT_COPIES_AT, LENGTH_BYTES as ACCOUNT_LENGTH_BYTES, NAME as ACCOUNT,
};
pub(crate) use self::record::STAMP_AT;
use self::record::{FileKey, RecordError};
use sealstone_file::input;

use crate::encryptor::Encryptor;
use crate::error::{JournalError, io_error};
use crate::settings::Settings;

pub(crate) mod account;
pub(crate) mod record;
#[cfg(test)]
mod tests;
mod walk;

/// Names of WiredTiger's journal files; a number of ten digits follows.
pub(crate) const LOG: &str = "WiredTigerLog.";
/// Files that are made ready, and become journal files when they are renamed.
pub(crate) const FRESH: [&str; 2] = ["WiredTigerTmplog.", "WiredTigerPreplog."];

/// Meaning of the name of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// A journal file and its number.
    Log(u32),
    /// One that is made ready.
    Fresh,
    /// Anything else.
    Other,
}

impl Name {
    fn of(path: &Path) -> Self {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if FRESH.iter().any(|fresh| name.starts_with(fresh)) {
            return Self::Fresh;
        }
        let digits = name
            .strip_prefix(LOG)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        digits
            .filter(|digits| digits.len() == 10)
            .and_then(|digits| digits.parse().ok())
            .map_or(Self::Other, Self::Log)
    }
}

/// One journal file of this opening.
pub(crate) struct JournalFile {
    number: u32,
    path: PathBuf,
    /// Length of its first record, in bytes.
    first_bytes: u64,
    key: FileKey,
    /// Position at which its genuine records ended, in bytes, in a file that already existed.
    /// WiredTiger writes no more to it.
    end: Option<AtomicU64>,
    written: Mutex<Written>,
}

/// Ranges of bytes of a file that were written. Records come from many threads, and not in order.
#[derive(Default)]
struct Written {
    /// All up to here.
    end: u64,
    /// Ranges written after a gap: beginnings and ends.
    apart: BTreeMap<u64, u64>,
}

impl Written {
    fn add(&mut self, from: u64, to: u64) {
        self.apart.insert(from, to);
        while let Some(entry) = self.apart.first_entry().filter(|entry| *entry.key() <= self.end) {
            self.end = self.end.max(entry.remove());
        }
    }
}

struct State {
    /// The directory of the journal, once it was looked at.
    dir: Option<PathBuf>,
    account: Account,
    files: BTreeMap<u32, Arc<JournalFile>>,
    /// Keys of files that are made ready, with the length of their first record.
    fresh: HashMap<PathBuf, (FileKey, u64)>,
    refused: bool,
}

/// The journal of one opening.
pub(crate) struct Journal {
    encryptor: Arc<Encryptor>,
    sync: Sync,
    accept_missing: bool,
    /// Encryption is configured: without it WiredTiger writes in the clear.
    active: AtomicBool,
    /// There is an account.
    kept: AtomicBool,
    /// There was none when the journal was looked at.
    missing: AtomicBool,
    /// A page shows that there must be an account.
    wanted: AtomicBool,
    state: Mutex<State>,
}

impl Journal {
    pub(crate) fn new(encryptor: Arc<Encryptor>, settings: &Settings) -> Self {
        let sync = if settings.synced_account { Sync::Now } else { Sync::Soon };
        let account = Account::new(Path::new(""));
        let (files, fresh) = (BTreeMap::new(), HashMap::new());
        let state = Mutex::new(State { dir: None, account, files, fresh, refused: false });
        let [active, kept, missing, wanted] = [false; 4].map(AtomicBool::new);
        Self {
            encryptor,
            sync,
            accept_missing: settings.accept_missing_account,
            active,
            kept,
            missing,
            wanted,
            state,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that encryption is configured.
    pub(crate) fn activate(&self) {
        self.active.store(true, Ordering::Release);
    }

    /// Returns whether encryption is configured.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::Acquire)
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Acquire)
    }

    /// Requires an account, for a block that was sealed when there was one.
    ///
    /// # Errors
    /// [`JournalError::NoAccount`] if there is none.
    pub(crate) fn must_be_kept(&self) -> Result<(), JournalError> {
        self.wanted.store(true, Ordering::Release);
        // an account that was made by this opening is not an old one
        if self.missing.load(Ordering::Acquire) && !self.accept_missing && !self.is_kept() {
            let path = self.state().dir.clone().unwrap_or_default().join(account::NAME);
            return Err(JournalError::NoAccount { path });
        }
        Ok(())
    }

    /// Returns whether `dir` is the directory of the journal. It is where WiredTiger first looks
    /// for journal files, and everything there is then examined.
    fn is_here(&self, state: &mut State, dir: &Path) -> Result<bool, JournalError> {
        if !self.active.load(Ordering::Acquire) {
            return Ok(false);
        }
        match &state.dir {
            Some(known) if known == dir && state.refused => Err(JournalError::Refused),
            Some(known) => Ok(known == dir),
            None => {
                state.dir = Some(dir.to_owned());
                self.look(state, dir).inspect_err(|_| state.refused = true)?;
                Ok(true)
            }
        }
    }

    /// Examines everything that is there.
    fn look(&self, state: &mut State, dir: &Path) -> Result<(), JournalError> {
        let pages = self.encryptor.pages();
        let mut there = numbers(dir)?;
        match Account::read(dir, pages)? {
            Some(account) => state.account = account,
            None => return self.look_without_account(state, dir, &there),
        }
        self.kept.store(true, Ordering::Release);
        let listed: Vec<(u32, Entry)> =
            state.account.entries.iter().map(|(number, entry)| (*number, *entry)).collect();
        for (number, entry) in listed {
            let path = path_of(dir, number);
            if !there.remove(&number) {
                // a crash may have come between the account and the file that it lists
                if entry.synced == 0 && number == state.account.highest {
                    state.account.entries.remove(&number);
                    continue;
                }
                return Err(JournalError::Missing { path, synced: entry.synced });
            }
            let file = self.look_at(path, number)?;
            if file.key.id() != entry.id {
                return Err(JournalError::Other { path: file.path.clone() });
            }
            state.files.insert(number, Arc::new(file.longer_than(entry.synced)?));
        }
        for number in there {
            let path = path_of(dir, number);
            if number > state.account.highest {
                return Err(JournalError::Unlisted { path });
            }
            // a crash may have come between the account and the removal
            let _ = fs::remove_file(path);
        }
        Ok(())
    }

    fn look_without_account(
        &self,
        state: &mut State,
        dir: &Path,
        there: &BTreeSet<u32>,
    ) -> Result<(), JournalError> {
        state.account = Account::new(dir);
        self.missing.store(true, Ordering::Release);
        let wanted = self.wanted.load(Ordering::Acquire) || !there.is_empty();
        if wanted && !self.accept_missing {
            return Err(JournalError::NoAccount { path: dir.join(account::NAME) });
        }
        for number in there {
            let file = self.look_at(path_of(dir, *number), *number)?;
            state
                .account
                .entries
                .insert(*number, Entry { synced: file.walked.end, id: file.key.id() });
            state.account.highest = *number;
            state.files.insert(*number, Arc::new(file.longer_than(0)?));
        }
        Ok(())
    }

    fn look_at(&self, path: PathBuf, number: u32) -> Result<Looked, JournalError> {
        let opened = input::open(&path).map_err(io_error("open", &path))?;
        let first = walk::first(&opened, &path, self.encryptor.pages())?;
        let walked = walk::walk(&opened, &path, number, &first)?;
        let (first_bytes, key) = (first.bytes, first.key);
        let (end, written) = (Some(AtomicU64::new(walked.end)), Mutex::default());
        Ok(Looked { file: JournalFile { number, path, first_bytes, key, end, written }, walked })
    }

    /// Examines the journal when WiredTiger lists the files in `dir` whose names begin with
    /// `prefix`.
    ///
    /// # Errors
    /// The defect of the journal, if `dir` is its directory.
    pub(crate) fn listed(&self, dir: &Path, prefix: &str) -> Result<(), JournalError> {
        let journal = !prefix.is_empty()
            && [LOG, FRESH[0], FRESH[1]].iter().any(|name| name.trim_end_matches('.') == prefix);
        if journal { self.is_here(&mut self.state(), dir).map(|_| ()) } else { Ok(()) }
    }

    /// Returns the treatment of what is read and written in the file `path`, which WiredTiger
    /// opens.
    ///
    /// # Errors
    /// As [`Journal::listed`].
    pub(crate) fn opened(&self, path: &Path, as_log: bool) -> Result<Role, JournalError> {
        let name = Name::of(path);
        if name == Name::Other || !as_log {
            return Ok(Role::Plain);
        }
        let mut state = self.state();
        if !self.is_here(&mut state, path.parent().unwrap_or(Path::new("")))? {
            return Ok(Role::Plain);
        }
        match name {
            Name::Log(number) => {
                Ok(state.files.get(&number).map_or(Role::Plain, |file| Role::Journal(file.clone())))
            }
            _ => Ok(Role::Fresh),
        }
    }

    /// Records in the account that WiredTiger removes the file `path`, before it does.
    ///
    /// # Errors
    /// The account cannot be written; then the file must stay.
    pub(crate) fn removing(&self, path: &Path) -> Result<(), JournalError> {
        let name = Name::of(path);
        if name == Name::Other {
            return Ok(());
        }
        let mut state = self.state();
        if !self.is_here(&mut state, path.parent().unwrap_or(Path::new("")))? {
            return Ok(());
        }
        state.fresh.remove(path);
        if let Name::Log(number) = name
            && state.account.entries.remove(&number).is_some()
        {
            state.files.remove(&number);
            self.write(&mut state, Sync::Now)?;
        }
        Ok(())
    }

    /// Prepares the renaming of `from` to `to` by WiredTiger. A new journal file is in the account
    /// before it exists.
    ///
    /// # Errors
    /// The account cannot be written, or a file that was not prepared here would become a journal
    /// file; then nothing may be renamed.
    pub(crate) fn renaming(&self, from: &Path, to: &Path) -> Result<(), JournalError> {
        if Name::of(to) == Name::Other {
            return Ok(());
        }
        let mut state = self.state();
        if !self.is_here(&mut state, to.parent().unwrap_or(Path::new("")))? {
            return Ok(());
        }
        let made = state
            .fresh
            .remove(from)
            .ok_or_else(|| JournalError::Unlisted { path: from.to_owned() })?;
        let Name::Log(number) = Name::of(to) else {
            state.fresh.insert(to.to_owned(), made);
            return Ok(());
        };
        let (key, first_bytes) = made;
        // files of an earlier opening may not be on the disk yet, and are in the account from now
        // on
        if !self.is_kept() {
            for file in state.files.values() {
                let opened = File::open(&file.path).and_then(|opened| opened.sync_all());
                opened.map_err(io_error("sync", &file.path))?;
            }
        }
        state.account.entries.insert(number, Entry { synced: 0, id: key.id() });
        state.account.highest = state.account.highest.max(number);
        self.write(&mut state, Sync::Now)?;
        self.kept.store(true, Ordering::Release);
        let written = Mutex::new(Written { end: first_bytes, ..Written::default() });
        let file =
            JournalFile { number, path: to.to_owned(), first_bytes, key, end: None, written };
        state.files.insert(number, Arc::new(file));
        Ok(())
    }

    fn write(&self, state: &mut State, sync: Sync) -> Result<(), JournalError> {
        state.account.write(self.encryptor.pages(), sync)
    }

    /// Stores the first record of a file that is made ready.
    pub(crate) fn write_fresh(
        &self,
        path: &Path,
        file: &File,
        bytes: &[u8],
        at: u64,
    ) -> Result<(), JournalError> {
        let fail = io_error("write", path);
        if at > 0 {
            // WiredTiger fills it with zeros
            return file.write_all_at(bytes, at).map_err(fail);
        }
        let page_error = |error| JournalError::Page { path: path.to_owned(), error };
        let (pages, mut record) = (self.encryptor.pages(), bytes.to_vec());
        let key = FileKey::draw(pages.provider()).map_err(page_error)?;
        record::stamp(pages, &key, &mut record).map_err(page_error)?;
        file.write_all_at(&record, 0).map_err(fail)?;
        self.state().fresh.insert(path.to_owned(), (key, record.len() as u64));
        Ok(())
    }

    /// Syncs a journal file, and records its length on the disk in the account.
    ///
    /// # Errors
    /// [`JournalError::File`], and errors of writing the account.
    pub(crate) fn sync(&self, journal: &JournalFile, file: &File) -> Result<(), JournalError> {
        let end = journal.written().end;
        file.sync_data().map_err(io_error("sync", &journal.path))?;
        // a file with no record of data may be lost in a power cut: its name need not be on the
        // disk
        if journal.end.is_some() || end <= 2 * journal.first_bytes {
            return Ok(());
        }
        let mut state = self.state();
        match state.account.entries.get_mut(&journal.number) {
            Some(entry) if entry.synced < end => {
                entry.synced = end;
                self.write(&mut state, self.sync)
            }
            _ => Ok(()),
        }
    }

    /// Accepts that WiredTiger cuts a journal file to `bytes` bytes.
    ///
    /// # Errors
    /// [`JournalError::WouldCut`]: synced data stays.
    pub(crate) fn cutting(&self, journal: &JournalFile, bytes: u64) -> Result<(), JournalError> {
        let state = self.state();
        let synced = state.account.entries.get(&journal.number).map_or(0, |entry| entry.synced);
        if bytes < synced {
            return Err(JournalError::WouldCut { path: journal.path.clone(), bytes, synced });
        }
        if let Some(end) = &journal.end {
            end.fetch_min(bytes, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Waits until the account is on the disk: WiredTiger closes.
    pub(crate) fn close(&self) -> Result<(), JournalError> {
        self.state().account.sync()
    }
}

/// Treatment of what WiredTiger reads and writes in a file.
pub(crate) enum Role {
    /// Unchanged.
    Plain,
    /// A journal file that is made ready.
    Fresh,
    /// A journal file.
    Journal(Arc<JournalFile>),
}

struct Looked {
    file: JournalFile,
    walked: walk::Walked,
}

impl std::ops::Deref for Looked {
    type Target = JournalFile;

    fn deref(&self) -> &JournalFile {
        &self.file
    }
}

impl Looked {
    /// Returns the file, if its records reach the synced length.
    fn longer_than(self, synced: u64) -> Result<JournalFile, JournalError> {
        let walk::Walked { end, behind } = self.walked;
        if end < synced {
            return Err(JournalError::Cut { path: self.file.path, end, behind, synced });
        }
        Ok(self.file)
    }
}

impl JournalFile {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores records, each bound to its place.
    pub(crate) fn write(&self, file: &File, bytes: &[u8], at: u64) -> Result<(), JournalError> {
        let fail = |found| JournalError::NotARecord {
            path: self.path.clone(),
            at,
            bytes: bytes.len(),
            found,
        };
        if self.end.is_some() {
            if bytes.iter().any(|byte| *byte != 0) {
                return Err(fail("it was written by an earlier opening".into()));
            }
            return file.write_all_at(bytes, at).map_err(io_error("write", &self.path));
        }
        let mut bound = bytes.to_vec();
        let bind = self.key.bind(self.number, at, &mut bound);
        let records = bind.map_err(|error| match error {
            RecordError::Found(found) => fail(found),
            RecordError::Module(error) => {
                JournalError::Page { path: self.path.clone(), error: error.into() }
            }
        })?;
        file.write_all_at(&bound, at).map_err(io_error("write", &self.path))?;
        if records > 0 {
            self.written().add(at, at + records as u64);
        }
        Ok(())
    }

    /// Reads the bytes that WiredTiger requests; of an existing file only genuine bytes.
    pub(crate) fn read(&self, file: &File, into: &mut [u8], at: u64) -> Result<(), JournalError> {
        match &self.end {
            Some(end) => {
                let of = (self.number, end.load(Ordering::Acquire), &self.key);
                walk::read(file, &self.path, of, at, into)
            }
            None => file.read_exact_at(into, at).map_err(io_error("read", &self.path)),
        }
    }

    /// Returns the length reported to WiredTiger, in bytes: bytes after the genuine records do not
    /// exist for it.
    pub(crate) fn bytes(&self, file: &File) -> io::Result<u64> {
        match &self.end {
            Some(end) => Ok(end.load(Ordering::Acquire)),
            None => file.metadata().map(|metadata| metadata.len()),
        }
    }
}

pub(crate) fn path_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{LOG}{number:010}"))
}

/// Returns the numbers of the journal files in `dir`.
fn numbers(dir: &Path) -> Result<BTreeSet<u32>, JournalError> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries.map_err(io_error("list", dir))?,
    };
    let mut found = BTreeSet::new();
    for entry in entries {
        if let Name::Log(number) = Name::of(&entry.map_err(io_error("list", dir))?.path()) {
            found.insert(number);
        }
    }
    Ok(found)
}
