//! A copy of a key, for modules that take it with each use.

use sealstone_cipher::memory::Protected;
use zeroize::Zeroize;

/// Longest key of a cipher, in bytes.
const KEY_BYTES_MAX: usize = 64;

/// The copy, zeroed on drop.
pub(crate) struct KeptKey {
    key: [u8; KEY_BYTES_MAX],
    bytes: usize,
}

impl KeptKey {
    /// Copies `key`, of a cipher's length.
    pub(crate) fn protected(key: &[u8]) -> Protected<Self> {
        let mut kept = Protected::with(|| Self { key: [0; KEY_BYTES_MAX], bytes: key.len() });
        kept.key[..key.len()].copy_from_slice(key);
        kept
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.key[..self.bytes]
    }
}

impl Drop for KeptKey {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}
