//! Search for files that belong to a store and are not there: they may be elsewhere, sealed under
//! any version of the key, and come back. A catalogue lists them, or a MANIFEST. Not here:
//! everything else that is wrong with a directory (`verify`).

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::SealError;

use super::backup;
use super::content::{Contents, NEXT};
use super::error::RestError;
use super::files_on_disk::{directories, lengths, list};
use super::live_set::named_by_current;
use super::report::Finding;
use crate::catalogue::{Refusal, View};

/// Pause between two looks at a store that may be in use.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns a finding for every file that a catalogue or MANIFEST at or below `dir` lists and that
/// is missing. The store may be in use.
///
/// - `keys`: what is under a key that is not among these is passed over, since its store has
///   another key
///
/// # Errors
/// A directory or catalogue that cannot be read.
pub fn missing(dir: &Path, keys: &dyn KeySource) -> Result<Vec<Finding>, RestError> {
    let listing = list(dir)?;
    let contents = Contents { keys, backend: Backend::auto(), reads_plain: false };
    let mut view = View::new(keys, Backend::auto());
    let mut found = Vec::new();
    for below in directories(&listing.files) {
        let here = dir.join(below);
        let mut names = match view.settled_survey(&here.to_string_lossy()) {
            Ok(wrong) => of_catalogue(wrong),
            // a catalogue that is damaged, or under another key, lists nothing that can be known
            Err(Refusal::Seal { .. }) => BTreeMap::new(),
            // something in the place of a file, which every caller reports itself
            Err(Refusal::Raw(_)) if listing.unknown().is_some() => BTreeMap::new(),
            Err(Refusal::Raw(error)) => return Err(RestError::Catalogue(error.0)),
        };
        names.extend(of_manifest(&here, contents));
        found.extend(names.into_iter().map(|(name, what)| {
            let file = Path::new(below).join(name).to_string_lossy().into_owned();
            Finding { file, page: None, frame: None, what }
        }));
    }
    // something else in its place is not also missing
    found.retain(|finding| listing.others.iter().all(|(name, _)| *name != finding.file));
    Ok(found)
}

/// Returns the names of the files that are missing among the faults `wrong` of a directory, and
/// why.
fn of_catalogue(wrong: Vec<(String, SealError)>) -> BTreeMap<String, String> {
    let missing = |(_, error): &(String, SealError)| matches!(error, SealError::Missing { .. });
    wrong.into_iter().filter(missing).map(|(name, error)| (name, error.to_string())).collect()
}

/// Returns the names of the tables and blob files that the MANIFEST in `dir` lists and that are
/// missing in two looks, and why: a store in use removes what its MANIFEST no longer names.
fn of_manifest(dir: &Path, contents: Contents<'_>) -> BTreeMap<String, String> {
    let mut found = look(dir, contents);
    if !found.is_empty() {
        thread::sleep(PAUSE);
        let again = look(dir, contents);
        found.retain(|name, _| again.contains_key(name));
    }
    found
}

fn look(dir: &Path, contents: Contents<'_>) -> BTreeMap<String, String> {
    // the files of a backup are in a directory that backups share, where their headers are read
    if backup::shared(dir).is_some() {
        return BTreeMap::new();
    }
    let Ok((manifest, live)) = named_by_current(dir, contents) else { return BTreeMap::new() };
    // listed after the MANIFEST was read, so that everything that it names is there
    let present = lengths(dir).unwrap_or_default();
    // RocksDB does not record the place of further directories
    let tables = live.tables().filter(|table| table.path_id == 0).map(|table| {
        (format!("{:06}.sst", table.number), Some(format!("{:06}.ldb", table.number)))
    });
    let blobs = live.blob_files().map(|(number, _)| (format!("{number:06}.blob"), None));
    let is_missing = |(name, other): &(String, Option<String>)| {
        !present.contains_key(name)
            && !other.as_ref().is_some_and(|other| present.contains_key(other))
    };
    let missing = tables.chain(blobs).filter(is_missing);
    missing.map(|(name, _)| (name, format!("missing: {manifest} names it\n{NEXT}"))).collect()
}
