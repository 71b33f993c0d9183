//! Eight words as bits: word i holds bit i of all their bytes. For ciphers whose S-boxes are
//! circuits.
//!
//! Here are the conversions both ways, and linear maps of bytes.

use crate::arch::{Logic, Words};

/// Bit i of eight words' bytes is word i.
pub(super) type State<W> = [<W as Logic>::Word; 8];

/// Exchanges the number of a word with the number of a bit in its byte: from blocks to bits and
/// back.
#[inline(always)]
pub(super) fn exchange_bits<W: Words>(words: W, state: &mut State<W>) {
    for i in [0, 2, 4, 6] {
        exchange::<W, 1>(words, state, i, i + 1, 0x55);
    }
    for i in [0, 1, 4, 5] {
        exchange::<W, 2>(words, state, i, i + 2, 0x33);
    }
    for i in [0, 1, 2, 3] {
        exchange::<W, 4>(words, state, i, i + 4, 0x0f);
    }
}

/// Exchanges the bits of word `b` under `mask` with the bits of word `a` that are `N` places
/// higher.
#[inline(always)]
fn exchange<W: Words, const N: i32>(words: W, state: &mut State<W>, a: usize, b: usize, mask: u8) {
    let mask = words.rows([u32::from_ne_bytes([mask; 4]); 4]);
    let difference = words.and(words.xor(words.shift_right::<N>(state[a]), state[b]), mask);
    state[b] = words.xor(state[b], difference);
    state[a] = words.xor(state[a], words.shift_left::<N>(difference));
}

/// Returns the linear map of each byte whose row i is byte i of `ROWS`.
#[inline(always)]
pub(super) fn linear<W: Words, const ROWS: u64>(words: W, x: &State<W>) -> State<W> {
    macro_rules! each_row {
        ($($i:literal)*) => {
            [$({
                const fn row(rows: u64) -> u8 {
                    rows.to_be_bytes()[$i]
                }
                const { assert!(row(ROWS) != 0) };
                let lowest = row(ROWS).trailing_zeros() as usize;
                let mut y = x[lowest];
                each_bit!(y, row(ROWS), lowest, 1 2 3 4 5 6 7);
                y
            }),*]
        };
    }
    macro_rules! each_bit {
        ($y:ident, $row:expr, $lowest:ident, $($bit:literal)*) => {
            $(if $bit > $lowest && $row >> $bit & 1 == 1 {
                $y = words.xor($y, x[$bit]);
            })*
        };
    }
    each_row!(0 1 2 3 4 5 6 7)
}
