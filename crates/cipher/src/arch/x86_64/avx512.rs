//! 512-bit registers with VAES and VPCLMULQDQ: four blocks a vector.
//!
//! Not here: vectors of bytes and words (`lanes`, `bytes_zmm`, `tables_zmm`).

use std::arch::x86_64::*;

use super::xmm::Avx512Xmm;
use crate::arch::{AesLanes, Kernel, OneBlock};

token! {
    /// 512-bit vectors with AES, carry-less multiplication and GFNI.
    Avx512: "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "avx512f" "avx512bw" "avx512vl"
        "avx512dq" "avx512vbmi"
        "avx512ifma" "gfni" "vaes" "vpclmulqdq"
}

/// Returns a mask of the first `bytes` bytes, at most 64.
#[inline(always)]
fn first_bytes(bytes: usize) -> __mmask64 {
    assert!(bytes <= 64, "at most a vector");
    if bytes == 64 { u64::MAX } else { (1 << bytes) - 1 }
}

/// Bytes of the smallest page of this architecture.
const PAGE_BYTES: usize = 4096;

/// Returns whether `bytes`, at most 64, are in one page but the 64 bytes from their beginning on
/// are not.
///
/// A masked load or store that reaches into a page that is not there, or that nobody has touched
/// yet, gives the right result, but only after the CPU has tried it and begun again in microcode:
/// some hundred nanoseconds. So it must not reach there.
#[inline(always)]
fn ends_short_of_next_page(bytes: &[u8]) -> bool {
    let in_page = bytes.as_ptr().addr() % PAGE_BYTES;
    in_page > PAGE_BYTES - 64 && in_page + bytes.len() <= PAGE_BYTES
}

/// Numbers from -64 to 127: as an order of bytes the 64 from place 64 + n on move each down by n,
/// the bytes from place 64 - n on up by n; a mask must drop bytes from outside.
const PLACES: [u8; 192] = {
    let mut places = [0; 192];
    let mut i = 0;
    while i < 192 {
        places[i] = (i as u8).wrapping_sub(64);
        i += 1;
    }
    places
};

impl Avx512 {
    /// As `load_partial` for what [`ends_short_of_next_page`]: by the 64 bytes that end with these,
    /// which are in the same page.
    #[inline(always)]
    fn load_before_page_end(self, bytes: &[u8]) -> __m512i {
        let before = 64 - bytes.len();
        let start = bytes.as_ptr().wrapping_sub(before);
        let order = AesLanes::load(self, &PLACES[64 + before..]);
        // SAFETY: the token as elsewhere; the mask keeps bytes that are not of the slice from being
        // loaded.
        let v =
            unsafe { _mm512_maskz_loadu_epi8(u64::MAX.unbounded_shl(before as u32), start.cast()) };
        proven!(_mm512_maskz_permutexvar_epi8(first_bytes(bytes.len()), order, v))
    }

    /// As `store_partial` for what [`ends_short_of_next_page`].
    #[inline(always)]
    fn store_before_page_end(self, v: __m512i, bytes: &mut [u8]) {
        let before = 64 - bytes.len();
        let start = bytes.as_mut_ptr().wrapping_sub(before);
        let v = proven!(_mm512_permutexvar_epi8(AesLanes::load(self, &PLACES[64 - before..]), v));
        // SAFETY: the token as elsewhere; the mask keeps bytes that are not of the slice from being
        // stored.
        unsafe { _mm512_mask_storeu_epi8(start.cast(), u64::MAX.unbounded_shl(before as u32), v) }
    }
}

impl OneBlock for Avx512 {
    type Lanes = Avx512Xmm;

    #[inline(always)]
    fn one_block(self) -> Avx512Xmm {
        // SAFETY: this token's features, which were found, include all features of that token.
        unsafe { Avx512Xmm::assume() }
    }
}

impl AesLanes for Avx512 {
    type Vector = __m512i;

    const BLOCKS: usize = 4;

    fn name(self) -> &'static str {
        "avx512"
    }

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.enter_kernel(kernel)
    }

    #[inline(always)]
    fn zero(self) -> __m512i {
        proven!(_mm512_setzero_si512())
    }
    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> __m512i {
        proven!(_mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast())))
    }
    #[inline(always)]
    fn first(self, block: &[u8; 16]) -> __m512i {
        proven!(_mm512_zextsi128_si512(_mm_loadu_si128(block.as_ptr().cast())))
    }
    #[inline(always)]
    fn to_block(self, v: __m512i) -> [u8; 16] {
        let mut block = [0; 16];
        proven!(_mm_storeu_si128(block.as_mut_ptr().cast(), _mm512_castsi512_si128(v)));
        block
    }
    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m512i {
        let bytes: &[u8; 64] = bytes.first_chunk().expect("a whole vector");
        proven!(_mm512_loadu_si512(bytes.as_ptr().cast()))
    }
    #[inline(always)]
    fn store(self, v: __m512i, bytes: &mut [u8]) {
        let bytes: &mut [u8; 64] = bytes.first_chunk_mut().expect("a whole vector");
        proven!(_mm512_storeu_si512(bytes.as_mut_ptr().cast(), v));
    }
    #[inline(always)]
    fn load_partial(self, bytes: &[u8]) -> __m512i {
        if ends_short_of_next_page(bytes) {
            return self.load_before_page_end(bytes);
        }
        let mask = first_bytes(bytes.len());
        proven!(_mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()))
    }
    #[inline(always)]
    fn store_partial(self, v: __m512i, bytes: &mut [u8]) {
        if ends_short_of_next_page(bytes) {
            return self.store_before_page_end(v, bytes);
        }
        let mask = first_bytes(bytes.len());
        proven!(_mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask, v));
    }
    #[inline(always)]
    fn keep(self, v: __m512i, bytes: usize) -> __m512i {
        let mask = first_bytes(bytes);
        proven!(_mm512_maskz_mov_epi8(mask, v))
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_xor_si512(a, b))
    }
    #[inline(always)]
    fn fold(self, v: __m512i) -> __m512i {
        proven!({
            let v = _mm256_xor_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64::<1>(v));
            let v = _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
            _mm512_zextsi128_si512(v)
        })
    }
    #[inline(always)]
    fn prepend(self, first: __m512i, rest: __m512i) -> __m512i {
        proven!(_mm512_inserti32x4::<0>(
            _mm512_shuffle_i32x4::<0b10_01_00_00>(rest, rest),
            _mm512_castsi512_si128(first)
        ))
    }
    #[inline(always)]
    fn reverse_bytes(self, v: __m512i) -> __m512i {
        proven!({
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order))
        })
    }
    #[inline(always)]
    fn shuffle_bytes(self, v: __m512i, order: &[u8; 16]) -> __m512i {
        let order = self.splat(order);
        proven!(_mm512_shuffle_epi8(v, order))
    }
    #[inline(always)]
    fn swap_halves(self, v: __m512i) -> __m512i {
        proven!(_mm512_shuffle_epi32::<0b01_00_11_10>(v))
    }
    #[inline(always)]
    fn low_to_high(self, v: __m512i) -> __m512i {
        proven!(_mm512_bslli_epi128::<8>(v))
    }
    #[inline(always)]
    fn high_to_low(self, v: __m512i) -> __m512i {
        proven!(_mm512_bsrli_epi128::<8>(v))
    }

    #[inline(always)]
    fn counters(self, block: &[u8; 16]) -> __m512i {
        // The exchange of the last four bytes undoes itself.
        let base = self.counter_blocks(self.splat(block));
        proven!(_mm512_add_epi32(
            base,
            _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3)
        ))
    }
    #[inline(always)]
    fn count(self, counters: __m512i, by: u32) -> __m512i {
        let by = by as i32;
        proven!(_mm512_add_epi32(counters, _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0, by))))
    }
    #[inline(always)]
    fn counter_blocks(self, counters: __m512i) -> __m512i {
        proven!({
            let order = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12);
            _mm512_shuffle_epi8(counters, _mm512_broadcast_i32x4(order))
        })
    }

    #[inline(always)]
    fn aes_round(self, v: __m512i, round_key: __m512i) -> __m512i {
        proven!(_mm512_aesenc_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_last_round(self, v: __m512i, round_key: __m512i) -> __m512i {
        proven!(_mm512_aesenclast_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_round_back(self, v: __m512i, round_key: __m512i) -> __m512i {
        proven!(_mm512_aesdec_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_last_round_back(self, v: __m512i, round_key: __m512i) -> __m512i {
        proven!(_mm512_aesdeclast_epi128(v, round_key))
    }

    #[inline(always)]
    fn multiply_low(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_clmulepi64_epi128::<0x00>(a, b))
    }
    #[inline(always)]
    fn multiply_high(self, a: __m512i, b: __m512i) -> __m512i {
        proven!(_mm512_clmulepi64_epi128::<0x11>(a, b))
    }
}
