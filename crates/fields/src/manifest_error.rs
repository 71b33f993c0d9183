//! Reasons why a manifest of a file or of a table does not fit, worded for the person reading them.

use sealstone_keys::KeyRef;

use crate::error::FieldsError;
use crate::policy::PolicyFileError;

/// Newest version of the format of any manifest.
pub(crate) const VERSION_MAX: i64 = 2;

/// Reason why a manifest does not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It cannot be read as one.
    #[error(transparent)]
    File(Box<PolicyFileError>),
    /// A newer program wrote it.
    #[error(
        "format version {0}, this program knows versions up to {VERSION_MAX}\n\
         use the sealstone that wrote it, or a newer one"
    )]
    Version(i64),
    /// A value that it cannot have.
    #[error("{0} is not what a manifest has there\nrestore it from a backup")]
    Damaged(&'static str),
    /// Its MAC does not fit.
    #[error(
        "key {key} from {place} does not fit the manifest: another key bears the same name, or the \
         manifest was changed\n\
         give the key source under which the file was sealed; if it is the right one, restore the \
         manifest from a backup"
    )]
    WrongKey {
        /// The key that it names.
        key: KeyRef,
        /// Place that the key came from.
        place: String,
    },
    /// No key.
    #[error(transparent)]
    Fields(#[from] FieldsError),
}

impl From<PolicyFileError> for ManifestError {
    fn from(error: PolicyFileError) -> Self {
        Self::File(Box::new(error))
    }
}
