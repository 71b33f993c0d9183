//! ARIA: the key schedule (RFC 5794, 2.2), with the constants of the S-boxes, which the kernel
//! leaves out, in the round keys.

use zeroize::Zeroizing;

use super::keys16;
use crate::gf256::{affine_invert, invert_affine};
use crate::kernel::{Bounds, Kernel};

/// The row that the others of this cipher are made from.
const ARIA_256: Kernel = Kernel {
    cipher: "aria-256",
    rounds: 16,
    block_bytes: 16,
    sources: &[include_str!("../kernels/bytes16.h"), include_str!("../kernels/aria.c")],
    defines: &[],
    key_words: 17 * 128 + 4,
    ctr: Bounds { groups: 2, registers_max: 255 },
    ff1: Bounds { groups: 2, registers_max: 255 },
    turns: Some(7),
    keys,
};

/// The rows of the table of kernels.
pub(crate) const KERNELS: &[Kernel] = &[
    Kernel { cipher: "aria-128", rounds: 12, key_words: 13 * 128 + 4, turns: Some(5), ..ARIA_256 },
    Kernel { cipher: "aria-192", rounds: 14, key_words: 15 * 128 + 4, turns: Some(6), ..ARIA_256 },
    ARIA_256,
];

/// The matrices and constants of S1 and S2 after inversion (RFC 5794, 2.4.2), row i being byte i
/// from the top, and the inverse matrices.
const S1: (u64, u8) = (0xf1e3_c78f_1f3e_7cf8, 0x63);
const S2: (u64, u8) = (0xeafc_b7c3_c273_c66f, 0xe2);
const S1_INVERSE: u64 = 0xa449_9225_4a94_2952;
const S2_INVERSE: u64 = 0x1864_50c7_37d6_bdc9;

/// The diffusion layer A (RFC 5794, 2.4.3): output i is the sum of these seven inputs.
const DIFFUSION: [[usize; 7]; 16] = [
    [3, 4, 6, 8, 9, 13, 14],
    [2, 5, 7, 8, 9, 12, 15],
    [1, 4, 6, 10, 11, 12, 15],
    [0, 5, 7, 10, 11, 13, 14],
    [0, 2, 5, 8, 11, 14, 15],
    [1, 3, 4, 9, 10, 14, 15],
    [0, 2, 7, 9, 10, 12, 13],
    [1, 3, 6, 8, 11, 12, 13],
    [0, 1, 4, 7, 10, 13, 15],
    [0, 1, 5, 6, 11, 12, 14],
    [2, 3, 5, 6, 8, 13, 15],
    [2, 3, 4, 7, 9, 12, 14],
    [1, 2, 6, 7, 9, 11, 12],
    [0, 3, 6, 7, 8, 10, 13],
    [0, 3, 4, 5, 9, 11, 14],
    [1, 2, 4, 5, 8, 10, 15],
];

/// The constants C1, C2, C3 (RFC 5794, 2.2).
const SCHEDULE: [u128; 3] = [
    0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0,
    0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0,
    0xdb92_371d_2126_e970_0324_9775_04e8_c90e,
];

fn keys(key: &[u8]) -> Zeroizing<Vec<u32>> {
    let mut padded = Zeroizing::new([0; 32]);
    padded[..key.len()].copy_from_slice(key);
    let halves = Zeroizing::new(
        [0, 16].map(|at| u128::from_be_bytes(*padded[at..].first_chunk().expect("16 of 32"))),
    );
    let (rounds, constant) = (key.len() / 4 + 8, |i: usize| SCHEDULE[(key.len() / 8 - 2 + i) % 3]);
    let mut w = Zeroizing::new([halves[0], 0, 0, 0]);
    w[1] = round(w[0] ^ constant(0), 0) ^ halves[1];
    w[2] = round(w[1] ^ constant(1), 2) ^ w[0];
    w[3] = round(w[2] ^ constant(2), 0) ^ w[1];

    let mut round_keys = Zeroizing::new([[0; 16]; 17]);
    for (i, key) in round_keys[..=rounds].iter_mut().enumerate() {
        // Four at a time: W0 and W1, W1 and W2, W2 and W3, W3 and W0; the second is rotated, but W0
        // in the last.
        let (plain, rotated) = if i % 4 == 3 { (3, 0) } else { (i % 4, i % 4 + 1) };
        let rotation = [19_u32, 31, 128 - 61, 128 - 31, 128 - 19][i / 4];
        *key = (w[plain] ^ w[rotated].rotate_right(rotation) ^ added(i, rounds)).to_be_bytes();
    }
    keys16(&round_keys[..=rounds])
}

/// Computes what the S-boxes used by the kernel lack, after round `i` and before the next: the
/// constants of S1 and S2 come after these two S-boxes, and before their inverses.
fn added(i: usize, rounds: usize) -> u128 {
    // in columns 0 and 1 or 2 and 3
    let constants = |first: usize| {
        let constants: [u8; 16] = std::array::from_fn(|byte| match (byte + 4 - first) % 4 {
            0 => S1.1,
            1 => S2.1,
            _ => 0,
        });
        u128::from_be_bytes(constants)
    };
    let (odd_after, even_after) = (constants(0), constants(2));
    let behind = match i {
        0 => 0,
        _ if i == rounds => even_after,
        _ => diffuse(if i % 2 == 1 { odd_after } else { even_after }),
    };
    let before = match i {
        _ if i == rounds => 0,
        _ if i.is_multiple_of(2) => constants(2),
        _ => constants(0),
    };
    behind ^ before
}

/// Applies a round (RFC 5794, 2.4.1) without its key: odd rounds have S1 in column 0, even rounds
/// in column 2 (`first`).
fn round(block: u128, first: usize) -> u128 {
    let mut block = Zeroizing::new(block.to_be_bytes());
    for (i, byte) in block.iter_mut().enumerate() {
        *byte = match (i + 4 - first) % 4 {
            0 => invert_affine(S1.0, S1.1, *byte),
            1 => invert_affine(S2.0, S2.1, *byte),
            2 => affine_invert(S1_INVERSE, S1.1, *byte),
            _ => affine_invert(S2_INVERSE, S2.1, *byte),
        };
    }
    diffuse(u128::from_be_bytes(*block))
}

fn diffuse(block: u128) -> u128 {
    let block = Zeroizing::new(block.to_be_bytes());
    u128::from_be_bytes(DIFFUSION.map(|from| from.into_iter().fold(0, |sum, i| sum ^ block[i])))
}
