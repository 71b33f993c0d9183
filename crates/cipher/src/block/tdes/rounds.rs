//! The rounds of Triple DES on planes, S-boxes being circuits.

use super::key_schedule::{ROUNDS, RoundKeys};
use super::permutations::S_BOX_TARGET;
use super::s_boxes::s_box;
use crate::arch::Planes;

/// The 48 rounds, with the keys in reverse where it goes `BACK`.
#[inline(always)]
pub(super) fn rounds<P: Planes, const BACK: bool>(
    planes: P,
    keys: &RoundKeys,
    state: &mut [[P::Plane; 32]; 2],
) {
    let [left, right] = state;
    let (mut left, mut right) = (left, right);
    for r in 0..ROUNDS {
        round(planes, &keys.0[if BACK { ROUNDS - 1 - r } else { r }], left, right);
        // DES ends without the exchange of halves.
        if r % 16 != 15 {
            std::mem::swap(&mut left, &mut right);
        }
    }
}

/// XORs `left` with the cipher function of `right` and `key`.
#[inline(always)]
fn round<P: Planes>(planes: P, key: &[u64; 48], left: &mut [P::Plane; 32], right: &[P::Plane; 32]) {
    macro_rules! input {
        // The selection E: each S-box takes its four bits and one neighbour on each side.
        ($n:literal, $i:literal) => {
            planes.xor(right[(4 * $n + $i + 31) % 32], planes.splat(key[6 * $n + $i]))
        };
    }
    macro_rules! apply_s_boxes {
        ($($n:literal)*) => {
            $({
                let input = [
                    input!($n, 0), input!($n, 1), input!($n, 2),
                    input!($n, 3), input!($n, 4), input!($n, 5),
                ];
                let [a, b, c, d] = s_box::<$n, P>(planes, input);
                let targets = const { [4 * $n, 4 * $n + 1, 4 * $n + 2, 4 * $n + 3] };
                left[S_BOX_TARGET[targets[0]]] = planes.xor(left[S_BOX_TARGET[targets[0]]], a);
                left[S_BOX_TARGET[targets[1]]] = planes.xor(left[S_BOX_TARGET[targets[1]]], b);
                left[S_BOX_TARGET[targets[2]]] = planes.xor(left[S_BOX_TARGET[targets[2]]], c);
                left[S_BOX_TARGET[targets[3]]] = planes.xor(left[S_BOX_TARGET[targets[3]]], d);
            })*
        };
    }
    apply_s_boxes!(0 1 2 3 4 5 6 7);
}
