//! AES-GCM (SP 800-38D) without AES instructions: bitsliced AES, then GHASH.
//!
//! The block that masks the tag is the one before the data's first, so it costs no pass of its own:
//! for a short message half the price.
//!
//! Not here: GCM with AES instructions (`gcm`), and of other ciphers (`mode/gcm.rs`).

use super::bitsliced::Aes;
use crate::backend::Backend;
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::aead::{Aead, Part, PartError, Unsealed};
use crate::mode::counter_block::first_counter;
use crate::mode::ctr::Ctr;
use crate::mode::ghash::GhashKey;
use crate::mode::key_stream::EncryptBlocks;
use crate::mode::run::{CipherAndHash, open_parts, seal_run};
use crate::mode::wipe_stack::wipe_stack;

/// Bitsliced AES in GCM.
pub(super) struct BitslicedGcm {
    aes: Protected<Aes>,
    ghash: GhashKey,
    limits: Limits,
}

impl BitslicedGcm {
    /// GCM over the keyed `aes`, with GHASH on `backend`.
    pub(super) fn protected(
        aes: Protected<Aes>,
        backend: Backend,
        limits: Limits,
    ) -> Protected<dyn Aead> {
        let mut hash_key = [0; 16];
        aes.encrypt_block(&mut hash_key);
        let ghash = GhashKey::new(&hash_key, backend);
        hash_key.fill(0);
        zeroize::optimization_barrier(&hash_key);
        wipe_stack::<4096>();
        Protected::with(|| Self { aes, ghash, limits }).unsize(|gcm| gcm)
    }
}

impl BitslicedGcm {
    /// Encrypts `data`, whose key stream begins after the block `counter`, and returns the tag.
    /// Never part of its caller, which overwrites the stack below itself.
    #[inline(never)]
    fn encrypt(&self, counter: &[u8; 16], associated: &[u8], data: &mut [u8]) -> [u8; 16] {
        let mask = self.aes.xor_after_first_block(counter, data);
        xor(mask, self.ghash.tag_input(associated, data))
    }

    /// Decrypts `data` as [`Self::encrypt`] encrypts it and returns the tag that it should have.
    #[inline(never)]
    fn decrypt(&self, counter: &[u8; 16], associated: &[u8], data: &mut [u8]) -> [u8; 16] {
        let hash = self.ghash.tag_input(associated, data);
        xor(self.aes.xor_after_first_block(counter, data), hash)
    }

    /// Seals messages; never part of its caller, as above.
    #[inline(never)]
    fn run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        seal_run(self, messages)
    }

    /// Opens parts; never part of its caller, as above.
    #[inline(never)]
    fn parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        open_parts(self, parts, out)
    }
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

impl Aead for BitslicedGcm {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        self.aes.backend()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let counter = first_counter(&self.limits, nonce, data)?;
        let tag = self.encrypt(&counter, associated, data);
        wipe_stack::<8192>();
        Ok(tag)
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        // A wrong length is the caller's error and reported as such; it depends on no secret.
        let counter = first_counter(&self.limits, nonce, data).inspect_err(|_| data.fill(0))?;
        let expected = self.decrypt(&counter, associated, data);
        wipe_stack::<8192>();
        if is_tag(&expected, tag) {
            Ok(())
        } else {
            data.fill(0);
            Err(Error::Authentication)
        }
    }

    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        let sealed = self.run(messages);
        wipe_stack::<8192>();
        sealed
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        let opened = self.parts(parts, out);
        wipe_stack::<8192>();
        opened
    }
}

impl EncryptBlocks for BitslicedGcm {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        Counter128::encrypt_blocks(&*self.aes, blocks);
    }
}

impl CipherAndHash for BitslicedGcm {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        self.ghash.tag_input(associated, ciphertext)
    }
}
