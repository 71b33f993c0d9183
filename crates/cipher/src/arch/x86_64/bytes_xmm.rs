//! 128-bit vectors of bytes in SSE encoding: inversion by the last round of AES, affine maps by shuffles.

use std::arch::x86_64::*;

use super::Aesni;
use crate::arch::byte_lanes::{ByteLanes, Nibbles};
use crate::arch::{AesLanes, Kernel};

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
    type Bytes = __m128i;

    const LANES: usize = 16;

    fn name(self) -> &'static str {
        AesLanes::name(self)
    }

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        AesLanes::enter(self, kernel)
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m128i {
        proven!(_mm_set1_epi8(byte as i8))
    }
    #[inline(always)]
    fn splat_four(self, four: &[u8; 4]) -> __m128i {
        proven!(_mm_set1_epi32(i32::from_le_bytes(*four)))
    }
    #[inline(always)]
    fn splat_block(self, block: &[u8; 16]) -> __m128i {
        AesLanes::splat(self, block)
    }
    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m128i {
        AesLanes::load(self, bytes)
    }
    #[inline(always)]
    fn store(self, v: __m128i, bytes: &mut [u8]) {
        AesLanes::store(self, v, bytes);
    }
    #[inline(always)]
    fn xor_partial(self, v: __m128i, bytes: &mut [u8]) {
        self.store_partial(AesLanes::xor(self, self.load_partial(bytes), v), bytes);
    }

    #[inline(always)]
    fn xor(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_xor_si128(a, b))
    }
    #[inline(always)]
    fn xor3(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        proven!(_mm_xor_si128(_mm_xor_si128(a, b), c))
    }
    #[inline(always)]
    fn add8(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_add_epi8(a, b))
    }
    #[inline(always)]
    fn add32(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_add_epi32(a, b))
    }
    #[inline(always)]
    fn choose_below(self, v: __m128i, limit: u8, below: u8, rest: u8) -> __m128i {
        proven!({
            let reached = _mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8(limit as i8)), v);
            _mm_blendv_epi8(_mm_set1_epi8(below as i8), _mm_set1_epi8(rest as i8), reached)
        })
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
    fn interleave_low(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_unpacklo_epi8(a, b))
    }
    #[inline(always)]
    fn interleave_high(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_unpackhi_epi8(a, b))
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
