//! Reasons why a page was not sealed, or a block not opened.

use sealstone_cipher::Error as CipherError;
use sealstone_cipher::memory::Forked;
use sealstone_keys::{KeyError, KeyRef};

use super::version::FORMAT_VERSION;
use crate::fingerprint::Fingerprint;

/// Reason why a page was not sealed, or a block not opened. Never holds key bytes or data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnginePageError {
    /// The block does not begin the way one does.
    #[error(
        "a block of {bytes} bytes is not sealed by sealstone\n\
         its file is in the clear, or sealed by another program; nothing in the clear is read \
         where sealed blocks are expected"
    )]
    NotSealed {
        /// Length of the block, in bytes.
        bytes: usize,
    },
    /// The block was written by a newer program.
    #[error(
        "a block is sealed in format version {found}, this program knows version {FORMAT_VERSION}\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnsupportedVersion {
        /// Version found.
        found: u8,
    },
    /// The block names a cipher that this build lacks.
    #[error(
        "a block is sealed with cipher number {id}, which this program does not know\n\
         use the version of sealstone that wrote it, or a newer one"
    )]
    UnknownCipher {
        /// The number in the block.
        id: u16,
    },
    /// The block cannot be one that this program wrote.
    #[error("a damaged block: {found}\nrestore the file from a backup, or resync this member")]
    Damaged {
        /// Description of the finding.
        found: String,
    },
    /// The block is sealed with another cipher than this opening uses.
    #[error(
        "a block is sealed with {found}, and this opening is set to {wanted}\n\
         start with cipher {found}; to change the cipher, start again with an empty \
         data directory (initial sync)"
    )]
    OtherCipher {
        /// Cipher of the block.
        found: &'static str,
        /// Cipher of this opening.
        wanted: &'static str,
    },
    /// No key of the source has the version that the block names.
    #[error(
        "a block is sealed under key version {version} (fingerprint {fingerprint}), not found in \
         {place}, which has {held}\n\
         give the key source that still holds this version, or the one this data was sealed with"
    )]
    MissingVersion {
        /// Version that the block names.
        version: u32,
        /// Fingerprint that the block names.
        fingerprint: Fingerprint,
        /// Source of the keys.
        place: String,
        /// Description of the place found instead.
        held: String,
    },
    /// The source has a key of that version, but a different one.
    #[error(
        "wrong key: a block is sealed under fingerprint {fingerprint}, and key {key} from {place} \
         has {own}\n\
         another key has this version; give the key source this data was sealed with"
    )]
    OtherKey {
        /// The key that is there.
        key: KeyRef,
        /// Source of the keys.
        place: String,
        /// Fingerprint that the block names.
        fingerprint: Fingerprint,
        /// Fingerprint of the key that is there.
        own: Fingerprint,
    },
    /// The block differs from the sealed block.
    #[error(
        "a block of {bytes} bytes under key {key} ({cipher}, from {place}) failed authentication: \
         it was changed after it was sealed\n\
         restore the file from a backup, or resync this member"
    )]
    Changed {
        /// Length of the block, in bytes.
        bytes: usize,
        /// The key that it names.
        key: KeyRef,
        /// Source of the key.
        place: String,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// The block was sealed for another kind of place.
    #[error(
        "a block under key {key} ({cipher}) was sealed as a {sealed} and is in the place of a \
         {found}: files were changed\n\
         restore the files from a backup, or resync this member"
    )]
    OtherPlace {
        /// The key that it names.
        key: KeyRef,
        /// Name of the cipher.
        cipher: &'static str,
        /// Kind of place that it was sealed for.
        sealed: &'static str,
        /// Kind of place that the engine expects.
        found: &'static str,
    },
    /// The buffer does not have the length of the result.
    #[error("a buffer of {found} bytes for {wanted}\nthis is a bug in sealstone; please report it")]
    Buffer {
        /// Length of the buffer, in bytes.
        found: usize,
        /// The required length, in bytes.
        wanted: usize,
    },
    /// A page longer than the format can hold.
    #[error(
        "a page of {bytes} bytes is too long for cipher {cipher}\nstore smaller records, or use \
         another cipher"
    )]
    TooLong {
        /// Length of the page, in bytes.
        bytes: usize,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// The keys were taken before this process was forked.
    #[error(transparent)]
    Forked(#[from] Forked),
    /// The operating system returned no randomness.
    #[error("no randomness from the operating system: {0}\nnothing was sealed")]
    Random(String),
    /// The current key is not among the keys.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The module that computes lacks what is needed, or failed.
    #[error(transparent)]
    Module(CipherError),
    /// The cipher refused its key or input: a bug of ours.
    #[error("cipher call failed: {0}\nthis is a bug in sealstone; please report it")]
    Cipher(CipherError),
}

impl EnginePageError {
    /// Returns whether the module that computes failed or lacks something: nothing is known of the
    /// block then, neither that it is genuine nor that it is not.
    #[must_use]
    pub fn is_of_module(&self) -> bool {
        let of_module =
            |error| matches!(error, CipherError::Lacks { .. } | CipherError::Module { .. });
        match self {
            Self::Module(error) | Self::Key(KeyError::Cipher(error)) => of_module(*error),
            _ => false,
        }
    }
}

impl From<CipherError> for EnginePageError {
    fn from(error: CipherError) -> Self {
        match error {
            CipherError::Lacks { .. } | CipherError::Module { .. } => Self::Module(error),
            _ => Self::Cipher(error),
        }
    }
}
