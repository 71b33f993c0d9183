//! Instructions that every CPU has: plain logic on 128-bit words.
//!
//! On x86-64 the words are SSE2 registers, which that architecture always has; elsewhere they are
//! arrays, which compilers turn into whatever vectors there are.
//!
//! Not here: vectors (`lanes`) and planes (`planes`) on every CPU.

use super::{Logic, Words};

/// The token of the portable instruction set, which needs no proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

impl Portable {
    /// Returns the name of the backend.
    pub(crate) fn name(self) -> &'static str {
        "portable"
    }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2", not(miri)))]
mod sse2 {
    use std::arch::x86_64::*;

    use super::{Logic, Portable, Words};

    /// Calls SSE2 intrinsics.
    macro_rules! sse2 {
        ($call:expr) => {{
            // SAFETY: this module is compiled only where every CPU the program can run on has SSE2.
            // Loads and stores go through references to 16 bytes and need no alignment.
            unsafe { $call }
        }};
    }

    impl Logic for Portable {
        type Word = __m128i;

        #[inline(always)]
        fn xor(self, a: __m128i, b: __m128i) -> __m128i {
            sse2!(_mm_xor_si128(a, b))
        }
        #[inline(always)]
        fn and(self, a: __m128i, b: __m128i) -> __m128i {
            sse2!(_mm_and_si128(a, b))
        }
    }

    impl Words for Portable {
        #[inline(always)]
        fn rows(self, [a, b, c, d]: [u32; 4]) -> __m128i {
            sse2!(_mm_setr_epi32(a as i32, b as i32, c as i32, d as i32))
        }
        #[inline(always)]
        fn load(self, bytes: &[u8; 16]) -> __m128i {
            sse2!(_mm_loadu_si128(bytes.as_ptr().cast()))
        }
        #[inline(always)]
        fn store(self, w: __m128i, bytes: &mut [u8; 16]) {
            sse2!(_mm_storeu_si128(bytes.as_mut_ptr().cast(), w));
        }
        #[inline(always)]
        fn multiply(self, a: __m128i, b: __m128i) -> __m128i {
            sse2!(_mm_mul_epu32(a, b))
        }
        #[inline(always)]
        fn shift_left<const N: i32>(self, w: __m128i) -> __m128i {
            sse2!(_mm_slli_epi64::<N>(w))
        }
        #[inline(always)]
        fn shift_right<const N: i32>(self, w: __m128i) -> __m128i {
            sse2!(_mm_srli_epi64::<N>(w))
        }
        #[inline(always)]
        fn rotate_rows_1(self, w: __m128i) -> __m128i {
            sse2!(_mm_shuffle_epi32::<0b00_11_10_01>(w))
        }
        #[inline(always)]
        fn rotate_rows_2(self, w: __m128i) -> __m128i {
            sse2!(_mm_shuffle_epi32::<0b01_00_11_10>(w))
        }
        #[inline(always)]
        fn exchange_outer_rows(self, w: __m128i) -> __m128i {
            sse2!(_mm_shuffle_epi32::<0b00_10_01_11>(w))
        }
        #[inline(always)]
        fn rotate_columns_1(self, w: __m128i) -> __m128i {
            sse2!(_mm_or_si128(_mm_srli_epi32::<8>(w), _mm_slli_epi32::<24>(w)))
        }
        #[inline(always)]
        fn rotate_columns_2(self, w: __m128i) -> __m128i {
            sse2!(_mm_shufflehi_epi16::<0b10_11_00_01>(_mm_shufflelo_epi16::<0b10_11_00_01>(w)))
        }
        #[inline(always)]
        fn rotate_columns_3(self, w: __m128i) -> __m128i {
            sse2!(_mm_or_si128(_mm_srli_epi32::<24>(w), _mm_slli_epi32::<8>(w)))
        }
        #[inline(always)]
        fn rotate_odd_rows_2(self, w: __m128i) -> __m128i {
            sse2!(_mm_shufflehi_epi16::<0b10_11_01_00>(_mm_shufflelo_epi16::<0b10_11_01_00>(w)))
        }
        #[inline(always)]
        fn transpose(self, w: __m128i) -> __m128i {
            // Two perfect shuffles of the bytes exchange the two halves of their 4-bit index.
            sse2!({
                let w = _mm_unpacklo_epi8(w, _mm_srli_si128::<8>(w));
                _mm_unpacklo_epi8(w, _mm_srli_si128::<8>(w))
            })
        }
    }
}

/// Words as arrays of their rows.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
macro_rules! array_words {
    ($token:ident) => {
        impl Logic for $token {
            type Word = [u32; 4];

            #[inline(always)]
            fn xor(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
                [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]]
            }
            #[inline(always)]
            fn and(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
                [a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]]
            }
        }

        impl Words for $token {
            #[inline(always)]
            fn rows(self, rows: [u32; 4]) -> [u32; 4] {
                rows
            }
            #[inline(always)]
            fn load(self, bytes: &[u8; 16]) -> [u32; 4] {
                let (rows, _) = bytes.as_chunks::<4>();
                [0, 1, 2, 3].map(|r| u32::from_le_bytes(rows[r]))
            }
            #[inline(always)]
            fn store(self, w: [u32; 4], bytes: &mut [u8; 16]) {
                for (row, value) in bytes.chunks_exact_mut(4).zip(w) {
                    row.copy_from_slice(&value.to_le_bytes());
                }
            }
            #[inline(always)]
            fn multiply(self, a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
                let (low, high) =
                    (u64::from(a[0]) * u64::from(b[0]), u64::from(a[2]) * u64::from(b[2]));
                [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
            }
            #[inline(always)]
            fn shift_left<const N: i32>(self, w: [u32; 4]) -> [u32; 4] {
                // Bits that would cross into the other row of a half are masked by the caller, like
                // bits that cross a byte.
                w.map(|row| row << N)
            }
            #[inline(always)]
            fn shift_right<const N: i32>(self, w: [u32; 4]) -> [u32; 4] {
                w.map(|row| row >> N)
            }
            #[inline(always)]
            fn rotate_rows_1(self, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
                [b, c, d, a]
            }
            #[inline(always)]
            fn rotate_rows_2(self, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
                [c, d, a, b]
            }
            #[inline(always)]
            fn exchange_outer_rows(self, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
                [d, b, c, a]
            }
            #[inline(always)]
            fn rotate_columns_1(self, w: [u32; 4]) -> [u32; 4] {
                w.map(|row| row.rotate_right(8))
            }
            #[inline(always)]
            fn rotate_columns_2(self, w: [u32; 4]) -> [u32; 4] {
                w.map(|row| row.rotate_right(16))
            }
            #[inline(always)]
            fn rotate_columns_3(self, w: [u32; 4]) -> [u32; 4] {
                w.map(|row| row.rotate_right(24))
            }
            #[inline(always)]
            fn rotate_odd_rows_2(self, [a, b, c, d]: [u32; 4]) -> [u32; 4] {
                [a, b.rotate_right(16), c, d.rotate_right(16)]
            }
            #[inline(always)]
            fn transpose(self, w: [u32; 4]) -> [u32; 4] {
                let bytes = w.map(u32::to_le_bytes);
                [0, 1, 2, 3].map(|c| {
                    u32::from_le_bytes([bytes[0][c], bytes[1][c], bytes[2][c], bytes[3][c]])
                })
            }
        }
    };
}

#[cfg(any(not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
array_words!(Portable);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Arrays;
    array_words!(Arrays);

    fn stored<W: Words>(words: W, w: W::Word) -> [u8; 16] {
        let mut bytes = [0; 16];
        words.store(w, &mut bytes);
        bytes
    }

    /// Returns the results of every operation of ciphers, on two words of 16 bytes.
    fn results<W: Words>(words: W, a: &[u8; 16], b: &[u8; 16]) -> Vec<[u8; 16]> {
        let (v, w) = (words.load(a), words.load(b));
        let mask = words.rows([0x0f0f_0f0f; 4]);
        [
            words.rows([1, 0x203, 0x0405_0607, 0xffff_ffff]),
            words.xor(v, w),
            words.and(v, w),
            words.multiply(v, w),
            words.shift_left::<4>(words.and(v, mask)),
            words.and(words.shift_right::<4>(v), mask),
            words.rotate_rows_1(v),
            words.rotate_rows_2(v),
            words.rotate_columns_1(v),
            words.rotate_columns_2(v),
            words.rotate_columns_3(v),
            words.rotate_odd_rows_2(v),
            words.exchange_outer_rows(v),
            words.transpose(v),
        ]
        .map(|w| stored(words, w))
        .to_vec()
    }

    #[test]
    fn arrays_do_what_registers_do() {
        for seed in 0..64_u8 {
            let a = std::array::from_fn(|i| (i as u8).wrapping_mul(37) ^ seed.wrapping_mul(101));
            let b = std::array::from_fn(|i| (i as u8).wrapping_mul(151).wrapping_add(seed));
            assert_eq!(results(Portable, &a, &b), results(Arrays, &a, &b));
            assert_eq!(stored(Arrays, Arrays.transpose(Arrays.transpose(Arrays.load(&a)))), a);
        }
    }
}
