//! The key schedule of SEED (RFC 4269, 2.5), over any form of the function G.

use zeroize::{Zeroizing, optimization_barrier};

use super::g_function::Mix;

pub(super) const ROUNDS: usize = 16;

/// The constants KC of the key schedule (RFC 4269, 2.5): the golden ratio, rotated by one bit each
/// round.
const GOLDEN: u32 = 0x9e37_79b9;

/// First word of each round's key and the sum of both words, which meet the halves' second words
/// alone. Zeroed on drop.
pub(super) struct RoundKeys(pub(super) [[u32; 2]; ROUNDS]);

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

/// Expands `key` as RFC 4269, 2.5 does.
#[inline(always)]
pub(super) fn schedule(key: &[u8; 16], with: &impl Mix, keys: &mut RoundKeys) {
    let mut left = Zeroizing::new(u64::from_be_bytes(*key.first_chunk().expect("8 of 16")));
    let mut right = Zeroizing::new(u64::from_be_bytes(*key.last_chunk().expect("8 of 16")));
    for (round, key) in keys.0.iter_mut().enumerate() {
        let constant = GOLDEN.rotate_left(round as u32);
        let (a, b) = ((*left >> 32) as u32, *left as u32);
        let (c, d) = ((*right >> 32) as u32, *right as u32);
        key[0] = with.mix(a.wrapping_add(c).wrapping_sub(constant));
        key[1] = key[0] ^ with.mix(b.wrapping_sub(d).wrapping_add(constant));
        if round % 2 == 0 {
            *left = left.rotate_right(8);
        } else {
            *right = right.rotate_left(8);
        }
    }
}
