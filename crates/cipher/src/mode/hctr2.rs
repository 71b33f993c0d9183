//! HCTR2: wide-block encryption over any 128-bit block cipher, by one block of it, a counter mode
//! (XCTR) and POLYVAL twice (Crowley, Huckleberry, Biggers 2021, section 2). Not here: the hash
//! (`ghash/polyval`), and how a key is set ([`crate::hctr2`]).

use std::fmt;

use zeroize::{Zeroize, optimization_barrier};

use super::BlockCipher;
use super::ghash::polyval::PolyvalKey;
use super::wipe_stack::wipe_stack;
use crate::backend::Backend;
use crate::error::Error;
use crate::memory::Protected;

/// Bytes of a block: the shortest message.
const BLOCK_BYTES: usize = 16;

/// Blocks of key stream that are made at once: as many as the widest backend works on.
const STREAM_BLOCKS: usize = 128;

/// HCTR2 keyed with one cipher. One object serves many threads at once; its key is zeroed on drop.
pub struct Hctr2 {
    cipher: Protected<dyn BlockCipher<BLOCK_BYTES>>,
    hash: PolyvalKey,
    /// The block that the paper calls L.
    offset: Protected<Offset>,
}

/// A secret block.
struct Offset([u8; BLOCK_BYTES]);

impl Drop for Offset {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A part of a key stream. Zeroed on drop.
struct Stream([[u8; BLOCK_BYTES]; STREAM_BLOCKS]);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0 = [[0; BLOCK_BYTES]; STREAM_BLOCKS];
        optimization_barrier(self);
    }
}

impl fmt::Debug for Hctr2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hctr2").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

impl Hctr2 {
    /// Makes the keys of the hash and the offset (section 2: the encryptions of 0 and 1).
    pub(crate) fn new(cipher: Protected<dyn BlockCipher<BLOCK_BYTES>>, backend: Backend) -> Self {
        let mut blocks = [0_u128, 1].map(u128::to_le_bytes);
        cipher.encrypt_blocks(&mut blocks);
        let hash = PolyvalKey::new(&blocks[0], backend);
        let mut offset = Protected::with(|| Offset([0; BLOCK_BYTES]));
        offset.0 = blocks[1];
        blocks.zeroize();
        wipe_stack::<4096>();
        Self { cipher, hash, offset }
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.cipher.backend()
    }

    /// Encrypts `data` (16 bytes and more, in place) under `tweak` (any length, no secret).
    ///
    /// # Errors
    /// `Error::MessageTooShort`; `data` is untouched.
    pub fn encrypt(&self, tweak: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let (block, rest) = split(data)?;
        let before = xor(block, &self.hash(tweak, rest));
        let after = self.cipher.encrypt_block(before);
        self.xor_stream(&before, &after, rest);
        *block = xor(&after, &self.hash(tweak, rest));
        wipe_stack::<1024>();
        Ok(())
    }

    /// Decrypts `data` (16 bytes and more, in place), which was encrypted under `tweak`. What was
    /// changed is not noticed.
    ///
    /// # Errors
    /// `Error::MessageTooShort`; `data` is untouched.
    pub fn decrypt(&self, tweak: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let (block, rest) = split(data)?;
        let after = xor(block, &self.hash(tweak, rest));
        let mut before = after;
        self.cipher.decrypt_blocks(std::slice::from_mut(&mut before));
        self.xor_stream(&before, &after, rest);
        *block = xor(&before, &self.hash(tweak, rest));
        before.zeroize();
        wipe_stack::<1024>();
        Ok(())
    }

    /// Returns the hash of tweak and message (section 2.1): the tweak's length and whether the
    /// message has a last part of a block, the tweak with zeros, the message with a one.
    fn hash(&self, tweak: &[u8], message: &[u8]) -> [u8; BLOCK_BYTES] {
        let (whole, rest) = message.split_at(message.len() / BLOCK_BYTES * BLOCK_BYTES);
        let (tweak_whole, tweak_rest) = tweak.split_at(tweak.len() / BLOCK_BYTES * BLOCK_BYTES);
        let bits = 8 * tweak.len() as u128;
        let lengths = (2 * bits + 2 + u128::from(!rest.is_empty())).to_le_bytes();
        let padded = |rest: &[u8], end: u8| {
            let mut block = [0; BLOCK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            if let Some(byte) = block.get_mut(rest.len()) {
                *byte = end;
            }
            block
        };
        let (tweak_end, mut end) = (padded(tweak_rest, 0), padded(rest, 1));
        let count = |rest: &[u8]| if rest.is_empty() { 0 } else { BLOCK_BYTES };
        let parts = [
            &lengths[..],
            tweak_whole,
            &tweak_end[..count(tweak_rest)],
            whole,
            &end[..count(rest)],
        ];
        let hash = self.hash.hash(&parts);
        end.zeroize();
        hash
    }

    /// XORs `data` with the key stream of the message whose first block is `before` and `after` the
    /// cipher: the encryption of their sum and the offset, with 1, 2, 3 … added (XCTR).
    fn xor_stream(&self, before: &[u8; BLOCK_BYTES], after: &[u8; BLOCK_BYTES], data: &mut [u8]) {
        let first = u128::from_le_bytes(xor(&xor(before, after), &self.offset.0));
        let mut stream = Stream([[0; BLOCK_BYTES]; STREAM_BLOCKS]);
        let mut number = 1;
        for piece in data.chunks_mut(BLOCK_BYTES * STREAM_BLOCKS) {
            let stream = &mut stream.0[..piece.len().div_ceil(BLOCK_BYTES)];
            for block in stream.iter_mut() {
                *block = (first ^ number).to_le_bytes();
                number += 1;
            }
            self.cipher.encrypt_blocks(stream);
            for (byte, key) in piece.iter_mut().zip(stream.as_flattened()) {
                *byte ^= key;
            }
        }
    }
}

/// Returns the first block of `data`, and the rest.
fn split(data: &mut [u8]) -> Result<(&mut [u8; BLOCK_BYTES], &mut [u8]), Error> {
    let found = data.len();
    data.split_first_chunk_mut().ok_or(Error::MessageTooShort { found, least: BLOCK_BYTES })
}

fn xor(one: &[u8; BLOCK_BYTES], other: &[u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    (u128::from_ne_bytes(*one) ^ u128::from_ne_bytes(*other)).to_ne_bytes()
}
