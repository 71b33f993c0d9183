//! 256-bit vectors of bytes: inversion by the last round of AES, affine maps by shuffles.

use std::arch::x86_64::*;

use super::{Avx2, Vaes};
use crate::arch::byte_lanes::{ByteLanes, Nibbles};

/// Applies an instruction of AES to both halves, with a key of zeros: one after the other, or both
/// at once.
macro_rules! last_round {
    (halves, $v:expr, $intrinsic:ident, $_whole:ident) => {
        proven!({
            let low = $intrinsic(_mm256_castsi256_si128($v), _mm_setzero_si128());
            let high = $intrinsic(_mm256_extracti128_si256::<1>($v), _mm_setzero_si128());
            _mm256_set_m128i(high, low)
        })
    };
    (whole, $v:expr, $_half:ident, $intrinsic:ident) => {
        proven!($intrinsic($v, _mm256_setzero_si256()))
    };
}

/// Implements [`ByteLanes`] for a token, whose instructions for AES take `halves` of a vector or
/// the `whole` of it.
macro_rules! ymm_bytes {
    ($token:ident, $by:ident) => {
        impl $token {
            #[inline(always)]
            fn nibbles(self, v: __m256i, map: &Nibbles) -> __m256i {
                if map.identity {
                    return v;
                }
                let (low, high) = (self.splat_block(&map.low), self.splat_block(&map.high));
                proven!({
                    let mask = _mm256_set1_epi8(0x0f);
                    let low = _mm256_shuffle_epi8(low, _mm256_and_si256(v, mask));
                    let high = _mm256_shuffle_epi8(
                        high,
                        _mm256_and_si256(_mm256_srli_epi16::<4>(v), mask),
                    );
                    _mm256_xor_si256(low, high)
                })
            }
        }

        impl ByteLanes for $token {
            #[inline(always)]
            fn splat_block(self, block: &[u8; 16]) -> __m256i {
                proven!(_mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast())))
            }

            #[inline(always)]
            fn select<const A: u16>(self, a: __m256i, b: __m256i) -> __m256i {
                let mask = self.splat_block(const { &super::byte_mask(A) });
                proven!(_mm256_blendv_epi8(b, a, mask))
            }
            #[inline(always)]
            fn shuffle(self, v: __m256i, from: &[u8; 16]) -> __m256i {
                let from = self.splat_block(from);
                proven!(_mm256_shuffle_epi8(v, from))
            }

            #[inline(always)]
            fn affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m256i) -> __m256i {
                self.nibbles(v, const { &Nibbles::affine(MATRIX, CONSTANT) })
            }
            #[inline(always)]
            fn invert_affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m256i) -> __m256i {
                let v = self.shuffle(v, &super::BEFORE_SHIFT_ROWS);
                let s_box = last_round!($by, v, _mm_aesenclast_si128, _mm256_aesenclast_epi128);
                self.nibbles(s_box, const { &Nibbles::after_aes(MATRIX, CONSTANT) })
            }
            #[inline(always)]
            fn affine_invert<const MATRIX: u64, const CONSTANT: i32>(self, v: __m256i) -> __m256i {
                let v = self.nibbles(v, const { &Nibbles::before_inverse_aes(MATRIX, CONSTANT) });
                let v = self.shuffle(v, &super::BEFORE_INVERSE_SHIFT_ROWS);
                last_round!($by, v, _mm_aesdeclast_si128, _mm256_aesdeclast_epi128)
            }
        }
    };
}
ymm_bytes!(Avx2, halves);
ymm_bytes!(Vaes, whole);
