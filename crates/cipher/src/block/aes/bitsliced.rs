//! AES from plain logic: no table and no branch on secrets, so constant time on every CPU.
//!
//! Eight blocks are encrypted together. Word i holds bit i of all their bytes: the byte at row r and column c of the
//! state (FIPS 197, 3.4) lies at row r and byte c of the word, and each of its eight bits belongs to one block.
//!
//! - SubBytes is the circuit of Boyar and Peralta (A depth-16 circuit for the AES S-box, eprint 2011/332, in its
//!   113-gate form). Its four final complements are left out and go into the round keys instead.
//! - ShiftRows is left out (Adomnicai, Peyrin: Fixslicing AES-like ciphers, TCHES 2021): after k rounds row r lies k·r
//!   columns too far right, so the row below is found k columns further on, and four rounds later all is back in
//!   place. Round keys are laid out accordingly.

use zeroize::{Zeroizing, optimization_barrier};

use super::{ROUNDS_MAX, RoundKeys, SubWord};
use crate::arch::{Logic, Portable, Words};
use crate::block::BlockCipher;
use crate::block::aria::bitsliced::linear;
use crate::memory::Protected;
use crate::mode::{Counter128, counter_mode};

/// Blocks encrypted together.
const BLOCKS: usize = 8;

/// Bit i of eight blocks' bytes is word i.
pub(in crate::block) type State<W> = [<W as Logic>::Word; 8];

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

/// What SubBytes adds to each byte (FIPS 197, 5.1.1).
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

    /// The block of key stream at `counter`; and XORs `data` (any length) with the stream after it.
    pub(super) fn xor_after_first_block(&self, counter: &[u8; 16], data: &mut [u8]) -> [u8; 16] {
        let mut stream = Stream([[[0; 16]; BLOCKS]; 2]);
        let used = if data.len() < 16 * BLOCKS {
            self.keystream(counter, stream.0.first_chunk_mut::<1>().expect("one of two"));
            BLOCKS
        } else {
            self.keystream(counter, &mut stream.0);
            2 * BLOCKS
        };
        let [first, after @ ..] = &stream.0.as_flattened()[..used] else { unreachable!("eight blocks or more") };
        let (head, rest) = data.split_at_mut(data.len().min(16 * (used - 1)));
        xor(head, after.as_flattened());
        self.xor_keystream32(&advanced(counter, used), rest);
        *first
    }

    /// Key stream of as many blocks as `stream` holds, from the counter block `counter` on.
    fn keystream<const GROUPS: usize>(&self, counter: &[u8; 16], stream: &mut [[[u8; 16]; BLOCKS]; GROUPS]) {
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
        let mut states = [[words.rows([0; 4]); BLOCKS]; GROUPS];
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

    /// Decrypts eight blocks, row by row, in place: the steps of `encrypt` undone one after the other.
    fn decrypt<W: Words>(&self, words: W, state: &mut State<W>) {
        let [first, middle @ .., last] = &self.keys.0[..=self.rounds] else { unreachable!("rounds") };
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

    /// Encrypts groups of eight blocks, row by row, in place. A round is a long chain of steps that wait for each
    /// other, so that two groups take turns by the round.
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

/// The rows of a block, byte c of row r being column c.
#[inline(always)]
fn rows(block: &[u8; 16]) -> [u32; 4] {
    [0, 1, 2, 3].map(|r| u32::from_le_bytes([block[r], block[4 + r], block[8 + r], block[12 + r]]))
}

/// Lays out the key of round `n` as the state lies there.
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

/// Exchanges the number of a word with the number of a bit in its byte: from blocks to bits and back.
#[inline(always)]
pub(in crate::block) fn exchange_bits<W: Words>(words: W, state: &mut State<W>) {
    for i in [0, 2, 4, 6] {
        exchange::<W, 1>(words, state, i, i + 1, 0x55);
    }
    for i in [0, 1, 4, 5] {
        exchange::<W, 2>(words, state, i, i + 2, 0x33);
    }
    for i in [0, 1, 2, 3] {
        exchange::<W, 4>(words, state, i, i + 4, 0x0f);
    }
}

/// Exchanges the bits of word `b` under `mask` with those of word `a` that lie `N` higher.
#[inline(always)]
fn exchange<W: Words, const N: i32>(words: W, state: &mut State<W>, a: usize, b: usize, mask: u8) {
    let mask = words.rows([u32::from_ne_bytes([mask; 4]); 4]);
    let difference = words.and(words.xor(words.shift_right::<N>(state[a]), state[b]), mask);
    state[b] = words.xor(state[b], difference);
    state[a] = words.xor(state[a], words.shift_left::<N>(difference));
}

/// MixColumns (FIPS 197, 5.1.3) where the row below lies `K` columns further on: 2a + 3b + c + d = 2(a + b) + b + (c + d),
/// a being the byte itself and b, c, d those below.
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
        *mixed = words.xor(*mixed, if K.is_multiple_of(2) { two_below } else { words.rotate_columns_2(two_below) });
    }
    // Doubling: every bit moves up, the highest one into bits 0, 1, 3 and 4 (x^8 = x^4 + x^3 + x + 1).
    for bit in 0..8 {
        mixed[bit] = words.xor(mixed[bit], sums[(bit + 7) % 8]);
    }
    for bit in [1, 3, 4] {
        mixed[bit] = words.xor(mixed[bit], sums[7]);
    }
    mixed
}

/// The inverse of [`mix_columns`]. It is MixColumns after a + 4(a + c), c being the byte two below (the polynomial of
/// InvMixColumns is that of MixColumns times 4x^2 + 5).
#[inline(always)]
fn mix_columns_back<W: Words, const K: usize>(words: W, a: State<W>) -> State<W> {
    let sums = a.map(|word| {
        let two_below = words.rotate_rows_2(word);
        words.xor(word, if K.is_multiple_of(2) { two_below } else { words.rotate_columns_2(two_below) })
    });
    let fours = double(words, double(words, sums));
    let mut mixed = a;
    for (word, four) in mixed.iter_mut().zip(fours) {
        *word = words.xor(*word, four);
    }
    mix_columns::<W, K>(words, mixed)
}

/// Each byte times 2 in the field of AES.
#[inline(always)]
fn double<L: Logic>(logic: L, [a, b, c, d, e, f, g, h]: State<L>) -> State<L> {
    [h, logic.xor(a, h), b, logic.xor(c, h), logic.xor(d, h), e, f, g]
}

/// The linear map that undoes the matrix of the S-box (FIPS 197, 5.1.1): byte i from the top is the row for bit i.
const MATRIX_UNDONE: u64 = 0xa449_9225_4a94_2952;

/// The inverse of [`sub_bytes`], by the same circuit: it is inversion and then the matrix, so that inversion alone, which
/// undoes itself, lies between two inverse matrices.
#[inline(always)]
fn sub_bytes_back<W: Words>(words: W, state: State<W>) -> State<W> {
    let inverted = sub_bytes(words, linear::<W, MATRIX_UNDONE>(words, &state));
    linear::<W, MATRIX_UNDONE>(words, &inverted)
}

/// The S-box without its constant, on every byte. Names are those of the paper: U0 and S0 are the highest bits.
#[inline(always)]
#[rustfmt::skip]
pub(in crate::block) fn sub_bytes<L: Logic>(logic: L, state: State<L>) -> State<L> {
    let [u7, u6, u5, u4, u3, u2, u1, u0] = state;
    macro_rules! circuit {
        ($($out:ident = $a:ident $op:ident $b:ident;)*) => {
            $(let $out = logic.$op($a, $b);)*
        };
    }
    circuit! {
        // Into the tower field: a linear map.
        y14 = u3 xor u5;    y13 = u0 xor u6;    y9  = u0 xor u3;    y8  = u0 xor u5;
        t0  = u1 xor u2;    y1  = t0 xor u7;    y4  = y1 xor u3;    y12 = y13 xor y14;
        y2  = y1 xor u0;    y5  = y1 xor u6;    y3  = y5 xor y8;    t1  = u4 xor y12;
        y15 = t1 xor u5;    y20 = t1 xor u1;    y6  = y15 xor u7;   y10 = y15 xor t0;
        y11 = y20 xor y9;   y7  = u7 xor y11;   y17 = y10 xor y11;  y19 = y10 xor y8;
        y16 = t0 xor y11;   y21 = y13 xor y16;  y18 = u0 xor y16;
        // Inversion.
        t2  = y12 and y15;  t3  = y3 and y6;    t4  = t3 xor t2;    t5  = y4 and u7;
        t6  = t5 xor t2;    t7  = y13 and y16;  t8  = y5 and y1;    t9  = t8 xor t7;
        t10 = y2 and y7;    t11 = t10 xor t7;   t12 = y9 and y11;   t13 = y14 and y17;
        t14 = t13 xor t12;  t15 = y8 and y10;   t16 = t15 xor t12;  t17 = t4 xor t14;
        t18 = t6 xor t16;   t19 = t9 xor t14;   t20 = t11 xor t16;  t21 = t17 xor y20;
        t22 = t18 xor y19;  t23 = t19 xor y21;  t24 = t20 xor y18;  t25 = t21 xor t22;
        t26 = t21 and t23;  t27 = t24 xor t26;  t28 = t25 and t27;  t29 = t28 xor t22;
        t30 = t23 xor t24;  t31 = t22 xor t26;  t32 = t31 and t30;  t33 = t32 xor t24;
        t34 = t23 xor t33;  t35 = t27 xor t33;  t36 = t24 and t35;  t37 = t36 xor t34;
        t38 = t27 xor t36;  t39 = t29 and t38;  t40 = t25 xor t39;  t41 = t40 xor t37;
        t42 = t29 xor t33;  t43 = t29 xor t40;  t44 = t33 xor t37;  t45 = t42 xor t41;
        z0  = t44 and y15;  z1  = t37 and y6;   z2  = t33 and u7;   z3  = t43 and y16;
        z4  = t40 and y1;   z5  = t29 and y7;   z6  = t42 and y11;  z7  = t45 and y17;
        z8  = t41 and y10;  z9  = t44 and y12;  z10 = t37 and y3;   z11 = t33 and y4;
        z12 = t43 and y13;  z13 = t40 and y5;   z14 = t29 and y2;   z15 = t42 and y9;
        z16 = t45 and y14;  z17 = t41 and y8;
        // Back, with the affine map's matrix: linear again.
        t46 = z15 xor z16;  t47 = z10 xor z11;  t48 = z5 xor z13;   t49 = z9 xor z10;
        t50 = z2 xor z12;   t51 = z2 xor z5;    t52 = z7 xor z8;    t53 = z0 xor z3;
        t54 = z6 xor z7;    t55 = z16 xor z17;  t56 = z12 xor t48;  t57 = t50 xor t53;
        t58 = z4 xor t46;   t59 = z3 xor t54;   t60 = t46 xor t57;  t61 = z14 xor t57;
        t62 = t52 xor t58;  t63 = t49 xor t58;  t64 = z4 xor t59;   t65 = t61 xor t62;
        t66 = z1 xor t63;   s0  = t59 xor t63;  s6  = t56 xor t62;  s7  = t48 xor t60;
        t67 = t64 xor t65;  s3  = t53 xor t66;  s4  = t51 xor t66;  s5  = t47 xor t65;
        s1  = t64 xor s3;   s2  = t55 xor t67;
    }
    [s7, s6, s5, s4, s3, s2, s1, s0]
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

/// The counter block `blocks` after `counter`.
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
        assert!(left_after_drop(SlicedKeys([[[7; 16]; 8]; ROUNDS_MAX + 1])).iter().all(|byte| *byte == 0));
        assert!(left_after_drop(Stream([[[7; 16]; BLOCKS]; 2])).iter().all(|byte| *byte == 0));
    }
}
