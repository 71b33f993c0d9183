//! GHASH with integer multiplication alone: no tables and no branches on data, so constant time
//! wherever the CPU's multiplier is.
//!
//! A carry-less product comes from ordinary ones by "holes": if of every four bits at most one is
//! set, sums of up to fifteen ones stay within their four bits, and the lowest of these is the
//! carry-less sum. An operand of 32 bits splits into four such numbers of eight ones at most. The
//! fixed operands, powers of H, are split when the key is set. A product of 128 bits takes nine of
//! 32 (Karatsuba, twice), and two blocks are multiplied side by side.

use std::array::from_fn;

use zeroize::optimization_barrier;

use super::field::{MODULUS, field_key};
use crate::arch::{Logic, Words};
use crate::memory::Protected;

/// Blocks multiplied before their sum is reduced.
pub(super) const BATCH: usize = 8;

/// Every fourth bit.
const HOLES: u32 = 0x1111_1111;

/// Nine operands of 32 bits that make up two numbers of 128, one in each half of a word.
type Operands<W> = [<W as Logic>::Word; 9];

/// Two powers of H as operands, each split in four.
type Split<W> = [[<W as Logic>::Word; 4]; 9];

/// H^2 and H^1, H^4 and H^3, and so on. Zeroed on drop.
pub(super) struct Key<W: Words> {
    words: W,
    pairs: [Split<W>; BATCH / 2],
}

impl<W: Words> Key<W> {
    /// Sets `h` in place, so that no copy stays behind.
    pub(super) fn protected(words: W, h: &[u8; 16]) -> Protected<Self> {
        Self::of_unit(words, field_key(h))
    }

    /// Sets `unit`, a number of the field, in place.
    pub(super) fn of_unit(words: W, unit: u128) -> Protected<Self> {
        let mut key =
            Protected::with(|| Self { words, pairs: [[[words.rows([0; 4]); 4]; 9]; BATCH / 2] });
        let mut powers = [unit; BATCH];
        key.pairs[0] = split(words, operands(words, [0, unit]));
        for i in 1..BATCH {
            powers[i] = key.absorb(0, &[powers[i - 1]]);
        }
        for (pair, powers) in key.pairs.iter_mut().zip(powers.chunks_exact(2)) {
            *pair = split(words, operands(words, [powers[1], powers[0]]));
        }
        powers.fill(0);
        optimization_barrier(&powers);
        key
    }

    /// Takes at most `BATCH` blocks into the hash.
    pub(super) fn absorb(&self, hash: u128, blocks: &[u128]) -> u128 {
        // The last block meets H; where their number is odd, a zero block goes first.
        let count = blocks.len().div_ceil(2);
        let mut padded = [0; BATCH];
        let padded = &mut padded[..2 * count];
        padded[2 * count - blocks.len()..].copy_from_slice(blocks);
        padded[2 * count - blocks.len()] ^= hash;
        let zero = self.words.rows([0; 4]);
        let mut pairs = [[zero; 9]; BATCH / 2];
        for (operands_of_pair, blocks) in pairs.iter_mut().rev().zip(padded.rchunks_exact(2)) {
            *operands_of_pair = operands(self.words, [blocks[0], blocks[1]]);
        }
        let mut products = [0; 9];
        for (i, product) in products.iter_mut().enumerate() {
            let mut sums = [zero; 4];
            for (x, y) in pairs.iter().rev().zip(&self.pairs[..count]) {
                add_product(self.words, &mut sums, x[i], &y[i]);
            }
            *product = value(self.words, sums);
        }
        let [low, high, both] =
            [0, 3, 6].map(|i| karatsuba(products[i], products[i + 1], products[i + 2]));
        let middle = both ^ low ^ high;
        high ^ middle >> 64 ^ fold_low(fold_low(low ^ middle << 64))
    }

    /// Takes `bytes`, any length, padded with zeros to whole blocks, into the hash.
    pub(super) fn absorb_bytes(&self, hash: u128, bytes: &[u8]) -> u128 {
        bytes.chunks(16 * BATCH).fold(hash, |hash, batch| {
            let mut blocks = [0; BATCH];
            let (whole, rest) = batch.as_chunks::<16>();
            for (number, block) in blocks.iter_mut().zip(whole) {
                *number = u128::from_be_bytes(*block);
            }
            if !rest.is_empty() {
                let mut block = [0; 16];
                block[..rest.len()].copy_from_slice(rest);
                blocks[whole.len()] = u128::from_be_bytes(block);
            }
            self.absorb(hash, &blocks[..batch.len().div_ceil(16)])
        })
    }
}

impl<W: Words> Drop for Key<W> {
    fn drop(&mut self) {
        self.pairs = [[[self.words.rows([0; 4]); 4]; 9]; BATCH / 2];
        optimization_barrier(self);
    }
}

/// Returns the operands of two numbers: quarters, then sums of quarters as Karatsuba's method
/// requires.
#[inline(always)]
fn operands<W: Words>(words: W, numbers: [u128; 2]) -> Operands<W> {
    let quarter = |i: u32| {
        words.rows([(numbers[0] >> (32 * i)) as u32, 0, (numbers[1] >> (32 * i)) as u32, 0])
    };
    let [a, b, c, d] = [quarter(0), quarter(1), quarter(2), quarter(3)];
    let (ac, bd) = (words.xor(a, c), words.xor(b, d));
    [a, b, words.xor(a, b), c, d, words.xor(c, d), ac, bd, words.xor(ac, bd)]
}

#[inline(always)]
fn classes<W: Words>(words: W, x: W::Word) -> [W::Word; 4] {
    from_fn(|class| words.and(x, words.rows([HOLES << class; 4])))
}

fn split<W: Words>(words: W, operands: Operands<W>) -> Split<W> {
    operands.map(|operand| classes(words, operand))
}

/// Adds `x` times `y` to `sums`: by class, of whose four bits only the lowest counts.
#[inline(always)]
fn add_product<W: Words>(words: W, sums: &mut [W::Word; 4], x: W::Word, y: &[W::Word; 4]) {
    let x = classes(words, x);
    for (class, sum) in sums.iter_mut().enumerate() {
        for (i, part) in x.iter().enumerate() {
            *sum = words.xor(*sum, words.multiply(*part, y[(4 + class - i) % 4]));
        }
    }
}

/// Returns both halves' products, cleared of the carries, added.
#[inline(always)]
fn value<W: Words>(words: W, sums: [W::Word; 4]) -> u64 {
    let mut value = words.rows([0; 4]);
    for (class, sum) in sums.into_iter().enumerate() {
        value = words.xor(value, words.and(sum, words.rows([HOLES << class; 4])));
    }
    let mut bytes = [0; 16];
    words.store(value, &mut bytes);
    let both = u128::from_le_bytes(bytes);
    both as u64 ^ (both >> 64) as u64
}

/// Returns the product of 128 bits from the products of the low halves, the high halves, and the
/// sums of halves.
#[inline(always)]
fn karatsuba(low: u64, high: u64, both: u64) -> u128 {
    u128::from(low) ^ u128::from(low ^ high ^ both) << 32 ^ u128::from(high) << 64
}

/// Returns a number times x^-64, modulo the polynomial (see the lanes' `reduce`).
#[inline(always)]
fn fold_low(number: u128) -> u128 {
    const { assert!(MODULUS >> 64 == 0xc200_0000_0000_0000) };
    let low = u128::from(number as u64);
    number >> 64 ^ low << 64 ^ low << 63 ^ low << 62 ^ low << 57
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Portable, left_after_drop};

    #[test]
    fn powers_are_zeroed() {
        let key = Key { words: Portable, pairs: [[[Portable.rows([7; 4]); 4]; 9]; BATCH / 2] };
        assert!(left_after_drop(key).iter().all(|byte| *byte == 0));
    }
}
