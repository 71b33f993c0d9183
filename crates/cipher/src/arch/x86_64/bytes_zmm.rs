//! 512-bit vectors of bytes, with affine maps and inversion by GFNI.

use std::arch::x86_64::*;

use super::Avx512;
use crate::arch::AesLanes;
use crate::arch::byte_lanes::{ByteLanes, IDENTITY};

impl ByteLanes for Avx512 {
    #[inline(always)]
    fn splat_block(self, block: &[u8; 16]) -> __m512i {
        AesLanes::splat(self, block)
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
    fn affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m512i) -> __m512i {
        proven!(_mm512_gf2p8affine_epi64_epi8::<CONSTANT>(v, _mm512_set1_epi64(MATRIX as i64)))
    }
    #[inline(always)]
    fn invert_affine<const MATRIX: u64, const CONSTANT: i32>(self, v: __m512i) -> __m512i {
        proven!(_mm512_gf2p8affineinv_epi64_epi8::<CONSTANT>(v, _mm512_set1_epi64(MATRIX as i64)))
    }
    #[inline(always)]
    fn affine_invert<const MATRIX: u64, const CONSTANT: i32>(self, v: __m512i) -> __m512i {
        let mapped = self.affine::<MATRIX, CONSTANT>(v);
        proven!(_mm512_gf2p8affineinv_epi64_epi8::<0>(mapped, _mm512_set1_epi64(IDENTITY as i64)))
    }
}
