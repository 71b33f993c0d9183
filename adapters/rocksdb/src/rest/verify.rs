//! Verification that everything stored in a directory is unchanged since sealing: each file
//! separately, all of them against the live set and the catalogues, and the store against an
//! anchor. Not here: one file (`check`), the live set (`live_set`).
//!
//! RocksDB takes no part, since opening a store takes its lock and changes it; the live set comes
//! from our reader of MANIFEST (`manifest`). A store in use is checked until two passes, each with
//! CURRENT and MANIFEST read again, agree on the faults, or find none. In a directory of backups
//! the live set of each backup is compared with the files that the backups share (`backup`).

use std::io;
use std::path::{Path, PathBuf};

use sealstone_anchor::{Anchor, AnchorCheck};
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;

use super::check::Check;
use super::content::Contents;
use super::error::RestError;
use super::files_on_disk::{directories, list};
use super::live_set;
use super::report::{Finding, Progress, SCHEMA, Verification};
use crate::catalogue::{Refusal, View};
use crate::place;

/// Opens every page and frame of every file below `dir`, compares the files of each database with
/// the live set that its CURRENT and MANIFEST name, and reports everything that fails.
///
/// - `keys`: must hold the keys that the files name
/// - `backend`: instruction set to use
/// - `anchor`: record of how new the store in `dir` itself was, if any. An older store is a
///   failure; a whole and newer store is recorded from now on
/// - `progress`: called about once a megabyte
///
/// # Errors
/// A directory that cannot be read; an anchor that cannot be read or written. A fault of a file is
/// not an error but a failure in the report.
pub fn verify(
    dir: &Path,
    keys: &dyn KeySource,
    backend: Backend,
    anchor: Option<&dyn Anchor>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Verification, RestError> {
    let listing = list(dir)?;
    let others: Vec<Finding> = listing.failures().collect();
    let mut files = listing.files;
    let contents = Contents { keys, backend, reads_plain: false };
    let elsewhere = live_set::log_directories(dir, &files, contents);
    elsewhere.iter().for_each(|logs| files.extend(live_set::logs_in(logs)));
    let total_bytes = files.iter().map(|(_, bytes)| bytes).sum();
    let mut report =
        Verification { schema: SCHEMA, dir: dir.to_owned(), ..Verification::default() };
    let mut view = View::new(keys, backend);
    for (name, _) in &files {
        let path = dir.join(name);
        let (view, progress) = (&mut view, &mut *progress);
        let mut check = Check {
            name,
            path: &path,
            keys,
            backend,
            view,
            report: &mut report,
            progress,
            total_bytes,
        };
        check.report_progress();
        match place::open(&path).and_then(|file| check.file(&file)) {
            Ok(()) => {}
            // compaction removes files while the store is in use
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => check.fail(None, None, format!("cannot be read: {error}")),
        }
        report.files += 1;
    }
    // a reader can act on findings of the live set; the catalogue adds the rest
    live_set::compare(dir, &files, contents, &mut report);
    survey(dir, &files, &elsewhere, &mut view, &mut report);
    // an object that is no file is only that, and not also missing
    report.failures.retain(|failure| !others.iter().any(|other| other.file == failure.file));
    report.failures.extend(others);
    if let Some(anchor) = anchor {
        check_anchor(dir, anchor, &mut view, &mut report)?;
    }
    Ok(report)
}

/// Compares how new the store is with the record of `anchor`, and records a newer state, if
/// everything is whole.
fn check_anchor(
    dir: &Path,
    anchor: &dyn Anchor,
    view: &mut View<'_>,
    report: &mut Verification,
) -> Result<(), RestError> {
    match view.check_anchor(&dir.to_string_lossy(), anchor) {
        Ok((remembered, found)) => {
            if let Some(found) =
                found.filter(|found| report.is_whole() && Some(*found) != remembered)
            {
                anchor.write(&found)?;
            }
            let check = AnchorCheck::new(anchor.describe(), remembered.as_ref(), found.as_ref());
            report.anchor = Some(check);
        }
        Err(Refusal::Seal { path, error }) => {
            let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
            report.failures.push(Finding {
                file,
                page: None,
                frame: None,
                what: error.to_string(),
            });
        }
        Err(Refusal::Raw(error)) => return Err(RestError::Catalogue(error.0)),
    }
    Ok(())
}

/// Compares the files of `dir`, and of the directories of logs `elsewhere`, with what the
/// catalogues list.
fn survey(
    dir: &Path,
    files: &[(String, u64)],
    elsewhere: &[PathBuf],
    view: &mut View<'_>,
    report: &mut Verification,
) {
    let mut all = directories(files);
    all.extend(elsewhere.iter().filter_map(|logs| logs.to_str()));
    for directory in all {
        let path = dir.join(directory);
        let found = view.settled_survey(&path.to_string_lossy());
        let wrong = match found {
            Ok(wrong) => wrong,
            Err(Refusal::Seal { path, error }) => {
                vec![(path.rsplit('/').next().unwrap_or(&path).to_owned(), error)]
            }
            Err(Refusal::Raw(error)) => {
                let what = format!("cannot be read: {}", error.0);
                report.failures.push(Finding {
                    file: directory.to_owned(),
                    page: None,
                    frame: None,
                    what,
                });
                continue;
            }
        };
        for (name, error) in wrong {
            let file = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if !report.failures.iter().any(|failure| failure.file == file) {
                report.failures.push(Finding {
                    file,
                    page: None,
                    frame: None,
                    what: error.to_string(),
                });
            }
        }
    }
}
