//! ARIA (RFC 5794), 128 and 256-bit keys, by the `aria` crate: table look-ups, so not constant time, on every backend.

use cipher::{Array, BlockCipherEncrypt, KeyInit, KeySizeUser};

use super::BlockEncrypt;
use crate::aead::Error;
use crate::backend::Backend;
use crate::mode::Counter128;
use crate::mode::ctr::BlockCounter;

/// Sets a 16-byte `key`.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed_128(key: &[u8], _backend: Backend) -> Result<Box<dyn Counter128>, Error> {
    keyed::<13>(key)
}

/// Sets a 32-byte `key`.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed_256(key: &[u8], _backend: Backend) -> Result<Box<dyn Counter128>, Error> {
    keyed::<17>(key)
}

/// ARIA with `ROUND_KEYS` round keys: 13 for 128-bit keys, 17 for 256-bit keys. Zeroed on drop.
struct Aria<const ROUND_KEYS: usize>(aria::Aria<ROUND_KEYS>);

fn keyed<const ROUND_KEYS: usize>(key: &[u8]) -> Result<Box<dyn Counter128>, Error>
where
    aria::Aria<ROUND_KEYS>: KeyInit,
{
    let want = aria::Aria::<ROUND_KEYS>::key_size();
    match aria::Aria::<ROUND_KEYS>::new_from_slice(key) {
        Ok(schedule) => Ok(Box::new(BlockCounter(Aria(schedule)))),
        Err(_) => Err(Error::KeyLength { found: key.len(), want }),
    }
}

impl<const ROUND_KEYS: usize> BlockEncrypt<16> for Aria<ROUND_KEYS> {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

#[cfg(test)]
mod tests {
    /// Compiles only while the crate's zeroing is switched on.
    #[test]
    fn schedules_are_zeroed_on_drop() {
        fn zeroed<T: zeroize::ZeroizeOnDrop>() {}
        zeroed::<aria::Aria128>();
        zeroed::<aria::Aria256>();
    }
}
