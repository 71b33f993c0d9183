//! Triple DES for counter mode: counters are made as planes, and only the key stream is transposed.

use zeroize::optimization_barrier;

use super::key_schedule::RoundKeys;
use super::permutations::{ROW, TO_STATE};
use super::rounds::rounds;
use crate::arch::{Kernel, Planes};
use crate::memory::Protected;
use crate::mode::{Counter64, counter_mode};

/// Returns the circuits, keyed in place so that no copy stays behind.
pub(super) fn circuits<P: Planes>(planes: P, key: &[u8; 24]) -> Protected<dyn Counter64> {
    let mut tdes = Protected::with(|| Tdes { planes, keys: RoundKeys::zero() });
    tdes.keys.expand(key);
    tdes.unsize(|tdes| tdes)
}

/// A keyed Triple DES.
struct Tdes<P> {
    planes: P,
    keys: RoundKeys,
}

impl<P: Planes> Counter64 for Tdes<P> {
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]) {
        self.planes.enter_planes(XorKeystream { keys: &self.keys, counter, data });
    }
}

counter_mode!(64, [P: Planes] Tdes<P>, |cipher| cipher.planes.backend());

struct XorKeystream<'a> {
    keys: &'a RoundKeys,
    counter: u64,
    data: &'a mut [u8],
}

impl<P: Planes> Kernel<P> for XorKeystream<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, planes: P) {
        let mut counter = self.counter;
        let mut state = [[planes.splat(0); 32]; 2];
        let mut rows = [planes.splat(0); 64];
        for piece in self.data.chunks_mut(64 * P::BYTES) {
            count(planes, counter, &mut state);
            rounds::<P, false>(planes, self.keys, &mut state);
            transpose_and_xor(planes, state.as_flattened(), &mut rows, piece);
            counter = counter.wrapping_add(64 * P::WORDS as u64);
        }
        state.as_flattened_mut().fill(planes.splat(0));
        optimization_barrier(&state);
        rows.fill(planes.splat(0));
        optimization_barrier(&rows);
    }
}

/// Bit j of the numbers of all lanes as plane j, in bytes. Lane i of word w has number `words` *
/// i + w, so that blocks come out of the transposition in their order.
const fn lane_numbers(words: usize) -> [[u8; 64]; 9] {
    assert!(words.is_power_of_two() && words <= 8);
    let mut planes = [[0; 64]; 9];
    let mut j = 0;
    while j < 9 {
        let mut byte = 0;
        while byte < 8 * words {
            let mut bit = 0;
            while bit < 8 {
                let number = words * (byte % 8 * 8 + bit) + byte / 8;
                planes[j][byte] |= ((number >> j & 1) as u8) << bit;
                bit += 1;
            }
            byte += 1;
        }
        j += 1;
    }
    planes
}

/// Sets `state` to the blocks from `counter` on, big-endian, behind the initial permutation.
#[inline(always)]
fn count<P: Planes>(planes: P, counter: u64, state: &mut [[P::Plane; 32]; 2]) {
    let lanes = const { &lane_numbers(P::WORDS) };
    let mut bits = [planes.splat(0); 64];
    let mut carry = planes.splat(0);
    for (j, plane) in bits.iter_mut().enumerate() {
        let first = planes.splat(0_u64.wrapping_sub(counter >> j & 1));
        if j < (64 * P::WORDS).ilog2() as usize {
            let lane = planes.load(&lanes[j]);
            let sum = planes.xor(first, lane);
            *plane = planes.xor(sum, carry);
            carry = planes.or(planes.and(first, lane), planes.and(sum, carry));
        } else {
            *plane = planes.xor(first, carry);
            carry = planes.and(first, carry);
        }
    }
    for (plane, bit) in state.as_flattened_mut().iter_mut().zip(TO_STATE) {
        *plane = bits[63 - bit];
    }
}

/// Exchanges `rows[a]` and `rows[b]` where they are on the wrong side of the diagonal of 2 `N` x 2
/// `N` bits; `mask` has the lower `N` bits of each 2 `N`.
macro_rules! exchange {
    ($planes:ident, $rows:ident, $n:literal, $mask:literal, $($a:literal $b:literal),*) => {
        let mask = $planes.splat($mask);
        $({
            let (a, b) = ($rows[$a], $rows[$b]);
            let wrong = $planes.and($planes.xor($planes.shift_right::<$n>(a), b), mask);
            $rows[$b] = $planes.xor(b, wrong);
            $rows[$a] = $planes.xor(a, $planes.shift_left::<$n>(wrong));
        })*
    };
}

/// XORs `data`, at most all blocks, with the blocks whose bits are `state` after the last round.
/// `rows` is room to work in.
#[inline(always)]
fn transpose_and_xor<P: Planes>(
    planes: P,
    state: &[P::Plane],
    rows: &mut [P::Plane; 64],
    data: &mut [u8],
) {
    // Eight rows at a time stay in registers: first every eighth row, by whole bytes, then eight in
    // a row.
    for k in 0..8 {
        let mut v = [planes.splat(0); 8];
        for (i, row) in v.iter_mut().enumerate() {
            *row = state[ROW[8 * i + k]];
        }
        exchange!(planes, v, 32, 0x0000_0000_ffff_ffff, 0 4, 1 5, 2 6, 3 7);
        exchange!(planes, v, 16, 0x0000_ffff_0000_ffff, 0 2, 1 3, 4 6, 5 7);
        exchange!(planes, v, 8, 0x00ff_00ff_00ff_00ff, 0 1, 2 3, 4 5, 6 7);
        for (i, row) in v.iter().enumerate() {
            rows[8 * i + k] = *row;
        }
    }
    let (eights, _) = rows.as_chunks::<8>();
    for (eight, piece) in eights.iter().zip(data.chunks_mut(8 * P::BYTES)) {
        let mut v = *eight;
        exchange!(planes, v, 4, 0x0f0f_0f0f_0f0f_0f0f, 0 4, 1 5, 2 6, 3 7);
        exchange!(planes, v, 2, 0x3333_3333_3333_3333, 0 2, 1 3, 4 6, 5 7);
        exchange!(planes, v, 1, 0x5555_5555_5555_5555, 0 1, 2 3, 4 5, 6 7);
        for (row, part) in v.into_iter().zip(piece.chunks_mut(P::BYTES)) {
            if part.len() == P::BYTES {
                planes.store(planes.xor(planes.load(part), row), part);
            } else {
                let mut stream = [0; 64];
                planes.store(row, &mut stream);
                for (byte, key) in part.iter_mut().zip(&stream) {
                    *byte ^= key;
                }
                stream.fill(0);
                optimization_barrier(&stream);
            }
        }
    }
}
