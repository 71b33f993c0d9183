//! Rotation of the key-encryption key of a store: every sealed file is brought under the current
//! version of its key by rewrapping its data key. No data is touched, and the store may be open and
//! written at the same time.
//!
//! Each header is stored twice. The copies are rewritten in place, one after the other with a sync
//! in between, so one of them is whole at any time. A process that has the file open keeps its data
//! key and is not affected; a process that reads a header while it is being written reads it again
//! (`file_keys`). A kill leaves each file under the old version or the new one, and the next run
//! continues. Not here: new data keys and other ciphers, which require rewriting all data.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, KeySource, Secret};
use sealstone_seal::{Rewrapped, SealError, inspect, rewrap};
use serde::Serialize;

use super::error::RestError;
use super::files_on_disk::{CHUNK_BYTES, is_stores_name, list, read_start};
use super::missing_files::missing;
use super::report::{Finding, SCHEMA};
use super::status::status;
use crate::file_keys::{self, Header};
use crate::place;

/// Files that are open at once, waiting to be synced.
const BATCH: usize = 256;
/// Syncs at once: the device completes many in the time of one.
const SYNC_THREADS: usize = 16;
/// Passes over a store before giving up: each takes care of the files that were made since the
/// previous one.
const PASSES_MAX: u32 = 20;
/// Passes after which a header that is not whole is what a crash left behind, which nothing opens
/// under any key.
const UNFINISHED_PASSES: u32 = 4;
/// Advice for a name that does not refer to a file, where the key of a file must be known.
const NOT_A_FILE: &str =
    "put the file back that belongs there, or remove this if you know who put it there";
/// Pause before a further pass. A process that requested the key just before it was rotated has
/// made its file by then.
const SETTLE: Duration = Duration::from_millis(50);

/// Report on what [`rotate`] did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Rotation {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Name of the key that everything is under now.
    pub key_id: String,
    /// Version of that key.
    pub key_version: u32,
    /// Sealed files in the directory.
    pub files: u64,
    /// Files brought under that version by this run.
    pub rewrapped: u64,
    /// Passes over the directory; the last one found nothing left to do.
    pub passes: u32,
    /// Files that could not be brought under it, and why: they are as they were, or missing.
    pub failures: Vec<Finding>,
    /// Duration of the rotation, in seconds.
    pub seconds: f64,
}

impl Rotation {
    /// Returns whether every sealed file is under the current key.
    pub fn is_complete(&self) -> bool {
        self.failures.is_empty()
    }
}

/// Progress of [`rotate`].
#[derive(Clone, Copy, Debug)]
pub struct RotationProgress<'a> {
    /// The file that was looked at last.
    pub file: &'a str,
    /// Files looked at in this pass.
    pub done_files: u64,
    /// Files to look at in this pass.
    pub total_files: u64,
}

/// Brings every sealed file below `dir` under the current key of `keys`. Returns once that is on
/// disk.
///
/// - `keys`: must hold every version that files are under, and the new one as its current one
/// - `progress`: called for every file
///
/// Passes over the directory follow each other until one finds nothing left under an older version,
/// since a store in use makes files all the time. Files that vanish are not an error. Links to a
/// file elsewhere are the same file.
///
/// # Errors
/// A directory that cannot be read, or in which another rotation is running; a key that cannot be
/// obtained, before anything is changed; files under an older version that keep appearing. A fault
/// of a file is not an error but a failure in the report. In each case every file opens under the
/// version that its header names.
pub fn rotate(
    dir: &Path,
    keys: &dyn KeySource,
    progress: &mut dyn FnMut(RotationProgress<'_>),
) -> Result<Rotation, RestError> {
    let begin = Instant::now();
    let _alone = alone(dir)?;
    let (key, kek) = keys.current()?;
    for total in status(dir)?.totals {
        keys.get(&KeyRef { id: total.key_id, version: total.key_version })?;
    }
    let mut rewrapped = 0;
    let mut run = Run { dir, keys, key: &key, kek: &kek, settled: HashSet::new() };
    for pass in 1..=PASSES_MAX {
        if pass > 1 {
            thread::sleep(SETTLE);
        }
        let found = run.pass(progress)?;
        rewrapped += found.rewrapped;
        if found.rewrapped == 0 && (found.unfinished == 0 || pass >= UNFINISHED_PASSES) {
            let mut failures = found.failures;
            let known: HashSet<String> = failures.iter().map(|one| one.file.clone()).collect();
            failures
                .extend(missing(dir, keys)?.into_iter().filter(|one| !known.contains(&one.file)));
            return Ok(Rotation {
                schema: SCHEMA,
                dir: dir.to_owned(),
                key_version: key.version,
                files: found.files,
                rewrapped,
                passes: pass,
                failures,
                seconds: begin.elapsed().as_secs_f64(),
                key_id: key.id.clone(),
            });
        }
    }
    Err(RestError::OldVersions { dir: dir.to_owned(), key })
}

/// Files that are still wrapped under a given version of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Protected {
    /// Sealed files in the directory.
    pub sealed_files: u64,
    /// The files under that version.
    pub files: u64,
    /// One of them, by name from the directory on.
    pub example: Option<String>,
}

/// Reports the files below `dir` that are wrapped under exactly `key`, so that a version is retired
/// only once there are none. Headers of the other files are synced: the answer also holds after a
/// power cut if the previous rotation was killed.
///
/// # Errors
/// A directory or file that cannot be read: then the answer is unknown. The same applies to a file
/// that begins like a sealed file and whose header this program cannot read, whether newer, damaged
/// or cut short, and, under a name that a store gives, to a file whose header is zeros before other
/// bytes.
pub fn protected(dir: &Path, key: &KeyRef) -> Result<Protected, RestError> {
    let mut found = Protected { sealed_files: 0, files: 0, example: None };
    let mut open = Vec::new();
    let listing = list(dir)?;
    if let Some((name, found)) = listing.unknown() {
        return Err(RestError::UnknownKey {
            file: dir.join(name),
            found: found.clone(),
            next: NOT_A_FILE,
        });
    }
    for (name, _) in listing.files {
        let path = dir.join(&name);
        let cannot = |source| RestError::File { file: path.clone(), source };
        let file = match place::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(cannot(error)),
        };
        let mut read = |into: &mut [u8]| read_start(&file, into);
        let header = Header::read(&mut read).map_err(cannot)?;
        let is_zero = header.stored().iter().all(|byte| *byte == 0);
        let begins_zero = header.stored().first() == Some(&0);
        let looked =
            file_keys::settled(header, read, |header| inspect(header.stored())).map_err(cannot)?;
        let info = match looked {
            Ok(info) => info,
            Err(SealError::NotSealed) => continue,
            // many a file of other programs begins so
            Err(SealError::Unfinished { .. }) if begins_zero && !is_stores_name(&name) => continue,
            // a power cut leaves this of a file of which nothing was on disk yet, or an empty file
            Err(_) if is_zero && is_all_zero(&file).map_err(cannot)? => continue,
            Err(error) => return Err(nobody_knows(&path, &error)),
        };
        found.sealed_files += 1;
        if info.key == *key {
            found.files += 1;
            found.example.get_or_insert(name);
        }
        open.push((path, file));
        if open.len() == BATCH {
            sync(&open)?;
            open.clear();
        }
    }
    sync(&open)?;
    Ok(found)
}

/// Returns the error that the key of the file at `path` is unknown, because of `error` in its
/// header.
fn nobody_knows(path: &Path, error: &SealError) -> RestError {
    let words = error.to_string();
    let found = words.lines().next().unwrap_or_default().to_owned();
    let next = match error {
        SealError::UnsupportedVersion { .. } | SealError::UnknownCipher { .. } => {
            "retire the version with the version of sealstone that wrote this file, or a newer one"
        }
        _ => {
            "restore it from a backup, or move it elsewhere if the store opens without it, and \
             retire the version then"
        }
    };
    RestError::UnknownKey { file: path.to_owned(), found, next }
}

/// Returns whether `file` contains nothing but zeros.
fn is_all_zero(file: &File) -> io::Result<bool> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    loop {
        match file.read_at(&mut chunk, at) {
            Ok(0) => return Ok(true),
            Ok(got) if chunk[..got].iter().any(|byte| *byte != 0) => return Ok(false),
            Ok(got) => at += got as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// One rotation of one store.
struct Run<'a> {
    dir: &'a Path,
    keys: &'a dyn KeySource,
    key: &'a KeyRef,
    kek: &'a Secret,
    /// Files (device, number) whose headers are under the new key, on disk.
    settled: HashSet<(u64, u64)>,
}

/// Findings of a single pass.
#[derive(Default)]
struct Pass {
    /// Sealed files.
    files: u64,
    /// The files brought under the new key.
    rewrapped: u64,
    /// Files without a whole header: another pass has to look at them.
    unfinished: u64,
    failures: Vec<Finding>,
}

/// The outcome for one file.
enum Outcome {
    /// Gone, empty, or not sealed.
    Nothing,
    /// Under the new key, and so it was.
    Current(File),
    /// To be brought under the new key with this.
    Older(File, Box<Rewrapped>),
    /// It has no whole header yet, or another file has its name by now.
    Unfinished,
    /// It is as it was.
    Failed(String),
}

impl Run<'_> {
    fn pass(&mut self, progress: &mut dyn FnMut(RotationProgress<'_>)) -> Result<Pass, RestError> {
        let mut pass = Pass::default();
        let listing = list(self.dir)?;
        pass.failures.extend(listing.failures());
        pass.files += pass.failures.len() as u64;
        let files = listing.files;
        let total_files = files.len() as u64;
        let (mut open, mut begun) = (Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for (done_files, (name, _)) in files.into_iter().enumerate() {
            progress(RotationProgress { file: &name, done_files: done_files as u64, total_files });
            let path = self.dir.join(&name);
            let outcome = self.file(&path).unwrap_or_else(|error| match error.kind() {
                io::ErrorKind::NotFound => Outcome::Nothing,
                _ => Outcome::Failed(error.to_string()),
            });
            let (file, rewrapped) = match outcome {
                Outcome::Nothing => continue,
                Outcome::Unfinished => {
                    pass.unfinished += 1;
                    continue;
                }
                Outcome::Failed(what) => {
                    pass.files += 1;
                    pass.failures.push(Finding { file: name, page: None, frame: None, what });
                    continue;
                }
                Outcome::Current(file) => (file, None),
                Outcome::Older(file, rewrapped) => (file, Some(rewrapped)),
            };
            pass.files += 1;
            let Some(place) = place(&file).filter(|place| seen.insert(*place)) else { continue };
            if let Some(rewrapped) = rewrapped {
                let (_, before) = rewrapped.offsets.split_last().expect("a header has a copy");
                before
                    .iter()
                    .try_for_each(|offset| file.write_all_at(rewrapped.bytes(), *offset))
                    .map_err(|error| cannot_write(&path, error))?;
                pass.rewrapped += 1;
                begun.push((open.len(), rewrapped));
                open.push((path, file));
            } else if !self.settled.contains(&place) {
                // it was under the new key already, and may have been left unsynced by a run that
                // was killed
                open.push((path, file));
            }
            self.settled.insert(place);
            if open.len() == BATCH {
                settle(&mut open, &mut begun)?;
            }
        }
        settle(&mut open, &mut begun)?;
        Ok(pass)
    }

    fn file(&self, path: &Path) -> io::Result<Outcome> {
        let file = place::open(path)?;
        let mut read = |into: &mut [u8]| read_start(&file, into);
        let header = Header::read(&mut read)?;
        if header.got == 0 {
            return Ok(Outcome::Nothing);
        }
        let rewrapped = file_keys::settled(header, read, |header| {
            let info = inspect(header.stored())?;
            if info.key.id == self.key.id && info.key.version > self.key.version {
                // the key was rotated again since this run began; a newer version stays
                self.keys.get(&info.key)?;
                return Ok(None);
            }
            rewrap(self.keys, (self.key, self.kek), Backend::auto(), header.stored())
        })?;
        match rewrapped {
            Ok(None) => Ok(Outcome::Current(file)),
            Ok(Some(rewrapped)) => {
                // The same file, whatever has its name by now: a stored file has one data key as
                // long as it lives.
                let writable = place::open_to_update(path)?;
                if place(&writable) != place(&file) {
                    return Ok(Outcome::Unfinished);
                }
                Ok(Outcome::Older(writable, Box::new(rewrapped)))
            }
            Err(SealError::NotSealed) => Ok(Outcome::Nothing),
            Err(SealError::Unfinished { .. }) => Ok(Outcome::Unfinished),
            Err(error) => Ok(Outcome::Failed(error.to_string())),
        }
    }
}

/// Returns the identity of a file, which is the same under all of its names.
fn place(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// Puts the writes to the files `open` on disk, then writes and syncs the last copy of the headers
/// in `begun`: one copy of each header is whole at any time. Leaves both empty.
fn settle(
    open: &mut Vec<(PathBuf, File)>,
    begun: &mut Vec<(usize, Box<Rewrapped>)>,
) -> Result<(), RestError> {
    sync(open)?;
    for (at, rewrapped) in begun.iter() {
        let (path, file) = &open[*at];
        let last = rewrapped.offsets.last().expect("a header has a copy");
        file.write_all_at(rewrapped.bytes(), *last).map_err(|error| cannot_write(path, error))?;
    }
    if !begun.is_empty() {
        sync(open)?;
    }
    open.clear();
    begun.clear();
    Ok(())
}

fn cannot_write(path: &Path, source: io::Error) -> RestError {
    RestError::Write { attempt: "write the header of", file: path.to_owned(), source }
}

/// Puts the writes to `files` on disk, many at a time.
fn sync(files: &[(PathBuf, File)]) -> Result<(), RestError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), RestError> {
        while let Some((path, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            file.sync_data().map_err(|source| RestError::Write {
                attempt: "sync",
                file: path.clone(),
                source,
            })?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..SYNC_THREADS.min(files.len())).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("syncing does not panic"))
    })
}

/// Keeps other rotations out of `dir` until it is dropped, or the process ends.
fn alone(dir: &Path) -> Result<File, RestError> {
    let cannot = |source| RestError::Directory { dir: dir.to_owned(), source };
    let handle = File::open(dir).map_err(cannot)?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(TryLockError::WouldBlock) => Err(RestError::Busy { dir: dir.to_owned() }),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}
