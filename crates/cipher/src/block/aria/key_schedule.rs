//! The key schedule of ARIA (RFC 5794, 2.2), over any form of a round of one block.

use zeroize::{Zeroizing, optimization_barrier};

use super::diffusion::DIFFUSION;

/// The most rounds: with a 256-bit key.
pub(super) const ROUNDS_MAX: usize = 16;

/// The round keys ek1 and on, zeroed on drop.
pub(super) struct RoundKeys(pub(super) [[u8; 16]; ROUNDS_MAX + 1]);

impl RoundKeys {
    pub(super) fn zero() -> Self {
        Self([[0; 16]; ROUNDS_MAX + 1])
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Turns the encryption keys of `rounds` rounds into decryption keys (RFC 5794, 2.2): in reverse
/// order, all but the first and the last through the diffusion layer.
pub(super) fn reverse(keys: &mut RoundKeys, rounds: usize) {
    let keys = &mut keys.0[..=rounds];
    keys.reverse();
    for key in &mut keys[1..rounds] {
        let plain = Zeroizing::new(*key);
        for (byte, from) in key.iter_mut().zip(DIFFUSION) {
            *byte = from.into_iter().fold(0, |sum, i| sum ^ plain[i]);
        }
    }
}

/// Rounds of a single block, in constant time.
pub(super) trait Rounds {
    /// The substitution layer of an `ODD` (type 1) or even round, the diffusion layer, and `add`.
    fn round<const ODD: bool>(&self, block: &mut [u8; 16], add: &[u8; 16]);
}

/// The constants C1, C2, C3 (RFC 5794, 2.2).
const SCHEDULE: [u128; 3] = [
    0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0,
    0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0,
    0xdb92_371d_2126_e970_0324_9775_04e8_c90e,
];

/// Expands `key`, of 4 (`rounds` - 8) bytes, as RFC 5794, 2.2 does.
#[inline(always)]
pub(super) fn schedule(key: &[u8], rounds: usize, with: &impl Rounds, keys: &mut RoundKeys) {
    assert_eq!(key.len(), 4 * (rounds - 8), "a key of {rounds} rounds");
    let mut padded = Zeroizing::new([0; 32]);
    padded[..key.len()].copy_from_slice(key);
    let (left, right): (&[u8; 16], &[u8; 16]) =
        (padded.first_chunk().expect("16 of 32"), padded.last_chunk().expect("16 of 32"));
    let first = rounds / 2 - 6;
    let constant = |i: usize| SCHEDULE[(first + i) % 3];

    // W0 to W3; each round adds its key, CK1 to CK3, before the substitution.
    let mut block = Zeroizing::new(*left);
    let mut w = Zeroizing::new([u128::from_be_bytes(*left), 0, 0, 0]);
    *block = (w[0] ^ constant(0)).to_be_bytes();
    with.round::<true>(&mut block, right);
    w[1] = u128::from_be_bytes(*block);
    *block = (w[1] ^ constant(1)).to_be_bytes();
    with.round::<false>(&mut block, left);
    w[2] = u128::from_be_bytes(*block);
    *block = (w[2] ^ constant(2)).to_be_bytes();
    with.round::<true>(&mut block, &w[1].to_be_bytes());
    w[3] = u128::from_be_bytes(*block);

    let rotations = [19_u32, 31, 128 - 61, 128 - 31, 128 - 19];
    for (i, key) in keys.0[..=rounds].iter_mut().enumerate() {
        // Four at a time: W0 and W1, W1 and W2, W2 and W3, W3 and W0; the second is rotated, but W0
        // in the last.
        let (plain, rotated) = if i % 4 == 3 { (3, 0) } else { (i % 4, i % 4 + 1) };
        *key = (w[plain] ^ w[rotated].rotate_right(rotations[i / 4])).to_be_bytes();
    }
}
