//! SHA-256 on words, and by the CPU's instructions for it.
//!
//! Source: FIPS 180-4, 6.2.

use super::hash::{Hash, ShaHash, State};
use crate::arch::{HashWords, ShaLanes};

pub(super) struct Sha256;

/// The constants, one for each round.
const K: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// One round.
macro_rules! round {
    ($words:ident, $states:ident, $blocks:ident, $i:expr, $a:literal $b:literal $c:literal
        $d:literal $e:literal $f:literal $g:literal $h:literal) => {
        for (state, block) in $states.iter_mut().zip(&mut *$blocks) {
            let added = $words.add(scheduled($words, block, $i), $words.splat(K[$i]));
            let e = state[$e];
            let rotated = [$words.rotate::<26>(e), $words.rotate::<21>(e), $words.rotate::<7>(e)];
            let rotated = $words.xor3(rotated[0], rotated[1], rotated[2]);
            let chosen = $words.choose(e, state[$f], state[$g]);
            let sum = $words.add($words.add($words.add(state[$h], added), chosen), rotated);
            state[$d] = $words.add(state[$d], sum);
            let a = state[$a];
            let rotated = [$words.rotate::<30>(a), $words.rotate::<19>(a), $words.rotate::<10>(a)];
            let rotated = $words.xor3(rotated[0], rotated[1], rotated[2]);
            let majority = $words.majority(a, state[$b], state[$c]);
            state[$h] = $words.add($words.add(sum, majority), rotated);
        }
    };
}

/// Returns the word of round `i`, of the last sixteen that `block` holds.
#[inline(always)]
fn scheduled<W: HashWords>(words: W, block: &mut [W::Word; 16], i: usize) -> W::Word {
    if i >= 16 {
        let (old, new) = (block[(i + 1) % 16], block[(i + 14) % 16]);
        let from_old = words.xor3(
            words.rotate::<25>(old),
            words.rotate::<14>(old),
            words.shift_right::<3>(old),
        );
        let from_new = words.xor3(
            words.rotate::<15>(new),
            words.rotate::<13>(new),
            words.shift_right::<10>(new),
        );
        let sum = words.add(words.add(block[i % 16], block[(i + 9) % 16]), from_old);
        block[i % 16] = words.add(sum, from_new);
    }
    block[i % 16]
}

impl Hash for Sha256 {
    const WORDS: usize = 8;
    const BIG_ENDIAN: bool = true;
    const INITIAL: State<u32> = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    #[inline(always)]
    fn work_in<W: HashWords, const M: usize>(
        words: W,
        states: &mut [State<W::Word>; M],
        blocks: &mut [[W::Word; 16]; M],
    ) {
        let mut worked = *states;
        for eight in 0..8 {
            let i = 8 * eight;
            round!(words, worked, blocks, i, 0 1 2 3 4 5 6 7);
            round!(words, worked, blocks, i + 1, 7 0 1 2 3 4 5 6);
            round!(words, worked, blocks, i + 2, 6 7 0 1 2 3 4 5);
            round!(words, worked, blocks, i + 3, 5 6 7 0 1 2 3 4);
            round!(words, worked, blocks, i + 4, 4 5 6 7 0 1 2 3);
            round!(words, worked, blocks, i + 5, 3 4 5 6 7 0 1 2);
            round!(words, worked, blocks, i + 6, 2 3 4 5 6 7 0 1);
            round!(words, worked, blocks, i + 7, 1 2 3 4 5 6 7 0);
        }
        Self::add(words, states, &worked);
    }
}

/// Four rounds each, the `$g`th four.
macro_rules! four_rounds {
    ($sha:ident, $worked:ident, $messages:ident: $($g:literal)*) => {
        $(
            let first = 4 * $g;
            let constants = $sha.gather_four([K[first], K[first + 1], K[first + 2], K[first + 3]]);
            for (state, message) in $worked.iter_mut().zip(&mut $messages) {
                if $g >= 4 {
                    let last = [
                        message[$g % 4],
                        message[($g + 1) % 4],
                        message[($g + 2) % 4],
                        message[($g + 3) % 4],
                    ];
                    message[$g % 4] = $sha.sha256_schedule(last);
                }
                *state = $sha.sha256_rounds(*state, $sha.add_four(message[$g % 4], constants));
            }
        )*
    };
}

impl ShaHash for Sha256 {
    const WIDE_VECTORS_FROM: usize = 12;

    #[inline(always)]
    fn to_vectors<S: ShaLanes>(sha: S, [a, b, c, d, e, f, g, h]: &State<u32>) -> [S::Vector; 2] {
        [sha.gather_four([*f, *e, *b, *a]), sha.gather_four([*h, *g, *d, *c])]
    }

    #[inline(always)]
    fn to_words<S: ShaLanes>(sha: S, [abef, cdgh]: [S::Vector; 2]) -> State<u32> {
        let ([f, e, b, a], [h, g, d, c]) = (sha.to_four(abef), sha.to_four(cdgh));
        [a, b, c, d, e, f, g, h]
    }

    #[inline(always)]
    fn work_in_by_instructions<S: ShaLanes, const M: usize>(
        sha: S,
        states: &mut [[S::Vector; 2]; M],
        blocks: [&[u8; 64]; M],
    ) {
        let zero = sha.gather_four([0; 4]);
        let mut messages = [[zero; 4]; M];
        for (messages, block) in messages.iter_mut().zip(blocks) {
            for (message, bytes) in messages.iter_mut().zip(block.as_chunks::<16>().0) {
                *message = sha.load_first_lowest(bytes);
            }
        }
        let mut worked = *states;
        four_rounds!(sha, worked, messages: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for (state, worked) in states.iter_mut().zip(worked) {
            *state = [sha.add_four(state[0], worked[0]), sha.add_four(state[1], worked[1])];
        }
    }
}
