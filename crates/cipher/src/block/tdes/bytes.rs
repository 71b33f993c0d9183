//! Triple DES over vectors of bytes that look up whole tables: 64 blocks at a time, in constant
//! time, for messages too short for the circuits.
//!
//! Both halves are kept as the selection E spreads them: vector n holds, for each block, the six
//! bits that go into S-box n. Permutations and exclusive ors are linear. So a table of 64 entries
//! for each S-box, and each of the six S-boxes that its four bits reach in the next round, computes
//! a round without moving any bit.

use zeroize::optimization_barrier;

use super::key_schedule::{ROUNDS, SCHEDULE};
use super::permutations::{S_BOX_TARGET, TO_STATE};
use crate::arch::byte_lanes::sixteen;
use crate::arch::{ByteLanes, TableLanes};
use crate::block::byte_sliced::{ByteCipher, ByteSliced};
use crate::memory::Protected;

/// The S-boxes of FIPS 46-3, each row by row.
const S_BOXES: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7, 0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12,
        11, 9, 5, 3, 8, 4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0, 15, 12, 8, 2, 4, 9,
        1, 7, 5, 11, 3, 14, 10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10, 3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1,
        10, 6, 9, 11, 5, 0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15, 13, 8, 10, 1, 3, 15,
        4, 2, 11, 6, 7, 12, 0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8, 13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5,
        14, 12, 11, 15, 1, 13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7, 1, 10, 13, 0, 6,
        9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15, 13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2,
        12, 1, 10, 14, 9, 10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4, 3, 15, 0, 6, 10, 1,
        13, 8, 9, 4, 5, 11, 12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9, 14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15,
        10, 3, 9, 8, 6, 4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14, 11, 8, 12, 7, 1, 14,
        2, 13, 6, 15, 0, 9, 10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11, 10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13,
        14, 0, 11, 3, 8, 9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6, 4, 3, 2, 12, 9, 5,
        15, 10, 11, 14, 1, 7, 6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1, 13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5,
        12, 2, 15, 8, 6, 1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2, 6, 11, 13, 8, 1, 4,
        10, 7, 9, 5, 0, 15, 14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7, 1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6,
        11, 0, 14, 9, 2, 7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8, 2, 1, 14, 7, 4, 10,
        8, 13, 15, 12, 9, 0, 3, 5, 6, 11,
    ],
];

/// Bit `i` (0 to 5, the first at the top of the byte's six) of what E gives S-box `n`, as a bit of
/// the half.
const fn selected(n: usize, i: usize) -> usize {
    (4 * n + i + 31) % 32
}

/// `0[n][j][v]` is what S-box n, entered with v, adds to the six bits of S-box j in the next round.
#[repr(align(64))]
struct Tables([[[u8; 64]; 8]; 8]);

static TABLES: Tables = {
    let mut tables = [[[0; 64]; 8]; 8];
    let mut n = 0;
    while n < 8 {
        let mut v = 0;
        while v < 64 {
            // the outer bits are the row, the inner bits the column
            let output = S_BOXES[n][v >> 5 << 5 | (v & 1) << 4 | v >> 1 & 15];
            let mut place = 0;
            while place < 48 {
                let (j, i) = (place / 6, place % 6);
                let mut o = 0;
                while o < 4 {
                    if selected(j, i) == S_BOX_TARGET[4 * n + o] && output >> (3 - o) & 1 == 1 {
                        tables[n][j][v] |= 1 << (5 - i);
                    }
                    o += 1;
                }
                place += 1;
            }
            v += 1;
        }
        n += 1;
    }
    Tables(tables)
};

/// The six S-boxes whose bits reach each S-box of the next round.
const SOURCES: [[usize; 6]; 8] = {
    let mut sources = [[0; 6]; 8];
    let mut j = 0;
    while j < 8 {
        let mut i = 0;
        while i < 6 {
            let mut s = 0;
            while s < 32 {
                if S_BOX_TARGET[s] == selected(j, i) {
                    sources[j][i] = s / 4;
                }
                s += 1;
            }
            let mut before = 0;
            while before < i {
                // each of the six bits comes from another S-box
                assert!(sources[j][before] != sources[j][i]);
                before += 1;
            }
            i += 1;
        }
        j += 1;
    }
    sources
};

/// Returns a matrix that takes bit `from` of a byte to bit `to`.
const fn moved(from: usize, to: usize) -> u64 {
    1 << from << (8 * (7 - to))
}

/// Returns the contribution of byte `y` of a block to the six bits of S-box `g` % 8 in half `g` /
/// 8, after the initial permutation.
const fn in_matrix(g: usize, y: usize) -> u64 {
    let mut matrix = 0;
    let mut i = 0;
    while i < 6 {
        let bit = TO_STATE[32 * (g / 8) + selected(g % 8, i)];
        if bit / 8 == y {
            matrix |= moved(7 - bit % 8, 5 - i);
        }
        i += 1;
    }
    matrix
}

/// Returns the contribution of the six bits of S-box `g` % 8 in half `g` / 8 to byte `y` of a
/// block: only the inner four count, since each bit is an inner bit once.
const fn out_matrix(y: usize, g: usize) -> u64 {
    let mut matrix = 0;
    let mut i = 1;
    while i < 5 {
        let bit = TO_STATE[32 * (g / 8) + selected(g % 8, i)];
        if bit / 8 == y {
            matrix |= moved(5 - i, 7 - bit % 8);
        }
        i += 1;
    }
    matrix
}

/// The sum of linear maps of `$v`, one for each of `$i`, leaving out zero maps.
macro_rules! sum_of_maps {
    ($lanes:ident, $v:ident, $matrix:ident, $out:ident, $($i:literal)*) => {{
        let mut sum = $lanes.splat(0);
        $(if const { $matrix($out, $i) } != 0 {
            sum = $lanes.xor(sum, $lanes.affine::<{ $matrix($out, $i) }, 0>($v[$i]));
        })*
        sum
    }};
}

/// The round keys as bytes of six bits, each as often as a word has bytes, as vectors are filled
/// with words from memory at no cost. Zeroed on drop.
pub(super) struct ByteKeys([[u32; 8]; ROUNDS]);

impl ByteKeys {
    /// Sets `key` as [`super::keyed`] does, in place, with `lanes` to use it.
    pub(super) fn protected<L: TableLanes + ByteLanes>(
        lanes: L,
        key: &[u8; 24],
    ) -> Protected<ByteSliced<L, Self>> {
        let mut sliced = Protected::with(|| ByteSliced { lanes, cipher: Self([[0; 8]; ROUNDS]) });
        sliced.cipher.expand(key);
        sliced
    }

    fn expand(&mut self, key: &[u8; 24]) {
        let (keys, _) = key.as_chunks::<8>();
        let (thirds, _) = self.0.as_chunks_mut::<16>();
        for (n, (rounds, key)) in thirds.iter_mut().zip(keys).enumerate() {
            let key = u64::from_be_bytes(*key);
            for (r, bits) in SCHEDULE.iter().enumerate() {
                for (bytes, six) in
                    rounds[if n == 1 { 15 - r } else { r }].iter_mut().zip(bits.as_chunks::<6>().0)
                {
                    let value =
                        six.iter().fold(0, |value, bit| value << 1 | (key >> (63 - bit) & 1) as u8);
                    *bytes = u32::from_ne_bytes([value; 4]);
                }
            }
        }
    }

    /// The 48 rounds on one set of blocks, with the keys in reverse where it goes `BACK`.
    #[inline(always)]
    fn run<L: TableLanes + ByteLanes, const BACK: bool>(
        &self,
        lanes: L,
        blocks: &mut [L::Vector; 8],
    ) {
        let bytes = *blocks;
        let halves = sixteen!(G, sum_of_maps!(lanes, bytes, in_matrix, G, 0 1 2 3 4 5 6 7));
        let [l0, l1, l2, l3, l4, l5, l6, l7, r0, r1, r2, r3, r4, r5, r6, r7] = halves;
        let (mut left, mut right) =
            ([l0, l1, l2, l3, l4, l5, l6, l7], [r0, r1, r2, r3, r4, r5, r6, r7]);
        for r in 0..ROUNDS {
            left = round(lanes, left, right, &self.0[if BACK { ROUNDS - 1 - r } else { r }]);
            // DES ends without the exchange of halves.
            if r % 16 != 15 {
                (left, right) = (right, left);
            }
        }
        let [l0, l1, l2, l3, l4, l5, l6, l7] = left;
        let [r0, r1, r2, r3, r4, r5, r6, r7] = right;
        let halves = [l0, l1, l2, l3, l4, l5, l6, l7, r0, r1, r2, r3, r4, r5, r6, r7];
        *blocks = sixteen!(
            Y,
            sum_of_maps!(lanes, halves, out_matrix, Y, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15),
            0 1 2 3 4 5 6 7
        );
    }
}

/// `left` with the cipher function of `right` and `key` added.
#[inline(always)]
fn round<L: TableLanes + ByteLanes>(
    lanes: L,
    left: [L::Vector; 8],
    right: [L::Vector; 8],
    key: &[u32; 8],
) -> [L::Vector; 8] {
    let v = sixteen!(N, lanes.xor(right[N], lanes.splat32(key[N])), 0 1 2 3 4 5 6 7);
    sixteen!(
        J,
        {
            const S: [usize; 6] = SOURCES[J];
            let a = lanes.xor3(
                lanes.look_up64(v[S[0]], &TABLES.0[S[0]][J]),
                lanes.look_up64(v[S[1]], &TABLES.0[S[1]][J]),
                lanes.look_up64(v[S[2]], &TABLES.0[S[2]][J]),
            );
            let b = lanes.xor3(
                lanes.look_up64(v[S[3]], &TABLES.0[S[3]][J]),
                lanes.look_up64(v[S[4]], &TABLES.0[S[4]][J]),
                lanes.look_up64(v[S[5]], &TABLES.0[S[5]][J]),
            );
            lanes.xor3(left[J], a, b)
        },
        0 1 2 3 4 5 6 7
    )
}

impl<L: TableLanes + ByteLanes> ByteCipher<L> for ByteKeys {
    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for set in blocks {
            self.run::<L, false>(lanes, set);
        }
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        for set in blocks {
            self.run::<L, true>(lanes, set);
        }
    }
}

impl Drop for ByteKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_are_zeroed_on_drop() {
        assert!(left_after_drop(ByteKeys([[7; 8]; ROUNDS])).iter().all(|byte| *byte == 0));
    }
}
