//! SEED from plain logic: no table and no branch on secrets, so constant time on every CPU.
//!
//! Words stay words for additions; for the S-boxes eight vectors are turned into planes and back,
//! plane i holding bit i of all their bytes.

use super::g_function::{Mix, mix_masked};
use super::key_schedule::{ROUNDS, RoundKeys, schedule};
use crate::arch::{Lanes, Logic, Portable, Words};
use crate::block::aes::s_box::sub_bytes;
use crate::block::bit_sliced::{exchange_bits, linear};
use crate::block::word_sliced::{WordCipher, WordSliced};
use crate::memory::Protected;

// Both S-boxes around that of AES without its constant: what `lanes` has, and its affine map
// undone.
const BEFORE: u64 = 0x0bcc_b02e_1618_3c70;
const AFTER_1: u64 = 0x74d4_53f5_5d6b_71ca;
const AFTER_2: u64 = 0x0af2_5d7b_c878_4e08;
/// The constants of the S-boxes, in bytes 0 and 2 and in bytes 1 and 3 of a word.
const CONSTANTS: u32 = u32::from_le_bytes([169, 56, 169, 56]);

type Vector = <Portable as Lanes>::Vector;

/// SEED under one key, which is zeroed on drop.
pub(super) struct Seed(RoundKeys);

/// Sets the key in place, so that no copy stays behind.
pub(super) fn keyed(portable: Portable, key: &[u8; 16]) -> Protected<WordSliced<Portable, Seed>> {
    let mut seed = Protected::with(|| WordSliced {
        lanes: portable,
        cipher: Seed(RoundKeys([[0; 2]; ROUNDS])),
    });
    schedule(key, &PortableMix(portable), &mut seed.cipher.0);
    seed
}

struct PortableMix(Portable);

impl Mix for PortableMix {
    fn mix(&self, word: u32) -> u32 {
        let mut x = [self.0.splat32(word)];
        mix(self.0, &mut x);
        let mut bytes = [0; 4];
        self.0.xor_partial(x[0], &mut bytes);
        u32::from_le_bytes(bytes)
    }
}

impl WordCipher<Portable> for Seed {
    const BIG_ENDIAN: bool = true;
    // the circuit of the S-boxes takes no longer for eight than for one
    const SETS: usize = 8;

    #[inline(always)]
    fn encrypt<const M: usize>(&self, portable: Portable, blocks: &mut [[Vector; 4]; M]) {
        crypt(portable, blocks, self.0.0.iter());
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, portable: Portable, blocks: &mut [[Vector; 4]; M]) {
        crypt(portable, blocks, self.0.0.iter().rev());
    }
}

/// All rounds, with `keys` in the order of their use.
#[inline(always)]
fn crypt<'a, const M: usize>(
    portable: Portable,
    blocks: &mut [[Vector; 4]; M],
    keys: impl Iterator<Item = &'a [u32; 2]>,
) {
    let (mut c, mut d) = ([portable.splat(0); M], [portable.splat(0); M]);
    for key in keys {
        let keys = (portable.splat32(key[0]), portable.splat32(key[1]));
        for ((block, c), d) in blocks.iter().zip(&mut c).zip(&mut d) {
            *c = Lanes::xor(portable, block[2], keys.0);
            *d = portable.xor3(block[2], block[3], keys.1);
        }
        mix(portable, &mut d);
        add(portable, &mut c, &d);
        mix(portable, &mut c);
        add(portable, &mut d, &c);
        mix(portable, &mut d);
        add(portable, &mut c, &d);
        for ((block, c), d) in blocks.iter_mut().zip(&c).zip(&d) {
            let [left_0, left_1, right_0, right_1] = *block;
            *block = [
                right_0,
                right_1,
                Lanes::xor(portable, left_0, *c),
                Lanes::xor(portable, left_1, *d),
            ];
        }
    }
    // the halves do not change sides after the last round
    for block in blocks {
        let [a, b, c, d] = *block;
        *block = [c, d, a, b];
    }
}

#[inline(always)]
fn add<const M: usize>(portable: Portable, to: &mut [Vector; M], from: &[Vector; M]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = portable.add32(*to, *from);
    }
}

/// The function G of all words in `x`: eight vectors, or fewer.
#[inline(always)]
fn mix<const M: usize>(portable: Portable, x: &mut [Vector; M]) {
    const { assert!(M <= 8) };
    let mut state = [portable.rows([0; 4]); 8];
    for (word, vector) in state.iter_mut().zip(&*x) {
        *word = to_word(portable, *vector);
    }
    exchange_bits(portable, &mut state);
    let s_box = sub_bytes(portable, linear::<Portable, BEFORE>(portable, &state));
    let (s1, s2) = (
        linear::<Portable, AFTER_1>(portable, &s_box),
        linear::<Portable, AFTER_2>(portable, &s_box),
    );
    let (even, odd) = (portable.rows([0x00ff_00ff; 4]), portable.rows([0xff00_ff00; 4]));
    for ((word, s1), s2) in state.iter_mut().zip(s1).zip(s2) {
        *word = Logic::xor(portable, Logic::and(portable, s1, even), Logic::and(portable, s2, odd));
    }
    exchange_bits(portable, &mut state);
    for (vector, word) in x.iter_mut().zip(state) {
        let y = Lanes::xor(portable, from_word(portable, word), portable.splat32(CONSTANTS));
        *vector = mix_masked(portable, y);
    }
}

/// Returns the same bytes for the circuits; no instruction where both are registers.
#[inline(always)]
fn to_word(portable: Portable, vector: Vector) -> <Portable as Logic>::Word {
    let mut bytes = [0; 16];
    Lanes::store(portable, vector, &mut bytes);
    Words::load(portable, &bytes)
}

#[inline(always)]
fn from_word(portable: Portable, word: <Portable as Logic>::Word) -> Vector {
    let mut bytes = [0; 16];
    Words::store(portable, word, &mut bytes);
    Lanes::load(portable, &bytes)
}
