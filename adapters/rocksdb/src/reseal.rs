//! Resealing: every file of an open database is rewritten under another cipher or the current key,
//! or sealed for the first time, while the program continues reading and writing.
//!
//! RocksDB's files are never changed, only replaced, and a new file gets the environment's cipher
//! and the current key. So resealing means making RocksDB replace its files, one by one:
//!
//! - A table is compacted alone, into its own level, by `CompactFiles`. That works in the calling
//!   thread, hence under its own limit ([`Reseal::rate`]), keeps the shape of the levels, and is
//!   one atomic change of the manifest: a kill loses the current file and nothing else.
//!   `CompactRange` would merge levels, take whole key ranges at once, and work in RocksDB's own
//!   threads.
//! - Values in blob files move along with the table that refers to them; a blob file without
//!   references is removed.
//! - The write-ahead log ends by a flush. `OPTIONS` files and `IDENTITY` are copied and renamed
//!   into place.
//! - The manifest and `CURRENT` are RocksDB's alone: it rewrites them whenever a database is opened
//!   (or once the manifest passes `max_manifest_file_size`), so after resealing a database that
//!   stays open only they remain.
//!
//! The remaining work is read from the headers of the files. So there is no state to lose: after a
//! kill, resealing again continues with the remaining files.

mod control_files;
mod error;
mod kind;
mod progress;
mod remainder;
mod work;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, TryLockError};
use std::thread;
use std::time::Instant;

use sealstone_cipher::Cipher;
use sealstone_keys::KeyRef;
use serde::Serialize;

use crate::env::SealedEnv;
use crate::ffi::Db;
use crate::pace::Pace;
use crate::rest::{self, Contents, RestError, State, lack};
use crate::sealing_options::Sealing;
pub use error::ResealError;
use kind::{Kind, kind};
pub use progress::Progress;
use progress::{Shared, TICK};
pub use remainder::{Left, Why, left};
use work::Work;

/// Version of the report.
pub(crate) const SCHEMA: u32 = 1;
/// Default rate at which a database that is in use is resealed, in bytes a second: slow enough that
/// a workload on two cores loses little, and a terabyte takes less than a day.
pub const RATE_BYTES_S: u64 = 16_000_000;

/// Advice for a store that needs a part of the program that made it.
const REMEDY: &str = "that program can reseal it while it has it open: docs/guide/reseal.md; \
                      `sealstone rest unseal`, `verify` and `rotate` need no such part";
const REMEDY_PLAIN: &str = "that program can seal it, through the library: docs/guide/reseal.md";

/// Report on what resealing did, and on what it left.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
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
    /// True if it was stopped before the end.
    pub stopped: bool,
    /// Files rewritten.
    pub files: u64,
    /// Bytes on disk of these files before the rewriting.
    pub rewritten_bytes: u64,
    /// Duration of the run, in seconds.
    pub elapsed_s: f64,
    /// Every file below the directory that is not under this cipher and key.
    pub left: Vec<Left>,
}

impl Report {
    /// Returns whether every file of the database is under the cipher and key, apart from the files
    /// that RocksDB itself replaces or removes at the next opening.
    pub fn is_finished(&self) -> bool {
        !self.left.iter().any(|left| left.why == Why::Unfinished)
    }
}

/// Opens the database in `dir`, which nobody else has open, to reseal it: with the options and
/// column families it was last opened with. With `from_plain`, files in the clear are read
/// unchanged until they are sealed; without, they are an error.
///
/// # Errors
/// A directory that is not a store or whose files are in the clear, a store in use, no key, another
/// key, damage. Nothing was written then.
pub fn open(dir: &Path, sealing: Sealing, from_plain: bool) -> Result<Db, ResealError> {
    let status = rest::status(dir)?;
    if !status.files.iter().any(|file| file.name == "CURRENT") {
        return Err(RestError::NoStore { dir: dir.to_owned() }.into());
    }
    for total in &status.totals {
        let key = KeyRef { id: total.key_id.clone(), version: total.key_version };
        sealing.keys.get(&key)?;
    }
    let is_plain = |name: &str| {
        status.files.iter().any(|file| file.name == name && file.state == State::NotSealed)
            && kind(name) != Kind::Foreign
    };
    let plain: Vec<&String> = status.not_sealed.iter().filter(|name| is_plain(name)).collect();
    let (keys, backend) = (Arc::clone(&sealing.keys), sealing.backend);
    let env = match plain.first() {
        None => SealedEnv::with(sealing),
        Some(_) if from_plain => SealedEnv::converting(sealing),
        Some(_) if status.totals.is_empty() => {
            return Err(ResealError::Plain { dir: dir.to_owned() });
        }
        Some(first) => {
            let (files, first) = (plain.len(), (*first).clone());
            return Err(ResealError::PlainFiles { dir: dir.to_owned(), files, first });
        }
    };
    let refused = match env.open_stored(dir) {
        Ok(db) => return Ok(db),
        Err(error) => error,
    };
    let contents = Contents { keys: &*keys, backend, reads_plain: from_plain };
    let remedy = if plain.is_empty() { REMEDY } else { REMEDY_PLAIN };
    Err(lack::explain("open", dir, &refused, contents, remedy).into())
}

/// Returns the cipher of the store in `dir`, by its newest control file. None if that is in the
/// clear or missing.
///
/// # Errors
/// A directory that cannot be read.
pub fn present_cipher(dir: &Path) -> Result<Option<&'static Cipher>, RestError> {
    let status = rest::status(dir)?;
    let current = status.files.iter().find(|file| file.name == "CURRENT");
    Ok(match current.map(|file| &file.state) {
        Some(State::Sealed(sealed)) => Some(sealed.cipher),
        _ => None,
    })
}

/// The work of resealing one open database.
///
/// ```no_run
/// # use std::sync::atomic::AtomicBool;
/// # fn reseal(db: &sealstone_rocksdb::Db) -> Result<(), Box<dyn std::error::Error>> {
/// use sealstone_rocksdb::reseal::Reseal;
/// let aria = sealstone_cipher::cipher("aria-256")?;
/// // Set by another thread, it ends the work after the current file.
/// let stop = AtomicBool::new(false);
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
    /// Prepares resealing of `db` under `cipher` and the current key of its environment, at
    /// [`RATE_BYTES_S`].
    pub fn new(db: &'db Db, cipher: &'static Cipher) -> Self {
        Self { db, cipher, rate_bytes_s: RATE_BYTES_S }
    }

    /// Limits it to `bytes_s` bytes a second, taken over several files; 0: as fast as possible. A
    /// single file may be written faster, since no compaction can have it at the same time; the
    /// wait for that follows afterwards.
    #[must_use]
    pub fn rate(self, bytes_s: u64) -> Self {
        Self { rate_bytes_s: bytes_s, ..self }
    }

    /// Does the work. From now on every new file of the environment gets the cipher.
    ///
    /// - `stop`: once set, it ends after the current file
    /// - `progress`: called about twenty times a second, in this thread
    ///
    /// # Errors
    /// [`ResealError`] with the remaining files and their state.
    pub fn run(
        &self,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Report, ResealError> {
        let begin = Instant::now();
        let dir = self.db.dir().to_owned();
        let Some(files) = self.db.env().sealed_files() else {
            return Err(ResealError::NotSealed { dir });
        };
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
        let mut work = Work::new(self.db, files, self.cipher, key, &pace, &state);
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
