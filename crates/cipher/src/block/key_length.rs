//! Lengths of keys that several block ciphers take. Not here: lengths that only one takes.

use crate::error::Error;

/// Checks that `key` is as long as a key of AES may be: 16, 24 or 32 bytes.
///
/// # Errors
/// `Error::KeyLength`.
pub(super) fn check_as_of_aes(key: &[u8]) -> Result<(), Error> {
    match key.len() {
        16 | 24 | 32 => Ok(()),
        found => Err(Error::KeyLength { found, want: 32 }),
    }
}

/// Returns `key` as an array, if it is `N` bytes long.
///
/// # Errors
/// `Error::KeyLength`.
pub(super) fn sized<const N: usize>(key: &[u8]) -> Result<&[u8; N], Error> {
    key.try_into().map_err(|_| Error::KeyLength { found: key.len(), want: N })
}
