//! GHASH (SP 800-38D, 6.4), bit by bit: provisional, until the fast one takes this file.

use zeroize::Zeroizing;

use crate::backend::Backend;

/// The hash key of GCM.
pub(crate) struct GhashKey(Zeroizing<u128>);

impl GhashKey {
    /// Takes the encrypted zero block.
    pub(crate) fn new(h: &[u8; 16], _backend: Backend) -> Self {
        Self(Zeroizing::new(u128::from_be_bytes(*h)))
    }

    /// GHASH over `associated` and `ciphertext`, each padded to whole blocks, and their lengths in bits.
    pub(crate) fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let mut sum = 0;
        for part in [associated, ciphertext] {
            for chunk in part.chunks(16) {
                let mut block = [0; 16];
                block[..chunk.len()].copy_from_slice(chunk);
                sum = self.multiply(sum ^ u128::from_be_bytes(block));
            }
        }
        let bits = (associated.len() as u128 * 8) << 64 | (ciphertext.len() as u128 * 8);
        self.multiply(sum ^ bits).to_be_bytes()
    }

    fn multiply(&self, x: u128) -> u128 {
        let (mut product, mut v) = (0, *self.0);
        for i in (0..128).rev() {
            product ^= v & 0_u128.wrapping_sub(x >> i & 1);
            v = v >> 1 ^ (0xe1 << 120 & 0_u128.wrapping_sub(v & 1));
        }
        product
    }
}
