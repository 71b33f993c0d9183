//! AES and POLYVAL for HCTR2 (Crowley, Huckleberry, Biggers 2021, section 2): the rounds of one
//! batch of XCTR's blocks and the hash of the batch before it side by side, since neither waits for
//! the other.
//!
//! Not here: the mode (`mode/hctr2.rs`), and the first hash of a message, which goes by itself.

use super::gcm::encrypt_and_hash;
use super::lanes::{Schedule, encrypt, load_tail, xor_whole};
use super::lanes_blocks::AesBlocks;
use crate::arch::{AesLanes, Kernel, OneBlock};
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::ghash::polyval::{AbsorbParts, SetPowers};
use crate::mode::ghash::{BATCH, LONG, LongPowers, Powers, Products};
use crate::mode::wide_block::XctrAndPolyval;
use crate::mode::wipe_stack::{wipe_spilled, wipe_stack};

/// AES of `R` rounds with the powers of the hash key that it makes.
#[repr(C)]
pub(super) struct AesHctr2<L, const R: usize> {
    powers: LongPowers,
    blocks: AesBlocks<L, R>,
}

impl<L: OneBlock, const R: usize> AesHctr2<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<dyn XctrAndPolyval> {
        let mut keyed = Protected::with(|| Self {
            powers: LongPowers(Powers::zero()),
            blocks: AesBlocks::zero(lanes),
        });
        let Self { powers, blocks } = &mut *keyed;
        blocks.expand(key);
        let mut hash_key = blocks.encrypt_block([0; 16]);
        lanes.enter(SetPowers { key: &hash_key, powers: &mut powers.0 });
        hash_key.fill(0);
        zeroize::optimization_barrier(&hash_key);
        wipe_stack::<4096>();
        keyed.unsize(|keyed| keyed)
    }
}

impl<L: OneBlock, const R: usize> XctrAndPolyval for AesHctr2<L, R> {
    fn backend(&self) -> &'static str {
        self.blocks.backend()
    }

    fn encrypt_block(&self, block: [u8; 16]) -> [u8; 16] {
        self.blocks.encrypt_block(block)
    }

    fn decrypt_block(&self, mut block: [u8; 16]) -> [u8; 16] {
        self.blocks.decrypt_blocks(std::slice::from_mut(&mut block));
        block
    }

    fn absorb(&self, state: [u8; 16], parts: &[&[u8]]) -> [u8; 16] {
        let powers = &self.powers.0;
        let hash = self.blocks.lanes().enter(AbsorbParts { powers, state, parts });
        wipe_spilled(self.blocks.lanes());
        hash
    }

    fn xor_xctr_and_absorb(&self, first: &[u8; 16], data: &mut [u8], state: [u8; 16]) -> [u8; 16] {
        let (powers, keys) = (&self.powers.0, self.blocks.forward());
        let crypt = XorAndAbsorb::<_, R> { powers, keys, first, data, state };
        let hash = self.blocks.lanes().enter(crypt);
        wipe_spilled(self.blocks.lanes());
        hash
    }
}

struct XorAndAbsorb<'a, S, const R: usize> {
    powers: &'a Powers<LONG>,
    keys: &'a S,
    first: &'a [u8; 16],
    data: &'a mut [u8],
    state: [u8; 16],
}

impl<L: AesLanes, S: Schedule<L>, const R: usize> Kernel<L> for XorAndAbsorb<'_, S, R> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        let Self { powers, keys, first, data, state } = self;
        let mut hash = lanes.first(&state);
        let mut numbered = Numbered::new(lanes, first);
        let batch_bytes = BATCH * L::BYTES;
        let (whole, rest) = data.split_at_mut(data.len() / batch_bytes * batch_bytes);
        if !whole.is_empty() {
            let mut stream = numbered.take::<BATCH>(lanes);
            encrypt::<L, R, BATCH>(lanes, keys, &mut stream);
            xor_whole(lanes, &stream, &mut whole[..batch_bytes]);
            let mut start = batch_bytes;
            while start < whole.len() {
                let (before, batch) = whole.split_at_mut(start);
                let hashed = &before[start - batch_bytes..];
                let mut stream = numbered.take::<BATCH>(lanes);
                hash = encrypt_and_hash::<L, R, LONG>(
                    lanes,
                    keys,
                    powers,
                    &mut stream,
                    hash,
                    hashed,
                    |bytes| lanes.load(bytes),
                );
                xor_whole(lanes, &stream, &mut batch[..batch_bytes]);
                start += batch_bytes;
            }
            let (state, parts) = (lanes.to_block(hash), &[&whole[start - batch_bytes..]][..]);
            hash = lanes.first(&AbsorbParts { powers, state, parts }.run(lanes));
        }
        let end = Rest { powers, keys, numbered, data: rest };
        lanes.to_block(match end.data.len().div_ceil(L::BYTES) {
            0 => hash,
            1 => end.xor_and_absorb::<R, 1>(lanes, hash),
            2 => end.xor_and_absorb::<R, 2>(lanes, hash),
            3 | 4 => end.xor_and_absorb::<R, 4>(lanes, hash),
            _ => end.xor_and_absorb::<R, BATCH>(lanes, hash),
        })
    }
}

/// Blocks still to come.
struct Numbered<L: AesLanes> {
    /// The first block in every lane.
    first: L::Vector,
    /// As [`AesLanes::counters`]: the next numbers in the last four bytes.
    numbers: L::Vector,
}

impl<L: AesLanes> Numbered<L> {
    #[inline(always)]
    fn new(lanes: L, first: &[u8; 16]) -> Self {
        let mut one = [0; 16];
        one[15] = 1;
        Self { first: lanes.splat(first), numbers: lanes.counters(&one) }
    }

    /// Returns the next `N` vectors of blocks.
    #[inline(always)]
    fn take<const N: usize>(&mut self, lanes: L) -> [L::Vector; N] {
        const TO_FRONT: [u8; 16] = {
            let mut order = [0x80; 16];
            let mut i = 0;
            while i < 4 {
                order[i] = 12 + i as u8;
                i += 1;
            }
            order
        };
        let mut blocks = [self.first; N];
        for block in &mut blocks {
            *block = lanes.xor(*block, lanes.shuffle_bytes(self.numbers, &TO_FRONT));
            self.numbers = lanes.count(self.numbers, L::BLOCKS as u32);
        }
        blocks
    }
}

/// The end of a message, less than a batch and not empty.
struct Rest<'a, L: AesLanes, S> {
    powers: &'a Powers<LONG>,
    keys: &'a S,
    numbered: Numbered<L>,
    data: &'a mut [u8],
}

impl<L: AesLanes, S: Schedule<L>> Rest<'_, L, S> {
    /// XORs the data, at most `N` vectors, and takes it into the hash, with a one behind a last
    /// part of a block.
    #[inline(always)]
    fn xor_and_absorb<const R: usize, const N: usize>(
        self,
        lanes: L,
        hash: L::Vector,
    ) -> L::Vector {
        let Self { powers, keys, mut numbered, data } = self;
        let mut stream = numbered.take::<N>(lanes);
        encrypt::<L, R, N>(lanes, keys, &mut stream);
        let mut products = Products::zero(lanes);
        let mut carried = hash;
        let mut exponent = data.len().div_ceil(16);
        let tail = load_tail(lanes, data);
        for (vector, key) in data.chunks_mut(L::BYTES).zip(stream) {
            let output;
            if vector.len() == L::BYTES {
                output = lanes.xor(lanes.load(vector), key);
                lanes.store(output, vector);
            } else {
                let written = lanes.xor(tail, key);
                lanes.store_partial(written, vector);
                output = lanes.xor(lanes.keep(written, vector.len()), one_behind(lanes, vector));
            }
            products.add(lanes, lanes.xor(output, carried), powers, exponent);
            carried = lanes.zero();
            exponent = exponent.saturating_sub(L::BLOCKS);
        }
        products.hash(lanes)
    }
}

/// Returns a one in the byte behind `bytes`, less than a vector, where that is no whole block;
/// else zeros.
#[inline(always)]
fn one_behind<L: AesLanes>(lanes: L, bytes: &[u8]) -> L::Vector {
    const ZEROS_AND_ONE: [u8; 64] = {
        let mut bytes = [0; 64];
        bytes[63] = 1;
        bytes
    };
    const { assert!(L::BYTES <= ZEROS_AND_ONE.len()) };
    if bytes.len().is_multiple_of(16) {
        return lanes.zero();
    }
    lanes.load_partial(&ZEROS_AND_ONE[ZEROS_AND_ONE.len() - bytes.len() - 1..])
}
