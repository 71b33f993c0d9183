//! Guards that exist, recorded in the directory of running tunnels: they outlast tunnels, and end
//! with the machine, like that directory. Not here: a guard itself (`guard`).

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sealstone_file::output::{self, Access};
use serde::{Deserialize, Serialize};

use super::guard::Guard;
use super::runtime::{RuntimeDir, RuntimeError};
use crate::error::WireError;

/// Suffix of the names of the guards' files.
const ENDING: &str = ".guard";

/// Reasons why a guard could not be set up or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Routes or rules.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The directory.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// Record of one guard. The directory may be shared by several network namespaces.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    namespace: u64,
    guard: Guard,
}

/// The guards of the tunnels of a user.
#[derive(Clone, Copy, Debug)]
pub struct Guards<'a>(pub &'a RuntimeDir);

impl Guards<'_> {
    fn failed(&self, found: impl ToString) -> RuntimeError {
        RuntimeError::Directory { dir: self.0.path().to_owned(), found: found.to_string() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(format!("{name}{ENDING}"))
    }

    fn record(&self, name: &str) -> Result<Option<Record>, RuntimeError> {
        let file = self.file(name);
        match fs::read(&file) {
            Ok(bytes) => {
                let garbled = |error| self.failed(format!("{}: {error}", file.display()));
                serde_json::from_slice(&bytes).map(Some).map_err(garbled)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Returns that of tunnel `name` in this network namespace, if there is one.
    ///
    /// # Errors
    /// [`RuntimeError::Directory`].
    pub fn get(&self, name: &str) -> Result<Option<Guard>, RuntimeError> {
        let here = self.namespace()?;
        Ok(self.record(name)?.filter(|record| record.namespace == here).map(|record| record.guard))
    }

    /// Returns all of this network namespace, with the names of their tunnels, in order.
    ///
    /// # Errors
    /// [`RuntimeError::Directory`].
    pub fn all(&self) -> Result<Vec<(String, Guard)>, RuntimeError> {
        let mut all = Vec::new();
        for entry in fs::read_dir(self.0.path()).map_err(|error| self.failed(error))? {
            let file = entry.map_err(|error| self.failed(error))?.file_name();
            if let Some(name) = file.to_str().and_then(|file| file.strip_suffix(ENDING))
                && let Some(guard) = self.get(name)?
            {
                all.push((name.to_owned(), guard));
            }
        }
        all.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(all)
    }

    /// Returns the network namespace in which the calling thread is, as the kernel numbers them.
    fn namespace(&self) -> Result<u64, RuntimeError> {
        fs::metadata("/proc/thread-self/ns/net")
            .map(|found| found.ino())
            .map_err(|error| self.failed(error))
    }

    fn others(&self, name: &str) -> Result<Vec<Guard>, RuntimeError> {
        Ok(self
            .all()?
            .into_iter()
            .filter(|(other, _)| other != name)
            .map(|(_, guard)| guard)
            .collect())
    }

    /// Keeps other processes from changing guards for as long as the value lives: two that move the
    /// kernel's own rule at once could lose it.
    fn lock(&self) -> Result<File, RuntimeError> {
        let dir = File::open(self.0.path()).map_err(|error| self.failed(error))?;
        dir.lock().map_err(|error| self.failed(error))?;
        Ok(dir)
    }

    /// Sets up `guard` for tunnel `name`, in place of its previous guard. Returns the unavailable
    /// parts, in words.
    ///
    /// # Errors
    /// [`GuardError`].
    pub fn put(&self, name: &str, guard: &Guard) -> Result<Option<String>, GuardError> {
        let _alone = self.lock()?;
        let before = self.get(name)?;
        // recorded before it exists, so that it can be removed after a crash
        let record = Record { namespace: self.namespace()?, guard: guard.clone() };
        let written = serde_json::to_vec(&record)
            .map_err(io::Error::from)
            .and_then(|text| output::replace(&self.file(name), Access::Private, &text));
        written.map_err(|error| self.failed(error))?;
        let without = guard.set_up()?;
        if let Some(before) = before.filter(|before| before != guard) {
            let mut others = self.others(name)?;
            others.push(guard.clone());
            before.remove(&others)?;
        }
        Ok(without)
    }

    /// Removes that of tunnel `name`; whether there was one.
    ///
    /// # Errors
    /// [`GuardError`].
    pub fn remove(&self, name: &str) -> Result<bool, GuardError> {
        let _alone = self.lock()?;
        let Some(guard) = self.get(name)? else { return Ok(false) };
        guard.remove(&self.others(name)?)?;
        fs::remove_file(self.file(name)).map_err(|error| self.failed(error))?;
        Ok(true)
    }

    /// Puts that of tunnel `name` back to what it was `before`.
    ///
    /// # Errors
    /// [`GuardError`].
    pub fn restore(&self, name: &str, before: Option<&Guard>) -> Result<(), GuardError> {
        match before {
            Some(before) => self.put(name, before).map(drop),
            None => self.remove(name).map(drop),
        }
    }
}
