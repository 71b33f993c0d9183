//! The key schedule of AES (FIPS 197, 5.2), over any form of the S-box.
//!
//! Not here: the schedule in registers of AES instructions (`lanes`), and how round keys are laid
//! out for the rounds.

use zeroize::{Zeroize, optimization_barrier};

/// The most rounds: with a 256-bit key.
pub(super) const ROUNDS_MAX: usize = 14;

/// The round keys in the order of their use: in protected memory, which is zeroed, or `Zeroizing`.
pub(super) struct RoundKeys(pub(super) [[u8; 16]; ROUNDS_MAX + 1]);

impl Zeroize for RoundKeys {
    fn zeroize(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// The S-box on each byte of a word, in constant time, without AES instructions.
pub(super) trait SubWord {
    fn sub_word(&self, word: u32) -> u32;
}

impl RoundKeys {
    pub(super) fn zero() -> Self {
        Self([[0; 16]; ROUNDS_MAX + 1])
    }

    /// Expands `key`, of (rounds - 6) words, as FIPS 197, 5.2 does; words are little-endian here.
    #[inline(always)]
    pub(super) fn expand(&mut self, key: &[u8], rounds: usize, s_box: &impl SubWord) {
        let key_words = rounds - 6;
        assert_eq!(key.len(), 4 * key_words, "a key of {rounds} rounds");
        let words = self.0.as_flattened_mut();
        words[..key.len()].copy_from_slice(key);
        let mut previous = word(words, key_words - 1);
        let mut constant = 1_u32;
        for i in key_words..4 * (rounds + 1) {
            if i % key_words == 0 {
                previous = s_box.sub_word(previous.rotate_right(8)) ^ constant;
                constant = (constant << 1) ^ ((constant >> 7) * 0x11b);
            } else if key_words > 6 && i % key_words == 4 {
                previous = s_box.sub_word(previous);
            }
            previous ^= word(words, i - key_words);
            words[4 * i..4 * i + 4].copy_from_slice(&previous.to_le_bytes());
        }
    }
}

#[inline(always)]
fn word(words: &[u8], i: usize) -> u32 {
    u32::from_le_bytes(*words[4 * i..].first_chunk().expect("a word"))
}
