//! Data files that WiredTiger is configured to leave in the clear: anyone who may create a
//! collection or an index may request it, with `encryption=(name=none)` among its options. A new
//! file of this kind is refused while it is being made, which undoes only the creation; an existing
//! file is opened, since the server would not start without it, and named in the log.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::NAME;
use crate::error::ExtensionError;

/// WiredTiger makes this file first, in its home.
pub(crate) const LOCK_FILE: &str = "WiredTiger.lock";
/// The engine's own files begin like this. They are as the connection is.
const OWN: &str = "WiredTiger";

/// Information about the data files of one opening.
pub(crate) struct ClearFiles {
    accept: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    home: Option<PathBuf>,
    /// Made, and not yet opened with a configuration.
    made: HashSet<PathBuf>,
    /// Named in the log.
    named: HashSet<PathBuf>,
}

/// Encryption of a file according to the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// The file is not in them.
    NoFile,
    /// By the encryptor of this name; empty for that of the connection.
    By(String),
    /// They cannot be read: WiredTiger's error code.
    Unknown(i32),
}

impl ClearFiles {
    /// Refuses files in the clear, or accepts them with a message in the log.
    pub(crate) fn new(accept: bool) -> Self {
        Self { accept, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that WiredTiger opens `path`, and returns the name under which the metadata have its
    /// configuration, if they have one by now.
    ///
    /// - `data`: it opens it as a data file
    /// - `create`: it makes it; the metadata come afterwards, and then it is opened again
    pub(crate) fn opened(&self, path: &Path, data: bool, create: bool) -> Option<String> {
        let name = path.file_name()?.to_string_lossy();
        let mut state = self.state();
        if name == LOCK_FILE {
            state.home = path.parent().map(Path::to_owned);
        }
        if !data || name.starts_with(OWN) {
            return None;
        }
        if create {
            state.made.insert(path.to_owned());
            return None;
        }
        let within =
            state.home.as_ref().and_then(|home| path.strip_prefix(home).ok()).unwrap_or(path);
        Some(format!("file:{}", within.display()))
    }

    /// Notes that WiredTiger removed or renamed `path`.
    pub(crate) fn gone(&self, path: &Path) {
        let mut state = self.state();
        state.made.remove(path);
        state.named.remove(path);
    }

    /// Judges `path` by its metadata, and returns the message for the log.
    ///
    /// # Errors
    /// [`ExtensionError::ClearFile`] for a file that is being made in the clear,
    /// [`ExtensionError::Refused`] for a new file with unknown settings.
    pub(crate) fn judge(
        &self,
        path: &Path,
        encryption: Encryption,
    ) -> Result<Option<String>, ExtensionError> {
        let mut state = self.state();
        let is_new = state.made.remove(path);
        match encryption {
            Encryption::By(name) if name.is_empty() || name == NAME => Ok(None),
            Encryption::NoFile => Ok(None),
            Encryption::Unknown(code) if is_new => {
                Err(ExtensionError::Refused { attempted: "say how a new file is encrypted", code })
            }
            Encryption::Unknown(_) => Ok(None),
            Encryption::By(named) if is_new && !self.accept => {
                Err(ExtensionError::ClearFile { path: path.to_owned(), named })
            }
            Encryption::By(_) if !state.named.insert(path.to_owned()) => Ok(None),
            Encryption::By(named) => Ok(Some(format!(
                "warning: {} is not sealed: its collection or index was created with \
                 encryption=(name={named}); copy it into one without these options and drop it",
                path.display()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(name: &str) -> Encryption {
        Encryption::By(name.into())
    }

    #[test]
    fn a_file_in_the_clear_is_refused_while_it_is_made() {
        let files = ClearFiles::new(false);
        let path = Path::new("/data/shop/collection-0--1.wt");
        assert_eq!(files.opened(Path::new("/data/WiredTiger.lock"), false, true), None);
        for (encryption, refused) in
            [(by(""), false), (by(NAME), false), (by("none"), true), (by("rot13"), true)]
        {
            assert_eq!(files.opened(path, true, true), None);
            assert_eq!(
                files.opened(path, true, false).as_deref(),
                Some("file:shop/collection-0--1.wt")
            );
            assert_eq!(files.judge(path, encryption).is_err(), refused);
        }
        files.opened(path, true, true);
        files.judge(path, Encryption::Unknown(22)).unwrap_err();
        files.opened(path, true, true);
        let error = files.judge(path, by("none")).unwrap_err().to_string();
        assert!(
            error.starts_with("/data/shop/collection-0--1.wt was to be left in the clear"),
            "{error}"
        );
    }

    /// The server would not start without them.
    #[test]
    fn what_was_there_before_is_opened_and_named_once() {
        let files = ClearFiles::new(false);
        let path = Path::new("/data/collection-0--1.wt");
        let said = files.judge(path, by("none")).unwrap().unwrap();
        assert!(said.contains("/data/collection-0--1.wt is not sealed"), "{said}");
        assert_eq!(files.judge(path, by("none")).unwrap(), None);
        files.gone(path);
        assert!(files.judge(path, by("none")).unwrap().is_some());
        assert_eq!(files.judge(path, Encryption::Unknown(22)).unwrap(), None);
        assert_eq!(files.judge(path, Encryption::NoFile).unwrap(), None);
    }

    #[test]
    fn one_that_may_be_made_is_named_too() {
        let files = ClearFiles::new(true);
        let path = Path::new("/data/collection-0--1.wt");
        files.opened(path, true, true);
        assert!(files.judge(path, by("none")).unwrap().is_some());
    }

    #[test]
    fn the_engines_own_files_are_as_the_connection_is() {
        let files = ClearFiles::new(false);
        assert_eq!(files.opened(Path::new("/data/WiredTigerHS.wt"), true, false), None);
        let odd = Path::new("/data/WiredTigerX/collection-0.wt");
        assert_eq!(
            files.opened(odd, true, false).as_deref(),
            Some("file:/data/WiredTigerX/collection-0.wt")
        );
        assert_eq!(files.opened(Path::new("/data/mongod.lock"), false, false), None);
    }
}
