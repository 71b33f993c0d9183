//! An anchor: a place outside the store that remembers how new the store was, so that an older copy of *all* its files is
//! an error. Whoever can change the store must not be able to change the anchor: a file on other storage, for example.
//!
//! The anchor is written behind the catalogue, once that is on stable storage, and so never knows of more than the store
//! has; a crash between the two leaves it one step behind, which is no error. It knows files that came and went, and no
//! single writes: an older state of the newest log within one step is what it cannot see.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How new a store is. Of two marks of one store the larger one is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The store.
    pub store: [u8; 16],
    /// The generation of its catalogue.
    pub generation: u64,
    /// How many changes that generation has had.
    pub changes: u64,
}

impl Mark {
    /// Generation and changes, for messages.
    pub(crate) fn age(&self) -> String {
        format!("{}.{}", self.generation, self.changes)
    }
}

/// An anchor could not be read or written; the text says which, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnchorError(pub String);

/// Remembers the newest mark of one store. Serves any number of threads at once.
pub trait Anchor: Send + Sync {
    /// The mark; None if none was ever written.
    ///
    /// # Errors
    /// The anchor cannot be reached or makes no sense: then the store must not be opened.
    fn read(&self) -> Result<Option<Mark>, AnchorError>;
    /// Puts `mark` in place of the one before, on stable storage.
    ///
    /// # Errors
    /// The anchor cannot be reached; it still has the mark before.
    fn write(&self, mark: &Mark) -> Result<(), AnchorError>;
    /// Where it is, for messages.
    fn describe(&self) -> String;
}

/// An anchor in a file of its own, which must not lie where the store does.
#[derive(Clone, Debug)]
pub struct FileAnchor {
    path: PathBuf,
}

impl FileAnchor {
    /// The anchor in the file `path`, which is made when a mark is first written.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn cannot(&self, attempt: &str, error: &io::Error) -> AnchorError {
        AnchorError(format!(
            "cannot {attempt} the anchor {}: {error}\nmake its storage available; without it nobody knows whether the store \
             is the newest one",
            self.path.display()
        ))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        File::open(directory)?.sync_all()
    }
}

impl Anchor for FileAnchor {
    fn read(&self) -> Result<Option<Mark>, AnchorError> {
        match fs::read_to_string(&self.path) {
            Ok(text) => text.trim_end().parse().map(Some).map_err(|_| {
                AnchorError(format!(
                    "{} is no anchor of a store\ngive the file that was the anchor when the store was last open",
                    self.path.display()
                ))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.cannot("read", &error)),
        }
    }

    fn write(&self, mark: &Mark) -> Result<(), AnchorError> {
        self.replace(&format!("{mark}\n")).map_err(|error| self.cannot("write", &error))
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sealstone-anchor 1 ")?;
        self.store.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, " {} {}", self.generation, self.changes)
    }
}

impl std::str::FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split(' ').collect();
        let ["sealstone-anchor", "1", store, generation, changes] = words[..] else { return Err(()) };
        if store.len() != 32 || !store.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(());
        }
        let mut mark = Self {
            store: [0; 16],
            generation: generation.parse().map_err(|_| ())?,
            changes: changes.parse().map_err(|_| ())?,
        };
        for (byte, digits) in mark.store.iter_mut().zip(store.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| ())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| ())?;
        }
        Ok(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_file_and_rubbish_is_no_mark() {
        let dir = tempfile::tempdir().unwrap();
        let anchor = FileAnchor::new(dir.path().join("anchor"));
        assert_eq!(anchor.read(), Ok(None));
        for changes in [0, 7, u64::MAX] {
            let mark = Mark { store: [0xa5; 16], generation: 3, changes };
            anchor.write(&mark).unwrap();
            assert_eq!(anchor.read(), Ok(Some(mark)));
        }
        for rubbish in ["", "sealstone-anchor 1 a5 1 1", "sealstone-anchor 2 00 1 1", "x"] {
            fs::write(dir.path().join("anchor"), rubbish).unwrap();
            assert!(anchor.read().is_err(), "{rubbish:?}");
        }
        let nowhere = FileAnchor::new(dir.path().join("no/such/anchor"));
        assert!(nowhere.write(&Mark { store: [0; 16], generation: 0, changes: 0 }).is_err());
    }
}
