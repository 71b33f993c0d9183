//! GHASH with integer multiplication alone: no tables and no branches on data, so constant time wherever the CPU's
//! 64-bit multiplier is.
//!
//! A carry-less product comes from ordinary ones by "holes": if of every four bits at most one is set, partial sums
//! of up to 15 ones stay within their four bits, and the lowest of these is the carry-less sum. Each operand splits
//! into four such numbers. The fixed operand, a power of H, is split once when the key is set; its top four bits are
//! handled apart, since with them a sum could reach 16.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Hash, MODULUS, field_key, lengths};

/// Blocks multiplied before their sum is reduced.
const BATCH: usize = 4;

/// Every fourth bit.
const HOLES: u64 = 0x1111_1111_1111_1111;

/// A 64-bit operand, split.
#[derive(Clone, Copy, Default, Zeroize)]
struct Split {
    /// Bits 0..60 by position modulo 4.
    classes: [u64; 4],
    /// All ones where bit 60, 61, 62, 63 is set, else zero.
    top: [u64; 4],
}

impl Split {
    fn new(y: u64) -> Self {
        let body = y & (u64::MAX >> 4);
        Self {
            classes: [0, 1, 2, 3].map(|c| body & HOLES << c),
            top: [60, 61, 62, 63].map(|bit| 0_u64.wrapping_sub(y >> bit & 1)),
        }
    }
}

/// A power of H: its low half, its high half, and their sum for Karatsuba's middle product.
type Power = [Split; 3];

fn split(value: u128) -> Power {
    let (low, high) = (value as u64, (value >> 64) as u64);
    [Split::new(low), Split::new(high), Split::new(low ^ high)]
}

/// H^1 .. H^BATCH.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(super) struct Key([Power; BATCH]);

/// A sum of carry-less products of 64-bit numbers, by class, before masking.
#[derive(Clone, Copy, Default)]
struct Sum {
    classes: [u128; 4],
    top: u128,
}

impl Sum {
    /// Adds `x` times `y`.
    #[inline(always)]
    fn add(&mut self, x: u64, y: &Split) {
        let parts = [0, 1, 2, 3].map(|c| u128::from(x & HOLES << c));
        for (c, sum) in self.classes.iter_mut().enumerate() {
            for (i, part) in parts.iter().enumerate() {
                *sum ^= part * u128::from(y.classes[(4 + c - i) % 4]);
            }
        }
        for (i, mask) in y.top.iter().enumerate() {
            self.top ^= u128::from(x & mask) << (60 + i);
        }
    }

    #[inline(always)]
    fn value(&self) -> u128 {
        let holes = u128::from(HOLES) << 64 | u128::from(HOLES);
        self.classes.iter().enumerate().fold(self.top, |sum, (c, class)| sum ^ class & holes << c)
    }
}

/// The low 256-bit number's low half vanishes: once times x^-64, modulo the polynomial (see the lanes' `reduce`).
#[inline(always)]
fn fold_low(low: u128) -> u128 {
    const { assert!(MODULUS >> 64 == 0xc200_0000_0000_0000) };
    let half = low as u64;
    let wide = u128::from(half);
    low >> 64 ^ wide << 64 ^ wide << 63 ^ wide << 62 ^ wide << 57
}

impl Key {
    pub(super) fn new(h: &[u8; 16]) -> Self {
        let unit = field_key(h);
        let mut key = Self::default();
        key.0[0] = split(unit);
        let mut power = unit;
        for i in 1..BATCH {
            power = key.absorb_blocks(0, &[power]);
            key.0[i] = split(power);
        }
        key
    }

    /// Takes at most `BATCH` blocks into the hash.
    #[inline(always)]
    fn absorb_blocks(&self, hash: u128, blocks: &[u128]) -> u128 {
        let mut sums = [Sum::default(); 3];
        let mut carried = hash;
        for (block, power) in blocks.iter().zip(self.0[..blocks.len()].iter().rev()) {
            let x = block ^ carried;
            carried = 0;
            let (low, high) = (x as u64, (x >> 64) as u64);
            for (sum, (half, y)) in sums.iter_mut().zip([low, high, low ^ high].into_iter().zip(power)) {
                sum.add(half, y);
            }
        }
        let [low, high, both] = sums.map(|sum| sum.value());
        let middle = both ^ low ^ high;
        high ^ middle >> 64 ^ fold_low(fold_low(low ^ middle << 64))
    }

    fn absorb(&self, hash: u128, bytes: &[u8]) -> u128 {
        let mut hash = hash;
        let (batches, rest) = bytes.as_chunks::<{ 16 * BATCH }>();
        for batch in batches {
            let (blocks, _) = batch.as_chunks::<16>();
            let blocks: [u128; BATCH] = std::array::from_fn(|i| u128::from_be_bytes(blocks[i]));
            hash = self.absorb_blocks(hash, &blocks);
        }
        for piece in rest.chunks(16) {
            let mut block = [0; 16];
            block[..piece.len()].copy_from_slice(piece);
            hash = self.absorb_blocks(hash, &[u128::from_be_bytes(block)]);
        }
        hash
    }
}

impl Hash for Key {
    fn tag_input(&self, associated: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        let hash = self.absorb(self.absorb(0, associated), ciphertext);
        self.absorb_blocks(hash, &[lengths(associated, ciphertext.len())]).to_be_bytes()
    }
}
