//! Definition of authenticated encryption with associated data: one trait over all modes that
//! provide it.

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

/// A sealed message, and the stretch of it that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Data that the message is bound to.
    pub context: Context<'a>,
    /// The whole message, encrypted.
    pub sealed: &'a [u8],
    /// Its tag.
    pub tag: &'a [u8; 16],
    /// Bytes of the message before the stretch.
    pub skip: usize,
    /// Bytes of the stretch.
    pub bytes: usize,
}

/// A message to be sealed.
#[derive(Debug)]
pub struct Unsealed<'a> {
    /// Data that the message is bound to.
    pub context: Context<'a>,
    /// The message, encrypted in place.
    pub data: &'a mut [u8],
    /// Receives its tag.
    pub tag: &'a mut [u8; 16],
}

/// Messages that are sealed or opened together at most: a block of 16 KiB and its trailer are in 18
/// pages of 1 KiB.
pub const PARTS_MAX: usize = 18;

/// A message of several that did not open, or whose arguments none has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {index} of those given: {error}")]
pub struct PartError {
    /// Its place among them, from 0.
    pub index: usize,
    /// The error that it has alone.
    #[source]
    pub error: Error,
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

    /// Seals several messages under this key: the same as [`Aead::seal`] for each, and quicker
    /// where a few blocks take as long as many.
    ///
    /// # Errors
    /// As [`Aead::seal`], for the first message that has one. Messages before it may be sealed
    /// then.
    ///
    /// # Panics
    /// If there are more than [`PARTS_MAX`] messages.
    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        assert!(messages.len() <= PARTS_MAX, "{} messages, more than {PARTS_MAX}", messages.len());
        for (index, Unsealed { context, data, tag }) in messages.iter_mut().enumerate() {
            **tag = self
                .seal(context.nonce, context.associated, data)
                .map_err(|error| PartError { index, error })?;
        }
        Ok(())
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

    /// Decrypts stretches of several messages into `out`, one after the other, if each message's
    /// tag, compared in constant time, is the one over its associated data and all of it.
    ///
    /// All tags are compared first, so no plaintext exists that is not authenticated, and what is
    /// not asked for is never decrypted. Hand over what belongs together: pages under one key cost
    /// less in one call than in several.
    ///
    /// # Errors
    /// As [`Aead::open`], for the first part that has one. When the call returns it, all of `out`
    /// is zeros.
    ///
    /// # Panics
    /// If there are more than [`PARTS_MAX`] parts, a message has fewer bytes than its stretch
    /// needs, or `out` is not as long as all stretches.
    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError>;
}

impl fmt::Debug for dyn Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aead").field("backend", &self.backend()).finish_non_exhaustive()
    }
}
