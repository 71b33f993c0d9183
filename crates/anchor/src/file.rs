//! An anchor in a file.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sealstone_file::input;
use sealstone_file::output::{Access, Output};

use super::{Anchor, AnchorError, Mark};

/// An anchor in its own file, which must not be where the store is.
#[derive(Clone, Debug)]
pub struct FileAnchor {
    path: PathBuf,
}

impl FileAnchor {
    /// Returns the anchor in the file `path`, which is made when a mark is first written.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn cannot(&self, attempt: &str, error: &io::Error) -> AnchorError {
        AnchorError(format!(
            "cannot {attempt} the anchor {}: {error}\n\
             make its storage available; without it there is no telling whether the store is the \
             newest one",
            self.path.display()
        ))
    }

    /// Puts `text` in the place of the old one, whose owner stays: root may use a store of the
    /// service.
    fn replace(&self, text: &str) -> io::Result<()> {
        let mut output = match fs::symlink_metadata(&self.path) {
            Ok(old) if old.is_file() => {
                Output::replace_for(&self.path, Access::Usual, old.uid(), old.gid())?
            }
            _ => Output::replace(&self.path, Access::Usual)?,
        };
        output.write_all(text.as_bytes())?;
        output.commit().map(drop)
    }
}

impl Anchor for FileAnchor {
    fn read(&self) -> Result<Option<Mark>, AnchorError> {
        match input::read_to_string(&self.path) {
            Ok(text) => text.trim_end().parse().map(Some).map_err(|_| {
                AnchorError(format!(
                    "{} is not an anchor of a store\ngive the file that was the anchor when the \
                     store was last open",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_its_file_and_rubbish_is_no_anchor() {
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
        // a prepared file is not written into
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in ["anchor.new", "link"] {
            std::os::unix::fs::symlink(&victim, dir.path().join(name)).unwrap();
        }
        let mark = Mark { store: [0; 16], generation: 0, changes: 0 };
        anchor.write(&mark).unwrap();
        let error = FileAnchor::new(dir.path().join("link")).write(&mark).unwrap_err().to_string();
        assert!(error.contains("it is a symbolic link to "), "{error}");
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        let nowhere = FileAnchor::new(dir.path().join("no/such/anchor"));
        assert!(nowhere.write(&Mark { store: [0; 16], generation: 0, changes: 0 }).is_err());
    }
}
