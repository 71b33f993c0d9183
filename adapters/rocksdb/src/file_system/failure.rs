//! Reasons why a file could not be read or written: the error of the seal or of the disk below,
//! with the file's name.

use sealstone_seal::{SealError, SealedFile};

use crate::catalogue::Refusal;

/// Reading stored bytes failed; the reading implementation holds the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawFailed;

/// A stored file.
pub(crate) trait RawRead {
    /// Reads up to `into.len()` stored bytes from `offset` on; fewer only at the end of the file.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed>;
}

/// Reason why a file could not be read or written; texts begin with the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Stored data that differs from the sealed data.
    Damaged(String),
    /// The file may be sound, but it cannot be used: no key, another key, unknown format, used up.
    Refused(String),
    /// An operation on stored files failed.
    Io(String),
    /// Reading failed below.
    Raw,
}

impl Failure {
    /// Returns a description of what happened to which file, with the next step.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Damaged(text) | Self::Refused(text) | Self::Io(text) => text,
            Self::Raw => "it cannot be read\ncheck the device".into(),
        }
    }
}

impl From<RawFailed> for Failure {
    fn from(_: RawFailed) -> Self {
        Self::Raw
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Seal { path, error } => failure(&path, None, error),
            Refusal::Raw(error) => Self::Io(error.0),
        }
    }
}

/// Names the file, and once its header is known also cipher and key, in the first line of the
/// seal's error.
pub(super) fn failure(name: &str, file: Option<&SealedFile>, error: SealError) -> Failure {
    let text = error.to_string();
    let (first, rest) =
        text.split_once('\n').map_or((text.as_str(), None), |(first, rest)| (first, Some(rest)));
    let mut text = format!("{name}: {first}");
    if let Some(file) = file {
        let info = file.info();
        text.push_str(&format!(" (sealed with {} under key {})", info.cipher.name, info.key));
    }
    if let Some(rest) = rest {
        text.push('\n');
        text.push_str(rest);
    }
    match error {
        SealError::NotSealed
        | SealError::Damaged { .. }
        | SealError::Unfinished { .. }
        | SealError::CutShort { .. }
        | SealError::Page { .. }
        | SealError::Frame { .. }
        | SealError::PastEnd { .. }
        | SealError::NoCatalogue
        | SealError::OtherLogs { .. }
        | SealError::NotListed
        | SealError::OtherFile
        | SealError::Missing { .. }
        | SealError::NotAFile { .. }
        | SealError::Older { .. }
        | SealError::WrongLayout { .. } => Failure::Damaged(text),
        _ => Failure::Refused(text),
    }
}
