//! Resealing: every file of an open database is rewritten under another cipher or the current key, or sealed for the
//! first time, while the program goes on reading and writing.
//!
//! RocksDB's files are never changed, only replaced, and a new file gets the environment's cipher and the current key.
//! So resealing is to make RocksDB replace its files, one by one:
//!
//! - A table is compacted alone, into its own level, by `CompactFiles`. That works in the calling thread, hence under a
//!   limit of its own ([`Reseal::rate`]), leaves the shape of the levels alone, and is one atomic change of the manifest:
//!   a kill loses the file at hand and nothing else. `CompactRange` would merge levels, take whole key ranges at once,
//!   and work in RocksDB's own threads.
//! - Values in blob files move along with the table that refers to them; a blob file without references is removed.
//! - The write-ahead log ends by a flush. `OPTIONS` files and `IDENTITY` are copied and renamed into place.
//! - The manifest and `CURRENT` are RocksDB's alone: it writes them anew whenever a database is opened (or once the
//!   manifest passes `max_manifest_file_size`), so after resealing a database that stays open they are what is left.
//!
//! What is still to be done is read from the headers of the files. So there is no state to lose: after a kill, resealing
//! once more goes on with what is left. Not here: the limit itself (`pace`), what is sealed in a directory (`rest`).

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::statvfs::statvfs;
use sealstone_bench::plan::human_bytes;
use sealstone_bench::store::StoreError;
use sealstone_cipher::registry::Cipher;
use sealstone_keys::{KeyError, KeyRef};
use sealstone_seal::identity::CATALOGUE_NAMES;
use sealstone_seal::{HEADER_BYTES, inspect};
use serde::Serialize;

use crate::catalogue::Refusal;
use crate::directory::explain;
use crate::env::{SealedEnv, Sealing};
use crate::ffi::{Db, Error, LiveFile, LiveKind, Rewrite};
use crate::file_system::{Failure, RawFailed, RawRead, SealedFiles, is_log_name, is_manifest_name};
use crate::pace::Pace;
use crate::rest::{self, State};

/// Version of the report.
pub const SCHEMA: u32 = 1;
/// How fast a database that is in use is resealed when nothing speaks for another rate, in bytes a second: slow enough
/// that a workload on two cores loses little, and a terabyte takes less than a day.
pub const RATE_BYTES_S: u64 = 16_000_000;

/// How often progress is told, and how often what is not free yet is tried again.
const TICK: Duration = Duration::from_millis(50);
/// Longest that one table is kept from compactions.
const HELD: Duration = Duration::from_secs(5);
/// The same for a table of level 0, where compactions wait for each other and writers for them.
const HELD_IN_LEVEL_0: Duration = Duration::from_secs(1);
/// How long RocksDB is given to remove what it no longer needs.
const PATIENCE: Duration = Duration::from_secs(2);
/// The name of a copy before it gets its own. RocksDB sweeps leftovers of such names up when a database is opened, and
/// takes this number itself only when it makes one.
const TEMPORARY: &str = "000001.dbtmp";
/// The name under which RocksDB writes `IDENTITY` while it opens a database. It never sweeps this one up.
const TEMPORARY_IDENTITY: &str = "000000.dbtmp";
/// Bytes of a control file that are copied at once.
const COPY_BYTES: usize = 64 << 10;

/// Why a database could not be resealed. What was resealed before stays so, and nothing is lost: resealing once more
/// goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum ResealError {
    /// The database was opened without sealing.
    #[error("the database in {} was not opened through a sealed environment\nopen it through SealedEnv", dir.display())]
    NotSealed {
        /// The directory of the database.
        dir: PathBuf,
    },
    /// Another thread is resealing it.
    #[error("the database in {} is being resealed already\nwait for that to end, or stop it", dir.display())]
    Busy {
        /// The directory of the database.
        dir: PathBuf,
    },
    /// The current key cannot be had; nothing was written.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The next file would not fit on the device; nothing was written of it.
    #[error(
        "cannot reseal {}: it needs {} of room, and {} are free\n\
         make room and reseal again: it goes on with this file", file.display(), human_bytes(*needed_bytes),
         human_bytes(*free_bytes)
    )]
    NoRoom {
        /// The file.
        file: PathBuf,
        /// What rewriting it needs, in bytes.
        needed_bytes: u64,
        /// What is free, in bytes.
        free_bytes: u64,
    },
    /// RocksDB refused.
    #[error(transparent)]
    Engine(StoreError),
    /// A control file could not be rewritten; it is as it was.
    #[error("cannot reseal {}: {text}", file.display())]
    Control {
        /// The file.
        file: PathBuf,
        /// What was found, and the next step.
        text: String,
    },
}

/// How far resealing has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The file being rewritten; empty between files.
    pub file: String,
    /// Bytes that need no more work.
    pub done_bytes: u64,
    /// Bytes that needed work at the beginning, or came to since.
    pub total_bytes: u64,
}

/// What resealing did, and what it left.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory of the database.
    pub dir: PathBuf,
    /// Cipher of new files.
    pub cipher: &'static str,
    /// Name of the key that wraps the keys of new files.
    pub key_id: String,
    /// Version of that key.
    pub key_version: u32,
    /// Whether it was stopped before the end.
    pub stopped: bool,
    /// Files rewritten.
    pub files: u64,
    /// Bytes on disk of those files, as they were before.
    pub rewritten_bytes: u64,
    /// How long it took.
    pub elapsed_s: f64,
    /// Every file below the directory that is not under this cipher and key.
    pub left: Vec<Left>,
}

impl Report {
    /// Whether every file of the database is under the cipher and key, apart from those that RocksDB itself replaces
    /// or removes at the next opening.
    pub fn is_finished(&self) -> bool {
        !self.left.iter().any(|left| left.why == Why::Unfinished)
    }
}

/// A file that is not under the cipher and key wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Name, from the directory of the database on.
    pub file: String,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// Whether it is in the clear.
    pub plain: bool,
    /// Why it is still there.
    pub why: Why,
}

/// Why a file was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is part of the database, and its turn has not come.
    Unfinished,
    /// RocksDB writes it anew when the database is opened the next time.
    NextOpening,
    /// It is no longer part of the database; RocksDB removes it once the last iterator over it ends, or at the next
    /// opening.
    Obsolete,
    /// It does not belong to the database, and was not touched.
    Foreign,
}

impl Why {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unfinished => "not resealed yet",
            Self::NextOpening => "written anew when the store is next opened",
            Self::Obsolete => "no longer needed; removed once the last reader of it ends, or at the next opening",
            Self::Foreign => "not part of the store, left as it is",
        }
    }
}

/// Opens the database in `dir`, which nobody else has open, to reseal it: with the options and column families it was
/// last opened with. With `from_plain`, files in the clear are read as they are until they are sealed; without, they are
/// an error.
///
/// # Errors
/// A directory that is no store or whose files are in the clear, a store in use, no key, another key, damage. Nothing
/// was written then.
pub fn open(dir: &Path, sealing: Sealing, from_plain: bool) -> Result<Db, StoreError> {
    let shown = dir.display();
    let status = rest::status(dir)?;
    if !status.files.iter().any(|file| file.name == "CURRENT") {
        return Err(StoreError(format!(
            "no RocksDB store in {shown}: it has no file CURRENT\ngive the directory of a store"
        )));
    }
    for total in &status.totals {
        let key = KeyRef { id: total.key_id.clone(), version: total.key_version };
        sealing.keys.get(&key).map_err(|error| StoreError(error.to_string()))?;
    }
    let is_plain = |name: &str| {
        status.files.iter().any(|file| file.name == name && file.state == State::NotSealed)
            && kind(name) != Kind::Foreign
    };
    let plain: Vec<&String> = status.not_sealed.iter().filter(|name| is_plain(name)).collect();
    let env = match plain.first() {
        None => SealedEnv::with(sealing),
        Some(_) if from_plain => SealedEnv::converting(sealing),
        Some(_) if status.totals.is_empty() => {
            return Err(StoreError(format!("the store in {shown} is not sealed\nto seal it, add --from-plain")));
        }
        Some(first) => {
            return Err(StoreError(format!(
                "{} not sealed{}: {first}\n\
                 if sealing it was interrupted, add --from-plain; if not, somebody put {} there: restore a backup",
                match plain.len() {
                    1 => format!("1 file of the store in {shown} is"),
                    files => format!("{files} files of the store in {shown} are"),
                },
                if plain.len() == 1 { "" } else { ", among them" },
                if plain.len() == 1 { "it" } else { "them" }
            )));
        }
    };
    env.open_stored(dir).map_err(|error| explain("open", dir, &error))
}

/// Every file below `dir`, the directory of a database that is closed, which is not under `cipher` and `key`.
///
/// # Errors
/// A directory that cannot be read.
pub fn left(dir: &Path, cipher: &Cipher, key: &KeyRef) -> Result<Vec<Left>, StoreError> {
    left_beside(dir, cipher, key, None)
}

/// The work of resealing one open database.
///
/// ```no_run
/// # use std::sync::atomic::AtomicBool;
/// # fn reseal(db: &sealstone_rocksdb::Db) -> Result<(), Box<dyn std::error::Error>> {
/// use sealstone_rocksdb::reseal::Reseal;
/// let aria = sealstone_cipher::registry::cipher("aria-256")?;
/// let stop = AtomicBool::new(false); // set by another thread, it ends the work after the file at hand
/// let report = Reseal::new(db, aria).rate(32_000_000).run(&stop, &mut |progress| {
///     eprintln!("{} of {} bytes", progress.done_bytes, progress.total_bytes);
/// })?;
/// assert!(report.is_finished());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Reseal<'db> {
    db: &'db Db,
    cipher: &'static Cipher,
    rate_bytes_s: u64,
}

impl<'db> Reseal<'db> {
    /// Resealing of `db` under `cipher` and the current key of its environment, at [`RATE_BYTES_S`].
    pub fn new(db: &'db Db, cipher: &'static Cipher) -> Self {
        Self { db, cipher, rate_bytes_s: RATE_BYTES_S }
    }

    /// At most `bytes_s` bytes a second, taken over several files; 0: as fast as it goes. A single file may be written
    /// faster, for no compaction can have it meanwhile; what that saved is waited for afterwards.
    #[must_use]
    pub fn rate(self, bytes_s: u64) -> Self {
        Self { rate_bytes_s: bytes_s, ..self }
    }

    /// Does the work. From now on every new file of the environment gets the cipher.
    ///
    /// - `stop`: once set, it ends after the file at hand
    /// - `progress`: called some twenty times a second, in this thread
    ///
    /// # Errors
    /// [`ResealError`] says what is left in what state.
    pub fn run(&self, stop: &AtomicBool, progress: &mut dyn FnMut(&Progress)) -> Result<Report, ResealError> {
        let begin = Instant::now();
        let dir = self.db.dir().to_owned();
        let Some(files) = self.db.env().sealed_files() else { return Err(ResealError::NotSealed { dir }) };
        let _alone = match files.resealing.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(ResealError::Busy { dir }),
        };
        // before anything changes: without the key there is nothing to begin
        let (key, _) = files.keys().current()?;
        files.set_cipher(self.cipher);
        let pace = Pace::new(self.rate_bytes_s);
        let state = Shared::default();
        let mut work = Work {
            db: self.db,
            files,
            cipher: self.cipher,
            key,
            pace: &pace,
            state: &state,
            known: HashMap::new(),
            rewritten: (0, 0),
        };
        let caller = thread::current();
        let worked = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _paced = pace.enter();
                let result = work.run();
                caller.unpark();
                result
            });
            while !worker.is_finished() {
                if stop.load(Ordering::Acquire) {
                    pace.stop();
                }
                progress(&state.progress(&pace));
                thread::park_timeout(TICK);
            }
            worker.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        worked?;
        progress(&state.progress(&pace));
        Ok(Report {
            schema: SCHEMA,
            cipher: self.cipher.name,
            key_id: work.key.id.clone(),
            key_version: work.key.version,
            stopped: pace.is_stopped(),
            files: work.rewritten.0,
            rewritten_bytes: work.rewritten.1,
            elapsed_s: begin.elapsed().as_secs_f64(),
            left: work.left()?,
            dir,
        })
    }
}

/// What the worker tells the thread that waits for it.
#[derive(Debug, Default)]
struct Shared {
    done_bytes: AtomicU64,
    total_bytes: AtomicU64,
    /// Name and bytes of the file at hand.
    file: Mutex<(String, u64)>,
}

impl Shared {
    fn progress(&self, pace: &Pace) -> Progress {
        let (file, bytes) = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let total_bytes = self.total_bytes.load(Ordering::Acquire);
        let done_bytes = self.done_bytes.load(Ordering::Acquire) + pace.file_bytes().min(bytes);
        Progress { file, done_bytes: done_bytes.min(total_bytes), total_bytes }
    }

    fn begin(&self, file: &str, bytes: u64) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = (file.to_owned(), bytes);
    }

    fn end(&self, done_bytes: u64) {
        self.begin("", 0);
        self.done_bytes.fetch_add(done_bytes, Ordering::AcqRel);
    }
}

/// A table that is to be rewritten.
#[derive(Debug)]
struct Task {
    file: LiveFile,
    /// Bytes on disk: its own, and its share of the blobs that move along.
    bytes: u64,
}

/// One run over one database.
struct Work<'a> {
    db: &'a Db,
    files: &'a SealedFiles,
    cipher: &'static Cipher,
    key: KeyRef,
    pace: &'a Arc<Pace>,
    state: &'a Shared,
    /// By file number, which is never used twice: length on disk, and cipher and key, absent for a plain file.
    known: HashMap<u64, (u64, Option<Under>)>,
    /// Files and bytes.
    rewritten: (u64, u64),
}

/// What a file is sealed with.
type Under = (u16, KeyRef);

impl Work<'_> {
    fn run(&mut self) -> Result<(), ResealError> {
        loop {
            self.pass()?;
            // after a rotation meanwhile, what was rewritten under the key before is to be rewritten too
            if self.pace.is_stopped() || !self.is_key_old()? {
                return Ok(());
            }
            self.key = self.files.keys().current()?.0;
        }
    }

    fn is_key_old(&self) -> Result<bool, ResealError> {
        Ok(self.files.keys().current()?.0 != self.key)
    }

    /// Brings everything under the key that was current at the beginning, or ends early when it no longer is.
    fn pass(&mut self) -> Result<(), ResealError> {
        // compactions that began before now may still make files under the old cipher
        let (begun_before, _) = self.db.compactions();
        self.db.flush_all().map_err(|error| self.told(&error))?;
        self.end_logs()?;
        self.control_files()?;
        let live = self.db.live_files().map_err(|error| self.told(&error))?;
        let moves_blobs = live.iter().any(|file| file.kind == LiveKind::Blob);
        if moves_blobs {
            self.db.move_blobs(true).map_err(|error| self.told(&error))?;
        }
        let tables = self.tables(begun_before);
        if moves_blobs {
            let restored = self.db.move_blobs(false).map_err(|error| self.told(&error));
            tables.and(restored)?;
        } else {
            tables?;
        }
        if !self.pace.is_stopped() {
            // changed settings are written down in a new OPTIONS file, the one before may have been missed
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
            // what others rewrote meanwhile is done too
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

    /// The tables that are to be rewritten, deepest level first: what lies above may be merged down before its turn.
    fn tasks(&mut self) -> Result<Vec<Task>, ResealError> {
        let live = self.db.live_files().map_err(|error| self.told(&error))?;
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
            // A table names the oldest of its blob files only. Those behind it may be of the old kind as well.
            let newest_old_blob = old_blobs.get(&file.family).map(|(newest, _)| *newest);
            let has_old_blobs = oldest_blob.is_some_and(|oldest| newest_old_blob.is_some_and(|old| oldest <= old));
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
                    task.bytes += (blobs * task.bytes as f64 / with_blobs[&task.file.family] as f64) as u64;
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

    /// Bytes on disk of a file, and whether it is under the cipher and key wanted; nothing for one that is gone.
    fn look(&mut self, file: &LiveFile) -> Option<(u64, bool)> {
        let (bytes, under) = match self.known.get(&file.number) {
            Some(known) => known,
            None => {
                let facts = facts(&file.directory.join(&file.name)).ok()?;
                &*self.known.entry(file.number).or_insert(facts)
            }
        };
        Some((*bytes, under.as_ref().is_some_and(|(cipher, key)| *cipher == self.cipher.id && *key == self.key)))
    }

    /// Whether there is less to do than before.
    fn rewrite(&mut self, task: &Task) -> Result<bool, ResealError> {
        // RocksDB takes a failed compaction for a reason to write no more, so what can be foreseen is: that the key is
        // there was just seen, and that there is room is now
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
        let rewritten = self.db.rewrite(&task.file).map_err(|error| self.told(&error));
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

    /// Ends every write-ahead log that is not under the cipher and key. A flush has done so already if they held anything
    /// that was not in tables. If not, RocksDB keeps even empty ones, of earlier openings too, until there is something to
    /// flush.
    fn end_logs(&mut self) -> Result<(), ResealError> {
        let sweep = || self.db.sweep().map_err(|error| self.told(&error));
        sweep()?;
        if self.has_old_log()? {
            let key = format!("sealstone-reseal-{:016x}", random());
            self.db.delete(key.as_bytes(), false).map_err(|error| self.told(&error))?;
            self.db.flush_all().map_err(|error| self.told(&error))?;
            sweep()?;
        }
        Ok(())
    }

    fn has_old_log(&self) -> Result<bool, ResealError> {
        Ok(self.logs()?.into_iter().any(|(_, wanted)| !wanted))
    }

    /// Whether the log that is being written is under the cipher and key; then nothing needs those that are not.
    fn is_log_new(&self) -> Result<bool, ResealError> {
        Ok(self.logs()?.into_iter().max().is_none_or(|(_, wanted)| wanted))
    }

    /// The write-ahead logs, by number, and whether each is under the cipher and key.
    fn logs(&self) -> Result<Vec<(u64, bool)>, ResealError> {
        let dir = self.db.log_dir().map_err(|error| self.told(&error))?;
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

    fn is_wanted(&self, under: Option<&Under>) -> bool {
        under.is_some_and(|(cipher, key)| *cipher == self.cipher.id && *key == self.key)
    }

    /// Rewrites the files that RocksDB writes once and then only reads, if at all. Its text log, which it keeps in the
    /// clear beside a plain database, is one of them.
    fn control_files(&mut self) -> Result<(), ResealError> {
        let dir = self.db.dir().to_owned();
        self.finish_removals()?;
        let names = names(&dir)?;
        let newest = names.iter().filter_map(|name| options_number(name, "")).max();
        for name in names {
            let path = dir.join(&name);
            if options_number(&name, ".dbtmp").is_some_and(|number| Some(number) < newest) || name == TEMPORARY_IDENTITY
            {
                // left by a kill; RocksDB has written a newer one since, and never comes back to this
                let _ = fs::remove_file(&path);
                continue;
            }
            if kind(&name) != Kind::Written {
                continue;
            }
            // RocksDB removes old ones at any time
            let Ok((bytes, under)) = facts(&path) else { continue };
            let readable = under.is_some() || self.files.reads_plain();
            if bytes == 0 || !readable || self.is_wanted(under.as_ref()) {
                continue;
            }
            match self.control_file(&path, bytes) {
                Ok(()) => {
                    self.rewritten.0 += 1;
                    self.rewritten.1 += bytes;
                }
                Err(_) if !path.exists() || self.is_leaving(&path) => {}
                Err(error) => return Err(error),
            }
        }
        self.files.catalogues().renew().map_err(|refusal| self.catalogue_failed(refusal))
    }

    /// Whether RocksDB has removed the file at `path`, and it only waits for the catalogue to be on stable storage.
    fn is_leaving(&self, path: &Path) -> bool {
        self.files.catalogues().hides(&path.to_string_lossy())
    }

    /// Removes what waits for that.
    fn finish_removals(&self) -> Result<(), ResealError> {
        self.files.catalogues().make_durable().map_err(|refusal| self.catalogue_failed(refusal))
    }

    fn catalogue_failed(&self, refusal: Refusal) -> ResealError {
        let text = match Failure::from(refusal) {
            Failure::Damaged(text) | Failure::Refused(text) | Failure::Io(text) => text,
            Failure::Raw => "it cannot be read\ncheck the device".into(),
        };
        ResealError::Control { file: self.db.dir().join(CATALOGUE_NAMES[0]), text }
    }

    /// Copies one control file and puts the copy in its place.
    fn control_file(&self, path: &Path, bytes: u64) -> Result<(), ResealError> {
        let temporary = path.with_file_name(TEMPORARY);
        let copied = self.copy(path, bytes, &temporary).and_then(|()| {
            let (from, to) = (temporary.to_string_lossy(), path.to_string_lossy());
            self.files.catalogues().rename(&from, &to).map_err(Failure::from)?;
            let renamed = fs::rename(&temporary, path);
            self.files.catalogues().renamed(&from, &to, renamed.is_ok()).map_err(Failure::from)?;
            renamed?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
            Ok(())
        });
        copied.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            let text = match error {
                CopyError::Io(error) => format!("{error}\nit is as it was; mend the cause and reseal again"),
                CopyError::Seal(Failure::Damaged(text) | Failure::Refused(text) | Failure::Io(text)) => text,
                CopyError::Seal(Failure::Raw) => "it cannot be read\ncheck the device".into(),
            };
            ResealError::Control { file: path.to_owned(), text }
        })
    }

    fn copy(&self, path: &Path, bytes: u64, temporary: &Path) -> Result<(), CopyError> {
        let name = path.to_string_lossy();
        let stored = StoredFile(File::open(path)?);
        let reader = self.files.open(&name, bytes, &stored)?;
        let mut writer = self.files.create(&temporary.to_string_lossy())?;
        let mode = stored.0.metadata()?.permissions().mode();
        let mut copy = File::options().write(true).create(true).truncate(true).mode(mode).open(temporary)?;
        copy.write_all(writer.stored())?;
        let mut piece = vec![0; COPY_BYTES];
        let mut offset = 0;
        loop {
            let got = reader.read(&stored, offset, &mut piece)?;
            if got == 0 {
                break;
            }
            copy.write_all(writer.append(&piece[..got])?)?;
            offset += got as u64;
        }
        copy.write_all(writer.finish()?)?;
        copy.sync_all()?;
        Ok(())
    }

    /// Gives RocksDB the time to remove what it no longer needs, and ends the reading of plain files if none is left.
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
            self.db.sweep().map_err(|error| self.told(&error))?;
            thread::sleep(TICK);
        }
    }

    fn left(&self) -> Result<Vec<Left>, ResealError> {
        let live = self.db.live_files().map_err(|error| self.told(&error))?;
        let mut directories: BTreeSet<PathBuf> = live.iter().map(|file| file.directory.clone()).collect();
        directories.insert(self.db.log_dir().map_err(|error| self.told(&error))?);
        let own = fs::canonicalize(self.db.dir()).unwrap_or_else(|_| self.db.dir().to_owned());
        let live_numbers: BTreeSet<u64> = live.iter().map(|file| file.number).collect();
        let log_ended = self.is_log_new()?;
        let look = Some((&live_numbers, log_ended));
        let mut left = left_beside(self.db.dir(), self.cipher, &self.key, look).map_err(ResealError::Engine)?;
        left.retain(|left| !self.is_leaving(&self.db.dir().join(&left.file)));
        for other in directories {
            // a database may be spread over several directories
            if !fs::canonicalize(&other).unwrap_or_else(|_| other.clone()).starts_with(&own) {
                let there = left_beside(&other, self.cipher, &self.key, look).map_err(ResealError::Engine)?;
                let named = |left: Left| Left { file: other.join(&left.file).display().to_string(), ..left };
                left.extend(there.into_iter().map(named));
            }
        }
        Ok(left)
    }

    fn told(&self, error: &Error) -> ResealError {
        ResealError::Engine(explain("reseal", self.db.dir(), error))
    }
}

/// As [`left`]; of an open database also which tables and blob files are part of it, and whether its newest log is what
/// it should be.
fn left_beside(
    dir: &Path,
    cipher: &Cipher,
    key: &KeyRef,
    open: Option<(&BTreeSet<u64>, bool)>,
) -> Result<Vec<Left>, StoreError> {
    let unwanted = |state: &State| match state {
        State::Sealed(sealed) => {
            sealed.cipher != cipher.name || sealed.key_id != key.id || sealed.key_version != key.version
        }
        State::Empty => false,
        State::NotSealed | State::Unreadable { .. } => true,
    };
    let files = rest::status(dir)?.files;
    Ok(files
        .into_iter()
        .filter(|file| unwanted(&file.state))
        .map(|file| {
            let why = match (kind(&file.name), open) {
                (Kind::Foreign, _) => Why::Foreign,
                (Kind::Temporary, _) => Why::Obsolete,
                (Kind::Table(number), Some((live, _))) if !live.contains(&number) => Why::Obsolete,
                (Kind::Log, Some((_, true))) => Why::Obsolete,
                (Kind::Manifest, Some(_)) => Why::NextOpening,
                (Kind::Table(_) | Kind::Log | Kind::Manifest | Kind::Written, _) => Why::Unfinished,
            };
            let plain = file.state == State::NotSealed;
            Left { file: file.name, stored_bytes: file.stored_bytes, plain, why }
        })
        .collect())
}

/// What a file of a database is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A table or a file of blobs, with its number.
    Table(u64),
    /// A write-ahead log.
    Log,
    /// A manifest, the file that names it, or a copy of the catalogue.
    Manifest,
    /// Written once and then read, if at all: settings, identity, text logs of a plain database.
    Written,
    /// Unfinished.
    Temporary,
    /// None of RocksDB's.
    Foreign,
}

/// What RocksDB calls `name`, from the directory of the database on.
fn kind(name: &str) -> Kind {
    let number = |ending: &str| name.strip_suffix(ending).and_then(|number| number.parse::<u64>().ok());
    if let Some(number) = number(".sst").or_else(|| number(".blob")) {
        return Kind::Table(number);
    }
    if name.contains('/') {
        return Kind::Foreign;
    }
    match name {
        "CURRENT" => Kind::Manifest,
        "IDENTITY" | "LOG" => Kind::Written,
        _ if is_manifest_name(name) || CATALOGUE_NAMES.contains(&name) => Kind::Manifest,
        _ if is_log_name(name) => Kind::Log,
        _ if name.ends_with(".dbtmp") => Kind::Temporary,
        _ if name.starts_with("OPTIONS-") || name.starts_with("LOG.old.") => Kind::Written,
        _ => Kind::Foreign,
    }
}

/// The number of the `OPTIONS` file called `name`, if that is one that ends with `ending`.
fn options_number(name: &str, ending: &str) -> Option<u64> {
    name.strip_prefix("OPTIONS-")?.strip_suffix(ending)?.parse().ok()
}

/// Bytes on disk of a file, and what it is sealed with; nothing for a plain one.
fn facts(path: &Path) -> io::Result<(u64, Option<Under>)> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    // what cannot be opened is told by whoever opens it
    Ok((bytes, inspect(&header).ok().map(|info| (info.cipher.id, info.key))))
}

/// Names of the files in `dir`.
fn names(dir: &Path) -> Result<Vec<String>, ResealError> {
    let cannot = |error: io::Error| {
        ResealError::Engine(StoreError(format!(
            "cannot read directory {}: {error}\nonly a store in a directory of its own can be resealed",
            dir.display()
        )))
    };
    let entries = fs::read_dir(dir).map_err(cannot)?;
    entries.map(|entry| Ok(entry.map_err(cannot)?.file_name().to_string_lossy().into_owned())).collect()
}

/// A number that no other key of a database is likely to carry.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// A stored file, read without RocksDB.
struct StoredFile(File);

impl RawRead for StoredFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed> {
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read_at(&mut into[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(got) => filled += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(RawFailed),
            }
        }
        Ok(filled)
    }
}

/// Why a control file could not be copied.
enum CopyError {
    Io(io::Error),
    Seal(Failure),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Failure> for CopyError {
    fn from(failure: Failure) -> Self {
        Self::Seal(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_files_are() {
        for (name, want) in [
            ("000012.sst", Kind::Table(12)),
            ("1234567.blob", Kind::Table(1_234_567)),
            ("000004.log", Kind::Log),
            ("MANIFEST-000005", Kind::Manifest),
            ("CURRENT", Kind::Manifest),
            ("SEALSTONE-CATALOGUE-2", Kind::Manifest),
            ("OPTIONS-000007", Kind::Written),
            ("IDENTITY", Kind::Written),
            ("LOG", Kind::Written),
            ("LOG.old.1763700000000000", Kind::Written),
            ("OPTIONS-000009.dbtmp", Kind::Temporary),
            ("000000.dbtmp", Kind::Temporary),
            ("archive/000003.log", Kind::Foreign),
            ("backup/000012.sst", Kind::Foreign),
            ("notes.txt", Kind::Foreign),
            ("server.log", Kind::Foreign),
            (".sst", Kind::Foreign),
        ] {
            assert_eq!(kind(name), want, "{name}");
        }
    }
}
