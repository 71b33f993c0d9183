//! Vectors of bytes and words in registers: 128 bits by SSE2, 256 bits by AVX2, 512 bits by AVX-512
//! with GFNI for rotations of bytes.

use std::arch::x86_64::*;

use zeroize::optimization_barrier;

use super::{Aesni, Avx2, Avx512, Vaes};
#[cfg(not(miri))]
use crate::arch::Portable;
use crate::arch::{AesLanes, Kernel, Lanes};

/// Implements [`Lanes`] in registers of one width for the token of a backend; the methods in braces
/// are its own.
macro_rules! lanes {
    (
        $token:ty: $vector:ty, $bytes:literal bytes, enter $enter:ident,
        $splat:ident $splat32:ident $load:ident $store:ident $xor:ident $and:ident $or:ident
        $add8:ident $sub8:ident $add32:ident $sub32:ident
        $low8:ident $high8:ident $low32:ident $high32:ident $low64:ident $high64:ident
        { $($own:item)* }
    ) => {
        impl Lanes for $token {
            type Vector = $vector;

            const BYTES: usize = $bytes;

            fn name(self) -> &'static str {
                lanes!(@name $enter self)
            }
            #[inline(always)]
            fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
                lanes!(@$enter self, kernel)
            }

            #[inline(always)]
            fn splat(self, byte: u8) -> $vector {
                proven!($splat(byte as i8))
            }
            #[inline(always)]
            fn splat32(self, word: u32) -> $vector {
                proven!($splat32(word as i32))
            }
            #[inline(always)]
            fn load(self, bytes: &[u8]) -> $vector {
                let bytes: &[u8; $bytes] = bytes.first_chunk().expect("a whole vector");
                proven!($load(bytes.as_ptr().cast()))
            }
            #[inline(always)]
            fn store(self, v: $vector, bytes: &mut [u8]) {
                let bytes: &mut [u8; $bytes] = bytes.first_chunk_mut().expect("a whole vector");
                proven!($store(bytes.as_mut_ptr().cast(), v));
            }

            #[inline(always)]
            fn xor(self, a: $vector, b: $vector) -> $vector {
                proven!($xor(a, b))
            }
            #[inline(always)]
            fn and(self, a: $vector, b: $vector) -> $vector {
                proven!($and(a, b))
            }
            #[inline(always)]
            fn or(self, a: $vector, b: $vector) -> $vector {
                proven!($or(a, b))
            }
            #[inline(always)]
            fn add8(self, a: $vector, b: $vector) -> $vector {
                proven!($add8(a, b))
            }
            #[inline(always)]
            fn sub8(self, a: $vector, b: $vector) -> $vector {
                proven!($sub8(a, b))
            }
            #[inline(always)]
            fn add32(self, a: $vector, b: $vector) -> $vector {
                proven!($add32(a, b))
            }
            #[inline(always)]
            fn sub32(self, a: $vector, b: $vector) -> $vector {
                proven!($sub32(a, b))
            }
            #[inline(always)]
            fn interleave_low(self, a: $vector, b: $vector) -> $vector {
                proven!($low8(a, b))
            }
            #[inline(always)]
            fn interleave_high(self, a: $vector, b: $vector) -> $vector {
                proven!($high8(a, b))
            }
            #[inline(always)]
            fn interleave_low32(self, a: $vector, b: $vector) -> $vector {
                proven!($low32(a, b))
            }
            #[inline(always)]
            fn interleave_high32(self, a: $vector, b: $vector) -> $vector {
                proven!($high32(a, b))
            }
            #[inline(always)]
            fn interleave_low64(self, a: $vector, b: $vector) -> $vector {
                proven!($low64(a, b))
            }
            #[inline(always)]
            fn interleave_high64(self, a: $vector, b: $vector) -> $vector {
                proven!($high64(a, b))
            }
            $($own)*
        }
    };
    (@name directly $self:ident) => { $self.name() };
    (@name by_token $self:ident) => { AesLanes::name($self) };
    (@directly $self:ident, $kernel:ident) => { $kernel.run($self) };
    (@by_token $self:ident, $kernel:ident) => { $self.enter_kernel($kernel) };
}

/// Rotations of words, and of bytes with masks for what crosses from one to the next.
macro_rules! rotations_by_shifts {
    ($vector:ty: $left16:ident $right16:ident $left32:ident $right32:ident) => {
        #[inline(always)]
        fn rotate8<const N: i32>(self, v: $vector) -> $vector {
            let left = proven!($left16(v, _mm_cvtsi32_si128(N)));
            let right = proven!($right16(v, _mm_cvtsi32_si128(8 - N)));
            let kept = self.and(left, Lanes::splat(self, 0xff << N));
            self.or(kept, self.and(right, Lanes::splat(self, !(0xff << N))))
        }
        #[inline(always)]
        fn rotate32<const N: i32>(self, v: $vector) -> $vector {
            let left = proven!($left32(v, _mm_cvtsi32_si128(N)));
            self.or(left, proven!($right32(v, _mm_cvtsi32_si128(32 - N))))
        }
        #[inline(always)]
        fn shift_right32<const N: i32>(self, v: $vector) -> $vector {
            proven!($right32(v, _mm_cvtsi32_si128(N)))
        }
    };
}

/// Returns the sum of three rotations as two tables, for the low and for the high four bits of a
/// byte.
const fn three_rotations(a: i32, b: i32, c: i32) -> [[u8; 16]; 2] {
    let mut tables = [[0; 16]; 2];
    let mut nibble = 0;
    while nibble < 16 {
        let (low, high) = (nibble as u8, (nibble as u8) << 4);
        tables[0][nibble] =
            low.rotate_left(a as u32) ^ low.rotate_left(b as u32) ^ low.rotate_left(c as u32);
        tables[1][nibble] =
            high.rotate_left(a as u32) ^ high.rotate_left(b as u32) ^ high.rotate_left(c as u32);
        nibble += 1;
    }
    tables
}

/// Returns a rotation of bytes as the matrix of an affine map: the row for bit i of the result is
/// byte 7 - i.
const fn rotation_matrix(left: i32) -> i64 {
    let mut rows = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        rows[7 - bit] = 1 << ((bit as i32 - left) & 7);
        bit += 1;
    }
    i64::from_le_bytes(rows)
}

// Where every CPU the program can run on has SSE2, as on all of x86-64, the portable backend needs
// no proof of it.
#[cfg(all(target_feature = "sse2", not(miri)))]
lanes! {
    Portable: __m128i, 16 bytes, enter directly,
    _mm_set1_epi8 _mm_set1_epi32 _mm_loadu_si128 _mm_storeu_si128 _mm_xor_si128 _mm_and_si128
    _mm_or_si128
    _mm_add_epi8 _mm_sub_epi8 _mm_add_epi32 _mm_sub_epi32
    _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64
    _mm_unpackhi_epi64
    {
        rotations_by_shifts!(__m128i: _mm_sll_epi16 _mm_srl_epi16 _mm_sll_epi32 _mm_srl_epi32);

        #[inline(always)]
        fn load_groups(self, groups: [&[u8; 16]; 4]) -> __m128i {
            Lanes::load(self, groups[0])
        }
        #[inline(always)]
        fn choose_below(self, v: __m128i, limit: u8, below: u8, rest: u8) -> __m128i {
            let limit = self.splat(limit);
            let reached = proven!(_mm_cmpeq_epi8(_mm_max_epu8(v, limit), v));
            let below = proven!(_mm_andnot_si128(reached, _mm_set1_epi8(below as i8)));
            self.or(below, self.and(reached, self.splat(rest)))
        }
        #[inline(always)]
        fn xor_partial(self, v: __m128i, bytes: &mut [u8]) {
            xor_partial_by_copy(self, v, bytes);
        }
    }
}
lanes! {
    Aesni: __m128i, 16 bytes, enter by_token,
    _mm_set1_epi8 _mm_set1_epi32 _mm_loadu_si128 _mm_storeu_si128 _mm_xor_si128 _mm_and_si128
    _mm_or_si128
    _mm_add_epi8 _mm_sub_epi8 _mm_add_epi32 _mm_sub_epi32
    _mm_unpacklo_epi8 _mm_unpackhi_epi8 _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64
    _mm_unpackhi_epi64
    {
        rotations_by_shifts!(__m128i: _mm_sll_epi16 _mm_srl_epi16 _mm_sll_epi32 _mm_srl_epi32);

        #[inline(always)]
        fn load_groups(self, groups: [&[u8; 16]; 4]) -> __m128i {
            Lanes::load(self, groups[0])
        }
        #[inline(always)]
        fn three_rotations8<const A: i32, const B: i32, const C: i32>(self, v: __m128i) -> __m128i {
            let [low, high] = const { &three_rotations(A, B, C) };
            proven!({
                let mask = _mm_set1_epi8(0x0f);
                let low = _mm_shuffle_epi8(Lanes::load(self, low), _mm_and_si128(v, mask));
                let high_bits = _mm_and_si128(_mm_srli_epi16::<4>(v), mask);
                _mm_xor_si128(low, _mm_shuffle_epi8(Lanes::load(self, high), high_bits))
            })
        }
        #[inline(always)]
        fn choose_below(self, v: __m128i, limit: u8, below: u8, rest: u8) -> __m128i {
            proven!({
                let reached = _mm_cmpeq_epi8(_mm_max_epu8(v, _mm_set1_epi8(limit as i8)), v);
                _mm_blendv_epi8(_mm_set1_epi8(below as i8), _mm_set1_epi8(rest as i8), reached)
            })
        }
        #[inline(always)]
        fn xor_partial(self, v: __m128i, bytes: &mut [u8]) {
            self.store_partial(AesLanes::xor(self, self.load_partial(bytes), v), bytes);
        }
    }
}

/// Implements [`Lanes`] in 256-bit registers.
macro_rules! ymm_lanes {
    ($token:ident) => {
        lanes! {
            $token: __m256i, 32 bytes, enter by_token,
            _mm256_set1_epi8 _mm256_set1_epi32 _mm256_loadu_si256 _mm256_storeu_si256
            _mm256_xor_si256 _mm256_and_si256
            _mm256_or_si256 _mm256_add_epi8 _mm256_sub_epi8 _mm256_add_epi32 _mm256_sub_epi32
            _mm256_unpacklo_epi8 _mm256_unpackhi_epi8 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32
            _mm256_unpacklo_epi64
            _mm256_unpackhi_epi64
            {
                rotations_by_shifts!(
                    __m256i: _mm256_sll_epi16 _mm256_srl_epi16 _mm256_sll_epi32 _mm256_srl_epi32
                );

                #[inline(always)]
                fn load_groups(self, groups: [&[u8; 16]; 4]) -> __m256i {
                    let [low, high] = [groups[0].as_ptr().cast(), groups[1].as_ptr().cast()];
                    proven!(_mm256_loadu2_m128i(high, low))
                }
                #[inline(always)]
                fn three_rotations8<const A: i32, const B: i32, const C: i32>(
                    self,
                    v: __m256i,
                ) -> __m256i {
                    let [low, high] = const { &three_rotations(A, B, C) };
                    proven!({
                        let mask = _mm256_set1_epi8(0x0f);
                        let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(low.as_ptr().cast()));
                        let high = _mm_loadu_si128(high.as_ptr().cast());
                        let high = _mm256_broadcastsi128_si256(high);
                        let high_bits = _mm256_and_si256(_mm256_srli_epi16::<4>(v), mask);
                        _mm256_xor_si256(
                            _mm256_shuffle_epi8(low, _mm256_and_si256(v, mask)),
                            _mm256_shuffle_epi8(high, high_bits),
                        )
                    })
                }
                #[inline(always)]
                fn choose_below(self, v: __m256i, limit: u8, below: u8, rest: u8) -> __m256i {
                    proven!({
                        let larger = _mm256_max_epu8(v, _mm256_set1_epi8(limit as i8));
                        let reached = _mm256_cmpeq_epi8(larger, v);
                        let (below, rest) = (below as i8, rest as i8);
                        let (below, rest) = (_mm256_set1_epi8(below), _mm256_set1_epi8(rest));
                        _mm256_blendv_epi8(below, rest, reached)
                    })
                }
                #[inline(always)]
                fn xor_partial(self, v: __m256i, bytes: &mut [u8]) {
                    xor_partial_by_copy(self, v, bytes);
                }
            }
        }
    };
}
ymm_lanes!(Avx2);
ymm_lanes!(Vaes);
lanes! {
    Avx512: __m512i, 64 bytes, enter by_token,
    _mm512_set1_epi8 _mm512_set1_epi32 _mm512_loadu_si512 _mm512_storeu_si512 _mm512_xor_si512
    _mm512_and_si512
    _mm512_or_si512 _mm512_add_epi8 _mm512_sub_epi8 _mm512_add_epi32 _mm512_sub_epi32
    _mm512_unpacklo_epi8 _mm512_unpackhi_epi8 _mm512_unpacklo_epi32 _mm512_unpackhi_epi32
    _mm512_unpacklo_epi64
    _mm512_unpackhi_epi64
    {
        #[inline(always)]
        fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
            proven!(_mm512_ternarylogic_epi64::<0x96>(a, b, c))
        }
        #[inline(always)]
        fn xor_masked(self, a: __m512i, b: __m512i, mask: __m512i) -> __m512i {
            proven!(_mm512_ternarylogic_epi64::<0x78>(a, b, mask))
        }
        #[inline(always)]
        fn rotate8<const N: i32>(self, v: __m512i) -> __m512i {
            let matrix = const { rotation_matrix(N) };
            proven!(_mm512_gf2p8affine_epi64_epi8::<0>(v, _mm512_set1_epi64(matrix)))
        }
        #[inline(always)]
        fn rotate32<const N: i32>(self, v: __m512i) -> __m512i {
            proven!(_mm512_rol_epi32::<N>(v))
        }
        #[inline(always)]
        fn shift_right32<const N: i32>(self, v: __m512i) -> __m512i {
            proven!(_mm512_srl_epi32(v, _mm_cvtsi32_si128(N)))
        }
        #[inline(always)]
        fn choose(self, mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
            proven!(_mm512_ternarylogic_epi64::<0xca>(mask, a, b))
        }
        #[inline(always)]
        fn majority(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
            proven!(_mm512_ternarylogic_epi64::<0xe8>(a, b, c))
        }
        #[inline(always)]
        fn xor_or_not(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
            proven!(_mm512_ternarylogic_epi64::<0x2d>(a, b, c))
        }
        #[inline(always)]
        fn load_groups(self, [a, b, c, d]: [&[u8; 16]; 4]) -> __m512i {
            proven!({
                let v = _mm512_castsi128_si512(_mm_loadu_si128(a.as_ptr().cast()));
                let v = _mm512_inserti32x4::<1>(v, _mm_loadu_si128(b.as_ptr().cast()));
                let v = _mm512_inserti32x4::<2>(v, _mm_loadu_si128(c.as_ptr().cast()));
                _mm512_inserti32x4::<3>(v, _mm_loadu_si128(d.as_ptr().cast()))
            })
        }
        #[inline(always)]
        fn three_rotations8<const A: i32, const B: i32, const C: i32>(self, v: __m512i) -> __m512i {
            let sum = const { rotation_matrix(A) ^ rotation_matrix(B) ^ rotation_matrix(C) };
            proven!(_mm512_gf2p8affine_epi64_epi8::<0>(v, _mm512_set1_epi64(sum)))
        }
        #[inline(always)]
        fn choose_below(self, v: __m512i, limit: u8, below: u8, rest: u8) -> __m512i {
            let mask = proven!(_mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(limit as i8)));
            let (below, rest) = (below as i8, rest as i8);
            proven!(_mm512_mask_mov_epi8(_mm512_set1_epi8(rest), mask, _mm512_set1_epi8(below)))
        }
        #[inline(always)]
        fn xor_partial(self, v: __m512i, bytes: &mut [u8]) {
            self.store_partial(AesLanes::xor(self, self.load_partial(bytes), v), bytes);
        }
    }
}

/// [`Lanes::xor_partial`] where there are no masked loads and stores.
#[inline(always)]
fn xor_partial_by_copy<L: Lanes>(lanes: L, v: L::Vector, bytes: &mut [u8]) {
    let mut buffer = [0; 64];
    buffer[..bytes.len()].copy_from_slice(bytes);
    lanes.store(lanes.xor(lanes.load(&buffer), v), &mut buffer);
    bytes.copy_from_slice(&buffer[..bytes.len()]);
    // Beyond the data is key stream.
    buffer.fill(0);
    optimization_barrier(&buffer);
}
