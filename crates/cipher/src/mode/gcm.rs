//! Galois/Counter Mode (SP 800-38D) with 12-byte nonces and 16-byte tags, over any 128-bit block
//! cipher.
//!
//! AES and ARIA have fused versions of their own beside their block ciphers; this version is for
//! all others. Nonces of other lengths and shorter tags, which the standard allows, are not
//! offered.

use zeroize::{Zeroize, optimization_barrier};

use super::Counter128;
use super::aead::{Aead, Context, Part, PartError, Unsealed};
use super::counter_block::{checked_nonce, data_counter, first_counter, first_counter_of};
use super::ghash::GhashKey;
use super::key_stream::EncryptBlocks;
use super::run::{CipherAndHash, open_parts, seal_run};
use super::wipe_stack::wipe_stack;
use crate::backend::Backend;
use crate::declassify::is_tag;
use crate::error::Error;
use crate::limits::Limits;
use crate::memory::Protected;

/// The key of one cipher in GCM.
pub(crate) struct Gcm {
    cipher: Protected<dyn Counter128>,
    ghash: GhashKey,
    limits: Limits,
}

/// Key stream made at once with the mask of the tag, in bytes: as much as the widest backend makes
/// at once.
const STREAM_BYTES: usize = 1024;

/// The beginning of a key stream: the mask of the tag, then the key stream for the data. Separate
/// blocks for the mask would cost as much as many blocks of data. Zeroed on drop.
struct Stream([u8; STREAM_BYTES]);

impl Stream {
    /// As much as a message of `bytes` bytes needs, at most all of it.
    fn fill(&mut self, gcm: &Gcm, counter: &[u8; 16], bytes: usize) {
        let bytes = bytes.saturating_add(16).min(STREAM_BYTES);
        gcm.cipher.xor_keystream32(counter, &mut self.0[..bytes]);
    }
}

/// Mask of a tag: the encryption of the first counter block. Tag and mask together give away the
/// hash, and two hashes give away its key. Kept in memory that is zeroed, since a value kept in a
/// register for long may be put anywhere on the stack.
pub(crate) struct Mask(pub(crate) [u8; 16]);

impl Mask {
    /// Puts `mask` here; it comes back from here and not from a register.
    #[inline(always)]
    pub(crate) fn keep(&mut self, mask: [u8; 16]) {
        self.0 = mask;
        optimization_barrier(self);
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(self);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(self);
    }
}

/// A message without data that is sealed beside another one.
pub(crate) struct Head<'a> {
    pub(crate) nonce: &'a [u8; 12],
    pub(crate) associated: &'a [u8],
}

impl<'a> Head<'a> {
    /// # Errors
    /// `Error::NonceLength`.
    pub(crate) fn new(limits: &Limits, context: Context<'a>) -> Result<Self, Error> {
        Ok(Self {
            nonce: checked_nonce(limits, context.nonce, &[])?,
            associated: context.associated,
        })
    }
}

impl Gcm {
    /// GCM over the keyed `cipher`, with GHASH on `backend`.
    pub(crate) fn new(limits: Limits, cipher: Protected<dyn Counter128>, backend: Backend) -> Self {
        let mut hash_key = [0; 16];
        cipher.encrypt_block(&mut hash_key);
        let ghash = GhashKey::new(&hash_key, backend);
        hash_key.zeroize();
        wipe_stack::<4096>();
        Self { cipher, ghash, limits }
    }

    /// Returns the same as an AEAD.
    pub(crate) fn protected(
        limits: Limits,
        cipher: Protected<dyn Counter128>,
        backend: Backend,
    ) -> Protected<dyn Aead> {
        let gcm = Self::new(limits, cipher, backend);
        Protected::with(|| gcm).unsize(|gcm| gcm)
    }

    /// Computes the hash of `associated` and `ciphertext`, under the mask at the head of `stream`.
    fn tag(&self, stream: &[u8], associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let mut tag = self.ghash.tag_input(associated, ciphertext);
        for (byte, mask) in tag.iter_mut().zip(stream) {
            *byte ^= mask;
        }
        tag
    }

    /// XORs all of `data` with the key stream, of which `stream`, whole blocks of it, is the
    /// beginning; `counter` is the first counter block.
    fn apply(&self, stream: &[u8], counter: &[u8; 16], data: &mut [u8]) {
        let (head, rest) = data.split_at_mut(data.len().min(stream.len() - 16));
        for (byte, key) in head.iter_mut().zip(&stream[16..]) {
            *byte ^= key;
        }
        if !rest.is_empty() {
            // the stream began with the block that masks the tag
            let counter = data_counter(counter, stream.len() / 16 - 1);
            self.cipher.xor_keystream32(&counter, rest);
        }
    }

    /// Makes the beginning of the key stream of the message with `nonce`: the mask of its tag, then
    /// what its data is encrypted with.
    pub(crate) fn fill_stream(&self, nonce: &[u8; 12], stream: &mut [u8]) {
        let counter = first_counter_of(nonce);
        stream.fill(0);
        self.cipher.xor_keystream32(&counter, stream);
    }

    /// As [`Aead::seal`] with `stream` from [`Gcm::fill_stream`] for the same nonce: 16 bytes and
    /// more, whole blocks.
    ///
    /// # Errors
    /// `Error::MessageTooLong`.
    pub(crate) fn seal_with(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        stream: &[u8],
    ) -> Result<[u8; 16], Error> {
        let counter = first_counter(&self.limits, nonce, data)?;
        self.apply(stream, &counter, data);
        Ok(self.tag(stream, associated, data))
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
        let counter = first_counter(&self.limits, nonce, data)?;
        let mut stream = Stream([0; STREAM_BYTES]);
        stream.fill(self, &counter, data.len());
        self.apply(&stream.0, &counter, data);
        Ok(self.tag(&stream.0, associated, data))
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        // A wrong length is the caller's error and reported as such; it depends on no secret.
        let counter = first_counter(&self.limits, nonce, data).inspect_err(|_| data.zeroize())?;
        let mut stream = Stream([0; STREAM_BYTES]);
        stream.fill(self, &counter, data.len());
        let expected = self.tag(&stream.0, associated, data);
        if is_tag(&expected, tag) {
            self.apply(&stream.0, &counter, data);
            Ok(())
        } else {
            data.zeroize();
            Err(Error::Authentication)
        }
    }

    fn seal_run(&self, messages: &mut [Unsealed<'_>]) -> Result<(), PartError> {
        seal_run(self, messages)
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        open_parts(self, parts, out)
    }
}

impl EncryptBlocks for Gcm {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.cipher.encrypt_blocks(blocks);
    }
}

impl CipherAndHash for Gcm {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        self.ghash.tag_input(associated, ciphertext)
    }
}
