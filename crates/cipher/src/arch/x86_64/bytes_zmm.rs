//! 512-bit vectors of bytes, with affine maps and inversion by GFNI.

use std::arch::x86_64::*;

use super::Avx512;
use crate::arch::byte_lanes::{ByteLanes, IDENTITY};
use crate::arch::{AesLanes, Kernel};

impl ByteLanes for Avx512 {
    type Bytes = __m512i;

    const LANES: usize = 64;

    fn name(self) -> &'static str {
        AesLanes::name(self)
    }

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        AesLanes::enter(self, kernel)
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m512i {
        proven!(_mm512_set1_epi8(byte as i8))
    }
    #[inline(always)]
    fn splat_four(self, four: &[u8; 4]) -> __m512i {
        proven!(_mm512_set1_epi32(i32::from_le_bytes(*four)))
    }
    #[inline(always)]
    fn splat_block(self, block: &[u8; 16]) -> __m512i {
        AesLanes::splat(self, block)
    }
    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m512i {
        AesLanes::load(self, bytes)
    }
    #[inline(always)]
    fn store(self, v: __m512i, bytes: &mut [u8]) {
        AesLanes::store(self, v, bytes);
    }
    #[inline(always)]
    fn xor_partial(self, v: __m512i, bytes: &mut [u8]) {
        self.store_partial(AesLanes::xor(self, self.load_partial(bytes), v), bytes);
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_xor_si512(a, b))
    }
    #[inline(always)]
    fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        proven!(_mm512_ternarylogic_epi64::<0x96>(a, b, c))
    }
    #[inline(always)]
    fn add8(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_add_epi8(a, b))
    }
    #[inline(always)]
    fn add32(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_add_epi32(a, b))
    }
    #[inline(always)]
    fn choose_below(self, v: __m512i, limit: u8, below: u8, rest: u8) -> __m512i {
        let mask = proven!(_mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(limit as i8)));
        proven!(_mm512_mask_mov_epi8(_mm512_set1_epi8(rest as i8), mask, _mm512_set1_epi8(below as i8)))
    }
    #[inline(always)]
    fn select<const A: u16>(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_mask_mov_epi8(b, u64::from(A) * 0x0001_0001_0001_0001, a))
    }
    #[inline(always)]
    fn shuffle(self, v: __m512i, from: &[u8; 16]) -> __m512i {
        proven!(_mm512_shuffle_epi8(v, AesLanes::splat(self, from)))
    }
    #[inline(always)]
    fn interleave_low(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_unpacklo_epi8(a, b))
    }
    #[inline(always)]
    fn interleave_high(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_unpackhi_epi8(a, b))
    }

    #[inline(always)]
    fn invert_affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m512i) -> __m512i {
        proven!(_mm512_gf2p8affineinv_epi64_epi8::<CONSTANT>(v, _mm512_set1_epi64(MATRIX as i64)))
    }
    #[inline(always)]
    fn affine_invert<const MATRIX: u64, const CONSTANT: i32>(self, v: __m512i) -> __m512i {
        let mapped = proven!(_mm512_gf2p8affine_epi64_epi8::<CONSTANT>(v, _mm512_set1_epi64(MATRIX as i64)));
        proven!(_mm512_gf2p8affineinv_epi64_epi8::<0>(mapped, _mm512_set1_epi64(IDENTITY as i64)))
    }
}
