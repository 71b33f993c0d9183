//! AES (FIPS 197) by the `aes` crate: provisional, until the backends take this file.

use cipher::{Array, BlockCipherEncrypt, KeyInit};

use super::BlockEncrypt;
use crate::aead::{Aead, Error};
use crate::backend::Backend;
use crate::mode::Counter128;
use crate::mode::ctr::BlockCounter;
use crate::mode::gcm::Gcm;
use crate::registry::cipher;

struct Aes<C>(C);

impl<C: BlockCipherEncrypt<BlockSize = cipher::consts::U16> + Send + Sync> BlockEncrypt<16> for Aes<C> {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    }
}

/// Sets a key of 16 or 32 bytes.
pub(crate) fn aes_counter(key: &[u8], _backend: Backend) -> Result<Box<dyn Counter128>, Error> {
    let wrong = |_| Error::KeyLength { found: key.len(), want: 32 };
    Ok(match key.len() {
        16 => Box::new(BlockCounter(Aes(aes::Aes128::new_from_slice(key).map_err(wrong)?))),
        _ => Box::new(BlockCounter(Aes(aes::Aes256::new_from_slice(key).map_err(wrong)?))),
    })
}

/// Sets a key of 16 or 32 bytes for GCM.
pub(crate) fn aes_gcm(key: &[u8], backend: Backend) -> Result<Box<dyn Aead>, Error> {
    let limits = cipher("aes-256").expect("in the table").limits;
    Ok(Box::new(Gcm::new(limits, aes_counter(key, backend)?, backend)))
}
