//! AES rounds over vectors of counter blocks, and counter mode of them.
//!
//! Eight vectors are in flight at once, so that one's round hides behind the others'. Fewer go together where less is
//! left: a message's last bytes take one pass, not one pass a vector.

use zeroize::optimization_barrier;

use super::{ROUNDS_MAX, RoundKeys, SubWord};
use crate::arch::{AesLanes, Kernel};
use crate::mode::Counter128;
use crate::mode::ghash::BATCH;

/// The S-box by AES instructions.
struct LanesSBox<L>(L);

impl<L: AesLanes> SubWord for LanesSBox<L> {
    #[inline(always)]
    fn sub_word(&self, word: u32) -> u32 {
        self.0.aes_sub_word(word)
    }
}

/// The round keys in the order of their use, each in every lane of a vector. Zeroed on drop.
///
/// They are spread when the key is set: spreading costs a step on the execution units that the rounds need.
#[repr(C, align(64))]
pub(super) struct LaneKeys([u8; 64 * (ROUNDS_MAX + 1)]);

impl LaneKeys {
    /// To be set by `expand`.
    pub(super) fn zero() -> Self {
        Self([0; 64 * (ROUNDS_MAX + 1)])
    }

    /// Expands `key`, of (R - 6) words, for `R` rounds.
    #[inline(always)]
    pub(super) fn expand<L: AesLanes, const R: usize>(&mut self, lanes: L, key: &[u8]) {
        const { assert!(L::BYTES <= 64 && R <= ROUNDS_MAX) };
        let mut plain = RoundKeys::zero();
        plain.expand(key, R, &LanesSBox(lanes));
        for (r, key) in plain.0[..=R].iter().enumerate() {
            lanes.store(lanes.splat(key), &mut self.0[r * L::BYTES..]);
        }
    }

    /// Sets the keys of the equivalent inverse cipher to those of `forward` (FIPS 197, 5.3.5): in reverse order, all
    /// but the first and the last through InvMixColumns.
    #[inline(always)]
    pub(super) fn invert<L: AesLanes, const R: usize>(&mut self, lanes: L, forward: &Self) {
        let zero = lanes.zero();
        for r in 0..=R {
            let mut key = forward.get(lanes, R - r);
            if r != 0 && r != R {
                // What the last round substitutes and shifts, the inverse round shifts and substitutes back.
                key = lanes.aes_round_back(lanes.aes_last_round(key, zero), zero);
            }
            lanes.store(key, &mut self.0[r * L::BYTES..]);
        }
    }

    #[inline(always)]
    pub(super) fn get<L: AesLanes>(&self, lanes: L, r: usize) -> L::Vector {
        lanes.load(&self.0[r * L::BYTES..])
    }
}

impl Drop for LaneKeys {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(self);
    }
}

/// Encrypts `N` vectors in place.
#[inline(always)]
pub(super) fn encrypt<L: AesLanes, const R: usize, const N: usize>(lanes: L, keys: &LaneKeys, v: &mut [L::Vector; N]) {
    whiten(lanes, keys, v);
    for r in 1..R {
        round(lanes, keys, r, v);
    }
    last_round::<L, R, N>(lanes, keys, v);
}

/// The key addition before the first round.
#[inline(always)]
pub(super) fn whiten<L: AesLanes, const N: usize>(lanes: L, keys: &LaneKeys, v: &mut [L::Vector; N]) {
    let key = keys.get(lanes, 0);
    for v in v {
        *v = lanes.xor(*v, key);
    }
}

/// Round `r`, from 1 on, but not the last one.
#[inline(always)]
pub(super) fn round<L: AesLanes, const N: usize>(lanes: L, keys: &LaneKeys, r: usize, v: &mut [L::Vector; N]) {
    let key = keys.get(lanes, r);
    for v in v {
        *v = lanes.aes_round(*v, key);
    }
}

/// Round `R`, the last one.
#[inline(always)]
pub(super) fn last_round<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    v: &mut [L::Vector; N],
) {
    let key = keys.get(lanes, R);
    for v in v {
        *v = lanes.aes_last_round(*v, key);
    }
}

/// The next `N` vectors of counter blocks; `counters` moves on.
#[inline(always)]
pub(super) fn take_counters<L: AesLanes, const N: usize>(lanes: L, counters: &mut L::Vector) -> [L::Vector; N] {
    let mut blocks = [lanes.zero(); N];
    for block in &mut blocks {
        *block = lanes.counter_blocks(*counters);
        *counters = lanes.count(*counters, L::BLOCKS as u32);
    }
    blocks
}

/// XORs `data`, whole vectors, with as many of `stream`.
#[inline(always)]
pub(super) fn xor_whole<L: AesLanes>(lanes: L, stream: &[L::Vector], data: &mut [u8]) {
    for (vector, key) in data.chunks_exact_mut(L::BYTES).zip(stream) {
        lanes.store(lanes.xor(lanes.load(vector), *key), vector);
    }
}

/// AES of `R` rounds.
pub(super) struct Aes<L, const R: usize> {
    lanes: L,
    keys: LaneKeys,
}

impl<L: AesLanes, const R: usize> Aes<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn boxed(lanes: L, key: &[u8]) -> Box<dyn Counter128> {
        let mut aes = Box::new(Self { lanes, keys: LaneKeys::zero() });
        lanes.enter(Expand::<R> { key, keys: &mut aes.keys });
        aes
    }
}

struct Expand<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut LaneKeys,
}

impl<L: AesLanes, const R: usize> Kernel<L> for Expand<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.keys.expand::<L, R>(lanes, self.key);
    }
}

struct EncryptBlock<'a, const R: usize> {
    keys: &'a LaneKeys,
    block: &'a mut [u8; 16],
}

impl<L: AesLanes, const R: usize> Kernel<L> for EncryptBlock<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut v = [lanes.first(self.block)];
        encrypt::<L, R, 1>(lanes, self.keys, &mut v);
        *self.block = lanes.to_block(v[0]);
    }
}

struct XorKeystream<'a, const R: usize> {
    keys: &'a LaneKeys,
    counter: &'a [u8; 16],
    data: &'a mut [u8],
}

impl<L: AesLanes, const R: usize> Kernel<L> for XorKeystream<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut counters = lanes.counters(self.counter);
        let mut batches = self.data.chunks_exact_mut(BATCH * L::BYTES);
        for batch in &mut batches {
            let mut stream = take_counters::<L, BATCH>(lanes, &mut counters);
            encrypt::<L, R, BATCH>(lanes, self.keys, &mut stream);
            xor_whole(lanes, &stream, batch);
        }
        let rest = batches.into_remainder();
        match rest.len().div_ceil(L::BYTES) {
            0 => (),
            1 => xor_rest::<L, R, 1>(lanes, self.keys, counters, rest),
            2 => xor_rest::<L, R, 2>(lanes, self.keys, counters, rest),
            3 | 4 => xor_rest::<L, R, 4>(lanes, self.keys, counters, rest),
            _ => xor_rest::<L, R, BATCH>(lanes, self.keys, counters, rest),
        }
    }
}

/// XORs `rest`, at most `N` vectors, with the key stream from `counters` on.
#[inline(always)]
fn xor_rest<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    counters: L::Vector,
    rest: &mut [u8],
) {
    let mut counters = counters;
    let mut stream = take_counters::<L, N>(lanes, &mut counters);
    encrypt::<L, R, N>(lanes, keys, &mut stream);
    for (vector, key) in rest.chunks_mut(L::BYTES).zip(stream) {
        if vector.len() == L::BYTES {
            lanes.store(lanes.xor(lanes.load(vector), key), vector);
        } else {
            lanes.store_partial(lanes.xor(lanes.load_partial(vector), key), vector);
        }
    }
}

impl<L: AesLanes, const R: usize> Counter128 for Aes<L, R> {
    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.lanes.enter(EncryptBlock::<R> { keys: &self.keys, block });
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        self.lanes.enter(XorKeystream::<R> { keys: &self.keys, counter, data });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_are_zeroed() {
        assert!(left_after_drop(LaneKeys([7; 64 * (ROUNDS_MAX + 1)])).iter().all(|byte| *byte == 0));
        assert!(left_after_drop(RoundKeys([[7; 16]; ROUNDS_MAX + 1])).iter().all(|byte| *byte == 0));
    }
}
