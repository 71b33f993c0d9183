//! State that a lab leaves in its directory for the next process: small files, and the lock of the
//! process that works on it. Not here: the record of one server (`instance`), or of a replica set
//! (`mongod`).

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Component, Path};

use nix::fcntl::{Flock, FlockArg};
use sealstone_file::input;
use sealstone_file::output::{self, Access};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LabError;
use crate::error::io;

/// Held by the process that works on a directory.
const LOCK_FILE: &str = "lab.lock";
/// Prefix of the names of a lab's own files: keys, key servers and records, which may be there
/// before its first server.
const OWN_FILES: &str = "lab.";

/// Reads the state at `path`; `None` if there is none.
///
/// # Errors
/// [`LabError::Io`], [`LabError::BadState`].
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LabError> {
    let text = match input::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        outcome => outcome.map_err(|error| io("read", path, error))?,
    };
    let bad = |error: toml::de::Error| LabError::BadState {
        path: path.to_owned(),
        found: error.message().into(),
    };
    toml::from_str(&text).map(Some).map_err(bad)
}

/// Writes `state` so that a reader finds the old or the new one, never half of it, also after the
/// power was cut.
///
/// # Errors
/// [`LabError::Io`]; the old one remains in that case.
pub fn write(path: &Path, state: &impl Serialize) -> Result<(), LabError> {
    let text =
        toml::to_string(state).map_err(|error| io("write", path, std::io::Error::other(error)))?;
    output::replace(path, Access::Usual, text.as_bytes()).map_err(|error| io("write", path, error))
}

/// Refuses `name`, the directory of a member that the state at `path` has, if it is not one right
/// within that of the lab.
///
/// # Errors
/// [`LabError::BadState`].
#[cfg(any(feature = "mongodb", feature = "redis"))]
pub(crate) fn check_member(path: &Path, name: &str) -> Result<(), LabError> {
    let mut parts = Path::new(name).components();
    if let (Some(Component::Normal(_)), None) = (parts.next(), parts.next()) {
        return Ok(());
    }
    let found = format!("{name:?} is not a directory within the lab");
    Err(LabError::BadState { path: path.to_owned(), found })
}

/// Keeps other processes from working on `dir` as long as the value lives.
///
/// # Errors
/// [`LabError::InUse`], [`LabError::Io`].
pub(crate) fn lock(dir: &Path) -> Result<Flock<File>, LabError> {
    let path = dir.join(LOCK_FILE);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| io("create", &path, error))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|_| LabError::InUse { dir: dir.to_owned() })
}

/// Refuses `dir` if it has anything in it but files of a lab itself (`lab.*`), such as its key. A
/// directory that is not there is free.
///
/// # Errors
/// [`LabError::NotEmpty`].
pub fn check_free(dir: &Path) -> Result<(), LabError> {
    let mut entries = fs::read_dir(dir).into_iter().flatten().flatten();
    match entries.any(|entry| !entry.file_name().to_string_lossy().starts_with(OWN_FILES)) {
        true => Err(LabError::NotEmpty { dir: dir.to_owned() }),
        false => Ok(()),
    }
}

#[cfg(all(test, any(feature = "mongodb", feature = "redis")))]
mod tests {
    use super::*;

    #[test]
    fn members_are_right_within_the_lab() {
        let check = |name: &str| check_member(Path::new("lab/state.toml"), name);
        assert!(check("member-1").is_ok() && check("member 2").is_ok());
        for elsewhere in ["", "/", ".", "..", "a/b", "../a", "/a", "./..", "a/.."] {
            let refused = check(elsewhere);
            assert!(matches!(refused, Err(LabError::BadState { .. })), "{elsewhere:?}");
        }
    }
}
