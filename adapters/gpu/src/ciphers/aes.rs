//! AES: the key schedule (FIPS 197, 5.2), with the S-box's constant, which the kernel leaves out,
//! in the round keys.

use zeroize::Zeroizing;

use super::keys16;
use crate::gf256::s_box;
use crate::kernel::{Bounds, Kernel};

/// The row that the others of this cipher are made from.
const AES_256: Kernel = Kernel {
    cipher: "aes-256",
    rounds: 14,
    block_bytes: 16,
    sources: &[include_str!("../kernels/bytes16.h"), include_str!("../kernels/aes.c")],
    defines: &[],
    key_words: 15 * 128 + 4,
    ctr: Bounds { groups: 2, registers_max: 255 },
    ff1: Bounds { groups: 2, registers_max: 255 },
    turns: Some(13),
    keys,
};

/// The rows of the table of kernels.
pub(crate) const KERNELS: &[Kernel] = &[
    Kernel { cipher: "aes-128", rounds: 10, key_words: 11 * 128 + 4, turns: Some(9), ..AES_256 },
    Kernel { cipher: "aes-192", rounds: 12, key_words: 13 * 128 + 4, turns: Some(11), ..AES_256 },
    AES_256,
];

fn keys(key: &[u8]) -> Zeroizing<Vec<u32>> {
    let key_words = key.len() / 4;
    let mut round_keys = Zeroizing::new([[0; 16]; 15]);
    let rounds = key_words + 6;
    let words = round_keys.as_flattened_mut().as_chunks_mut::<4>().0;
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = *bytes;
    }
    let mut constant = 1_u8;
    for i in key_words..4 * (rounds + 1) {
        let mut word = words[i - 1];
        if i % key_words == 0 {
            word.rotate_left(1);
            word = word.map(s_box);
            word[0] ^= constant;
            constant = (constant << 1) ^ ((constant >> 7) * 0x1b);
        } else if key_words > 6 && i % key_words == 4 {
            word = word.map(s_box);
        }
        for (new, (old, byte)) in std::iter::zip(0.., std::iter::zip(words[i - key_words], word)) {
            words[i][new] = old ^ byte;
        }
    }
    for key in &mut round_keys[1..] {
        *key = key.map(|byte| byte ^ 0x63);
    }
    keys16(&round_keys[..=rounds])
}
