//! Blowfish over vectors of bytes that look up whole tables: as many blocks at a time as a vector
//! has bytes, in constant time.

use zeroize::optimization_barrier;

use super::plain::{Blowfish, ROUNDS};
use crate::arch::TableLanes;
use crate::block::byte_sliced::{ByteCipher, ByteSliced};
use crate::memory::Protected;

/// A keyed Blowfish, byte by byte. Zeroed on drop.
#[repr(C, align(64))]
pub(super) struct Planes {
    /// The four tables, each split into a table for each byte of its words, most significant first.
    s: [[[u8; 256]; 4]; 4],
    /// The bytes of P, each as often as a word has bytes, as vectors are filled with words from
    /// memory at no cost. The last two are not used: they pad to the alignment.
    p: [[u32; 4]; ROUNDS + 4],
}

impl Planes {
    /// Lays out `plain`, with `lanes` to use it.
    pub(super) fn protected<L: TableLanes>(
        lanes: L,
        plain: &Blowfish,
    ) -> Protected<ByteSliced<L, Self>> {
        let mut sliced = Protected::with(|| ByteSliced { lanes, cipher: Self::zero() });
        sliced.cipher.set(plain);
        sliced
    }

    /// Returns zeros, to be set later.
    fn zero() -> Self {
        Self { s: [[[0; 256]; 4]; 4], p: [[0; 4]; ROUNDS + 4] }
    }

    fn set(&mut self, plain: &Blowfish) {
        for (bytes, word) in self.p.iter_mut().zip(&plain.p) {
            *bytes = word.to_be_bytes().map(|byte| u32::from_ne_bytes([byte; 4]));
        }
        for (tables, words) in self.s.iter_mut().zip(&plain.s) {
            for (at, word) in words.iter().enumerate() {
                for (table, byte) in tables.iter_mut().zip(word.to_be_bytes()) {
                    table[at] = byte;
                }
            }
        }
    }

    /// All rounds, with P in the order of its use.
    #[inline(always)]
    fn run<L: TableLanes, const M: usize, const BACK: bool>(
        &self,
        lanes: L,
        blocks: &mut [[L::Vector; 8]; M],
    ) {
        for x in &mut *blocks {
            let [l0, l1, l2, l3, r0, r1, r2, r3] = *x;
            let [l0, l1, l2, l3] = add(lanes, [l0, l1, l2, l3], self.p::<BACK>(0));
            *x = [l0, l1, l2, l3, r0, r1, r2, r3];
        }
        for round in 1..=ROUNDS {
            for x in &mut *blocks {
                let [l0, l1, l2, l3, r0, r1, r2, r3] = *x;
                let f = self.mix(lanes, [l0, l1, l2, l3]);
                let [k0, k1, k2, k3] = splat(lanes, self.p::<BACK>(round));
                *x = [
                    lanes.xor3(r0, f[0], k0),
                    lanes.xor3(r1, f[1], k1),
                    lanes.xor3(r2, f[2], k2),
                    lanes.xor3(r3, f[3], k3),
                    l0,
                    l1,
                    l2,
                    l3,
                ];
            }
        }
        for x in blocks {
            // the last round does not exchange the halves
            let [l0, l1, l2, l3, r0, r1, r2, r3] = *x;
            let [r0, r1, r2, r3] = add(lanes, [r0, r1, r2, r3], self.p::<BACK>(ROUNDS + 1));
            *x = [r0, r1, r2, r3, l0, l1, l2, l3];
        }
    }

    #[inline(always)]
    fn p<const BACK: bool>(&self, round: usize) -> &[u32; 4] {
        &self.p[if BACK { ROUNDS + 1 - round } else { round }]
    }

    /// Applies the function F.
    #[inline(always)]
    fn mix<L: TableLanes>(&self, lanes: L, [a, b, c, d]: [L::Vector; 4]) -> [L::Vector; 4] {
        let [s0, s1, s2, s3] = &self.s;
        let sum = lanes.add_sliced32(look_up(lanes, a, s0), look_up(lanes, b, s1));
        let third = look_up(lanes, c, s2);
        let mixed = [
            lanes.xor(sum[0], third[0]),
            lanes.xor(sum[1], third[1]),
            lanes.xor(sum[2], third[2]),
            lanes.xor(sum[3], third[3]),
        ];
        lanes.add_sliced32(mixed, look_up(lanes, d, s3))
    }
}

#[inline(always)]
fn look_up<L: TableLanes>(lanes: L, index: L::Vector, tables: &[[u8; 256]; 4]) -> [L::Vector; 4] {
    [
        lanes.look_up(index, &tables[0]),
        lanes.look_up(index, &tables[1]),
        lanes.look_up(index, &tables[2]),
        lanes.look_up(index, &tables[3]),
    ]
}

#[inline(always)]
fn splat<L: TableLanes>(lanes: L, p: &[u32; 4]) -> [L::Vector; 4] {
    [lanes.splat32(p[0]), lanes.splat32(p[1]), lanes.splat32(p[2]), lanes.splat32(p[3])]
}

/// Returns `x` with `p` added.
#[inline(always)]
fn add<L: TableLanes>(lanes: L, x: [L::Vector; 4], p: &[u32; 4]) -> [L::Vector; 4] {
    let p = splat(lanes, p);
    [lanes.xor(x[0], p[0]), lanes.xor(x[1], p[1]), lanes.xor(x[2], p[2]), lanes.xor(x[3], p[3])]
}

impl<L: TableLanes> ByteCipher<L> for Planes {
    #[inline(always)]
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        self.run::<L, M, false>(lanes, blocks);
    }

    #[inline(always)]
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]) {
        self.run::<L, M, true>(lanes, blocks);
    }
}

impl Drop for Planes {
    fn drop(&mut self) {
        self.s.as_flattened_mut().as_flattened_mut().fill(0);
        self.p.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn tables_are_zeroed_on_drop() {
        let mut planes = Planes::zero();
        planes.set(&Blowfish::protected(&[7; 16]));
        assert!(left_after_drop(planes).iter().all(|byte| *byte == 0));
    }
}
