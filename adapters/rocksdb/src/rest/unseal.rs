//! Unsealing: a plain RocksDB store is made from a sealed store, which stays unchanged.
//!
//! The files of the live set are copied one by one, each through its seal and checked against the
//! catalogue. RocksDB takes no part, so neither comparator nor merge operator is needed, and the
//! copy has everything that the store has: column families, settings, logs that were not flushed.
//! `CURRENT` comes last, and until then a text that RocksDB refuses is in its place, so an
//! incomplete copy is no store. That text also lists the complete files, by the ids of the sealed
//! files. So a resuming call keeps exactly the files that are still part of the store, whatever
//! happened to it in the meantime.

mod copy;
mod error;
mod journal;
mod plan;
mod target;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use nix::sys::statvfs::statvfs;
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::{FileKind, rocksdb_name};
use serde::Serialize;

use super::content::Contents;
use super::lack;
use super::report::{Progress, SCHEMA};
use super::source::Source;
use crate::directory::DirectoryError;
use crate::env::PlainEnv;
pub use error::UnsealError;
use plan::{Item, Plan};
use target::Target;

/// Report on what unsealing did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Unsealed {
    /// Version of this report: 1.
    pub schema: u32,
    /// The sealed store.
    pub dir: PathBuf,
    /// The directory of the copy.
    pub out: PathBuf,
    /// True if it was stopped before the end: the copy is not a store yet, and the same call
    /// resumes.
    pub stopped: bool,
    /// Files of the copy, `CURRENT` among them; when it was stopped, the complete files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Number of these files that an earlier call had copied.
    pub kept_files: u64,
    /// Number of these files that are tables.
    pub tables: u64,
    /// Column families.
    pub families: Vec<String>,
    /// Files in the directory of the sealed store that the copy does not need.
    pub left_out: Vec<String>,
    /// Reason why this program's RocksDB does not open the copy; absent if it does.
    pub unopened: Option<Unopened>,
    /// Duration of the run, in seconds.
    pub elapsed_s: f64,
}

/// Reason why RocksDB does not open a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unopened {
    /// In words.
    pub why: String,
    /// True if the reason is a part that the program that made the store has, or a newer RocksDB,
    /// and not the copy.
    pub lacks_part: bool,
}

/// Copies the sealed store in `dir`, which no process has open, in the clear into the directory
/// `out`: a new or empty one, which only this user may then read, or one that an earlier call did
/// not finish. Every file is read back from the device before the copy becomes a store.
///
/// - `keys`: must have the keys that the files name
/// - `stop`: once set, it ends soon, and the report shows that
/// - `progress`: called about once a megabyte
///
/// # Errors
/// [`UnsealError`]; the store is as it was, and `out` is no store that RocksDB opens, unless it was
/// one before.
pub fn unseal(
    dir: &Path,
    keys: Arc<dyn KeySource>,
    backend: Backend,
    out: &Path,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Unsealed, UnsealError> {
    let begin = Instant::now();
    if out.to_str().is_none() {
        // reports could not name it
        let source = io::Error::new(io::ErrorKind::InvalidInput, "its path is not UTF-8");
        return Err(UnsealError::Make { out: out.to_owned(), source });
    }
    let source = Source::open(dir, keys, backend)?;
    let plan = Plan::new(&source)?;
    check_current(&source, &plan)?;
    let mut target = Target::open(dir, out, plan.store)?;
    let mut kept_files = 0;
    if target.is_store() {
        if !is_copy(&source, &plan, &target, progress)? {
            return Err(target.not_empty("another store, or a changed copy of this one"));
        }
        kept_files = plan.items.len() as u64 + 1;
    } else {
        let data = |name: &str| plan.items.iter().find(|item| item.name == name && item.is_data());
        target
            .keep(|name, copied| data(name).is_some_and(|item| item.file_id == copied.file_id))?;
        kept_files += target.files.len() as u64;
        if !copy_all(&source, &plan, &mut target, stop, progress)? {
            let mut report = report(&plan, dir, &target, begin);
            (report.stopped, report.kept_files) = (true, kept_files);
            return Ok(report);
        }
        check_all(&plan, &mut target)?;
        // a file may have been exchanged after it was copied, and the set must be that of one
        // moment
        if !Plan::new(&source)?.is_same(&plan) {
            return Err(UnsealError::Changed { dir: dir.to_owned() });
        }
        target.publish(&plan.manifest)?;
    }
    let mut report = report(&plan, dir, &target, begin);
    report.kept_files = kept_files;
    report.unopened = unopened(&source, &plan, out);
    Ok(report)
}

/// Checks that the file `CURRENT`, itself checked like any other, names the MANIFEST that the plan
/// was read from.
fn check_current(source: &Source, plan: &Plan) -> Result<(), UnsealError> {
    let path = source.dir.join("CURRENT");
    let unreadable = |what: String| source.unreadable(format!("{}: {what}", path.display()));
    let stored_bytes =
        path.metadata().map_err(|error| unreadable(format!("cannot be read: {error}")))?.len();
    let current = Item {
        name: "CURRENT".into(),
        path: path.clone(),
        kind: FileKind::Control,
        file_id: [0; 16],
        stored_bytes,
        bytes: None,
    };
    let mut found = Vec::new();
    copy::content(source, &current, &mut |piece| {
        found.extend_from_slice(piece);
        Ok(())
    })?;
    match found == format!("{}\n", plan.manifest).as_bytes() {
        true => Ok(()),
        false => Err(UnsealError::Changed { dir: source.dir.clone() }),
    }
}

/// Copies the missing files. Returns whether all of it was copied, and false if it was stopped.
fn copy_all(
    source: &Source,
    plan: &Plan,
    target: &mut Target,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<bool, UnsealError> {
    let missing: Vec<&Item> =
        plan.items.iter().filter(|item| !target.files.contains_key(&item.name)).collect();
    let needed_bytes = missing.iter().map(|item| item.stored_bytes).sum();
    if let Ok(device) = statvfs(&target.out) {
        let free_bytes = device.blocks_available() * device.fragment_size();
        if free_bytes < needed_bytes {
            return Err(UnsealError::NoRoom { out: target.out.clone(), needed_bytes, free_bytes });
        }
    }
    let total_bytes = plan.stored_bytes();
    let mut done_bytes = total_bytes - needed_bytes;
    let stopped = || stop.load(Ordering::Acquire);
    for item in missing {
        if stopped() {
            return Ok(false);
        }
        copy::copy(source, item, target, &mut |bytes| {
            done_bytes += bytes;
            progress(Progress { file: &item.name, done_bytes, total_bytes });
            Ok(())
        })?;
    }
    Ok(!stopped())
}

/// Reads every file of the copy back.
fn check_all(plan: &Plan, target: &mut Target) -> Result<(), UnsealError> {
    for item in &plan.items {
        let Some(copied) = target.files.get(&item.name) else {
            return Err(target.discard(&item.name));
        };
        let as_written = copy::is_as_written(&target.out.join(&item.name), copied);
        if !as_written.map_err(|source| target.copy_failed("read back", &item.name, source))? {
            return Err(target.discard(&item.name));
        }
    }
    Ok(())
}

/// Checks whether the store in the directory of `target` is the store that `plan` would make.
fn is_copy(
    source: &Source,
    plan: &Plan,
    target: &Target,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<bool, UnsealError> {
    let current = std::fs::read(target.out.join("CURRENT"));
    if !current.is_ok_and(|found| found == format!("{}\n", plan.manifest).as_bytes()) {
        return Ok(false);
    }
    let is_planned =
        |name: &str| name == "CURRENT" || plan.items.iter().any(|item| item.name == name);
    if target
        .names()?
        .iter()
        .any(|name| rocksdb_name(name).0 != FileKind::Loose && !is_planned(name))
    {
        return Ok(false);
    }
    let (mut done_bytes, total_bytes) = (0, plan.stored_bytes());
    for item in &plan.items {
        if !copy::is_same(source, item, &target.out.join(&item.name))? {
            return Ok(false);
        }
        done_bytes += item.stored_bytes;
        progress(Progress { file: &item.name, done_bytes, total_bytes });
    }
    Ok(true)
}

fn report(plan: &Plan, dir: &Path, target: &Target, begin: Instant) -> Unsealed {
    let lengths = plan.items.iter().filter_map(|item| target.out.join(&item.name).metadata().ok());
    let (files, bytes) =
        lengths.fold((0, 0), |(files, bytes), found| (files + 1, bytes + found.len()));
    let current = target.is_store();
    Unsealed {
        schema: SCHEMA,
        dir: dir.to_owned(),
        out: target.out.clone(),
        stopped: false,
        files: files + u64::from(current),
        bytes: bytes + if current { plan.manifest.len() as u64 + 1 } else { 0 },
        kept_files: 0,
        tables: plan.items.iter().filter(|item| item.kind == FileKind::Table).count() as u64,
        families: plan.families.clone(),
        left_out: plan.left_out.clone(),
        unopened: None,
        elapsed_s: begin.elapsed().as_secs_f64(),
    }
}

/// Returns why RocksDB does not open the copy, for reading only and with all its column families;
/// `None` if it does.
fn unopened(source: &Source, plan: &Plan, out: &Path) -> Option<Unopened> {
    let families: Vec<&str> = plan.families.iter().map(String::as_str).collect();
    let opened = PlainEnv::new().open_for_reading(out, &families).and_then(|db| db.close());
    let contents = Contents { reads_plain: true, ..source.contents() };
    opened.err().map(|error| {
        let why = lack::explain("open", out, &error, contents, "open it with that program");
        let lacks_part = matches!(why, DirectoryError::Lacks { .. } | DirectoryError::Newer { .. });
        Unopened { why: why.to_string().lines().next().unwrap_or_default().to_owned(), lacks_part }
    })
}
