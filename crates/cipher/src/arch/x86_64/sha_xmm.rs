//! The SHA extensions of x86-64: SHA-1 and SHA-256 in 128-bit registers. They are no backend of
//! their own: a CPU has them or not whatever vectors it has.

use std::arch::x86_64::*;

use crate::arch::{Kernel, ShaLanes};

token! {
    /// The SHA extensions.
    Sha: "ssse3" "sse4.1" "sha"
}

impl Sha {
    /// Returns the token, where the CPU has the instructions.
    pub(crate) fn if_present() -> Option<Self> {
        Self::detect().ok()
    }
}

impl ShaLanes for Sha {
    type Vector = __m128i;

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.enter_kernel(kernel)
    }

    #[inline(always)]
    fn gather_four(self, [a, b, c, d]: [u32; 4]) -> __m128i {
        proven!(_mm_setr_epi32(a as i32, b as i32, c as i32, d as i32))
    }
    #[inline(always)]
    fn to_four(self, v: __m128i) -> [u32; 4] {
        let mut words = [0; 4];
        proven!(_mm_storeu_si128(words.as_mut_ptr().cast(), v));
        words
    }
    #[inline(always)]
    fn load_first_highest(self, bytes: &[u8; 16]) -> __m128i {
        proven!({
            let order = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            _mm_shuffle_epi8(_mm_loadu_si128(bytes.as_ptr().cast()), order)
        })
    }
    #[inline(always)]
    fn load_first_lowest(self, bytes: &[u8; 16]) -> __m128i {
        proven!({
            let order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
            _mm_shuffle_epi8(_mm_loadu_si128(bytes.as_ptr().cast()), order)
        })
    }
    #[inline(always)]
    fn add_four(self, a: __m128i, b: __m128i) -> __m128i {
        proven!(_mm_add_epi32(a, b))
    }

    #[inline(always)]
    fn sha1_rounds<const F: i32>(self, abcd: __m128i, message: __m128i) -> __m128i {
        proven!(_mm_sha1rnds4_epu32::<F>(abcd, message))
    }
    #[inline(always)]
    fn sha1_next_e(self, abcd: __m128i, message: __m128i) -> __m128i {
        proven!(_mm_sha1nexte_epu32(abcd, message))
    }
    #[inline(always)]
    fn sha1_schedule(self, [a, b, c, d]: [__m128i; 4]) -> __m128i {
        proven!(_mm_sha1msg2_epu32(_mm_xor_si128(_mm_sha1msg1_epu32(a, b), c), d))
    }

    #[inline(always)]
    fn sha256_rounds(self, [abef, cdgh]: [__m128i; 2], message: __m128i) -> [__m128i; 2] {
        proven!({
            let halfway = _mm_sha256rnds2_epu32(cdgh, abef, message);
            // after two rounds A B E F becomes C D G H
            [
                _mm_sha256rnds2_epu32(abef, halfway, _mm_shuffle_epi32::<0b00_00_11_10>(message)),
                halfway,
            ]
        })
    }
    #[inline(always)]
    fn sha256_schedule(self, [a, b, c, d]: [__m128i; 4]) -> __m128i {
        proven!({
            let seven_before = _mm_alignr_epi8::<4>(d, c);
            _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(a, b), seven_before), d)
        })
    }
}
