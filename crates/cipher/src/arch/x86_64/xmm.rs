//! 128-bit registers with AES-NI and PCLMULQDQ: one block a vector, in SSE encoding, in AVX
//! encoding, and in that of AVX-512.
//!
//! They differ in little but the encoding: AVX has three operands and saves the copies, AVX-512 has
//! twice as many registers, and products of 52 bits.
//!
//! Not here: vectors of bytes and words (`lanes`, `bytes_xmm`).

use std::arch::x86_64::*;

use crate::arch::{AesLanes, Kernel, OneBlock, Products};

/// Defines a token's lanes.
macro_rules! xmm_lanes {
    ($token:ident, $name:literal) => {
        impl OneBlock for $token {
            type Lanes = Self;

            #[inline(always)]
            fn one_block(self) -> Self {
                self
            }
        }

        impl AesLanes for $token {
            type Vector = __m128i;

            const BLOCKS: usize = 1;

            fn name(self) -> &'static str {
                $name
            }

            #[inline(always)]
            fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
                self.enter_kernel(kernel)
            }

            #[inline(always)]
            fn zero(self) -> __m128i {
                proven!(_mm_setzero_si128())
            }
            #[inline(always)]
            fn splat(self, block: &[u8; 16]) -> __m128i {
                proven!(_mm_loadu_si128(block.as_ptr().cast()))
            }
            #[inline(always)]
            fn first(self, block: &[u8; 16]) -> __m128i {
                self.splat(block)
            }
            #[inline(always)]
            fn to_block(self, v: __m128i) -> [u8; 16] {
                let mut block = [0; 16];
                self.store(v, &mut block);
                block
            }
            #[inline(always)]
            fn load(self, bytes: &[u8]) -> __m128i {
                let bytes: &[u8; 16] = bytes.first_chunk().expect("a whole vector");
                proven!(_mm_loadu_si128(bytes.as_ptr().cast()))
            }
            #[inline(always)]
            fn store(self, v: __m128i, bytes: &mut [u8]) {
                let bytes: &mut [u8; 16] = bytes.first_chunk_mut().expect("a whole vector");
                proven!(_mm_storeu_si128(bytes.as_mut_ptr().cast(), v));
            }
            #[inline(always)]
            fn load_partial(self, bytes: &[u8]) -> __m128i {
                self.splat(&read_partial(bytes).to_le_bytes())
            }
            #[inline(always)]
            fn store_partial(self, v: __m128i, bytes: &mut [u8]) {
                write_partial(u128::from_le_bytes(self.to_block(v)), bytes);
            }
            #[inline(always)]
            fn keep(self, v: __m128i, bytes: usize) -> __m128i {
                const MASKS: [u8; 32] = {
                    let mut masks = [0; 32];
                    let mut i = 0;
                    while i < 16 {
                        masks[i] = 0xff;
                        i += 1;
                    }
                    masks
                };
                let mask = self.load(&MASKS[16 - bytes..]);
                proven!(_mm_and_si128(v, mask))
            }

            #[inline(always)]
            fn xor(self, a: __m128i, b: __m128i) -> __m128i {
                proven!(_mm_xor_si128(a, b))
            }
            #[inline(always)]
            fn fold(self, v: __m128i) -> __m128i {
                v
            }
            #[inline(always)]
            fn prepend(self, first: __m128i, _: __m128i) -> __m128i {
                first
            }
            #[inline(always)]
            fn reverse_bytes(self, v: __m128i) -> __m128i {
                proven!(_mm_shuffle_epi8(
                    v,
                    _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
                ))
            }
            #[inline(always)]
            fn shuffle_bytes(self, v: __m128i, order: &[u8; 16]) -> __m128i {
                let order = self.splat(order);
                proven!(_mm_shuffle_epi8(v, order))
            }
            #[inline(always)]
            fn swap_halves(self, v: __m128i) -> __m128i {
                proven!(_mm_shuffle_epi32::<0b01_00_11_10>(v))
            }
            #[inline(always)]
            fn low_to_high(self, v: __m128i) -> __m128i {
                proven!(_mm_slli_si128::<8>(v))
            }
            #[inline(always)]
            fn high_to_low(self, v: __m128i) -> __m128i {
                proven!(_mm_srli_si128::<8>(v))
            }

            #[inline(always)]
            fn counters(self, block: &[u8; 16]) -> __m128i {
                // The exchange of the last four bytes undoes itself.
                self.counter_blocks(self.splat(block))
            }
            #[inline(always)]
            fn count(self, counters: __m128i, by: u32) -> __m128i {
                proven!(_mm_add_epi32(counters, _mm_setr_epi32(0, 0, 0, by as i32)))
            }
            #[inline(always)]
            fn counter_blocks(self, counters: __m128i) -> __m128i {
                proven!(_mm_shuffle_epi8(
                    counters,
                    _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 14, 13, 12)
                ))
            }

            #[inline(always)]
            fn aes_round(self, v: __m128i, round_key: __m128i) -> __m128i {
                proven!(_mm_aesenc_si128(v, round_key))
            }
            #[inline(always)]
            fn aes_last_round(self, v: __m128i, round_key: __m128i) -> __m128i {
                proven!(_mm_aesenclast_si128(v, round_key))
            }
            #[inline(always)]
            fn aes_round_back(self, v: __m128i, round_key: __m128i) -> __m128i {
                proven!(_mm_aesdec_si128(v, round_key))
            }
            #[inline(always)]
            fn aes_last_round_back(self, v: __m128i, round_key: __m128i) -> __m128i {
                proven!(_mm_aesdeclast_si128(v, round_key))
            }

            #[inline(always)]
            fn multiply_low(self, a: __m128i, b: __m128i) -> __m128i {
                proven!(_mm_clmulepi64_si128::<0x00>(a, b))
            }
            #[inline(always)]
            fn multiply_high(self, a: __m128i, b: __m128i) -> __m128i {
                proven!(_mm_clmulepi64_si128::<0x11>(a, b))
            }
        }
    };
}

token! {
    /// 128-bit AES and carry-less multiplication.
    Aesni: "ssse3" "sse4.1" "aes" "pclmulqdq"
}
token! {
    /// 128-bit AES and carry-less multiplication in AVX encoding, and 256-bit integer vectors.
    Avx2: "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2"
}
token_and_entry! {
    /// The 128-bit registers of [`Avx512`](super::Avx512), for a single block.
    Avx512Xmm: "ssse3" "sse4.1" "aes" "pclmulqdq" "avx" "avx2" "avx512f" "avx512bw" "avx512vl"
        "avx512dq" "avx512ifma"
}
xmm_lanes!(Aesni, "aesni");
xmm_lanes!(Avx2, "avx2");
xmm_lanes!(Avx512Xmm, "avx512");

/// Defines a token's constructor for backends that have its features and more.
macro_rules! assumed {
    ($token:ident) => {
        impl $token {
            /// Returns the token without a check.
            ///
            /// # Safety
            /// The CPU has its features.
            #[inline(always)]
            pub(super) unsafe fn assume() -> Self {
                Self(())
            }
        }
    };
}
assumed!(Avx2);
assumed!(Avx512Xmm);

impl Products for Aesni {}
impl Products for Avx2 {}
impl Products for Avx512Xmm {
    const QUICK: bool = true;

    #[inline(always)]
    fn add(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_add_epi64(a, b))
    }
    #[inline(always)]
    fn add_low_product(self, sum: __m128i, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_madd52lo_epu64(sum, a, b))
    }
    #[inline(always)]
    fn add_high_product(self, sum: __m128i, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_madd52hi_epu64(sum, a, b))
    }
}

/// Returns `bytes`, at most 16, as a little-endian number. Reads overlap instead of looping: which
/// bytes are read depends on the length alone.
#[inline(always)]
pub(super) fn read_partial(bytes: &[u8]) -> u128 {
    let n = bytes.len();
    if n >= 8 {
        let low = u64::from_le_bytes(*bytes.first_chunk().expect("at least 8"));
        let high = u64::from_le_bytes(*bytes.last_chunk().expect("at least 8"));
        u128::from(low) | u128::from(high) << (8 * (n - 8))
    } else if n >= 4 {
        let low = u32::from_le_bytes(*bytes.first_chunk().expect("at least 4"));
        let high = u32::from_le_bytes(*bytes.last_chunk().expect("at least 4"));
        u128::from(u64::from(low) | u64::from(high) << (8 * (n - 4)))
    } else if n >= 1 {
        let (first, middle, last) = (bytes[0], bytes[n / 2], bytes[n - 1]);
        u128::from(
            u32::from(first)
                | u32::from(middle) << (8 * (n / 2))
                | u32::from(last) << (8 * (n - 1)),
        )
    } else {
        0
    }
}

/// Fills `bytes`, at most 16, from a little-endian number, with overlapping writes.
#[inline(always)]
pub(super) fn write_partial(value: u128, bytes: &mut [u8]) {
    let n = bytes.len();
    if n >= 8 {
        *bytes.first_chunk_mut().expect("at least 8") = (value as u64).to_le_bytes();
        *bytes.last_chunk_mut().expect("at least 8") =
            ((value >> (8 * (n - 8))) as u64).to_le_bytes();
    } else if n >= 4 {
        *bytes.first_chunk_mut().expect("at least 4") = (value as u32).to_le_bytes();
        *bytes.last_chunk_mut().expect("at least 4") =
            ((value >> (8 * (n - 4))) as u32).to_le_bytes();
    } else if n >= 1 {
        bytes[0] = value as u8;
        bytes[n / 2] = (value >> (8 * (n / 2))) as u8;
        bytes[n - 1] = (value >> (8 * (n - 1))) as u8;
    }
}
