//! 256-bit registers with VAES and VPCLMULQDQ: two blocks a vector, for CPUs that have these
//! without AVX-512.
//!
//! Not here: vectors of bytes and words (`lanes`, `bytes_ymm`), which are those of AVX2.

use std::arch::x86_64::*;

use super::Avx2;
use super::xmm::{read_partial, write_partial};
use crate::arch::{AesLanes, Kernel, OneBlock};

token! {
    /// 256-bit vectors with AES and carry-less multiplication.
    Vaes: "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "vaes" "vpclmulqdq"
}

impl OneBlock for Vaes {
    type Lanes = Avx2;

    #[inline(always)]
    fn one_block(self) -> Avx2 {
        // SAFETY: this token's features, which were found, include all features of that token.
        unsafe { Avx2::assume() }
    }
}

impl AesLanes for Vaes {
    type Vector = __m256i;

    const BLOCKS: usize = 2;

    fn name(self) -> &'static str {
        "vaes"
    }

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.enter_kernel(kernel)
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        proven!(_mm256_setzero_si256())
    }
    #[inline(always)]
    fn splat(self, block: &[u8; 16]) -> __m256i {
        proven!(_mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast())))
    }
    #[inline(always)]
    fn first(self, block: &[u8; 16]) -> __m256i {
        proven!(_mm256_zextsi128_si256(_mm_loadu_si128(block.as_ptr().cast())))
    }
    #[inline(always)]
    fn to_block(self, v: __m256i) -> [u8; 16] {
        let mut block = [0; 16];
        proven!(_mm_storeu_si128(block.as_mut_ptr().cast(), _mm256_castsi256_si128(v)));
        block
    }
    #[inline(always)]
    fn load(self, bytes: &[u8]) -> __m256i {
        let bytes: &[u8; 32] = bytes.first_chunk().expect("a whole vector");
        proven!(_mm256_loadu_si256(bytes.as_ptr().cast()))
    }
    #[inline(always)]
    fn store(self, v: __m256i, bytes: &mut [u8]) {
        let bytes: &mut [u8; 32] = bytes.first_chunk_mut().expect("a whole vector");
        proven!(_mm256_storeu_si256(bytes.as_mut_ptr().cast(), v));
    }
    #[inline(always)]
    fn load_partial(self, bytes: &[u8]) -> __m256i {
        let (low, high) = bytes.split_at(bytes.len().min(16));
        let [low, high] = [low, high].map(|half| read_partial(half).to_le_bytes());
        proven!(_mm256_loadu2_m128i(high.as_ptr().cast(), low.as_ptr().cast()))
    }
    #[inline(always)]
    fn store_partial(self, v: __m256i, bytes: &mut [u8]) {
        let (low, high) = bytes.split_at_mut(bytes.len().min(16));
        write_partial(u128::from_le_bytes(self.to_block(v)), low);
        let upper = proven!(_mm256_zextsi128_si256(_mm256_extracti128_si256::<1>(v)));
        write_partial(u128::from_le_bytes(self.to_block(upper)), high);
    }
    #[inline(always)]
    fn keep(self, v: __m256i, bytes: usize) -> __m256i {
        const MASKS: [u8; 64] = {
            let mut masks = [0; 64];
            let mut i = 0;
            while i < 32 {
                masks[i] = 0xff;
                i += 1;
            }
            masks
        };
        let mask = AesLanes::load(self, &MASKS[32 - bytes..]);
        proven!(_mm256_and_si256(v, mask))
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        proven!(_mm256_xor_si256(a, b))
    }
    #[inline(always)]
    fn fold(self, v: __m256i) -> __m256i {
        proven!(_mm256_zextsi128_si256(_mm_xor_si128(
            _mm256_castsi256_si128(v),
            _mm256_extracti128_si256::<1>(v)
        )))
    }
    #[inline(always)]
    fn prepend(self, first: __m256i, rest: __m256i) -> __m256i {
        proven!(_mm256_permute2x128_si256::<0x20>(first, rest))
    }
    #[inline(always)]
    fn reverse_bytes(self, v: __m256i) -> __m256i {
        AesLanes::shuffle_bytes(self, v, &[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    }
    #[inline(always)]
    fn shuffle_bytes(self, v: __m256i, order: &[u8; 16]) -> __m256i {
        let order = AesLanes::splat(self, order);
        proven!(_mm256_shuffle_epi8(v, order))
    }
    #[inline(always)]
    fn swap_halves(self, v: __m256i) -> __m256i {
        proven!(_mm256_shuffle_epi32::<0b01_00_11_10>(v))
    }
    #[inline(always)]
    fn low_to_high(self, v: __m256i) -> __m256i {
        proven!(_mm256_slli_si256::<8>(v))
    }
    #[inline(always)]
    fn high_to_low(self, v: __m256i) -> __m256i {
        proven!(_mm256_srli_si256::<8>(v))
    }

    #[inline(always)]
    fn counters(self, block: &[u8; 16]) -> __m256i {
        // The exchange of the last four bytes undoes itself.
        let base = self.counter_blocks(AesLanes::splat(self, block));
        proven!(_mm256_add_epi32(base, _mm256_setr_epi32(0, 0, 0, 0, 0, 0, 0, 1)))
    }
    #[inline(always)]
    fn count(self, counters: __m256i, by: u32) -> __m256i {
        let by = by as i32;
        proven!(_mm256_add_epi32(counters, _mm256_setr_epi32(0, 0, 0, by, 0, 0, 0, by)))
    }
    #[inline(always)]
    fn counter_blocks(self, counters: __m256i) -> __m256i {
        AesLanes::shuffle_bytes(
            self,
            counters,
            &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12],
        )
    }

    #[inline(always)]
    fn aes_round(self, v: __m256i, round_key: __m256i) -> __m256i {
        proven!(_mm256_aesenc_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_last_round(self, v: __m256i, round_key: __m256i) -> __m256i {
        proven!(_mm256_aesenclast_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_round_back(self, v: __m256i, round_key: __m256i) -> __m256i {
        proven!(_mm256_aesdec_epi128(v, round_key))
    }
    #[inline(always)]
    fn aes_last_round_back(self, v: __m256i, round_key: __m256i) -> __m256i {
        proven!(_mm256_aesdeclast_epi128(v, round_key))
    }

    #[inline(always)]
    fn multiply_low(self, a: __m256i, b: __m256i) -> __m256i {
        proven!(_mm256_clmulepi64_epi128::<0x00>(a, b))
    }
    #[inline(always)]
    fn multiply_high(self, a: __m256i, b: __m256i) -> __m256i {
        proven!(_mm256_clmulepi64_epi128::<0x11>(a, b))
    }
}
