//! Counter mode by the name of the cipher.
//!
//! It hides data and protects nothing: whoever changes a bit of the ciphertext changes that bit of the plaintext,
//! unseen. For storage take [`crate::aead`].

use std::fmt;

use crate::backend::Backend;
use crate::block::SetKey;
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;

/// Sets `key` (`cipher.key_bytes` long) for counter mode on `backend`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`.
///
/// Source: SP 800-38A, 6.5, with the whole block as counter (appendix B.1).
///
/// ```
/// use sealstone_cipher::{backend::Backend, ctr::ctr, registry::cipher};
///
/// let aria = ctr(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let mut data = *b"any length";
/// aria.apply(&[0; 16], 0, &mut data)?;
/// // the last six bytes alone, at their own offset
/// aria.apply(&[0; 16], 4, &mut data[4..])?;
/// assert_eq!(&data[4..], b"length");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ctr(cipher: &'static Cipher, key: &[u8], backend: Backend) -> Result<Protected<dyn Ctr>, Error> {
    cipher.check_key(key)?;
    match cipher.set_key {
        SetKey::Block128 { counter, .. } => Ok(counter(key, backend)?.unsize(|keyed| keyed)),
        SetKey::Block64 { counter, .. } => Ok(counter(key, backend)?.unsize(|keyed| keyed)),
    }
}

/// Counter mode keyed with one cipher. One object serves many threads at once; its key is zeroed on drop.
///
/// Between blocks the whole initial block counts up, big-endian, and wraps: 128 bits for 16-byte blocks, 64 for
/// 8-byte blocks. The caller owns uniqueness: under one key no counter block may encrypt two things.
pub trait Ctr: Send + Sync {
    /// Block length in bytes, and so the length of the initial counter block: 8 or 16.
    fn block_bytes(&self) -> usize;

    /// Name of the backend that the block cipher uses, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// XORs `data` (any length, in place) with the key stream, from byte `offset_bytes` of that stream on. Encrypts
    /// and decrypts alike; pieces of a message, taken each at its own offset and in any order, give what one call
    /// gives.
    ///
    /// # Errors
    /// `Error::NonceLength` where `initial_counter_block` is not one block long; `data` is untouched.
    fn apply(&self, initial_counter_block: &[u8], offset_bytes: u64, data: &mut [u8]) -> Result<(), Error>;
}

impl fmt::Debug for dyn Ctr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctr").field("backend", &self.backend()).finish_non_exhaustive()
    }
}
