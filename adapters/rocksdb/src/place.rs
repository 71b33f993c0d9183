//! Kinds of file that a name in a directory can refer to, and the only way to open a file by its
//! name: a regular file, links followed, or an error. A FIFO, a socket, a device and a directory
//! may have the name of any file of a store, and nothing waits for any of them. Not here: the files
//! of a directory (`rest::stored`), RocksDB's own opening (`shim/regular_fs.cc`).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::libc;
use sealstone_file::Kind;
pub(crate) use sealstone_file::input::open;

/// The meaning of a name in a directory, links followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing has this name.
    Nothing,
    /// A regular file of so many bytes.
    File {
        /// Its length.
        bytes: u64,
    },
    /// A directory.
    Directory,
    /// Something that holds no bytes of a store, in words.
    Other(String),
}

impl Place {
    /// Describes the object that is there instead of a file; returns nothing where there is a file,
    /// or no object.
    pub(crate) fn not_a_file(self) -> Option<String> {
        match self {
            Self::Nothing | Self::File { .. } => None,
            Self::Directory => Some("a directory".into()),
            Self::Other(found) => Some(found),
        }
    }
}

/// Looks at what `path` refers to, and opens nothing.
///
/// # Errors
/// A name that cannot be examined.
pub(crate) fn look(path: &Path) -> io::Result<Place> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(Place::File { bytes: found.len() }),
        Ok(found) if found.is_dir() => Ok(Place::Directory),
        Ok(found) => Ok(Place::Other(Kind::of(found.file_type()).to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::symlink_metadata(path) {
            Ok(_) => Ok(Place::Other("a link that leads nowhere".into())),
            Err(_) => Ok(Place::Nothing),
        },
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            Ok(Place::Other("a link that leads to itself".into()))
        }
        Err(error) => Err(error),
    }
}

/// Opens the regular file at `path` for reading and writing in place.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_to_update(path: &Path) -> io::Result<File> {
    let checked = open(path)?.metadata()?;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    let found = file.metadata()?;
    match (found.dev(), found.ino()) == (checked.dev(), checked.ino()) {
        true => Ok(file),
        false => Err(io::Error::other("another file took its name just now")),
    }
}

/// Describes the fault of a `path` that is not UTF-8: catalogues, which list files by their names,
/// could not distinguish it from others.
pub(crate) fn not_text(path: &str) -> String {
    format!(
        "{path}: its path is not UTF-8, and the seal knows files by names that are\nrename the \
         directory"
    )
}
