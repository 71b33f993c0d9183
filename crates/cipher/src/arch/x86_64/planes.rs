//! Bit planes in vector registers: 128 bits by SSE2, 256 bits by AVX2, 512 bits by AVX-512 with its
//! ternary logic.

use std::arch::x86_64::*;

use super::{Aesni, Avx2, Avx512, Vaes};
#[cfg(not(miri))]
use crate::arch::Portable;
use crate::arch::{AesLanes, Kernel, Planes};

/// Implements [`Planes`] in registers of one width for the token of a backend.
macro_rules! planes {
    (
        $token:ty: $plane:ty, $words:literal words, enter $enter:ident,
        $splat:ident $load:ident $store:ident $xor:ident $and:ident $or:ident $and_not:ident
        $left:ident $right:ident
        $(, ternary $ternary:ident)?
    ) => {
        impl Planes for $token {
            type Plane = $plane;

            const WORDS: usize = $words;
            const TERNARY: bool = planes!(@given $($ternary)?);

            fn backend(self) -> &'static str {
                self.name()
            }
            #[inline(always)]
            fn enter_planes<K: Kernel<Self>>(self, kernel: K) -> K::Output {
                planes!(@$enter self, kernel)
            }

            #[inline(always)]
            fn splat(self, word: u64) -> $plane {
                proven!($splat(word as i64))
            }
            #[inline(always)]
            fn load(self, bytes: &[u8]) -> $plane {
                let bytes: &[u8; 8 * $words] = bytes.first_chunk().expect("a whole plane");
                proven!($load(bytes.as_ptr().cast()))
            }
            #[inline(always)]
            fn store(self, plane: $plane, bytes: &mut [u8]) {
                let bytes: &mut [u8; 8 * $words] = bytes.first_chunk_mut().expect("a whole plane");
                proven!($store(bytes.as_mut_ptr().cast(), plane));
            }

            #[inline(always)]
            fn xor(self, a: $plane, b: $plane) -> $plane {
                proven!($xor(a, b))
            }
            #[inline(always)]
            fn and(self, a: $plane, b: $plane) -> $plane {
                proven!($and(a, b))
            }
            #[inline(always)]
            fn or(self, a: $plane, b: $plane) -> $plane {
                proven!($or(a, b))
            }
            #[inline(always)]
            fn and_not(self, a: $plane, b: $plane) -> $plane {
                // The instruction complements its first operand.
                proven!($and_not(b, a))
            }
            $(
                #[inline(always)]
                fn ternary<const F: i32>(self, a: $plane, b: $plane, c: $plane) -> $plane {
                    proven!($ternary::<F>(a, b, c))
                }
            )?
            #[inline(always)]
            fn shift_left<const N: i32>(self, plane: $plane) -> $plane {
                proven!($left(plane, _mm_cvtsi32_si128(N)))
            }
            #[inline(always)]
            fn shift_right<const N: i32>(self, plane: $plane) -> $plane {
                proven!($right(plane, _mm_cvtsi32_si128(N)))
            }
        }
    };
    (@given) => { false };
    (@given $ternary:ident) => { true };
    (@directly $self:ident, $kernel:ident) => { $kernel.run($self) };
    (@by_token $self:ident, $kernel:ident) => { $self.enter_kernel($kernel) };
}

// Where every CPU the program can run on has SSE2, as on all of x86-64, the portable backend needs
// no proof of it.
#[cfg(all(target_feature = "sse2", not(miri)))]
planes! {
    Portable: __m128i, 2 words, enter directly,
    _mm_set1_epi64x _mm_loadu_si128 _mm_storeu_si128 _mm_xor_si128 _mm_and_si128 _mm_or_si128
    _mm_andnot_si128
    _mm_sll_epi64 _mm_srl_epi64
}
planes! {
    Aesni: __m128i, 2 words, enter by_token,
    _mm_set1_epi64x _mm_loadu_si128 _mm_storeu_si128 _mm_xor_si128 _mm_and_si128 _mm_or_si128
    _mm_andnot_si128
    _mm_sll_epi64 _mm_srl_epi64
}
planes! {
    Avx2: __m256i, 4 words, enter by_token,
    _mm256_set1_epi64x _mm256_loadu_si256 _mm256_storeu_si256 _mm256_xor_si256 _mm256_and_si256
    _mm256_or_si256
    _mm256_andnot_si256 _mm256_sll_epi64 _mm256_srl_epi64
}
planes! {
    Vaes: __m256i, 4 words, enter by_token,
    _mm256_set1_epi64x _mm256_loadu_si256 _mm256_storeu_si256 _mm256_xor_si256 _mm256_and_si256
    _mm256_or_si256
    _mm256_andnot_si256 _mm256_sll_epi64 _mm256_srl_epi64
}
planes! {
    Avx512: __m512i, 8 words, enter by_token,
    _mm512_set1_epi64 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_xor_si512 _mm512_and_si512
    _mm512_or_si512
    _mm512_andnot_si512 _mm512_sll_epi64 _mm512_srl_epi64, ternary _mm512_ternarylogic_epi64
}
