//! PIPO: round key i is one word of the key, alternately, plus i, which the kernel adds.

use zeroize::Zeroizing;

use super::masks;
use crate::kernel::{Bounds, Kernel};

/// The row that the others of this cipher are made from.
const PIPO_256: Kernel = Kernel {
    cipher: "pipo-256",
    rounds: 17,
    block_bytes: 8,
    sources: &[include_str!("../kernels/pipo.c")],
    defines: &[("KEY_PERIOD", 4)],
    key_words: 4 * 64 + 2,
    ctr: Bounds { groups: 6, registers_max: 128 },
    ff1: Bounds { groups: 2, registers_max: 255 },
    turns: None,
    keys,
};

/// The rows of the table of kernels.
pub(crate) const KERNELS: &[Kernel] = &[
    Kernel {
        cipher: "pipo-128",
        rounds: 13,
        defines: &[("KEY_PERIOD", 2)],
        key_words: 2 * 64 + 2,
        ctr: Bounds { groups: 3, registers_max: 168 },
        ff1: Bounds { groups: 3, registers_max: 168 },
        ..PIPO_256
    },
    PIPO_256,
];

/// Returns the masks of each word of `key`, and the first word as two big-endian halves.
fn keys(key: &[u8]) -> Zeroizing<Vec<u32>> {
    let mut words = Zeroizing::new(Vec::with_capacity(8 * key.len() + 2));
    masks(key, &mut words);
    words.extend(key[..8].as_chunks().0.iter().map(|half| u32::from_be_bytes(*half)));
    words
}
