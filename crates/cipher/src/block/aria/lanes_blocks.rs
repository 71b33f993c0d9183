//! ARIA over vectors of bytes for whole blocks, both ways: the rounds of `lanes` under the key
//! schedule of each direction.
//!
//! Not here: counter mode (`lanes`).

use zeroize::optimization_barrier;

use super::key_schedule::{reverse, schedule};
use super::lanes::{LaneKeys, LanesRounds, ROWS_MAX, encrypt_rows, encrypt_sliced};
use crate::arch::byte_lanes::{sixteen, transpose};
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
        self.lanes.enter(EncryptBlocks::<R> { keys: &self.forward, blocks });
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(EncryptBlocks::<R> { keys: &self.back, blocks });
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

struct EncryptBlocks<'a, const R: usize> {
    keys: &'a LaneKeys,
    blocks: &'a mut [[u8; 16]],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for EncryptBlocks<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(16 * L::BYTES);
        for batch in &mut batches {
            encrypt_batch::<L, R>(lanes, keys, batch);
        }
        let rest = batches.into_remainder();
        if rest.is_empty() {
            return;
        }
        const { assert!(16 * L::BYTES <= 1024) };
        let mut padded = [0; 1024];
        padded[..rest.len()].copy_from_slice(rest);
        match rest.len().div_ceil(L::BYTES) {
            1 => encrypt_few::<L, R, 1>(lanes, keys, &mut padded),
            2 => encrypt_few::<L, R, 2>(lanes, keys, &mut padded),
            3 | ROWS_MAX => encrypt_few::<L, R, ROWS_MAX>(lanes, keys, &mut padded),
            _ => encrypt_batch::<L, R>(lanes, keys, &mut padded),
        }
        rest.copy_from_slice(&padded[..rest.len()]);
        padded[..rest.len()].fill(0);
        optimization_barrier(&padded);
    }
}

/// Encrypts the first sixteen vectors of `data`, sliced.
#[inline(always)]
fn encrypt_batch<L: ByteLanes, const R: usize>(lanes: L, keys: &LaneKeys, data: &mut [u8]) {
    let v = sixteen!(I, lanes.load(&data[I * L::BYTES..]));
    let v = transpose(lanes, encrypt_sliced::<L, R>(lanes, keys, transpose(lanes, v)));
    for (vector, bytes) in v.into_iter().zip(data.chunks_exact_mut(L::BYTES)) {
        lanes.store(vector, bytes);
    }
}

/// Encrypts the first `N` vectors of `data`, in rows.
#[inline(always)]
fn encrypt_few<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    data: &mut [u8],
) {
    let mut v = [lanes.splat(0); N];
    for (vector, bytes) in v.iter_mut().zip(data.chunks_exact(L::BYTES)) {
        *vector = lanes.load(bytes);
    }
    encrypt_rows::<L, R, N>(lanes, keys, &mut v);
    for (vector, bytes) in v.into_iter().zip(data.chunks_exact_mut(L::BYTES)) {
        lanes.store(vector, bytes);
    }
}
