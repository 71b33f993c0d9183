//! Definition of authenticated encryption with associated data: one trait over all modes that
//! provide it.
//!
//! Not here: the modes (`gcm`, `ctr_mac`), and the choice of one ([`crate::aead`]).

use std::fmt;

use crate::error::Error;
use crate::limits::Limits;

/// Data that a message is bound to.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Its nonce, [`Aead::nonce_bytes`] long.
    pub nonce: &'a [u8],
    /// Its associated data, any length.
    pub associated: &'a [u8],
}

/// A keyed AEAD. One object serves many threads at once; all that is derived from its key is in
/// protected memory.
///
/// The caller owns nonce uniqueness: under one key no nonce may seal two messages. For 128-bit
/// blocks the nonce is 12 bytes (SP 800-38D, 8.2.1). For 64-bit blocks it is 8 bytes, big-endian:
/// the first counter block, so a message of n bytes uses up ceil(n / 8) consecutive nonces.
pub trait Aead: Send + Sync {
    /// Returns the nonce length in bytes: 12 or 8.
    fn nonce_bytes(&self) -> usize;

    /// Returns the limits on what this key may protect. The caller counts.
    fn limits(&self) -> Limits;

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// Encrypts `data` in place and returns the 16-byte tag over `associated` and the ciphertext.
    ///
    /// # Errors
    /// `Error::NonceLength`, `Error::MessageTooLong`; `data` is untouched.
    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error>;

    /// Seals two messages under this key: one without data, bound to `head`, and `data`, bound to
    /// `body`. The same as [`Aead::seal`] for each, and quicker where one block takes as long as
    /// several. A frame of a log is such a pair. Returns both tags, the head's first.
    ///
    /// # Errors
    /// As [`Aead::seal`].
    fn seal_with_head(
        &self,
        head: Context<'_>,
        body: Context<'_>,
        data: &mut [u8],
    ) -> Result<[[u8; 16]; 2], Error> {
        let head = self.seal(head.nonce, head.associated, &mut [])?;
        Ok([head, self.seal(body.nonce, body.associated, data)?])
    }

    /// Decrypts `data` in place if `tag`, compared in constant time, is right for `associated` and
    /// `data`.
    ///
    /// During the call `data` may hold plaintext that is not authenticated yet, so nobody else may
    /// look at it: GCM over AES (every backend) and over ARIA (`avx512`) decrypts before the tag is
    /// compared; all others compare first.
    ///
    /// # Errors
    /// `Error::Authentication` whatever the cause; `Error::NonceLength` and `Error::MessageTooLong`
    /// for arguments that no sealed message has. When the call returns any of these, all of `data`
    /// is zeros.
    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error>;

    /// Decrypts the bytes of the message `sealed` from `skip` on into `out`, which is filled, if
    /// `tag`, compared in constant time, is the one over the associated data and all of `sealed`.
    ///
    /// The tag is compared first, so no plaintext exists that is not authenticated, and what is not
    /// asked for is never decrypted.
    ///
    /// # Errors
    /// As [`Aead::open`]. When the call returns any of these, all of `out` is zeros.
    ///
    /// # Panics
    /// If `sealed` has fewer bytes than that.
    fn open_part(
        &self,
        context: Context<'_>,
        sealed: &[u8],
        tag: &[u8; 16],
        skip: usize,
        out: &mut [u8],
    ) -> Result<(), Error>;
}

impl fmt::Debug for dyn Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aead").field("backend", &self.backend()).finish_non_exhaustive()
    }
}
