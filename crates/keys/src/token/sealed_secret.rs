//! Secrets that a token has sealed, by AES-GCM.

/// Length of what is sealed, in bytes.
pub(super) const SECRET_BYTES: usize = 32;
/// Length of the nonce, in bytes.
pub(super) const NONCE_BYTES: usize = 12;
/// Length of the tag, in bytes.
pub(super) const TAG_BYTES: usize = 16;

/// A secret as a token has sealed it.
#[derive(Clone, Debug)]
pub(crate) struct SealedByToken {
    pub(crate) nonce: [u8; NONCE_BYTES],
    pub(crate) bytes: [u8; SECRET_BYTES],
    pub(crate) tag: [u8; TAG_BYTES],
}
