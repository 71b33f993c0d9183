//! SEED over vectors of words whose bytes have affine maps and inversion.

use super::g_function::{Mix, mix_masked};
use super::key_schedule::{ROUNDS, RoundKeys, schedule};
use crate::arch::{ByteLanes, Kernel};
use crate::block::word_sliced::{WordCipher, WordSliced};
use crate::memory::Protected;

// The S-boxes (RFC 4269, 2.4 and appendix A) are x^247 and x^251 in GF(2^8) modulo x^8 + x^6 +
// x^5 + x + 1, then a matrix and a constant. Both powers are that of an inverse by a power of two,
// which is linear; so both are inversion in the field of `ByteLanes` between linear maps, of which
// the first, into that field, is the same.
const INTO_FIELD: u64 = 0x0bcc_b02e_1618_3c70;
const S1: (u64, i32) = (0x9a5c_7193_dadf_ace8, 169);
const S2: (u64, i32) = (0x6c46_dac0_0bd2_d78f, 56);

/// SEED under one key, which is zeroed on drop.
pub(super) struct Seed(RoundKeys);

/// Sets the key in place, so that no copy stays behind.
pub(super) fn keyed<L: ByteLanes>(lanes: L, key: &[u8; 16]) -> Protected<WordSliced<L, Seed>> {
    let mut seed =
        Protected::with(|| WordSliced { lanes, cipher: Seed(RoundKeys([[0; 2]; ROUNDS])) });
    lanes.enter(Expand { key, keys: &mut seed.cipher.0 });
    seed
}

struct Expand<'a> {
    key: &'a [u8; 16],
    keys: &'a mut RoundKeys,
}

impl<L: ByteLanes> Kernel<L> for Expand<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        schedule(self.key, &LanesMix(lanes), self.keys);
    }
}

struct LanesMix<L>(L);

impl<L: ByteLanes> Mix for LanesMix<L> {
    #[inline(always)]
    fn mix(&self, word: u32) -> u32 {
        let mut bytes = [0; 4];
        self.0.xor_partial(mix(self.0, self.0.splat32(word)), &mut bytes);
        u32::from_le_bytes(bytes)
    }
}

impl<L: ByteLanes> WordCipher<L> for Seed {
    const BIG_ENDIAN: bool = true;
    // the chain through a round is long
    const SETS: usize = 8;

    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]) {
        let (pairs, _) = self.0.0.as_chunks::<2>();
        for [first, second] in pairs {
            double_round(lanes, blocks, first, second);
        }
        exchange(blocks);
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]) {
        let (pairs, _) = self.0.0.as_chunks::<2>();
        for [first, second] in pairs.iter().rev() {
            double_round(lanes, blocks, second, first);
        }
        exchange(blocks);
    }
}

/// Two rounds, after which both halves of a block are in their places again.
#[inline(always)]
fn double_round<L: ByteLanes, const M: usize>(
    lanes: L,
    blocks: &mut [[L::Vector; 4]; M],
    first: &[u32; 2],
    second: &[u32; 2],
) {
    let zero = lanes.splat(0);
    let mut halves = [[zero; 2]; M];
    for (half, [_, _, c, d]) in halves.iter_mut().zip(&*blocks) {
        *half = [*c, *d];
    }
    round_function(lanes, &mut halves, first);
    for ([a, b, _, _], [f, g]) in blocks.iter_mut().zip(halves) {
        (*a, *b) = (lanes.xor(*a, f), lanes.xor(*b, g));
    }
    for (half, [a, b, _, _]) in halves.iter_mut().zip(&*blocks) {
        *half = [*a, *b];
    }
    round_function(lanes, &mut halves, second);
    for ([_, _, c, d], [f, g]) in blocks.iter_mut().zip(halves) {
        (*c, *d) = (lanes.xor(*c, f), lanes.xor(*d, g));
    }
}

/// The halves change sides after the last round.
#[inline(always)]
fn exchange<V: Copy, const M: usize>(blocks: &mut [[V; 4]; M]) {
    for block in blocks {
        let [a, b, c, d] = *block;
        *block = [c, d, a, b];
    }
}

/// The function F (RFC 4269, 2.3) of `M` sets of halves.
///
/// Its three functions G wait for each other. So all sets take one before any takes the next: a CPU
/// looks ahead over a few hundred instructions only, and finds work that need not wait among these.
#[inline(always)]
fn round_function<L: ByteLanes, const M: usize>(
    lanes: L,
    halves: &mut [[L::Vector; 2]; M],
    key: &[u32; 2],
) {
    let [key_c, key_both] = [lanes.splat32(key[0]), lanes.splat32(key[1])];
    for [c, d] in &mut *halves {
        *d = mix(lanes, lanes.xor3(*c, *d, key_both));
        *c = lanes.xor(*c, key_c);
    }
    for [c, d] in &mut *halves {
        *c = mix(lanes, lanes.add32(*c, *d));
    }
    for [c, d] in &mut *halves {
        *d = mix(lanes, lanes.add32(*d, *c));
    }
    for [c, d] in halves {
        *c = lanes.add32(*c, *d);
    }
}

/// Returns the function G (RFC 4269, 2.4) of each word.
#[inline(always)]
fn mix<L: ByteLanes>(lanes: L, x: L::Vector) -> L::Vector {
    let inverted = lanes.affine::<INTO_FIELD, 0>(x);
    let even = lanes.invert_affine::<{ S1.0 }, { S1.1 }>(inverted);
    let odd = lanes.invert_affine::<{ S2.0 }, { S2.1 }>(inverted);
    let y = lanes.select::<0x5555>(even, odd);
    mix_masked(lanes, y)
}
