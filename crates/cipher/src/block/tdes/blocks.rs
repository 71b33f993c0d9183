//! Triple DES for whole blocks, both ways.
//!
//! A pass takes [`Planes::WORDS`] times 64 blocks and costs the same for one of them: few blocks at
//! a time, such as the chain of CBC encryption or a CMAC, are slow here, even where look-ups in
//! vectors take them. That is the price of constant time.

use zeroize::optimization_barrier;

use super::key_schedule::RoundKeys;
use super::permutations::{ROW, TO_STATE};
use super::rounds::rounds;
use crate::arch::{Kernel, Planes};
use crate::memory::Protected;
use crate::mode::BlockCipher;

/// Returns the circuits, keyed in place so that no copy stays behind.
pub(super) fn circuits<P: Planes>(planes: P, key: &[u8; 24]) -> Protected<dyn BlockCipher<8>> {
    let mut tdes = Protected::with(|| TdesBlocks { planes, keys: RoundKeys::zero() });
    tdes.keys.expand(key);
    tdes.unsize(|tdes| tdes)
}

/// A keyed Triple DES for whole blocks.
struct TdesBlocks<P> {
    planes: P,
    keys: RoundKeys,
}

impl<P: Planes> BlockCipher<8> for TdesBlocks<P> {
    fn backend(&self) -> &'static str {
        self.planes.backend()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.planes.enter_planes(CryptBlocks::<false> { keys: &self.keys, blocks });
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.planes.enter_planes(CryptBlocks::<true> { keys: &self.keys, blocks });
    }
}

/// The bit of a block in memory, where bits of a byte count from the least significant one, that is
/// bit i of the state behind the initial permutation.
const IN: [usize; 64] = {
    let mut from = [0; 64];
    let mut i = 0;
    while i < 64 {
        from[i] = TO_STATE[i] / 8 * 8 + 7 - TO_STATE[i] % 8;
        i += 1;
    }
    from
};

struct CryptBlocks<'a, const BACK: bool> {
    keys: &'a RoundKeys,
    blocks: &'a mut [[u8; 8]],
}

impl<P: Planes, const BACK: bool> Kernel<P> for CryptBlocks<'_, BACK> {
    type Output = ();

    #[inline(always)]
    fn run(self, planes: P) {
        let Self { keys, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(64 * P::BYTES);
        for batch in &mut batches {
            crypt::<P, BACK>(planes, keys, batch);
        }
        let rest = batches.into_remainder();
        if !rest.is_empty() {
            const { assert!(P::BYTES <= 64) };
            let mut padded = [0; 64 * 64];
            padded[..rest.len()].copy_from_slice(rest);
            crypt::<P, BACK>(planes, keys, &mut padded[..64 * P::BYTES]);
            rest.copy_from_slice(&padded[..rest.len()]);
            padded.fill(0);
            optimization_barrier(&padded);
        }
    }
}

/// Encrypts, or with `BACK` decrypts, as many blocks as a plane has bits.
#[inline(always)]
fn crypt<P: Planes, const BACK: bool>(planes: P, keys: &RoundKeys, batch: &mut [u8]) {
    let mut rows = [planes.splat(0); 64];
    for (row, bytes) in rows.iter_mut().zip(batch.chunks_exact(P::BYTES)) {
        *row = planes.load(bytes);
    }
    transpose(planes, &mut rows);
    let mut state = [[planes.splat(0); 32]; 2];
    for (plane, from) in state.as_flattened_mut().iter_mut().zip(IN) {
        *plane = rows[from];
    }
    rounds::<P, BACK>(planes, keys, &mut state);
    for (row, from) in rows.iter_mut().zip(ROW) {
        *row = state.as_flattened()[from];
    }
    transpose(planes, &mut rows);
    for (row, bytes) in rows.iter().zip(batch.chunks_exact_mut(P::BYTES)) {
        planes.store(*row, bytes);
    }
    state.as_flattened_mut().fill(planes.splat(0));
    optimization_barrier(&state);
    rows.fill(planes.splat(0));
    optimization_barrier(&rows);
}

/// Rows and columns of the 64 x 64 bits of each word exchanged.
#[inline(always)]
fn transpose<P: Planes>(planes: P, rows: &mut [P::Plane; 64]) {
    exchange::<P, 32>(planes, rows, 0x0000_0000_ffff_ffff);
    exchange::<P, 16>(planes, rows, 0x0000_ffff_0000_ffff);
    exchange::<P, 8>(planes, rows, 0x00ff_00ff_00ff_00ff);
    exchange::<P, 4>(planes, rows, 0x0f0f_0f0f_0f0f_0f0f);
    exchange::<P, 2>(planes, rows, 0x3333_3333_3333_3333);
    exchange::<P, 1>(planes, rows, 0x5555_5555_5555_5555);
}

/// Exchanges in each 2 `N` x 2 `N` bits the two quarters off the diagonal; `mask` has the lower `N`
/// bits of each 2 `N`.
#[inline(always)]
fn exchange<P: Planes, const N: i32>(planes: P, rows: &mut [P::Plane; 64], mask: u64) {
    let mask = planes.splat(mask);
    for group in rows.chunks_exact_mut(2 * N as usize) {
        let (upper, lower) = group.split_at_mut(N as usize);
        for (a, b) in upper.iter_mut().zip(lower) {
            let wrong = planes.and(planes.xor(planes.shift_right::<N>(*a), *b), mask);
            *b = planes.xor(*b, wrong);
            *a = planes.xor(*a, planes.shift_left::<N>(wrong));
        }
    }
}

#[cfg(test)]
mod tests {
    use cipher::{Array, BlockCipherEncrypt, KeyInit};

    use super::*;
    use crate::arch::Arrays;
    use crate::backend::Backend;
    use crate::block::tdes::block;
    use crate::testing::bytes;

    /// Against the `des` crate, on every backend and on arrays, up to beyond a pass.
    #[test]
    fn blocks_equal_those_of_the_des_crate_and_come_back() {
        let key = bytes("3des blocks key", 24);
        let theirs = des::TdesEde3::new_from_slice(&key).unwrap();
        let mut ours = vec![circuits(Arrays, key[..].try_into().unwrap())];
        ours.extend(Backend::available().into_iter().map(|backend| block(&key, backend).unwrap()));
        for ours in ours {
            for count in [0, 1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 700] {
                let text = bytes("3des blocks", 8 * count);
                let mut want = text.clone();
                for block in want.as_chunks_mut::<8>().0 {
                    let mut copy = Array(*block);
                    theirs.encrypt_block(&mut copy);
                    *block = copy.into();
                }
                let mut found = text.clone();
                ours.encrypt_blocks(found.as_chunks_mut().0);
                assert!(found == want, "{}, {count} blocks", ours.backend());
                ours.decrypt_blocks(found.as_chunks_mut().0);
                assert!(found == text, "{}, {count} blocks back", ours.backend());
            }
        }
    }
}
