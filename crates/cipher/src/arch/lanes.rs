//! Vectors of bytes and of 32-bit words, with the logic, additions and rotations that ciphers
//! without tables are made of.
//!
//! Every CPU has these at some width. Here are the trait and what every CPU can do;
//! `x86_64/lanes.rs` has the vectors of that architecture.

use super::Kernel;

/// Vectors of [`Lanes::BYTES`] bytes and the instructions on them. The value is the proof that the
/// CPU has them.
///
/// Words are little-endian. Bytes come in groups of 16, which instructions that move bytes do not
/// leave.
#[cfg_attr(not(feature = "hmac"), allow(dead_code, reason = "some of it is for hashes alone"))]
pub(crate) trait Lanes: Copy + Send + Sync + 'static {
    /// A vector in registers.
    type Vector: Copy;

    /// Bytes in a vector: 16, 32 or 64.
    const BYTES: usize;
    /// Groups of 16 bytes in a vector.
    const GROUPS: usize = Self::BYTES / 16;

    /// Returns the name of the backend.
    fn name(self) -> &'static str;

    /// Runs `kernel`, compiled for these instructions.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Returns `byte` in every byte.
    fn splat(self, byte: u8) -> Self::Vector;
    /// Returns `word` in every word; from memory it costs less than `splat`.
    fn splat32(self, word: u32) -> Self::Vector;
    /// Returns the first `BYTES` bytes of `bytes`, which must hold as many.
    fn load(self, bytes: &[u8]) -> Self::Vector;
    /// Returns the first `GROUPS` of `groups`, one after the other.
    fn load_groups(self, groups: [&[u8; 16]; 4]) -> Self::Vector;
    /// Writes `v` to the first `BYTES` bytes of `bytes`, which must hold as many.
    fn store(self, v: Self::Vector, bytes: &mut [u8]);
    /// XORs `bytes`, at most `BYTES`, with the first bytes of `v`.
    fn xor_partial(self, v: Self::Vector, bytes: &mut [u8]);

    /// Returns the exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the bitwise and.
    fn and(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the inclusive or.
    fn or(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the exclusive or of three.
    #[inline(always)]
    fn xor3(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.xor(self.xor(a, b), c)
    }
    /// Returns the exclusive or of `a` and the bits of `b` that `mask` has.
    #[inline(always)]
    fn xor_masked(self, a: Self::Vector, b: Self::Vector, mask: Self::Vector) -> Self::Vector {
        self.xor(a, self.and(b, mask))
    }
    /// Returns the bits of `a` that `mask` has, and the bits of `b` elsewhere.
    #[inline(always)]
    fn choose(self, mask: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.xor_masked(b, self.xor(a, b), mask)
    }
    /// Returns the bits that two of three have.
    #[inline(always)]
    fn majority(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.xor_masked(b, self.xor(b, c), self.xor(a, b))
    }
    /// Returns the exclusive or of `a` and the inclusive or of `b` and all bits that `c` does not
    /// have.
    #[inline(always)]
    fn xor_or_not(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.xor(a, self.or(b, self.xor(c, self.splat(0xff))))
    }

    /// Sums of bytes, modulo 2^8.
    fn add8(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Differences of bytes, modulo 2^8.
    fn sub8(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Sums of words, modulo 2^32.
    fn add32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Differences of words, modulo 2^32.
    fn sub32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Returns each byte rotated left by `N` bits, 1 to 7.
    fn rotate8<const N: i32>(self, v: Self::Vector) -> Self::Vector;
    /// Returns each word rotated left by `N` bits, 1 to 31.
    fn rotate32<const N: i32>(self, v: Self::Vector) -> Self::Vector;
    /// Returns each word shifted right by `N` bits, 1 to 31.
    fn shift_right32<const N: i32>(self, v: Self::Vector) -> Self::Vector;
    /// Returns the exclusive or of each byte rotated left by all of `A`, `B` and `C` bits.
    #[inline(always)]
    fn three_rotations8<const A: i32, const B: i32, const C: i32>(
        self,
        v: Self::Vector,
    ) -> Self::Vector {
        self.xor3(self.rotate8::<A>(v), self.rotate8::<B>(v), self.rotate8::<C>(v))
    }
    /// Returns the bytes of each word in reverse order.
    #[inline(always)]
    fn swap_bytes32(self, v: Self::Vector) -> Self::Vector {
        let outer = self.and(self.rotate32::<8>(v), self.splat32(0x00ff_00ff));
        self.or(outer, self.and(self.rotate32::<24>(v), self.splat32(0xff00_ff00)))
    }

    /// Returns `below` where `v` is less than `limit`, bytes being unsigned; `rest` elsewhere.
    fn choose_below(self, v: Self::Vector, limit: u8, below: u8, rest: u8) -> Self::Vector;

    /// Bytes 0 to 7 of each group of `a` and `b` in turn.
    fn interleave_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Bytes 8 to 15 of each group of `a` and `b` in turn.
    fn interleave_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Words 0 and 1 of each group of `a` and `b` in turn.
    fn interleave_low32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Words 2 and 3 of each group of `a` and `b` in turn.
    fn interleave_high32(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the low half of each group of `a`, then that of `b`.
    fn interleave_low64(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the high half of each group of `a`, then that of `b`.
    fn interleave_high64(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Rows and columns of the 4 x 4 words in each group exchanged.
    #[inline(always)]
    fn transpose32(self, [a, b, c, d]: [Self::Vector; 4]) -> [Self::Vector; 4] {
        let (ab_low, ab_high) = (self.interleave_low32(a, b), self.interleave_high32(a, b));
        let (cd_low, cd_high) = (self.interleave_low32(c, d), self.interleave_high32(c, d));
        [
            self.interleave_low64(ab_low, cd_low),
            self.interleave_high64(ab_low, cd_low),
            self.interleave_low64(ab_high, cd_high),
            self.interleave_high64(ab_high, cd_high),
        ]
    }
}

/// Vectors as arrays of 16 bytes.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
macro_rules! array_lanes {
    ($token:ty, $name:literal) => {
        impl Lanes for $token {
            type Vector = [u8; 16];

            const BYTES: usize = 16;

            fn name(self) -> &'static str {
                $name
            }
            #[inline(always)]
            fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
                kernel.run(self)
            }

            #[inline(always)]
            fn splat(self, byte: u8) -> [u8; 16] {
                [byte; 16]
            }
            #[inline(always)]
            fn splat32(self, word: u32) -> [u8; 16] {
                from_words([word; 4])
            }
            #[inline(always)]
            fn load(self, bytes: &[u8]) -> [u8; 16] {
                *bytes.first_chunk().expect("a whole vector")
            }
            #[inline(always)]
            fn load_groups(self, groups: [&[u8; 16]; 4]) -> [u8; 16] {
                *groups[0]
            }
            #[inline(always)]
            fn store(self, v: [u8; 16], bytes: &mut [u8]) {
                *bytes.first_chunk_mut().expect("a whole vector") = v;
            }
            #[inline(always)]
            fn xor_partial(self, v: [u8; 16], bytes: &mut [u8]) {
                assert!(bytes.len() <= 16, "at most a vector");
                for (byte, key) in bytes.iter_mut().zip(v) {
                    *byte ^= key;
                }
            }

            #[inline(always)]
            fn xor(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| a[i] ^ b[i])
            }
            #[inline(always)]
            fn and(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| a[i] & b[i])
            }
            #[inline(always)]
            fn or(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| a[i] | b[i])
            }
            #[inline(always)]
            fn add8(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| a[i].wrapping_add(b[i]))
            }
            #[inline(always)]
            fn sub8(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| a[i].wrapping_sub(b[i]))
            }
            #[inline(always)]
            fn add32(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words(std::array::from_fn(|i| a[i].wrapping_add(b[i])))
            }
            #[inline(always)]
            fn sub32(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words(std::array::from_fn(|i| a[i].wrapping_sub(b[i])))
            }
            #[inline(always)]
            fn rotate8<const N: i32>(self, v: [u8; 16]) -> [u8; 16] {
                v.map(|byte| byte.rotate_left(N as u32))
            }
            #[inline(always)]
            fn rotate32<const N: i32>(self, v: [u8; 16]) -> [u8; 16] {
                from_words(to_words(v).map(|word| word.rotate_left(N as u32)))
            }
            #[inline(always)]
            fn shift_right32<const N: i32>(self, v: [u8; 16]) -> [u8; 16] {
                from_words(to_words(v).map(|word| word >> N))
            }
            #[inline(always)]
            fn choose_below(self, v: [u8; 16], limit: u8, below: u8, rest: u8) -> [u8; 16] {
                v.map(|byte| if byte < limit { below } else { rest })
            }
            #[inline(always)]
            fn interleave_low(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| if i % 2 == 0 { a[i / 2] } else { b[i / 2] })
            }
            #[inline(always)]
            fn interleave_high(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                std::array::from_fn(|i| if i % 2 == 0 { a[8 + i / 2] } else { b[8 + i / 2] })
            }
            #[inline(always)]
            fn interleave_low32(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words([a[0], b[0], a[1], b[1]])
            }
            #[inline(always)]
            fn interleave_high32(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words([a[2], b[2], a[3], b[3]])
            }
            #[inline(always)]
            fn interleave_low64(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words([a[0], a[1], b[0], b[1]])
            }
            #[inline(always)]
            fn interleave_high64(self, a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
                let (a, b) = (to_words(a), to_words(b));
                from_words([a[2], a[3], b[2], b[3]])
            }
        }
    };
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
#[inline(always)]
fn to_words(v: [u8; 16]) -> [u32; 4] {
    std::array::from_fn(|i| {
        u32::from_le_bytes([v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]])
    })
}

#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
#[inline(always)]
fn from_words(words: [u32; 4]) -> [u8; 16] {
    std::array::from_fn(|i| words[i / 4].to_le_bytes()[i % 4])
}

#[cfg(any(not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
array_lanes!(super::Portable, "portable");

// Vectors as arrays, where `Portable` has registers: to test the code of other architectures on
// this one.
#[cfg(test)]
array_lanes!(super::Arrays, "arrays");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Arrays, with_every};
    use crate::backend::Backend;

    /// Returns every operation of `lanes` on all its groups, from two vectors of bytes.
    fn all<L: Lanes>(lanes: L, a: &[u8], b: &[u8]) -> Vec<Vec<u8>> {
        let (x, y) = (lanes.load(a), lanes.load(b));
        let results = [
            lanes.splat(a[0]),
            lanes.splat32(u32::from_le_bytes([a[0], a[1], a[2], a[3]])),
            lanes.xor(x, y),
            lanes.and(x, y),
            lanes.or(x, y),
            lanes.xor3(x, y, lanes.splat(b[1])),
            lanes.add8(x, y),
            lanes.sub8(x, y),
            lanes.add32(x, y),
            lanes.sub32(x, y),
            lanes.rotate8::<1>(x),
            lanes.rotate8::<2>(x),
            lanes.rotate8::<3>(x),
            lanes.rotate8::<4>(x),
            lanes.rotate8::<5>(x),
            lanes.rotate8::<6>(x),
            lanes.rotate8::<7>(x),
            lanes.rotate32::<1>(x),
            lanes.rotate32::<8>(x),
            lanes.rotate32::<13>(x),
            lanes.rotate32::<16>(x),
            lanes.rotate32::<24>(x),
            lanes.rotate32::<29>(x),
            lanes.three_rotations8::<1, 2, 7>(x),
            lanes.three_rotations8::<3, 4, 6>(x),
            lanes.swap_bytes32(x),
            lanes.choose_below(x, 0x80, a[2], b[2]),
            lanes.choose_below(x, 1, a[2], b[2]),
            lanes.choose_below(x, 0xff, a[2], b[2]),
            lanes.interleave_low(x, y),
            lanes.interleave_high(x, y),
            lanes.interleave_low32(x, y),
            lanes.interleave_high32(x, y),
            lanes.interleave_low64(x, y),
            lanes.interleave_high64(x, y),
            lanes.shift_right32::<3>(x),
            lanes.shift_right32::<10>(x),
            lanes.choose(x, y, lanes.rotate32::<5>(y)),
            lanes.majority(x, y, lanes.rotate32::<5>(y)),
            lanes.xor_or_not(x, y, lanes.rotate32::<5>(y)),
            lanes.load_groups(
                [0, 16, 32, 48]
                    .map(|at| a[at.min(L::BYTES - 16)..].first_chunk().expect("16 bytes")),
            ),
            lanes.transpose32([x, y, lanes.xor(x, y), lanes.add32(x, y)])[1],
            lanes.transpose32([x, y, lanes.xor(x, y), lanes.add32(x, y)])[2],
        ];
        let mut all: Vec<Vec<u8>> = Vec::new();
        for result in results {
            let mut bytes = vec![0; L::BYTES];
            lanes.store(result, &mut bytes);
            all.push(bytes);
        }
        for bytes in 0..=L::BYTES {
            let mut data = b.to_vec();
            lanes.xor_partial(x, &mut data[..bytes]);
            all.push(data[..L::BYTES].to_vec());
        }
        all
    }

    /// The arrays are the plainest form; every other form does the same on each of its groups.
    #[test]
    fn every_backend_computes_as_the_arrays_do() {
        fn check<L: Lanes>(lanes: L, a: &[u8], b: &[u8]) {
            let found = all(lanes, a, b);
            let operations = found.len() - (L::BYTES + 1);
            for group in 0..L::GROUPS {
                let at = 16 * group;
                // values drawn from the first bytes are the same in every group
                let wanted = all(Arrays, &a[at..at + 16], &b[at..at + 16]);
                for (operation, (found, wanted)) in
                    found.iter().zip(&wanted).enumerate().take(operations)
                {
                    let splats = [0, 1, 5, 26, 27, 28].contains(&operation);
                    if !splats || group == 0 {
                        assert_eq!(
                            found[at..at + 16],
                            wanted[..],
                            "{} operation {operation}",
                            lanes.name()
                        );
                    }
                }
            }
            for (bytes, found) in found[operations..].iter().enumerate() {
                for i in 0..L::BYTES {
                    let wanted = if i < bytes { a[i] ^ b[i] } else { b[i] };
                    assert_eq!(found[i], wanted, "{}: {bytes} bytes", lanes.name());
                }
            }
        }
        for seed in 0..50 {
            let a = crate::testing::bytes(&format!("lanes a {seed}"), 64);
            let b = crate::testing::bytes(&format!("lanes b {seed}"), 64);
            for backend in Backend::available() {
                with_every!(backend, |lanes| check(lanes, &a, &b));
            }
        }
    }
}
