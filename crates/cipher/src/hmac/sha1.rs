//! SHA-1 on words, and by the CPU's instructions for it.
//!
//! Source: FIPS 180-4, 6.1.

use super::hash::{Hash, ShaHash, State};
use crate::arch::{HashWords, ShaLanes};

pub(super) struct Sha1;

/// The constants, one for 20 rounds.
const K: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// Twenty rounds from round `$from` on with one function.
macro_rules! rounds {
    ($words:ident, $states:ident, $blocks:ident, $function:ident, $from:literal) => {
        for five in 0..4 {
            let i = $from + 5 * five;
            rounds!(@one $words, $states, $blocks, $function, $from, i, 0 1 2 3 4);
            rounds!(@one $words, $states, $blocks, $function, $from, i + 1, 4 0 1 2 3);
            rounds!(@one $words, $states, $blocks, $function, $from, i + 2, 3 4 0 1 2);
            rounds!(@one $words, $states, $blocks, $function, $from, i + 3, 2 3 4 0 1);
            rounds!(@one $words, $states, $blocks, $function, $from, i + 4, 1 2 3 4 0);
        }
    };
    (@one $words:ident, $states:ident, $blocks:ident, $function:ident, $from:literal, $i:expr,
        $a:literal $b:literal $c:literal $d:literal $e:literal) => {
        for (state, block) in $states.iter_mut().zip(&mut *$blocks) {
            let scheduled = scheduled($words, block, $i);
            let added = $words.add($words.add(state[$e], scheduled), $words.splat(K[$from / 20]));
            let mixed = rounds!(@$function $words, state[$b], state[$c], state[$d]);
            let sum = $words.add($words.add(added, mixed), $words.rotate::<5>(state[$a]));
            state[$e] = sum;
            state[$b] = $words.rotate::<30>(state[$b]);
        }
    };
    (@choose $words:ident, $b:expr, $c:expr, $d:expr) => { $words.choose($b, $c, $d) };
    (@parity $words:ident, $b:expr, $c:expr, $d:expr) => { $words.xor3($b, $c, $d) };
    (@majority $words:ident, $b:expr, $c:expr, $d:expr) => { $words.majority($b, $c, $d) };
}

/// Returns the word of round `i`, of the last sixteen that `block` holds.
#[inline(always)]
fn scheduled<W: HashWords>(words: W, block: &mut [W::Word; 16], i: usize) -> W::Word {
    if i >= 16 {
        let sum = words.xor3(block[(i + 13) % 16], block[(i + 8) % 16], block[(i + 2) % 16]);
        block[i % 16] = words.rotate::<1>(words.xor(sum, block[i % 16]));
    }
    block[i % 16]
}

impl Hash for Sha1 {
    const WORDS: usize = 5;
    const BIG_ENDIAN: bool = true;
    const INITIAL: State<u32> =
        [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0, 0, 0, 0];

    #[inline(always)]
    fn work_in<W: HashWords, const M: usize>(
        words: W,
        states: &mut [State<W::Word>; M],
        blocks: &mut [[W::Word; 16]; M],
    ) {
        let mut worked = *states;
        rounds!(words, worked, blocks, choose, 0);
        rounds!(words, worked, blocks, parity, 20);
        rounds!(words, worked, blocks, majority, 40);
        rounds!(words, worked, blocks, parity, 60);
        Self::add(words, states, &worked);
    }
}

/// Four rounds, the `$g`th four, with the function of rounds 20 `$f` on.
macro_rules! four_rounds {
    ($sha:ident, $worked:ident, $messages:ident, $f:literal: $($g:literal)*) => {
        $(for ((abcd, before), message) in $worked.iter_mut().zip(&mut $messages) {
            if $g >= 4 {
                let last = [
                    message[$g % 4],
                    message[($g + 1) % 4],
                    message[($g + 2) % 4],
                    message[($g + 3) % 4],
                ];
                message[$g % 4] = $sha.sha1_schedule(last);
            }
            // E of the first four rounds is no rotated A
            let with_e = match $g {
                0 => $sha.add_four(*before, message[0]),
                _ => $sha.sha1_next_e(*before, message[$g % 4]),
            };
            *before = *abcd;
            *abcd = $sha.sha1_rounds::<$f>(*abcd, with_e);
        })*
    };
}

impl ShaHash for Sha1 {
    const WIDE_VECTORS_FROM: usize = 8;

    #[inline(always)]
    fn to_vectors<S: ShaLanes>(sha: S, [a, b, c, d, e, ..]: &State<u32>) -> [S::Vector; 2] {
        [sha.gather_four([*d, *c, *b, *a]), sha.gather_four([0, 0, 0, *e])]
    }

    #[inline(always)]
    fn to_words<S: ShaLanes>(sha: S, [abcd, e]: [S::Vector; 2]) -> State<u32> {
        let ([d, c, b, a], [.., e]) = (sha.to_four(abcd), sha.to_four(e));
        [a, b, c, d, e, 0, 0, 0]
    }

    #[inline(always)]
    fn work_in_by_instructions<S: ShaLanes, const M: usize>(
        sha: S,
        states: &mut [[S::Vector; 2]; M],
        blocks: [&[u8; 64]; M],
    ) {
        let zero = sha.gather_four([0; 4]);
        let mut messages = [[zero; 4]; M];
        let mut worked = [(zero, zero); M];
        for m in 0..M {
            for (message, bytes) in messages[m].iter_mut().zip(blocks[m].as_chunks::<16>().0) {
                *message = sha.load_first_highest(bytes);
            }
            worked[m] = (states[m][0], states[m][1]);
        }
        four_rounds!(sha, worked, messages, 0: 0 1 2 3 4);
        four_rounds!(sha, worked, messages, 1: 5 6 7 8 9);
        four_rounds!(sha, worked, messages, 2: 10 11 12 13 14);
        four_rounds!(sha, worked, messages, 3: 15 16 17 18 19);
        for ([abcd, e], (worked, before)) in states.iter_mut().zip(worked) {
            *abcd = sha.add_four(*abcd, worked);
            *e = sha.sha1_next_e(before, *e);
        }
    }
}
