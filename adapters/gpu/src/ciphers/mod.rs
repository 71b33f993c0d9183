//! One file a cipher: its rows of the table of kernels, and its round keys as the kernel takes
//! them.
//!
//! Not here: the kernels (`kernels/`).

pub(crate) mod aes;
pub(crate) mod aria;
pub(crate) mod pipo;

use zeroize::Zeroizing;

/// Returns a bit as a word: all zeros or all ones.
fn mask(bit: u8) -> u32 {
    0_u32.wrapping_sub(u32::from(bit & 1))
}

/// Appends the bits of `bytes` as masks, the lowest of each byte first.
fn masks(bytes: &[u8], words: &mut Vec<u32>) {
    words.extend(bytes.iter().flat_map(|byte| (0..8).map(move |bit| mask(byte >> bit))));
}

/// Returns round keys of 16 bytes as `kernels/bytes16.h` takes them: masks, then the first again.
fn keys16(round_keys: &[[u8; 16]]) -> Zeroizing<Vec<u32>> {
    let mut words = Zeroizing::new(Vec::with_capacity(128 * round_keys.len() + 4));
    masks(round_keys.as_flattened(), &mut words);
    words.extend(round_keys[0].as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)));
    words
}
