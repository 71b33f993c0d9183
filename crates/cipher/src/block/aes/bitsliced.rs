//! AES from plain logic: no table and no branch on secrets, so constant time on every CPU.
//!
//! Eight blocks are encrypted together. Word i holds bit i of all their bytes: the byte at row r
//! and column c of the state (FIPS 197, 3.4) is at row r and byte c of the word, and each of its
//! eight bits belongs to one block.
//!
//! - SubBytes is a circuit (`s_box`); the four final complements that it leaves out go into the
//!   round keys instead.
//! - ShiftRows is left out (Adomnicai, Peyrin: Fixslicing AES-like ciphers, TCHES 2021): after k
//!   rounds row r is k·r columns too far right, so the row below is k columns further on. After
//!   four rounds everything is back in place. Round keys are laid out accordingly.

use zeroize::{Zeroizing, optimization_barrier};

use super::key_schedule::{ROUNDS_MAX, RoundKeys, SubWord};
use super::s_box::sub_bytes;
use crate::arch::{Logic, Portable, Words};
use crate::block::bit_sliced::{State, exchange_bits, linear};
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::{Counter128, counter_mode};

/// Blocks encrypted together.
const BLOCKS: usize = 8;

/// One round key, each bit spread over a byte.
type SlicedKey = [[u8; 16]; 8];

/// The round keys in the order of their use, zeroed on drop.
struct SlicedKeys([SlicedKey; ROUNDS_MAX + 1]);

impl Drop for SlicedKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// AES of `rounds` rounds; the key is zeroed on drop.
pub(super) struct Aes {
    words: Portable,
    keys: SlicedKeys,
    rounds: usize,
}

/// Key stream of `GROUPS` times eight blocks, zeroed on drop.
struct Stream<const GROUPS: usize>([[[u8; 16]; BLOCKS]; GROUPS]);

impl<const GROUPS: usize> Drop for Stream<GROUPS> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Constant that SubBytes adds to each byte (FIPS 197, 5.1.1).
const S_BOX_CONSTANT: u8 = 0x63;

impl Aes {
    /// Sets `key`, 16, 24 or 32 bytes, in place, so that no copy stays behind.
    pub(super) fn protected(words: Portable, key: &[u8]) -> Protected<Self> {
        let mut aes = Protected::with(|| Self {
            words,
            keys: SlicedKeys([[[0; 16]; 8]; ROUNDS_MAX + 1]),
            rounds: key.len() / 4 + 6,
        });
        let mut plain = Zeroizing::new(RoundKeys::zero());
        let rounds = aes.rounds;
        plain.expand(key, rounds, &Scalar);
        for (n, (sliced, key)) in aes.keys.0.iter_mut().zip(&plain.0[..=rounds]).enumerate() {
            slice_key(sliced, key, n);
        }
        aes
    }

    /// Returns the block of key stream at `counter`; and XORs `data` (any length) with the stream
    /// after it.
    pub(super) fn xor_after_first_block(&self, counter: &[u8; 16], data: &mut [u8]) -> [u8; 16] {
        let mut stream = Stream([[[0; 16]; BLOCKS]; 2]);
        let used = if data.len() < 16 * BLOCKS {
            self.keystream(counter, stream.0.first_chunk_mut::<1>().expect("one of two"));
            BLOCKS
        } else {
            self.keystream(counter, &mut stream.0);
            2 * BLOCKS
        };
        let [first, after @ ..] = &stream.0.as_flattened()[..used] else {
            unreachable!("eight blocks or more")
        };
        let (head, rest) = data.split_at_mut(data.len().min(16 * (used - 1)));
        xor(head, after.as_flattened());
        self.xor_keystream32(&advanced(counter, used), rest);
        *first
    }

    /// Writes key stream of as many blocks as `stream` holds, from the counter block `counter` on.
    fn keystream<const GROUPS: usize>(
        &self,
        counter: &[u8; 16],
        stream: &mut [[[u8; 16]; BLOCKS]; GROUPS],
    ) {
        let words = self.words;
        let mut rows = rows(counter);
        let mut count = u32::from_be_bytes(*counter.last_chunk().expect("four of sixteen bytes"));
        let mut states = [[words.rows([0; 4]); BLOCKS]; GROUPS];
        for block in states.as_flattened_mut() {
            // The counter is the last column: one of its bytes ends each row.
            for (row, byte) in rows.iter_mut().zip(count.to_be_bytes()) {
                *row = *row & 0x00ff_ffff | u32::from(byte) << 24;
            }
            *block = words.rows(rows);
            count = count.wrapping_add(1);
        }
        self.encrypt(words, &mut states);
        for (block, bytes) in states.as_flattened().iter().zip(stream.as_flattened_mut()) {
            words.store(words.transpose(*block), bytes);
        }
    }

    /// Encrypts or decrypts `blocks` in place, two groups of eight at a time.
    fn crypt_blocks<const ENCRYPT: bool>(&self, blocks: &mut [[u8; 16]]) {
        for piece in blocks.chunks_mut(2 * BLOCKS) {
            if piece.len() > BLOCKS {
                self.crypt_groups::<ENCRYPT, 2>(piece);
            } else {
                self.crypt_groups::<ENCRYPT, 1>(piece);
            }
        }
    }

    /// Encrypts or decrypts `blocks`, at most `GROUPS` times eight.
    fn crypt_groups<const ENCRYPT: bool, const GROUPS: usize>(&self, blocks: &mut [[u8; 16]]) {
        let words = self.words;
        // room left over repeats a block: a block of zeros, encrypted, is the key of a hash
        let mut states = [[words.rows(rows(&blocks[0])); BLOCKS]; GROUPS];
        for (state, block) in states.as_flattened_mut().iter_mut().zip(&*blocks) {
            *state = words.rows(rows(block));
        }
        if ENCRYPT {
            self.encrypt(words, &mut states);
        } else {
            states.iter_mut().for_each(|state| self.decrypt(words, state));
        }
        for (state, block) in states.as_flattened().iter().zip(blocks) {
            words.store(words.transpose(*state), block);
        }
    }

    /// Decrypts eight blocks, row by row, in place: the steps of `encrypt` undone one after the
    /// other.
    fn decrypt<W: Words>(&self, words: W, state: &mut State<W>) {
        let [first, middle @ .., last] = &self.keys.0[..=self.rounds] else {
            unreachable!("rounds")
        };
        exchange_bits(words, state);
        if self.rounds % 4 == 2 {
            *state = state.map(|word| words.rotate_odd_rows_2(word));
        }
        add_key(words, state, last);
        *state = sub_bytes_back(words, *state);
        for (n, key) in middle.iter().enumerate().rev().map(|(i, key)| (i + 1, key)) {
            match n % 4 {
                0 => round_back::<W, 0>(words, state, key),
                1 => round_back::<W, 1>(words, state, key),
                2 => round_back::<W, 2>(words, state, key),
                _ => round_back::<W, 3>(words, state, key),
            }
        }
        add_key(words, state, first);
        exchange_bits(words, state);
    }

    /// Encrypts groups of eight blocks, row by row, in place. A round is a long chain of steps that
    /// wait for each other, so that two groups take turns by the round.
    fn encrypt<W: Words, const GROUPS: usize>(&self, words: W, states: &mut [State<W>; GROUPS]) {
        let [first, middle @ ..] = &self.keys.0[..=self.rounds] else { unreachable!("rounds") };
        for state in states.iter_mut() {
            exchange_bits(words, state);
            add_key(words, state, first);
        }
        let [middle @ .., last] = middle else { unreachable!("rounds") };
        for (n, key) in (1..).zip(middle) {
            for state in states.iter_mut() {
                match n % 4 {
                    0 => round::<W, 0>(words, state, key),
                    1 => round::<W, 1>(words, state, key),
                    2 => round::<W, 2>(words, state, key),
                    _ => round::<W, 3>(words, state, key),
                }
            }
        }
        for state in states.iter_mut() {
            *state = sub_bytes(words, *state);
            add_key(words, state, last);
            if self.rounds % 4 == 2 {
                // Ten and fourteen rounds end with two rounds' ShiftRows outstanding.
                *state = state.map(|word| words.rotate_odd_rows_2(word));
            }
            exchange_bits(words, state);
        }
    }
}

/// The inverse of [`round`], before the substitution is undone.
#[inline(never)]
fn round_back<W: Words, const K: usize>(words: W, state: &mut State<W>, key: &SlicedKey) {
    add_key(words, state, key);
    *state = sub_bytes_back(words, mix_columns_back::<W, K>(words, *state));
}

/// A round but the last, `K` modulo four.
#[inline(never)]
fn round<W: Words, const K: usize>(words: W, state: &mut State<W>, key: &SlicedKey) {
    let mut next = mix_columns::<W, K>(words, sub_bytes(words, *state));
    add_key(words, &mut next, key);
    *state = next;
}

/// Returns the rows of a block, byte c of row r being column c.
#[inline(always)]
fn rows(block: &[u8; 16]) -> [u32; 4] {
    [0, 1, 2, 3].map(|r| u32::from_le_bytes([block[r], block[4 + r], block[8 + r], block[12 + r]]))
}

/// Lays out the key of round `n` like the state in that round.
fn slice_key(sliced: &mut SlicedKey, key: &[u8; 16], n: usize) {
    let mut key = rows(key);
    for (r, row) in key.iter_mut().enumerate() {
        if n > 0 {
            *row ^= u32::from_ne_bytes([S_BOX_CONSTANT; 4]);
        }
        *row = row.rotate_left((8 * n * r % 32) as u32);
    }
    for (bit, word) in sliced.iter_mut().enumerate() {
        for (bytes, row) in word.chunks_exact_mut(4).zip(key) {
            bytes.copy_from_slice(&((row >> bit & 0x0101_0101) * 0xff).to_le_bytes());
        }
    }
}

#[inline(always)]
fn add_key<W: Words>(words: W, state: &mut State<W>, key: &SlicedKey) {
    for (word, key) in state.iter_mut().zip(key) {
        *word = words.xor(*word, words.load(key));
    }
}

/// Applies MixColumns (FIPS 197, 5.1.3) where the row below is `K` columns further on: 2a + 3b +
/// c + d = 2(a + b) + b + (c + d), a being the byte itself and b, c, d the bytes below.
#[inline(always)]
fn mix_columns<W: Words, const K: usize>(words: W, a: State<W>) -> State<W> {
    let b = a.map(|word| {
        let below = words.rotate_rows_1(word);
        match K {
            0 => below,
            1 => words.rotate_columns_1(below),
            2 => words.rotate_columns_2(below),
            _ => words.rotate_columns_3(below),
        }
    });
    let mut sums = a;
    for (sum, b) in sums.iter_mut().zip(b) {
        *sum = words.xor(*sum, b);
    }
    let mut mixed = b;
    for (mixed, sum) in mixed.iter_mut().zip(sums) {
        let two_below = words.rotate_rows_2(sum);
        *mixed = words.xor(
            *mixed,
            if K.is_multiple_of(2) { two_below } else { words.rotate_columns_2(two_below) },
        );
    }
    // Doubling: every bit moves up, the highest one into bits 0, 1, 3 and 4 (x^8 = x^4 + x^3 + x +
    // 1).
    for bit in 0..8 {
        mixed[bit] = words.xor(mixed[bit], sums[(bit + 7) % 8]);
    }
    for bit in [1, 3, 4] {
        mixed[bit] = words.xor(mixed[bit], sums[7]);
    }
    mixed
}

/// Applies the inverse of [`mix_columns`]. It is MixColumns after a + 4(a + c), c being the byte
/// two below (the polynomial of InvMixColumns is that of MixColumns times 4x^2 + 5).
#[inline(always)]
fn mix_columns_back<W: Words, const K: usize>(words: W, a: State<W>) -> State<W> {
    let sums = a.map(|word| {
        let two_below = words.rotate_rows_2(word);
        words.xor(
            word,
            if K.is_multiple_of(2) { two_below } else { words.rotate_columns_2(two_below) },
        )
    });
    let fours = double(words, double(words, sums));
    let mut mixed = a;
    for (word, four) in mixed.iter_mut().zip(fours) {
        *word = words.xor(*word, four);
    }
    mix_columns::<W, K>(words, mixed)
}

/// Returns each byte times 2 in the field of AES.
#[inline(always)]
fn double<L: Logic>(logic: L, [a, b, c, d, e, f, g, h]: State<L>) -> State<L> {
    [h, logic.xor(a, h), b, logic.xor(c, h), logic.xor(d, h), e, f, g]
}

/// The linear map that undoes the matrix of the S-box (FIPS 197, 5.1.1): byte i from the top is the
/// row for bit i.
const MATRIX_UNDONE: u64 = 0xa449_9225_4a94_2952;

/// Applies the inverse of [`sub_bytes`], by the same circuit: that is inversion and then the
/// matrix, so inversion, which undoes itself, is between two inverse matrices.
#[inline(always)]
fn sub_bytes_back<W: Words>(words: W, state: State<W>) -> State<W> {
    let inverted = sub_bytes(words, linear::<W, MATRIX_UNDONE>(words, &state));
    linear::<W, MATRIX_UNDONE>(words, &inverted)
}

/// Logic on the bits of one 32-bit register, for the key schedule.
#[derive(Clone, Copy)]
struct Scalar;

impl Logic for Scalar {
    type Word = u32;

    #[inline(always)]
    fn xor(self, a: u32, b: u32) -> u32 {
        a ^ b
    }
    #[inline(always)]
    fn and(self, a: u32, b: u32) -> u32 {
        a & b
    }
}

impl SubWord for Scalar {
    fn sub_word(&self, word: u32) -> u32 {
        let state = std::array::from_fn(|bit| word >> bit & 0x0101_0101);
        let bits = sub_bytes(*self, state).into_iter().enumerate();
        bits.fold(u32::from_ne_bytes([S_BOX_CONSTANT; 4]), |word, (bit, slice)| word ^ slice << bit)
    }
}

impl Counter128 for Aes {
    fn encrypt_block(&self, block: &mut [u8; 16]) {
        let mut stream = Stream([[[0; 16]; BLOCKS]]);
        self.keystream(block, &mut stream.0);
        *block = stream.0[0][0];
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.crypt_blocks::<true>(blocks);
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        let mut counter = *counter;
        let mut stream = Stream([[[0; 16]; BLOCKS]; 2]);
        for piece in data.chunks_mut(2 * 16 * BLOCKS) {
            if piece.len() > 16 * BLOCKS {
                self.keystream(&counter, &mut stream.0);
            } else {
                self.keystream(&counter, stream.0.first_chunk_mut::<1>().expect("one of two"));
            }
            xor(piece, stream.0.as_flattened().as_flattened());
            counter = advanced(&counter, 2 * BLOCKS);
        }
    }
}

counter_mode!(128, [] Aes, |cipher| cipher.words.name());

impl BlockCipher<16> for Aes {
    fn backend(&self) -> &'static str {
        self.words.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.crypt_blocks::<true>(blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.crypt_blocks::<false>(blocks);
    }
}

fn xor(data: &mut [u8], stream: &[u8]) {
    for (byte, key) in data.iter_mut().zip(stream) {
        *byte ^= key;
    }
}

/// Returns the counter block `blocks` after `counter`.
fn advanced(counter: &[u8; 16], blocks: usize) -> [u8; 16] {
    let mut counter = *counter;
    let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
    *low = u32::from_be_bytes(*low).wrapping_add(blocks as u32).to_be_bytes();
    counter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;
    use crate::block::aes::reference;

    #[test]
    fn s_box_is_that_of_the_standard() {
        for x in 0..=255_u8 {
            let want = u32::from_ne_bytes([reference::s_box(x); 4]);
            assert_eq!(Scalar.sub_word(u32::from_ne_bytes([x; 4])), want, "S-box of {x:#04x}");
        }
    }

    #[test]
    fn keys_and_streams_are_zeroed() {
        assert!(
            left_after_drop(SlicedKeys([[[7; 16]; 8]; ROUNDS_MAX + 1]))
                .iter()
                .all(|byte| *byte == 0)
        );
        assert!(left_after_drop(Stream([[[7; 16]; BLOCKS]; 2])).iter().all(|byte| *byte == 0));
    }
}
