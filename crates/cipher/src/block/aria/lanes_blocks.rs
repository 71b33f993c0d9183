//! ARIA over vectors of bytes for whole blocks, both ways: the rounds of `lanes` under the key
//! schedule of each direction.
//!
//! Not here: counter mode (`lanes`).

use super::key_schedule::{reverse, schedule};
use super::lanes::{Encrypt, LaneKeys, LanesRounds};
use crate::arch::{ByteLanes, Kernel};
use crate::memory::Protected;
use crate::mode::BlockCipher;

/// ARIA of `R` rounds for whole blocks: 12, 14 or 16.
pub(super) struct AriaBlocks<L, const R: usize> {
    lanes: L,
    forward: LaneKeys,
    back: LaneKeys,
}

impl<L: ByteLanes, const R: usize> AriaBlocks<L, R> {
    /// Sets `key`, of 4 (R - 8) bytes, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<Self> {
        let mut aria =
            Protected::with(|| Self { lanes, forward: LaneKeys::zero(), back: LaneKeys::zero() });
        let Self { forward, back, .. } = &mut *aria;
        lanes.enter(Expand::<R> { key, forward, back });
        aria
    }
}

impl<L: ByteLanes, const R: usize> BlockCipher<16> for AriaBlocks<L, R> {
    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(Encrypt::<R> { keys: &self.forward, blocks });
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(Encrypt::<R> { keys: &self.back, blocks });
    }
}

struct Expand<'a, const R: usize> {
    key: &'a [u8],
    forward: &'a mut LaneKeys,
    back: &'a mut LaneKeys,
}

impl<L: ByteLanes, const R: usize> Kernel<L> for Expand<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { key, forward, back } = self;
        schedule(key, R, &LanesRounds(lanes), &mut forward.rows);
        back.rows.0 = forward.rows.0;
        reverse(&mut back.rows, R);
        forward.slice(R);
        back.slice(R);
    }
}
