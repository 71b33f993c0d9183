//! MD5 on words.
//!
//! Source: RFC 1321.

use super::hash::{Hash, State};
use crate::arch::HashWords;

pub(super) struct Md5;

/// The sines of 1 to 64 as fractions of 32 bits.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// Sixteen steps: by function, number of the first step, words of the block as first and distance,
/// and rotations.
macro_rules! steps {
    ($words:ident, $states:ident, $blocks:ident, $function:ident, $from:literal, $first:literal,
        $distance:literal, $r0:literal $r1:literal $r2:literal $r3:literal) => {
        for four in 0..4 {
            let i = 4 * four;
            steps!(@four $words, $states, $blocks, $function, $from, $first, $distance;
                i, 0 1 2 3, $r0; i + 1, 3 0 1 2, $r1; i + 2, 2 3 0 1, $r2; i + 3, 1 2 3 0, $r3);
        }
    };
    (@four $words:ident, $states:ident, $blocks:ident, $function:ident, $from:literal,
        $first:literal, $distance:literal; $($i:expr, $a:literal $b:literal $c:literal $d:literal,
        $rotation:literal);+) => { $(
        for (state, block) in $states.iter_mut().zip(&*$blocks) {
            let word = block[($first + $distance * ($i)) % 16];
            let added = $words.add(word, $words.splat(SINES[$from + $i]));
            let mixed = steps!(@$function $words, state[$b], state[$c], state[$d]);
            let sum = $words.add($words.add(state[$a], added), mixed);
            state[$a] = $words.add(state[$b], $words.rotate::<$rotation>(sum));
        }
    )+ };
    (@f $words:ident, $b:expr, $c:expr, $d:expr) => { $words.choose($b, $c, $d) };
    (@g $words:ident, $b:expr, $c:expr, $d:expr) => { $words.choose($d, $b, $c) };
    (@h $words:ident, $b:expr, $c:expr, $d:expr) => { $words.xor3($b, $c, $d) };
    (@i $words:ident, $b:expr, $c:expr, $d:expr) => { $words.xor_or_not($c, $b, $d) };
}

impl Hash for Md5 {
    const WORDS: usize = 4;
    const BIG_ENDIAN: bool = false;
    const INITIAL: State<u32> = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0, 0, 0, 0];

    #[inline(always)]
    fn work_in<W: HashWords, const M: usize>(
        words: W,
        states: &mut [State<W::Word>; M],
        blocks: &mut [[W::Word; 16]; M],
    ) {
        let mut worked = *states;
        steps!(words, worked, blocks, f, 0, 0, 1, 7 12 17 22);
        steps!(words, worked, blocks, g, 16, 1, 5, 5 9 14 20);
        steps!(words, worked, blocks, h, 32, 5, 3, 4 11 16 23);
        steps!(words, worked, blocks, i, 48, 0, 7, 6 10 15 21);
        Self::add(words, states, &worked);
    }
}
