//! One run of resealing over one database: the order in which its files are replaced, and its end.
//!
//! A run ends only when every compaction that began before the cipher changed has ended, since they
//! may still add files under the old cipher.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::statvfs::statvfs;
use sealstone_cipher::Cipher;
use sealstone_keys::KeyRef;
use sealstone_seal::{HEADER_BYTES, HeaderInfo, inspect};

use super::error::ResealError;
use super::progress::{Shared, TICK};
use super::remainder::{Left, Why, left_beside};
use crate::directory::explain;
use crate::ffi::{Db, Error, LiveFile, LiveKind, Rewrite};
use crate::file_system::{SealedFiles, is_log_name};
use crate::pace::Pace;
use crate::place;

/// Longest that one table is kept from compactions.
const HELD: Duration = Duration::from_secs(5);
/// The same for a table of level 0, where compactions wait for each other and writers for them.
const HELD_IN_LEVEL_0: Duration = Duration::from_secs(1);
/// Time that RocksDB is given to remove what it no longer needs.
const PATIENCE: Duration = Duration::from_secs(2);

/// A table to rewrite.
#[derive(Debug)]
struct Task {
    file: LiveFile,
    /// Bytes on disk: its own, and its share of the blobs that move along.
    bytes: u64,
}

/// One run over one database.
pub(super) struct Work<'a> {
    pub(super) db: &'a Db,
    pub(super) files: &'a SealedFiles,
    cipher: &'static Cipher,
    pub(super) key: KeyRef,
    /// Name of the module that makes files now, if one does.
    module: Option<&'static str>,
    pace: &'a Arc<Pace>,
    state: &'a Shared,
    /// By file number, which is never used twice: length on disk, and cipher and key, absent for a
    /// plain file.
    known: HashMap<u64, (u64, Option<Under>)>,
    /// Files and bytes.
    pub(super) rewritten: (u64, u64),
}

/// Cipher, key and module that a file is sealed with.
pub(super) type Under = (u16, KeyRef, Option<String>);

impl<'a> Work<'a> {
    /// Prepares the work on `db` for `cipher` and `key`, without beginning it.
    pub(super) fn new(
        db: &'a Db,
        files: &'a SealedFiles,
        cipher: &'static Cipher,
        key: KeyRef,
        pace: &'a Arc<Pace>,
        state: &'a Shared,
    ) -> Self {
        let module = files.keys().module().map(|module| module.name());
        let known = HashMap::new();
        Self { db, files, cipher, key, module, pace, state, known, rewritten: (0, 0) }
    }
}

impl Work<'_> {
    /// Does all of it, or all until it is stopped.
    pub(super) fn run(&mut self) -> Result<(), ResealError> {
        loop {
            self.pass()?;
            // after a concurrent rotation, files rewritten under the previous key must be rewritten
            // again
            if self.pace.is_stopped() || !self.is_key_old()? {
                return Ok(());
            }
            self.key = self.files.keys().current()?.0;
        }
    }

    fn is_key_old(&self) -> Result<bool, ResealError> {
        Ok(self.files.keys().current()?.0 != self.key)
    }

    /// Brings everything under the key that was current at the beginning, or ends early when it no
    /// longer is.
    fn pass(&mut self) -> Result<(), ResealError> {
        // compactions that began before now may still make files under the old cipher
        let (begun_before, _) = self.db.compactions();
        self.db.flush_all().map_err(|error| self.explained(&error))?;
        self.end_logs()?;
        self.control_files()?;
        let live = self.db.live_files().map_err(|error| self.explained(&error))?;
        let moves_blobs = live.iter().any(|file| file.kind == LiveKind::Blob);
        if moves_blobs {
            self.db.move_blobs(true).map_err(|error| self.explained(&error))?;
        }
        let tables = self.tables(begun_before);
        if moves_blobs {
            let restored = self.db.move_blobs(false).map_err(|error| self.explained(&error));
            tables.and(restored)?;
        } else {
            tables?;
        }
        if !self.pace.is_stopped() {
            // changed settings are stored in a new OPTIONS file, and the previous one may have been
            // missed
            self.control_files()?;
            self.settle()?;
        }
        Ok(())
    }

    fn tables(&mut self, begun_before: u64) -> Result<(), ResealError> {
        while !self.pace.is_stopped() && !self.is_key_old()? {
            let older_compactions = self.db.compactions().1 < begun_before;
            let tasks = self.tasks()?;
            let left: u64 = tasks.iter().map(|task| task.bytes).sum();
            let done = self.state.done_bytes.load(Ordering::Acquire);
            self.state.total_bytes.fetch_max(done + left, Ordering::AcqRel);
            // files that others rewrote in the meantime are done too
            let total = self.state.total_bytes.load(Ordering::Acquire);
            self.state.done_bytes.fetch_max(total - left, Ordering::AcqRel);
            if tasks.is_empty() && !older_compactions {
                break;
            }
            let mut moved = false;
            for task in tasks {
                if self.pace.is_stopped() || self.is_key_old()? {
                    break;
                }
                moved |= self.rewrite(&task)?;
            }
            if !moved {
                thread::sleep(TICK);
            }
        }
        Ok(())
    }

    /// Returns the tables to rewrite, deepest level first: tables above may be merged down before
    /// their turn.
    fn tasks(&mut self) -> Result<Vec<Task>, ResealError> {
        let live = self.db.live_files().map_err(|error| self.explained(&error))?;
        let mut old_blobs: HashMap<u32, (u64, u64)> = HashMap::new();
        for file in live.iter().filter(|file| file.kind == LiveKind::Blob) {
            if let Some((bytes, false)) = self.look(file) {
                let (newest, sum) = old_blobs.entry(file.family).or_default();
                *newest = file.number.max(*newest);
                *sum += bytes;
            }
        }
        let mut tasks = Vec::new();
        let mut with_blobs: HashMap<u32, u64> = HashMap::new();
        for file in live {
            let LiveKind::Table { oldest_blob, .. } = file.kind else { continue };
            let Some((bytes, current)) = self.look(&file) else { continue };
            // A table names only the oldest of its blob files. Later blob files may also be of the
            // old kind.
            let newest_old_blob = old_blobs.get(&file.family).map(|(newest, _)| *newest);
            let has_old_blobs =
                oldest_blob.is_some_and(|oldest| newest_old_blob.is_some_and(|old| oldest <= old));
            if has_old_blobs {
                *with_blobs.entry(file.family).or_default() += bytes;
            }
            if has_old_blobs || !current {
                tasks.push((has_old_blobs, Task { file, bytes }));
            }
        }
        let mut tasks: Vec<Task> = tasks
            .into_iter()
            .map(|(has_old_blobs, mut task)| {
                if has_old_blobs {
                    let blobs = old_blobs[&task.file.family].1 as f64;
                    task.bytes +=
                        (blobs * task.bytes as f64 / with_blobs[&task.file.family] as f64) as u64;
                }
                task
            })
            .collect();
        let depth = |task: &Task| match task.file.kind {
            LiveKind::Table { level, .. } => level,
            LiveKind::Blob => 0,
        };
        tasks.sort_by_key(|task| (std::cmp::Reverse(depth(task)), task.file.number));
        Ok(tasks)
    }

    /// Returns the bytes on disk of a file, and whether it is under the target cipher and key;
    /// nothing for a file that is gone.
    fn look(&mut self, file: &LiveFile) -> Option<(u64, bool)> {
        let (bytes, under) = match self.known.get(&file.number) {
            Some(known) => known,
            None => {
                let facts = facts(&file.directory.join(&file.name)).ok()?;
                &*self.known.entry(file.number).or_insert(facts)
            }
        };
        Some((
            *bytes,
            under
                .as_ref()
                .is_some_and(|under| is_under(under, self.cipher, &self.key, self.module)),
        ))
    }

    /// Rewrites the table of `task`, and returns whether there is less to do than before.
    fn rewrite(&mut self, task: &Task) -> Result<bool, ResealError> {
        // RocksDB stops writing after a failed compaction, so what can be checked beforehand is:
        // that the key is there was checked just before, and that there is room is checked here
        let path = task.file.directory.join(&task.file.name);
        let needed_bytes = task.bytes + task.bytes / 16 + (1 << 20);
        if let Ok(device) = statvfs(&task.file.directory) {
            let free_bytes = device.blocks_available() * device.fragment_size();
            if free_bytes < needed_bytes {
                return Err(ResealError::NoRoom { file: path, needed_bytes, free_bytes });
            }
        }
        let held = match task.file.kind {
            LiveKind::Table { level: 0, .. } => HELD_IN_LEVEL_0,
            _ => HELD,
        };
        self.pace.begin(task.bytes, held);
        self.state.begin(&task.file.name, task.bytes);
        let rewritten = self.db.rewrite(&task.file).map_err(|error| self.explained(&error));
        let done_bytes = match rewritten {
            Ok(Rewrite::InUse) | Err(_) => 0,
            Ok(Rewrite::Done | Rewrite::Gone) => task.bytes,
        };
        self.state.end(done_bytes);
        self.pace.end();
        let rewritten = rewritten?;
        if rewritten == Rewrite::Done {
            self.rewritten.0 += 1;
            self.rewritten.1 += task.bytes;
        }
        Ok(rewritten != Rewrite::InUse)
    }

    /// Ends every write-ahead log that is not under the cipher and key. A flush has already done so
    /// if they held anything that was not in tables. If not, RocksDB keeps even empty logs, also of
    /// earlier openings, until there is something to flush.
    fn end_logs(&mut self) -> Result<(), ResealError> {
        let sweep = || self.db.sweep().map_err(|error| self.explained(&error));
        sweep()?;
        if self.has_old_log()? {
            let key = format!("sealstone-reseal-{:016x}", random());
            self.db.delete(key.as_bytes(), false).map_err(|error| self.explained(&error))?;
            self.db.flush_all().map_err(|error| self.explained(&error))?;
            sweep()?;
        }
        Ok(())
    }

    fn has_old_log(&self) -> Result<bool, ResealError> {
        Ok(self.logs()?.into_iter().any(|(_, wanted)| !wanted))
    }

    /// Returns whether the log that is being written is under the cipher and key; if so, nothing
    /// needs the logs that are not.
    fn is_log_new(&self) -> Result<bool, ResealError> {
        Ok(self.logs()?.into_iter().max().is_none_or(|(_, wanted)| wanted))
    }

    /// Returns the write-ahead logs, by number, and whether each is under the cipher and key.
    fn logs(&self) -> Result<Vec<(u64, bool)>, ResealError> {
        let dir = self.db.log_dir().map_err(|error| self.explained(&error))?;
        let mut logs = Vec::new();
        for name in names(&dir)?.into_iter().filter(|name| is_log_name(name)) {
            // one that is gone is no longer a log, and one without a header holds nothing
            if let Ok((1.., under)) = facts(&dir.join(&name)) {
                let number = name.trim_end_matches(".log").parse().unwrap_or(0);
                logs.push((number, self.is_wanted(under.as_ref())));
            }
        }
        Ok(logs)
    }

    pub(super) fn is_wanted(&self, under: Option<&Under>) -> bool {
        under.is_some_and(|under| is_under(under, self.cipher, &self.key, self.module))
    }

    /// Gives RocksDB the time to remove what it no longer needs, and ends the reading of plain
    /// files if none is left.
    fn settle(&self) -> Result<(), ResealError> {
        let begin = Instant::now();
        loop {
            self.finish_removals()?;
            let left = self.left()?;
            let obsolete = left.iter().any(|left| left.why == Why::Obsolete);
            if !obsolete || begin.elapsed() > PATIENCE || self.pace.is_stopped() {
                if !left.iter().any(|left| left.plain && left.why != Why::Foreign) {
                    self.files.set_reads_plain(false);
                }
                return Ok(());
            }
            self.db.sweep().map_err(|error| self.explained(&error))?;
            thread::sleep(TICK);
        }
    }

    pub(super) fn left(&self) -> Result<Vec<Left>, ResealError> {
        let live = self.db.live_files().map_err(|error| self.explained(&error))?;
        let mut directories: BTreeSet<PathBuf> =
            live.iter().map(|file| file.directory.clone()).collect();
        directories.insert(self.db.log_dir().map_err(|error| self.explained(&error))?);
        let own = fs::canonicalize(self.db.dir()).unwrap_or_else(|_| self.db.dir().to_owned());
        let live_numbers: BTreeSet<u64> = live.iter().map(|file| file.number).collect();
        let log_ended = self.is_log_new()?;
        let look = Some((&live_numbers, log_ended));
        let wanted = (self.cipher, &self.key, self.module);
        let mut left = left_beside(self.db.dir(), wanted, look)?;
        left.retain(|left| !self.is_leaving(&self.db.dir().join(&left.file)));
        for other in directories {
            // a database may be spread over several directories
            if !fs::canonicalize(&other).unwrap_or_else(|_| other.clone()).starts_with(&own) {
                let there = left_beside(&other, wanted, look)?;
                let named = |left: Left| Left {
                    file: other.join(&left.file).display().to_string(),
                    ..left
                };
                left.extend(there.into_iter().map(named));
            }
        }
        Ok(left)
    }

    pub(super) fn explained(&self, error: &Error) -> ResealError {
        explain("reseal", self.db.dir(), error).into()
    }
}

fn under_of(info: HeaderInfo) -> Under {
    let module = info.module_name().map(str::to_owned);
    (info.cipher.id, info.key, module)
}

/// Returns whether a file under `under` is as it should be.
fn is_under(under: &Under, cipher: &Cipher, key: &KeyRef, module: Option<&str>) -> bool {
    under.0 == cipher.id && under.1 == *key && under.2.as_deref() == module
}

/// Bytes on disk of a file, and what it is sealed with; nothing for a plain one.
pub(super) fn facts(path: &Path) -> io::Result<(u64, Option<Under>)> {
    let file = place::open(path)?;
    let bytes = file.metadata()?.len();
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    // a file that cannot be opened is reported when it is opened
    Ok((bytes, inspect(&header).ok().map(under_of)))
}

/// Names of the files in `dir`.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, ResealError> {
    let cannot = |source| ResealError::Spread { dir: dir.to_owned(), source };
    let entries = fs::read_dir(dir).map_err(cannot)?;
    entries
        .map(|entry| Ok(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned()))
        .collect()
}

/// Returns a number that no other key of a database is likely to have.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
