//! Galois/Counter Mode (SP 800-38D) with 12-byte nonces and 16-byte tags, over any 128-bit block cipher.
//!
//! AES has fused versions of its own beside its block cipher; this is the one for all others. Nonces of other
//! lengths and shorter tags, which the standard allows, are not offered.

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::Counter128;
use super::ghash::GhashKey;
use crate::aead::{Aead, Error};
use crate::backend::Backend;
use crate::registry::Limits;

/// The key of one cipher in GCM.
pub(crate) struct Gcm {
    cipher: Box<dyn Counter128>,
    ghash: GhashKey,
    limits: Limits,
}

impl Gcm {
    /// GCM over the keyed `cipher`, with GHASH on `backend`.
    pub(crate) fn new(limits: Limits, cipher: Box<dyn Counter128>, backend: Backend) -> Self {
        let mut hash_key = [0; 16];
        cipher.encrypt_block(&mut hash_key);
        let ghash = GhashKey::new(&hash_key, backend);
        hash_key.zeroize();
        Self { cipher, ghash, limits }
    }

    /// The counter block with count `count` under `nonce`; 1 masks the tag, data starts at 2 (SP 800-38D, 7.1).
    fn counter(nonce: &[u8; 12], count: u8) -> [u8; 16] {
        let mut counter = [0; 16];
        counter[..12].copy_from_slice(nonce);
        counter[15] = count;
        counter
    }

    fn tag(&self, nonce: &[u8; 12], associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let mut tag = Self::counter(nonce, 1);
        self.cipher.encrypt_block(&mut tag);
        for (byte, hash) in tag.iter_mut().zip(self.ghash.tag_input(associated, ciphertext)) {
            *byte ^= hash;
        }
        tag
    }

    fn check<'n>(&self, nonce: &'n [u8], data: &[u8]) -> Result<&'n [u8; 12], Error> {
        let (found, limit) = (data.len() as u64, self.limits.message_bytes);
        if found > limit {
            return Err(Error::MessageTooLong { found, limit });
        }
        nonce.try_into().map_err(|_| Error::NonceLength { found: nonce.len(), want: 12 })
    }
}

impl Aead for Gcm {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        self.cipher.backend()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let nonce = self.check(nonce, data)?;
        self.cipher.xor_keystream32(&Self::counter(nonce, 2), data);
        Ok(self.tag(nonce, associated, data))
    }

    fn open(&self, nonce: &[u8], associated: &[u8], data: &mut [u8], tag: &[u8; 16]) -> Result<(), Error> {
        // A wrong length is the caller's error and told apart; it depends on no secret.
        let nonce = self.check(nonce, data).inspect_err(|_| data.zeroize())?;
        let expected = self.tag(nonce, associated, data);
        if bool::from(expected.ct_eq(tag)) {
            self.cipher.xor_keystream32(&Self::counter(nonce, 2), data);
            Ok(())
        } else {
            data.zeroize();
            Err(Error::Authentication)
        }
    }
}
