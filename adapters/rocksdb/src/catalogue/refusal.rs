//! Reasons why a catalogue does not allow an operation.

use sealstone_seal::SealError;

use super::raw::RawError;

/// Reason why a catalogue does not allow something. Texts name the file.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Stored data that is not what the catalogue lists, or damage to the catalogue itself.
    Seal {
        /// The file it is about.
        path: String,
        /// Description of the fault.
        error: SealError,
    },
    /// An operation on stored files failed.
    Raw(RawError),
}

impl From<RawError> for Refusal {
    fn from(error: RawError) -> Self {
        Self::Raw(error)
    }
}

pub(super) fn refuse<T>(path: impl Into<String>, error: SealError) -> Result<T, Refusal> {
    Err(Refusal::Seal { path: path.into(), error })
}
