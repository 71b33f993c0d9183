//! Triple DES with three keys (SP 800-67r2, TDEA keying option 1), by the `des` crate: table look-ups, so not
//! constant time, on every backend. Single DES and two-key variants are not offered.

use cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::BlockEncrypt;
use crate::aead::Error;
use crate::backend::Backend;
use crate::mode::Counter64;
use crate::mode::ctr::BlockCounter;

/// Sets `key`: 24 bytes, K1 then K2 then K3. The lowest bit of each byte (DES's parity) is ignored.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed(key: &[u8], _backend: Backend) -> Result<Box<dyn Counter64>, Error> {
    match des::TdesEde3::new_from_slice(key) {
        Ok(schedule) => Ok(Box::new(BlockCounter(Tdes(schedule)))),
        Err(_) => Err(Error::KeyLength { found: key.len(), want: 24 }),
    }
}

/// A keyed Triple DES, zeroed on drop.
struct Tdes(des::TdesEde3);

impl BlockEncrypt<8> for Tdes {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

#[cfg(test)]
mod tests {
    /// Compiles only while the crate's zeroing is switched on.
    #[test]
    fn schedules_are_zeroed_on_drop() {
        fn zeroed<T: zeroize::ZeroizeOnDrop>() {}
        zeroed::<des::TdesEde3>();
    }
}
