//! 128-bit vectors of bytes in SSE encoding: inversion by the last round of AES, affine maps by
//! shuffles.

use std::arch::x86_64::*;

use super::Aesni;
use crate::arch::AesLanes;
use crate::arch::byte_lanes::{ByteLanes, Nibbles};

impl Aesni {
    #[inline(always)]
    fn nibbles(self, v: __m128i, map: &Nibbles) -> __m128i {
        if map.identity {
            return v;
        }
        proven!({
            let mask = _mm_set1_epi8(0x0f);
            let low = _mm_shuffle_epi8(AesLanes::splat(self, &map.low), _mm_and_si128(v, mask));
            let high = _mm_and_si128(_mm_srli_epi16::<4>(v), mask);
            _mm_xor_si128(low, _mm_shuffle_epi8(AesLanes::splat(self, &map.high), high))
        })
    }
}

impl ByteLanes for Aesni {
    #[inline(always)]
    fn splat_block(self, block: &[u8; 16]) -> __m128i {
        AesLanes::splat(self, block)
    }

    #[inline(always)]
    fn select<const A: u16>(self, a: __m128i, b: __m128i) -> __m128i {
        let mask = AesLanes::splat(self, const { &super::byte_mask(A) });
        proven!(_mm_or_si128(_mm_and_si128(mask, a), _mm_andnot_si128(mask, b)))
    }
    #[inline(always)]
    fn shuffle(self, v: __m128i, from: &[u8; 16]) -> __m128i {
        proven!(_mm_shuffle_epi8(v, AesLanes::splat(self, from)))
    }

    #[inline(always)]
    fn affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m128i) -> __m128i {
        self.nibbles(v, const { &Nibbles::affine(MATRIX, CONSTANT) })
    }
    #[inline(always)]
    fn invert_affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m128i) -> __m128i {
        let v = self.shuffle(v, &super::BEFORE_SHIFT_ROWS);
        let s_box = proven!(_mm_aesenclast_si128(v, _mm_setzero_si128()));
        self.nibbles(s_box, const { &Nibbles::after_aes(MATRIX, CONSTANT) })
    }
    #[inline(always)]
    fn affine_invert<const MATRIX: u64, const CONSTANT: i32>(self, v: __m128i) -> __m128i {
        let v = self.nibbles(v, const { &Nibbles::before_inverse_aes(MATRIX, CONSTANT) });
        let v = self.shuffle(v, &super::BEFORE_INVERSE_SHIFT_ROWS);
        proven!(_mm_aesdeclast_si128(v, _mm_setzero_si128()))
    }
}
