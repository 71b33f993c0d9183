//! Authenticated encryption with associated data, over byte slices, in place.

use crate::registry::Limits;

/// A keyed AEAD. One object serves many threads at once; its key is zeroed on drop.
///
/// The caller owns nonce uniqueness: under one key no nonce may seal two messages. For 128-bit blocks the
/// nonce is 12 bytes (SP 800-38D, 8.2.1). For 64-bit blocks it is 8 bytes, big-endian: the first counter
/// block, so a message of n bytes uses up ceil(n / 8) consecutive nonces.
pub trait Aead: Send + Sync {
    /// Nonce length in bytes: 12 or 8.
    fn nonce_bytes(&self) -> usize;

    /// How much this key may protect. The caller counts.
    fn limits(&self) -> Limits;

    /// Name of the backend in use, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// Encrypts `data` in place and returns the 16-byte tag over `associated` and the ciphertext.
    ///
    /// # Errors
    /// `Error::NonceLength`, `Error::MessageTooLong`; `data` is untouched.
    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], crate::aead::Error>;

    /// Checks `tag` in constant time, then decrypts `data` in place.
    ///
    /// # Errors
    /// `Error::Authentication` whatever the cause; `data` then holds zeros, never plaintext.
    fn open(&self, nonce: &[u8], associated: &[u8], data: &mut [u8], tag: &[u8; 16])
        -> Result<(), crate::aead::Error>;
}

/// What can go wrong in a cipher call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The tag does not fit the data: wrong key, changed data, or other associated data.
    #[error("authentication failed")]
    Authentication,
    /// The nonce has the wrong length.
    #[error("nonce of {found} bytes, want {want}")]
    NonceLength {
        /// Length given, in bytes.
        found: usize,
        /// Length wanted, in bytes.
        want: usize,
    },
    /// The key has the wrong length.
    #[error("key of {found} bytes, want {want}")]
    KeyLength {
        /// Length given, in bytes.
        found: usize,
        /// Length wanted, in bytes.
        want: usize,
    },
    /// The message is longer than the mode allows.
    #[error("message of {found} bytes, at most {limit}")]
    MessageTooLong {
        /// Length given, in bytes.
        found: u64,
        /// Longest allowed, in bytes.
        limit: u64,
    },
}
