//! Errors of a column as a whole: keys, ciphers, randomness. Not here: single values
//! ([`crate::Misfit`]).

use sealstone_cipher::ff1::Ff1Error;
use sealstone_keys::KeyError;
use sealstone_seal::FieldError;

/// Reason why a column cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FieldsError {
    /// FF1 does not take the cipher.
    #[error(
        "column {column}: {cipher} has blocks of 8 bytes, over which FF1 is defined nowhere\n\
         take a cipher with blocks of 16 bytes, such as aes-256 or aria-256, or aead"
    )]
    NoFf1 {
        /// The column.
        column: String,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// An index over a cipher with short blocks.
    #[error(
        "column {column}: an index needs a cipher with blocks of 16 bytes, {cipher} has 8\n\
         CMAC over it would soon repeat itself; take another cipher, such as aes-256 or aria-256"
    )]
    NoIndex {
        /// The column.
        column: String,
        /// Name of the cipher.
        cipher: &'static str,
    },
    /// The key could not be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A record could not be sealed.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// FF1 refused what it was given: a bug of ours.
    #[error("FF1 call failed: {0}\nthis is a bug in sealstone; please report it")]
    Ff1(Ff1Error),
    /// Failure of the FF1 implementation that the caller provided.
    #[error(transparent)]
    Permuter(Box<dyn std::error::Error + Send + Sync>),
    /// The cipher refused its key: a bug of ours.
    #[error("cipher call failed: {0}\nthis is a bug in sealstone; please report it")]
    Cipher(sealstone_cipher::Error),
    /// The module that computes lacks what is needed, or failed.
    #[error(transparent)]
    Module(sealstone_cipher::Error),
}

impl From<sealstone_cipher::Error> for FieldsError {
    fn from(error: sealstone_cipher::Error) -> Self {
        use sealstone_cipher::Error::{Lacks, Module};
        if matches!(error, Lacks { .. } | Module { .. }) {
            Self::Module(error)
        } else {
            Self::Cipher(error)
        }
    }
}

impl From<Ff1Error> for FieldsError {
    fn from(error: Ff1Error) -> Self {
        if let Ff1Error::Module(error) = error { error.into() } else { Self::Ff1(error) }
    }
}
