//! The key of a comparison without a key from the user: a random key that is forgotten at the end,
//! or, for kept stores, a key in a file next to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_keys::{EphemeralKey, KeyFile, KeySource};
use sealstone_store::StoreError;
use sealstone_store::kind::Request;

#[cfg(any(feature = "mongodb", feature = "mysql", feature = "volume"))]
use sealstone_keys::{absolute_path, absolute_source, absolute_text};
#[cfg(any(feature = "mongodb", feature = "mysql", feature = "volume"))]
use tempfile::TempDir;

#[cfg(any(feature = "mongodb", feature = "mysql"))]
use crate::at_rest::{EXTENSION, SealedServer, Sealing};

/// Id of that key.
const KEY_ID: &str = "compare";

/// Returns the key of stores that stay in the directory of `request`, or are removed if it has
/// none; and the note for the user about it.
///
/// # Errors
/// A key file that cannot be read or made; a module that draws none.
pub(crate) fn run_key(
    request: &Request,
) -> Result<(Arc<dyn KeySource>, Option<String>), StoreError> {
    let forgotten = || EphemeralKey::drawn_by(request.generator).map_err(StoreError::engine);
    let Some(keep) = &request.keep else { return Ok((Arc::new(forgotten()?), None)) };
    // a directory that is in use already will be refused, and needs no key
    if fs::read_dir(keep).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok((Arc::new(forgotten()?), None));
    }
    let file = beside(keep);
    Ok((Arc::new(key_in(&file, request.generator)?), Some(kept(keep, &file))))
}

/// A key source, if there is one, and the notes for the user about it.
#[cfg(any(feature = "mysql", feature = "postgres"))]
type Noted = (Option<Arc<dyn KeySource>>, Vec<String>);

/// Returns the source from which functions of a server get their keys, if `request` seals anything,
/// and the notes for the user about it.
///
/// # Errors
/// As [`run_key`].
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) fn for_functions(request: &Request) -> Result<Noted, StoreError> {
    if !request.sealed {
        return Ok((None, Vec::new()));
    }
    let (key, note) = match &request.key {
        Some(key) => (key.source.clone(), None),
        None => run_key(request)?,
    };
    Ok((Some(key), note.into_iter().collect()))
}

/// Settings with which servers seal in one run, the place of its key, and the facts about it for
/// the user.
#[cfg(any(feature = "mongodb", feature = "mysql"))]
pub(crate) struct RunSealing {
    pub(crate) sealing: Sealing,
    /// Directory with a key that is made for this run, which nobody else can read.
    #[cfg_attr(not(feature = "mongodb"), expect(dead_code, reason = "kept until it is dropped"))]
    pub(crate) key_dir: Option<TempDir>,
    pub(crate) note: Option<String>,
}

/// Returns what the servers of `engine` seal with for `request`: the user's key, or one that is
/// made for this run.
///
/// # Errors
/// No library for the server to load; a key file that cannot be read or made; a module that draws
/// none.
#[cfg(any(feature = "mongodb", feature = "mysql"))]
pub(crate) fn for_server(
    engine: &dyn SealedServer,
    request: &Request,
) -> Result<RunSealing, StoreError> {
    let library =
        engine.find_library(request.file(EXTENSION.name).as_deref()).map_err(StoreError::engine)?;
    let (key, note) = for_program(request)?;
    let key_id = key.source.current().map_err(StoreError::engine)?.0.id;
    let ProgramKey { named: key, passphrase_file, key_dir, .. } = key;
    let sealing =
        Sealing { library, key, key_id, cipher: None, accel: None, module: None, passphrase_file };
    Ok(RunSealing { sealing, key_dir, note })
}

/// A key that another program opens for itself.
#[cfg(any(feature = "mongodb", feature = "mysql", feature = "volume"))]
pub(crate) struct ProgramKey {
    /// As that program is told it, wherever it was started.
    pub(crate) named: String,
    /// File with the passphrase of a key file that has one, an absolute path.
    pub(crate) passphrase_file: Option<PathBuf>,
    /// The key, opened here.
    pub(crate) source: Arc<dyn KeySource>,
    /// Directory with a key that is made for this run, which nobody else can read.
    #[cfg_attr(
        not(any(feature = "mongodb", feature = "mysql")),
        expect(dead_code, reason = "kept until it is dropped")
    )]
    pub(crate) key_dir: Option<TempDir>,
}

/// Returns the key for other programs that seal for `request`: the user's, or one that is made for
/// this run; and a note for the user about it.
///
/// # Errors
/// A key file that cannot be read or made; a module that draws none.
#[cfg(any(feature = "mongodb", feature = "mysql", feature = "volume"))]
pub(crate) fn for_program(request: &Request) -> Result<(ProgramKey, Option<String>), StoreError> {
    if let Some(key) = &request.key {
        let file = key.passphrase_file.as_deref().map(absolute_path).transpose();
        let passphrase_file = file.map_err(StoreError::engine)?;
        let named = absolute_source(&key.named).map_err(StoreError::engine)?;
        let source = key.source.clone();
        return Ok((ProgramKey { named, passphrase_file, source, key_dir: None }, None));
    }
    let (mut key_dir, mut note) = (None, None);
    let file = match &request.keep {
        Some(keep) => {
            let file = beside(keep);
            note = Some(kept(keep, &file));
            file
        }
        None => {
            let directory =
                tempfile::tempdir().map_err(RunKeyError::Directory).map_err(StoreError::engine)?;
            key_dir.insert(directory).path().join("key")
        }
    };
    let source = Arc::new(key_in(&file, request.generator)?);
    let named = absolute_text(&file).map_err(StoreError::engine)?;
    Ok((ProgramKey { named, passphrase_file: None, source, key_dir }, note))
}

/// Reason why there is no key for a run.
#[cfg(any(feature = "mongodb", feature = "mysql", feature = "volume"))]
#[derive(Debug, thiserror::Error)]
enum RunKeyError {
    #[error(
        "cannot make a directory for the key: {0}\ncheck that the directory for temporary files is \
         writable"
    )]
    Directory(std::io::Error),
}

/// Returns the key in `file`, which is created if it does not exist, with a key that `generator`
/// draws.
///
/// # Errors
/// A key file that cannot be read or made; a module that draws none.
fn key_in(file: &Path, generator: Provider) -> Result<KeyFile, StoreError> {
    let key = match file.exists() {
        true => KeyFile::open(file),
        false => KeyFile::create_by(generator, file, KEY_ID),
    };
    key.map_err(StoreError::engine)
}

/// Builds the message about the place of the key of the stores in `keep`.
fn kept(keep: &Path, file: &Path) -> String {
    format!("the stores kept in {} are sealed with the key in {}", keep.display(), file.display())
}

/// Returns the key file of the directory `keep`: next to it, so that the key is not among what it
/// seals.
fn beside(keep: &Path) -> PathBuf {
    let mut name = keep.file_name().unwrap_or_default().to_os_string();
    name.push(".key");
    keep.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_next_to_what_it_seals() {
        assert_eq!(beside(Path::new("kept")), Path::new("kept.key"));
        assert_eq!(beside(Path::new("/data/kept/")), Path::new("/data/kept.key"));
    }

    #[test]
    fn kept_stores_get_a_key_that_stays() {
        let dir = tempfile::tempdir().unwrap();
        let keep = dir.path().join("kept");
        let mut request = Request { keep: Some(keep), ..Request::default() };
        let (first, note) = run_key(&request).unwrap();
        let (first, _) = first.current().unwrap();
        assert_eq!(first.id, KEY_ID);
        assert!(note.unwrap().ends_with("kept.key"));
        run_key(&request).unwrap().0.get(&first).unwrap();
        request.keep = None;
        assert!(run_key(&request).unwrap().1.is_none());
    }
}
