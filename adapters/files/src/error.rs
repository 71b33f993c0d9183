//! Reasons why a file cannot be sealed or opened, with its name. Not here: errors in the content
//! (`CsvError`, `ParquetError`).

use std::io;
use std::path::{Path, PathBuf};

use sealstone_fields::policy::PolicyFileError;
use sealstone_fields::{FieldsError, ManifestError};
use sealstone_message::SettingName;

/// Reason why the work on a file ended. Displays in full, with causes and the next step, and never
/// with a value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error reported by the system.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Its name, once it is whole.
        path: PathBuf,
        /// Error reported by the system.
        error: io::Error,
    },
    /// A file could not be written to its end.
    #[error("cannot write {}: {error}\nnothing of it was left", path.display())]
    Unwritten {
        /// Its name, once it is whole.
        path: PathBuf,
        /// Error reported by the system.
        error: io::Error,
    },
    /// Another process is at it.
    #[error("cannot write {}: another sealstone is writing it\nwait for it", .0.display())]
    Busy(PathBuf),
    /// Reading ended in the middle.
    #[error("{} {what}", path.display())]
    ReadOn {
        /// The file.
        path: PathBuf,
        /// The words of the reader.
        what: String,
    },
    /// An error in the content of the file, reported without values.
    #[error("{}, {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The words of the reader.
        what: String,
    },
    /// A value that does not fit. The caller adds the next step: nothing was written, even if
    /// output was requested.
    #[error("{}, {what}", path.display())]
    Misfit {
        /// The file.
        path: PathBuf,
        /// Place, column and reason.
        what: String,
    },
    /// A column as a whole cannot be sealed or opened.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// The user requested an end.
    #[error("stopped; nothing was written\nrun the same command again")]
    Stopped,
    /// A Parquet file, which this build does not support.
    #[error(
        "parquet not built in: {} is a Parquet file\n\
         install sealstone with it (make install, feature parquet), or take a CSV file",
        .0.display()
    )]
    NoParquet(PathBuf),
    /// A sealed file without its manifest.
    #[error(
        "no manifest {}: it says how {} is sealed, and under which version of which key\n\
         it was written beside the file; name it with {}, or restore it from a backup",
        manifest.display(),
        file.display(),
        SettingName("manifest")
    )]
    NoManifest {
        /// Path at which the manifest was expected.
        manifest: PathBuf,
        /// The sealed file.
        file: PathBuf,
    },
    /// A manifest that does not fit.
    #[error("manifest {}: {error}", path.display())]
    Manifest {
        /// Path of the manifest.
        path: PathBuf,
        /// Reason why it does not fit.
        error: ManifestError,
    },
    /// A manifest that is no text of its format; the words name it.
    #[error(transparent)]
    ManifestText(Box<PolicyFileError>),
    /// Another file than the manifest's, or a changed one.
    #[error(
        "{} is not the file that {} was written for: changed, cut short, or another one\n\
         restore it from a backup; if it was changed on purpose, open it with {}",
        file.display(),
        manifest.display(),
        SettingName("changed")
    )]
    NotTheFile {
        /// The file.
        file: PathBuf,
        /// The manifest.
        manifest: PathBuf,
    },
}

impl FileError {
    /// Returns `error`, which a manifest at `path` was refused with.
    pub(crate) fn of_manifest(error: ManifestError, path: &Path) -> Self {
        match error {
            // these name it
            ManifestError::File(error)
                if matches!(
                    *error,
                    PolicyFileError::Read { .. } | PolicyFileError::Syntax { .. }
                ) =>
            {
                Self::ManifestText(error)
            }
            error => Self::Manifest { path: path.to_owned(), error },
        }
    }
}
