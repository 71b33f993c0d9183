//! FF1 on numbers that are words: one value, or as many side by side as fit in the first-level
//! cache, since each round of a value waits only for its own previous round.

use zeroize::optimization_barrier;

use crate::mode::BlockCipher;

use super::round::{Mac, states_after};
use super::steps::{Bases, Steps, added, words};
use super::tweaks::Tweaks;
use crate::mode::ff1_value::bounds::{CHUNK, ROUNDS};
use crate::mode::ff1_value::half::Half;
use crate::mode::ff1_value::shape::Shape;

/// Values that are worked on together where there are fewer: room for many takes time to clear.
const SMALL_CHUNK: usize = 16;

/// A block cipher, and what computes the rest.
pub(super) struct Engine<'a, S: ?Sized, const N: usize> {
    pub(super) cipher: &'a dyn BlockCipher<N>,
    pub(super) steps: &'a S,
}

impl<S: ?Sized, const N: usize> Engine<'_, S, N> {
    /// Seals or opens one value; `base` is what numbers are added to.
    #[inline(never)]
    pub(super) fn crypt_one<H: Half, const SEAL: bool>(
        &self,
        shape: &Shape,
        moduli: &[H::Modulus; 2],
        base: &[u8; N],
        value: &mut [u16],
    ) {
        let (left_numerals, right_numerals) = value.split_at_mut(shape.left);
        let mut left = H::of_numerals(left_numerals, &shape.radix);
        let mut right = H::of_numerals(right_numerals, &shape.radix);
        if SEAL {
            for pair in 0..ROUNDS / 2 {
                left = self.turn::<H, SEAL>(shape, &moduli[0], base, 2 * pair, left, right);
                right = self.turn::<H, SEAL>(shape, &moduli[1], base, 2 * pair + 1, right, left);
            }
        } else {
            for pair in (0..ROUNDS / 2).rev() {
                right = self.turn::<H, SEAL>(shape, &moduli[1], base, 2 * pair + 1, right, left);
                left = self.turn::<H, SEAL>(shape, &moduli[0], base, 2 * pair, left, right);
            }
        }
        left.to_numerals(left_numerals, &shape.radix);
        right.to_numerals(right_numerals, &shape.radix);
    }

    /// Updates `changed` for `round`, whose function takes `half`.
    #[inline(always)]
    fn turn<H: Half, const SEAL: bool>(
        &self,
        shape: &Shape,
        modulus: &H::Modulus,
        base: &[u8; N],
        round: u8,
        changed: H,
        half: H,
    ) -> H {
        let end = u128::from(round) << (8 * shape.number_bytes);
        let mut block = *base;
        if N == 8 && shape.number_bytes >= 8 {
            block = self.cipher.encrypt_block(added::<H, N, true>(&block, end, half));
        }
        block = self.cipher.encrypt_block(added::<H, N, false>(&block, end, half));
        let [high, mut low] = words(&block);
        if N == 8 && shape.round_bytes > 8 {
            block[N - 1] ^= 1;
            [low, _] = words(&self.cipher.encrypt_block(block));
        }
        changed.turn::<SEAL>(modulus, high, low)
    }

    /// Seals or opens all of `values`.
    pub(super) fn crypt_all<H: Half, const SEAL: bool>(
        &self,
        shape: &Shape,
        moduli: &[H::Modulus; 2],
        tweaks: &Tweaks<'_>,
        values: &mut [u16],
    ) where
        S: Steps<H, N>,
    {
        if values.len() <= SMALL_CHUNK * shape.length {
            self.crypt_chunks::<H, SMALL_CHUNK, SEAL>(shape, moduli, tweaks, values);
        } else {
            self.crypt_chunks::<H, CHUNK, SEAL>(shape, moduli, tweaks, values);
        }
    }

    /// Seals or opens all of `values`, `K` at a time.
    #[inline(never)]
    fn crypt_chunks<H: Half, const K: usize, const SEAL: bool>(
        &self,
        shape: &Shape,
        moduli: &[H::Modulus; 2],
        tweaks: &Tweaks<'_>,
        values: &mut [u16],
    ) where
        S: Steps<H, N>,
    {
        if let Tweaks::One(tweak) = tweaks {
            let mut base = [0; N];
            Mac::of_tweak(self.cipher, shape, tweak).finish(&mut base);
            for chunk in values.chunks_mut(K * shape.length) {
                self.crypt::<H, K, SEAL>(shape, moduli, &Bases::One(&base), chunk);
            }
            base.fill(0);
            optimization_barrier(&base);
            return;
        }
        let mut states = [[0; N]; K];
        for (number, chunk) in values.chunks_mut(K * shape.length).enumerate() {
            let states = &mut states[..chunk.len() / shape.length];
            states_after(self.cipher, shape, tweaks, number * K, states);
            self.crypt::<H, K, SEAL>(shape, moduli, &Bases::Each(states), chunk);
        }
        states.as_flattened_mut().fill(0);
        optimization_barrier(&states);
    }

    /// Seals or opens at most `K` values.
    #[inline(always)]
    fn crypt<H: Half, const K: usize, const SEAL: bool>(
        &self,
        shape: &Shape,
        moduli: &[H::Modulus; 2],
        bases: &Bases<'_, N>,
        values: &mut [u16],
    ) where
        S: Steps<H, N>,
    {
        let count = values.len() / shape.length;
        let mut left = [H::ZERO; K];
        let mut right = [H::ZERO; K];
        let mut blocks = [[0; N]; K];
        let mut more = [[0; N]; K];
        {
            let (mut left, mut right) = (&mut left[..count], &mut right[..count]);
            let (blocks, more) = (&mut blocks[..count], &mut more[..count]);
            self.steps.read(shape, values, left, right);
            // The half that changes is the left one in even rounds, and the first and the last
            // round differ in that.
            let mut modulus = moduli;
            let swapped = [moduli[1], moduli[0]];
            if !SEAL {
                (left, right) = (right, left);
                modulus = &swapped;
            }
            for step in 0..ROUNDS {
                let round = if SEAL { step } else { ROUNDS - 1 - step };
                self.function(shape, bases, round, right, blocks, more);
                let modulus = &modulus[usize::from(step % 2)];
                if SEAL {
                    self.steps.add(modulus, left, blocks, more);
                } else {
                    self.steps.subtract(modulus, left, blocks, more);
                }
                (left, right) = (right, left);
            }
            if !SEAL {
                (left, right) = (right, left);
            }
            self.steps.write(shape, left, right, values);
        }
        left.fill(H::ZERO);
        right.fill(H::ZERO);
        blocks.as_flattened_mut().fill(0);
        more.as_flattened_mut().fill(0);
        optimization_barrier(&(&left, &right, &blocks, &more));
    }

    /// The function of `round` of the numbers `halves`: its first bytes in `blocks`, where these do
    /// not suffice the next in `more`.
    #[inline(always)]
    fn function<H: Half>(
        &self,
        shape: &Shape,
        bases: &Bases<'_, N>,
        round: u8,
        halves: &[H],
        blocks: &mut [[u8; N]],
        more: &mut [[u8; N]],
    ) where
        S: Steps<H, N>,
    {
        // number of the round and number of the half, as the last bytes of Q
        let end = u128::from(round) << (8 * shape.number_bytes);
        if N == 8 && shape.number_bytes >= 8 {
            self.steps.upper(bases, end, halves, blocks);
            self.cipher.encrypt_blocks(blocks);
            self.steps.lower(&Bases::Each(&*blocks), end, halves, more);
            self.cipher.encrypt_blocks(more);
            blocks.copy_from_slice(more);
        } else {
            self.steps.lower(bases, end, halves, blocks);
            self.cipher.encrypt_blocks(blocks);
        }
        if N == 8 && shape.round_bytes > N {
            for (more, block) in more.iter_mut().zip(&*blocks) {
                *more = *block;
                more[N - 1] ^= 1;
            }
            self.cipher.encrypt_blocks(more);
        }
    }
}
