//! Look-ups in tables of 256 bytes by 512-bit vectors (AVX-512 VBMI): an instruction chooses from
//! 128 bytes.

use std::arch::x86_64::*;

use super::Avx512;
use crate::arch::Lanes;
use crate::arch::table_lanes::TableLanes;

impl TableLanes for Avx512 {
    #[inline(always)]
    fn look_up64(self, index: __m512i, table: &[u8; 64]) -> __m512i {
        proven!(_mm512_permutexvar_epi8(index, Lanes::load(self, table)))
    }

    #[inline(always)]
    fn look_up(self, index: __m512i, table: &[u8; 256]) -> __m512i {
        let (lower, upper) = table.split_at(128);
        let lower = [Lanes::load(self, lower), Lanes::load(self, &lower[64..])];
        let upper = [Lanes::load(self, upper), Lanes::load(self, &upper[64..])];
        proven!(_mm512_mask_mov_epi8(
            _mm512_permutex2var_epi8(lower[0], index, lower[1]),
            _mm512_movepi8_mask(index),
            _mm512_permutex2var_epi8(upper[0], index, upper[1]),
        ))
    }

    #[inline(always)]
    fn add_sliced32(self, a: [__m512i; 4], b: [__m512i; 4]) -> [__m512i; 4] {
        proven!({
            let (one, zero) = (_mm512_set1_epi8(1), _mm512_setzero_si512());
            let s3 = _mm512_add_epi8(a[3], b[3]);
            let carry = _mm512_cmplt_epu8_mask(s3, b[3]);
            let s2 = _mm512_add_epi8(a[2], b[2]);
            let carry_2 = _mm512_cmplt_epu8_mask(s2, b[2]);
            let s2 = _mm512_mask_add_epi8(s2, carry, s2, one);
            let carry = carry_2 | _mm512_mask_cmpeq_epi8_mask(carry, s2, zero);
            let s1 = _mm512_add_epi8(a[1], b[1]);
            let carry_1 = _mm512_cmplt_epu8_mask(s1, b[1]);
            let s1 = _mm512_mask_add_epi8(s1, carry, s1, one);
            let carry = carry_1 | _mm512_mask_cmpeq_epi8_mask(carry, s1, zero);
            let s0 = _mm512_add_epi8(a[0], b[0]);
            let s0 = _mm512_mask_add_epi8(s0, carry, s0, one);
            [s0, s1, s2, s3]
        })
    }
}
