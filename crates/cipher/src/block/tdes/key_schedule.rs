//! The key schedule of Triple DES (FIPS 46-3; SP 800-67r2): which key bits make each round key, and
//! the round keys of the circuits.
//!
//! Not here: the round keys of look-ups (`bytes`).

use zeroize::optimization_barrier;

/// Rounds of three times DES.
pub(super) const ROUNDS: usize = 48;

/// Permuted choice 1: the 28 bits of C, then of D.
const KEY_CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60,
    52, 44, 36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29,
    21, 13, 5, 28, 20, 12, 4,
];

/// Permuted choice 2: the 48 bits of a round key.
const KEY_CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52,
    31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

/// Total number of bits by which C and D have been rotated left at each of the sixteen rounds.
const KEY_ROTATION: [usize; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 15, 17, 19, 21, 23, 25, 27, 28];

/// `SCHEDULE[r][i]` is the bit of the 64-bit key that is bit i of round key r.
pub(super) const SCHEDULE: [[u8; 48]; 16] = {
    let mut schedule = [[0; 48]; 16];
    let mut r = 0;
    while r < 16 {
        let mut i = 0;
        while i < 48 {
            let chosen = KEY_CHOICE_2[i] as usize - 1;
            let half = chosen / 28 * 28;
            schedule[r][i] = KEY_CHOICE_1[half + (chosen - half + KEY_ROTATION[r]) % 28] - 1;
            i += 1;
        }
        r += 1;
    }
    schedule
};

/// The keys of all rounds in the order of their use, each bit a word of zeros or ones. Zeroed on
/// drop.
pub(super) struct RoundKeys(pub(super) [[u64; 48]; ROUNDS]);

impl RoundKeys {
    /// Returns zeros, to be set by `expand`.
    pub(super) fn zero() -> Self {
        Self([[0; 48]; ROUNDS])
    }

    /// Expands `key`: encryption under K1, decryption under K2, encryption under K3.
    pub(super) fn expand(&mut self, key: &[u8; 24]) {
        let (keys, _) = key.as_chunks::<8>();
        let (thirds, _) = self.0.as_chunks_mut::<16>();
        let mut masks = [0; 64];
        for (n, (rounds, key)) in thirds.iter_mut().zip(keys).enumerate() {
            let key = u64::from_be_bytes(*key);
            for (i, mask) in (0..64).zip(&mut masks) {
                *mask = 0_u64.wrapping_sub(key >> (63 - i) & 1);
            }
            for (r, bits) in SCHEDULE.iter().enumerate() {
                let round = &mut rounds[if n == 1 { 15 - r } else { r }];
                for (word, bit) in round.iter_mut().zip(bits) {
                    *word = masks[usize::from(bit % 64)];
                }
            }
        }
        masks.fill(0);
        optimization_barrier(&masks);
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_leave_nothing_behind() {
        let mut keys = RoundKeys::zero();
        keys.expand(&[0x5a; 24]);
        assert!(keys.0.as_flattened().contains(&u64::MAX));
        assert!(left_after_drop(keys).iter().all(|byte| *byte == 0));
    }
}
