//! ARIA from plain logic: no table and no branch on secrets, so constant time on every CPU.
//!
//! Eight blocks are encrypted together. Word i holds bit i of all their bytes, in the order of the
//! block, so that a row of the word is a 32-bit word of the block; each of a byte's eight bits
//! belongs to one block.
//!
//! - All S-boxes are made of one circuit, the AES S-box without its constant: linear maps before
//!   and after it differ by column. Constants are moved into the round keys.
//! - The diffusion layer is a product of four maps (Kwon et al.: New block cipher: ARIA, ICISC
//!   2003): each byte takes the others of its row; each row takes three rows; bytes move within
//!   rows; each row takes three rows.

use zeroize::{Zeroizing, optimization_barrier};

use super::diffusion::DIFFUSION;
use super::key_schedule::{ROUNDS_MAX, RoundKeys, Rounds, reverse, schedule};
use crate::arch::{Portable, Words};
use crate::block::aes::s_box::sub_bytes;
use crate::block::bit_sliced::{State, exchange_bits, linear};
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::{Counter128, counter_mode};

/// Blocks encrypted together.
const BLOCKS: usize = 8;

/// One round key, each bit spread over a byte.
type SlicedKey = [[u8; 16]; 8];

// Linear maps, byte i from the top being the row for bit i of the result. A is the matrix of S1 and
// B that of S2 (RFC 5794, 2.4.2), after inversion.
const A_INVERSE: u64 = 0xa449_9225_4a94_2952;
const B_INVERSE: u64 = 0x1864_50c7_37d6_bdc9;
const B_A_INVERSE: u64 = 0x8312_f396_321a_a0e7;

/// The constants of S1 and S2.
const CONSTANTS: [u8; 2] = [0x63, 0xe2];

/// Constants that the substitution of an odd round and of an even round adds to its input.
const BEFORE: [[u8; 16]; 2] = [constants(2), constants(0)];
/// Constants that it adds to its output.
const AFTER: [[u8; 16]; 2] = [constants(0), constants(2)];

/// Returns the constants of S1 and S2 in columns `first` and `first` + 1.
const fn constants(first: usize) -> [u8; 16] {
    let mut block = [0; 16];
    let mut i = 0;
    while i < 16 {
        block[i + first] = CONSTANTS[0];
        block[i + first + 1] = CONSTANTS[1];
        i += 4;
    }
    block
}

/// Value of [`AFTER`] after the diffusion layer.
const DIFFUSED: [[u8; 16]; 2] = [diffused(AFTER[0]), diffused(AFTER[1])];

const fn diffused(x: [u8; 16]) -> [u8; 16] {
    let mut y = [0; 16];
    let mut i = 0;
    while i < 16 {
        let mut k = 0;
        while k < 7 {
            y[i] ^= x[DIFFUSION[i][k]];
            k += 1;
        }
        i += 1;
    }
    y
}

/// The round keys in the order of their use. Zeroed on drop.
struct SlicedKeys([SlicedKey; ROUNDS_MAX + 1]);

impl Drop for SlicedKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Key stream, zeroed on drop.
struct Stream([[u8; 16]; BLOCKS]);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// ARIA of `rounds` rounds.
pub(super) struct Aria {
    words: Portable,
    keys: SlicedKeys,
    rounds: usize,
}

impl Aria {
    /// Sets `key`, of 4 (`rounds` - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn protected(words: Portable, key: &[u8], rounds: usize) -> Protected<Self> {
        let mut aria = Protected::with(|| Self {
            words,
            keys: SlicedKeys([[[0; 16]; 8]; ROUNDS_MAX + 1]),
            rounds,
        });
        let mut plain = RoundKeys::zero();
        schedule(key, rounds, &WordsRounds(words), &mut plain);
        aria.set(&plain);
        aria
    }

    /// Lays out the round keys `plain`.
    fn set(&mut self, plain: &RoundKeys) {
        let rounds = self.rounds;
        for (r, (sliced, key)) in self.keys.0.iter_mut().zip(&plain.0[..=rounds]).enumerate() {
            let mut key = Zeroizing::new(*key);
            // Behind round r, of which round 0 is none, and before round r + 1.
            if r == rounds {
                add(&mut key, &AFTER[1]);
            } else {
                add(&mut key, &BEFORE[r % 2]);
                if r > 0 {
                    add(&mut key, &DIFFUSED[(r - 1) % 2]);
                }
            }
            for (bit, word) in sliced.iter_mut().enumerate() {
                for (spread, byte) in word.iter_mut().zip(&*key) {
                    *spread = (byte >> bit & 1) * 0xff;
                }
            }
        }
    }

    /// Encrypts `blocks` in place.
    fn crypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        let words = self.words;
        for piece in blocks.chunks_mut(BLOCKS) {
            // room left over repeats a block: a block of zeros, encrypted, is the key of a hash
            let mut state = [words.load(&piece[0]); BLOCKS];
            for (word, block) in state.iter_mut().zip(&*piece) {
                *word = words.load(block);
            }
            self.encrypt(words, &mut state);
            for (word, block) in state.into_iter().zip(piece) {
                words.store(word, block);
            }
        }
    }

    /// Key stream of `BLOCKS` blocks from the counter block `counter` on.
    fn keystream(&self, counter: &[u8; 16], stream: &mut [[u8; 16]; BLOCKS]) {
        let words = self.words;
        let mut block = *counter;
        let first = u32::from_be_bytes(*counter.last_chunk().expect("four of sixteen bytes"));
        let mut state = [words.load(counter); BLOCKS];
        for (i, word) in (0..).zip(&mut state) {
            *block.last_chunk_mut().expect("four of sixteen bytes") =
                u32::wrapping_add(first, i).to_be_bytes();
            *word = words.load(&block);
        }
        self.encrypt(words, &mut state);
        for (word, bytes) in state.into_iter().zip(stream) {
            words.store(word, bytes);
        }
    }

    /// Encrypts eight blocks in place.
    #[inline(always)]
    fn encrypt<W: Words>(&self, words: W, state: &mut State<W>) {
        exchange_bits(words, state);
        add_key(words, state, &self.keys.0[0]);
        for r in (1..self.rounds - 1).step_by(2) {
            substitute::<W, true>(words, state);
            diffuse(words, state);
            add_key(words, state, &self.keys.0[r]);
            substitute::<W, false>(words, state);
            diffuse(words, state);
            add_key(words, state, &self.keys.0[r + 1]);
        }
        substitute::<W, true>(words, state);
        diffuse(words, state);
        add_key(words, state, &self.keys.0[self.rounds - 1]);
        substitute::<W, false>(words, state);
        add_key(words, state, &self.keys.0[self.rounds]);
        exchange_bits(words, state);
    }
}

fn add(block: &mut [u8; 16], other: &[u8; 16]) {
    for (byte, other) in block.iter_mut().zip(other) {
        *byte ^= other;
    }
}

#[inline(always)]
fn add_key<W: Words>(words: W, state: &mut State<W>, key: &SlicedKey) {
    for (word, key) in state.iter_mut().zip(key) {
        *word = words.xor(*word, words.load(key));
    }
}

/// The substitution layers (RFC 5794, 2.4.2), without constants: type 1 in `ODD` rounds, else
/// type 2.
#[inline(always)]
fn substitute<W: Words, const ODD: bool>(words: W, state: &mut State<W>) {
    // The columns of S1, S2 and their inverses.
    let turn = if ODD { 0 } else { 16 };
    let (s1, s2) = (0x0000_00ff_u32.rotate_left(turn), 0x0000_ff00_u32.rotate_left(turn));
    let (s1_inverse, s2_inverse) = (s1.rotate_left(16), s2.rotate_left(16));
    let (s1, s2) = (words.rows([s1; 4]), words.rows([s2; 4]));
    let (s1_inverse, s2_inverse) = (words.rows([s1_inverse; 4]), words.rows([s2_inverse; 4]));
    let inverses = words.xor(s1_inverse, s2_inverse);

    let x = *state;
    let (a, b) = (linear::<W, A_INVERSE>(words, &x), linear::<W, B_INVERSE>(words, &x));
    for (i, word) in state.iter_mut().enumerate() {
        let forward = words.and(x[i], words.xor(s1, s2));
        let inverse = words.xor(words.and(a[i], s1_inverse), words.and(b[i], s2_inverse));
        *word = words.xor(forward, inverse);
    }
    let x = sub_bytes(words, *state);
    let (a, b) = (linear::<W, A_INVERSE>(words, &x), linear::<W, B_A_INVERSE>(words, &x));
    for (i, word) in state.iter_mut().enumerate() {
        let forward = words.xor(words.and(x[i], s1), words.and(b[i], s2));
        *word = words.xor(forward, words.and(a[i], inverses));
    }
}

/// The diffusion layer (RFC 5794, 2.4.3).
#[inline(always)]
fn diffuse<W: Words>(words: W, state: &mut State<W>) {
    let (odd_low, even) =
        (words.rows([0, 0x00ff_00ff, 0, 0x00ff_00ff]), words.rows([u32::MAX, 0, u32::MAX, 0]));
    let lower = words.rows([0, 0, u32::MAX, u32::MAX]);
    for word in state {
        // The others of the row: their sum with the byte itself, less the byte.
        let pairs = words.xor(*word, words.rotate_columns_2(*word));
        let x = words.xor(*word, words.xor(pairs, words.rotate_columns_1(pairs)));
        let x = three_rows(words, x);
        // Rows 1 and 3 exchange neighbours, rows 2 and 3 halves.
        let up = words.shift_left::<8>(words.and(x, odd_low));
        let down = words.and(words.shift_right::<8>(x), odd_low);
        let x = words.xor(words.and(x, even), words.xor(up, down));
        let x = words.xor(x, words.and(words.xor(x, words.rotate_columns_2(x)), lower));
        *word = three_rows(words, x);
    }
}

/// Each row takes the sum of all rows but one: row 0 leaves out row 3 and row 3 row 0, the others
/// themselves.
#[inline(always)]
fn three_rows<W: Words>(words: W, x: W::Word) -> W::Word {
    let pairs = words.xor(x, words.rotate_rows_2(x));
    let sum = words.xor(pairs, words.rotate_rows_1(pairs));
    words.xor(sum, words.exchange_outer_rows(x))
}

/// The rounds of the key schedule.
struct WordsRounds(Portable);

impl Rounds for WordsRounds {
    fn round<const ODD: bool>(&self, block: &mut [u8; 16], key: &[u8; 16]) {
        let words = self.0;
        let parity = usize::from(!ODD);
        add(block, &BEFORE[parity]);
        let mut state = [words.load(block); BLOCKS];
        exchange_bits(words, &mut state);
        substitute::<_, ODD>(words, &mut state);
        diffuse(words, &mut state);
        exchange_bits(words, &mut state);
        words.store(state[0], block);
        add(block, &DIFFUSED[parity]);
        add(block, key);
    }
}

impl Counter128 for Aria {
    fn encrypt_block(&self, block: &mut [u8; 16]) {
        let mut stream = Stream([[0; 16]; BLOCKS]);
        self.keystream(block, &mut stream.0);
        *block = stream.0[0];
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.crypt_blocks(blocks);
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        let mut counter = *counter;
        let mut stream = Stream([[0; 16]; BLOCKS]);
        for piece in data.chunks_mut(16 * BLOCKS) {
            self.keystream(&counter, &mut stream.0);
            for (byte, key) in piece.iter_mut().zip(stream.0.as_flattened()) {
                *byte ^= key;
            }
            let low: &mut [u8; 4] = counter.last_chunk_mut().expect("four of sixteen bytes");
            *low = u32::from_be_bytes(*low).wrapping_add(BLOCKS as u32).to_be_bytes();
        }
    }
}

counter_mode!(128, [] Aria, |cipher| cipher.words.name());

/// ARIA for whole blocks: encryption under the key schedule of each direction.
pub(super) struct AriaBlocks {
    forward: Aria,
    back: Aria,
}

impl AriaBlocks {
    /// Sets `key`, of 4 (`rounds` - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn protected(words: Portable, key: &[u8], rounds: usize) -> Protected<Self> {
        let zero = || Aria { words, keys: SlicedKeys([[[0; 16]; 8]; ROUNDS_MAX + 1]), rounds };
        let mut aria = Protected::with(|| Self { forward: zero(), back: zero() });
        let mut plain = RoundKeys::zero();
        schedule(key, rounds, &WordsRounds(words), &mut plain);
        aria.forward.set(&plain);
        reverse(&mut plain, rounds);
        aria.back.set(&plain);
        aria
    }
}

impl BlockCipher<16> for AriaBlocks {
    fn backend(&self) -> &'static str {
        self.forward.words.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.forward.crypt_blocks(blocks);
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.back.crypt_blocks(blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_and_streams_are_zeroed() {
        assert!(
            left_after_drop(SlicedKeys([[[7; 16]; 8]; ROUNDS_MAX + 1]))
                .iter()
                .all(|byte| *byte == 0)
        );
        assert!(left_after_drop(Stream([[7; 16]; BLOCKS])).iter().all(|byte| *byte == 0));
    }
}
