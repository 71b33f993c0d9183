//! AES rounds over vectors of counter blocks, and counter mode of them.
//!
//! Eight vectors are in flight at once, which hides the latency of each vector's round. Fewer go
//! together where less is left: a message's last bytes take one pass, not one pass a vector.
//!
//! Not here: decryption (`lanes_blocks`), and AES without instructions (`bitsliced`).

use std::marker::PhantomData;
use std::sync::OnceLock;

use zeroize::{Zeroizing, optimization_barrier};

use super::key_schedule::{ROUNDS_MAX, RoundKeys};
use crate::arch::{AesLanes, Kernel};
use crate::memory::Protected;
use crate::mode::ghash::BATCH;
use crate::mode::{Counter128, counter_mode};

/// Round keys that vectors can be filled with.
pub(super) trait Schedule<L: AesLanes> {
    /// Returns the key of round `r` in every lane.
    fn get(&self, lanes: L, r: usize) -> L::Vector;
}

impl<L: AesLanes> Schedule<L> for RoundKeys {
    #[inline(always)]
    fn get(&self, lanes: L, r: usize) -> L::Vector {
        lanes.splat(&self.0[r])
    }
}

// Orders of bytes: the words of a block moved up by one, two words as the low half, and the last
// word of each block in every word, as it is and after RotWord (FIPS 197, 5.2).
const WORD_UP: [u8; 16] = [0x80, 0x80, 0x80, 0x80, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const LAST_WORD: [u8; 16] = [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15];
const LAST_WORD_ROTATED: [u8; 16] =
    [13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12];
const SECOND_WORD_ROTATED: [u8; 16] = [5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4];
const LOW_HALF: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];

/// Rcon in every word of a block, for step `i`, from 0 on (FIPS 197, 5.2).
const fn constant(i: usize) -> [u8; 16] {
    let mut block = [0; 16];
    let value = [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1b, 0x36][i];
    let mut word = 0;
    while word < 4 {
        block[4 * word] = value;
        word += 1;
    }
    block
}

const CONSTANTS: [[u8; 16]; 10] = {
    let mut constants = [[0; 16]; 10];
    let mut i = 0;
    while i < constants.len() {
        constants[i] = constant(i);
        i += 1;
    }
    constants
};

impl RoundKeys {
    /// Expands `key`, of (R - 6) words, for `R` rounds (FIPS 197, 5.2), in registers: each four
    /// words at once, which wait for one substitution.
    #[inline(always)]
    pub(super) fn expand_in_lanes<L: AesLanes, const R: usize>(&mut self, lanes: L, key: &[u8]) {
        assert_eq!(key.len(), 4 * (R - 6), "a key of {R} rounds");
        match R {
            10 => self.expand_128(lanes, key.first_chunk().expect("16 bytes")),
            12 => self.expand_192(lanes, key.first_chunk().expect("24 bytes")),
            _ => self.expand_256(lanes, key.first_chunk().expect("32 bytes")),
        }
    }

    #[inline(always)]
    fn expand_128<L: AesLanes>(&mut self, lanes: L, key: &[u8; 16]) {
        let mut words = lanes.splat(key);
        self.0[0] = lanes.to_block(words);
        for (round_key, constant) in self.0[1..].iter_mut().zip(&CONSTANTS) {
            let substituted = substitute(lanes, words, &LAST_WORD_ROTATED, lanes.splat(constant));
            words = lanes.xor(sums(lanes, words), substituted);
            *round_key = lanes.to_block(words);
        }
    }

    #[inline(always)]
    fn expand_192<L: AesLanes>(&mut self, lanes: L, key: &[u8; 24]) {
        // Six words: the first four, and two more in a low half.
        let mut four = lanes.splat(key.first_chunk().expect("16 bytes"));
        let mut two = lanes.high_to_low(lanes.splat(key.last_chunk().expect("16 bytes")));
        self.0[0] = lanes.to_block(four);
        for (round_keys, constants) in
            self.0[1..13].chunks_exact_mut(3).zip(CONSTANTS.chunks_exact(2))
        {
            let before = two;
            (four, two) = six_words(lanes, four, two, &constants[0]);
            round_keys[0] = lanes.to_block(lanes.xor(before, lanes.low_to_high(four)));
            round_keys[1] =
                lanes.to_block(lanes.xor(lanes.high_to_low(four), lanes.low_to_high(two)));
            (four, two) = six_words(lanes, four, two, &constants[1]);
            round_keys[2] = lanes.to_block(four);
        }
    }

    #[inline(always)]
    fn expand_256<L: AesLanes>(&mut self, lanes: L, key: &[u8; 32]) {
        let mut even = lanes.splat(key.first_chunk().expect("16 bytes"));
        let mut odd = lanes.splat(key.last_chunk().expect("16 bytes"));
        self.0[0] = lanes.to_block(even);
        self.0[1] = lanes.to_block(odd);
        for (round_keys, constant) in self.0[2..].chunks_mut(2).zip(&CONSTANTS) {
            let substituted = substitute(lanes, odd, &LAST_WORD_ROTATED, lanes.splat(constant));
            even = lanes.xor(sums(lanes, even), substituted);
            round_keys[0] = lanes.to_block(even);
            if let Some(round_key) = round_keys.get_mut(1) {
                odd =
                    lanes.xor(sums(lanes, odd), substitute(lanes, even, &LAST_WORD, lanes.zero()));
                *round_key = lanes.to_block(odd);
            }
        }
    }
}

/// The word that `order` puts in all places, through the S-box, plus `constant`.
#[inline(always)]
fn substitute<L: AesLanes>(
    lanes: L,
    words: L::Vector,
    order: &[u8; 16],
    constant: L::Vector,
) -> L::Vector {
    // ShiftRows moves nothing where all four columns are equal.
    lanes.aes_last_round(lanes.shuffle_bytes(words, order), constant)
}

/// Returns each word plus all words before it.
#[inline(always)]
fn sums<L: AesLanes>(lanes: L, words: L::Vector) -> L::Vector {
    let pairs = lanes.xor(words, lanes.shuffle_bytes(words, &WORD_UP));
    lanes.xor(pairs, lanes.low_to_high(pairs))
}

/// The next six words of a 192-bit key's schedule.
#[inline(always)]
fn six_words<L: AesLanes>(
    lanes: L,
    four: L::Vector,
    two: L::Vector,
    constant: &[u8; 16],
) -> (L::Vector, L::Vector) {
    let substituted = substitute(lanes, two, &SECOND_WORD_ROTATED, lanes.splat(constant));
    let four = lanes.xor(sums(lanes, four), substituted);
    let sums_of_two = lanes.xor(two, lanes.shuffle_bytes(two, &WORD_UP));
    let two = lanes
        .shuffle_bytes(lanes.xor(sums_of_two, lanes.shuffle_bytes(four, &LAST_WORD)), &LOW_HALF);
    (four, two)
}

/// The round keys in the order of their use, each in every lane of a vector. Zeroed on drop.
///
/// For messages of some length: on some CPUs spreading costs a step on the execution units that the
/// rounds need, which only matters where these have no time to spare.
#[repr(C, align(64))]
pub(super) struct LaneKeys([u8; 64 * (ROUNDS_MAX + 1)]);

impl LaneKeys {
    /// Returns zeros, to be set by `spread`.
    pub(super) fn zero() -> Self {
        Self([0; 64 * (ROUNDS_MAX + 1)])
    }

    /// Expands `key`, of (R - 6) words, for `R` rounds.
    #[inline(always)]
    pub(super) fn expand<L: AesLanes, const R: usize>(&mut self, lanes: L, key: &[u8]) {
        let mut plain = Zeroizing::new(RoundKeys::zero());
        plain.expand_in_lanes::<L, R>(lanes, key);
        self.spread::<L, R>(lanes, &plain);
    }

    /// Sets the keys to those of `plain`.
    #[inline(always)]
    pub(super) fn spread<L: AesLanes, const R: usize>(&mut self, lanes: L, plain: &RoundKeys) {
        const { assert!(L::BYTES <= 64 && R <= ROUNDS_MAX) };
        for (r, key) in plain.0[..=R].iter().enumerate() {
            lanes.store(lanes.splat(key), &mut self.0[r * L::BYTES..]);
        }
    }

    /// Sets the keys of the equivalent inverse cipher to those of `forward` (FIPS 197, 5.3.5): in
    /// reverse order, all but the first and the last through InvMixColumns.
    #[inline(always)]
    pub(super) fn invert<L: AesLanes, const R: usize>(&mut self, lanes: L, forward: &Self) {
        let zero = lanes.zero();
        for r in 0..=R {
            let mut key = forward.get(lanes, R - r);
            if r != 0 && r != R {
                // The inverse round undoes the substitution and the shift of the last round.
                key = lanes.aes_round_back(lanes.aes_last_round(key, zero), zero);
            }
            lanes.store(key, &mut self.0[r * L::BYTES..]);
        }
    }
}

impl<L: AesLanes> Schedule<L> for LaneKeys {
    #[inline(always)]
    fn get(&self, lanes: L, r: usize) -> L::Vector {
        lanes.load(&self.0[r * L::BYTES..])
    }
}

/// The round keys that were spread over vectors of `W`, for vectors of one block.
#[derive(Clone, Copy)]
pub(super) struct FirstBlocks<'a, W> {
    keys: &'a LaneKeys,
    spread_over: PhantomData<W>,
}

impl<'a, W: AesLanes> FirstBlocks<'a, W> {
    /// Borrows the keys of `keys`.
    pub(super) fn of(keys: &'a LaneKeys) -> Self {
        Self { keys, spread_over: PhantomData }
    }
}

impl<L: AesLanes, W: AesLanes> Schedule<L> for FirstBlocks<'_, W> {
    #[inline(always)]
    fn get(&self, lanes: L, r: usize) -> L::Vector {
        const { assert!(L::BLOCKS == 1) };
        lanes.load(&self.keys.0[r * W::BYTES..])
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
pub(super) fn encrypt<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    v: &mut [L::Vector; N],
) {
    whiten(lanes, keys, v);
    for r in 1..R {
        round(lanes, keys, r, v);
    }
    last_round::<L, R, N>(lanes, keys, v);
}

/// Adds the key before the first round.
#[inline(always)]
pub(super) fn whiten<L: AesLanes, const N: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    v: &mut [L::Vector; N],
) {
    let key = keys.get(lanes, 0);
    for v in v {
        *v = lanes.xor(*v, key);
    }
}

/// Computes round `r`, from 1 on, but not the last round.
#[inline(always)]
pub(super) fn round<L: AesLanes, const N: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    r: usize,
    v: &mut [L::Vector; N],
) {
    let key = keys.get(lanes, r);
    for v in v {
        *v = lanes.aes_round(*v, key);
    }
}

/// Computes round `R`, the last one.
#[inline(always)]
pub(super) fn last_round<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    v: &mut [L::Vector; N],
) {
    let key = keys.get(lanes, R);
    for v in v {
        *v = lanes.aes_last_round(*v, key);
    }
}

/// Returns the next `N` vectors of counter blocks; `counters` moves on.
#[inline(always)]
pub(super) fn take_counters<L: AesLanes, const N: usize>(
    lanes: L,
    counters: &mut L::Vector,
) -> [L::Vector; N] {
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
    keys: RoundKeys,
    /// Made with the first message that is worth it: a key for one short message does without.
    spread: OnceLock<Protected<LaneKeys>>,
}

impl<L: AesLanes, const R: usize> Aes<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<dyn Counter128> {
        let mut aes =
            Protected::with(|| Self { lanes, keys: RoundKeys::zero(), spread: OnceLock::new() });
        lanes.enter(Expand::<R> { key, keys: &mut aes.keys });
        aes.unsize(|aes| aes)
    }
}

struct Expand<'a, const R: usize> {
    key: &'a [u8],
    keys: &'a mut RoundKeys,
}

impl<L: AesLanes, const R: usize> Kernel<L> for Expand<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.keys.expand_in_lanes::<L, R>(lanes, self.key);
    }
}

/// Spreads round keys.
pub(super) struct Spread<'a, const R: usize> {
    pub(super) plain: &'a RoundKeys,
    pub(super) keys: &'a mut LaneKeys,
}

impl<L: AesLanes, const R: usize> Kernel<L> for Spread<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.keys.spread::<L, R>(lanes, self.plain);
    }
}

struct EncryptBlock<'a, const R: usize> {
    keys: &'a RoundKeys,
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

/// Vectors of a message that goes by [`RoundKeys`] where a vector has several blocks.
const SHORT: usize = 4;

struct XorKeystream<'a, S, const R: usize> {
    keys: &'a S,
    counter: &'a [u8; 16],
    data: &'a mut [u8],
}

impl<L: AesLanes, S: Schedule<L>, const R: usize> Kernel<L> for XorKeystream<'_, S, R> {
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
        if rest.len() > SHORT * L::BYTES {
            xor_rest::<L, R, BATCH>(lanes, self.keys, counters, rest);
        } else {
            xor_short::<L, R>(lanes, self.keys, counters, rest);
        }
    }
}

struct XorShort<'a, const R: usize> {
    keys: &'a RoundKeys,
    counter: &'a [u8; 16],
    data: &'a mut [u8],
}

impl<L: AesLanes, const R: usize> Kernel<L> for XorShort<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        xor_short::<L, R>(lanes, self.keys, lanes.counters(self.counter), self.data);
    }
}

/// XORs `data`, at most [`SHORT`] vectors, with the key stream from `counters` on.
#[inline(always)]
fn xor_short<L: AesLanes, const R: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    counters: L::Vector,
    data: &mut [u8],
) {
    if L::BLOCKS > 1
        && let Ok(block) = <&mut [u8; 16]>::try_from(&mut *data)
    {
        // without the masks that a part of a vector takes
        let mut stream = [lanes.counter_blocks(counters)];
        encrypt::<L, R, 1>(lanes, keys, &mut stream);
        *block = lanes.to_block(lanes.xor(lanes.first(block), stream[0]));
        return;
    }
    match data.len().div_ceil(L::BYTES) {
        0 => (),
        1 => xor_rest::<L, R, 1>(lanes, keys, counters, data),
        2 => xor_rest::<L, R, 2>(lanes, keys, counters, data),
        _ => xor_rest::<L, R, SHORT>(lanes, keys, counters, data),
    }
}

/// XORs `rest`, at most `N` vectors, with the key stream from `counters` on.
#[inline(always)]
pub(super) fn xor_rest<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &impl Schedule<L>,
    counters: L::Vector,
    rest: &mut [u8],
) {
    let mut counters = counters;
    let mut stream = take_counters::<L, N>(lanes, &mut counters);
    encrypt::<L, R, N>(lanes, keys, &mut stream);
    let tail = load_tail(lanes, rest);
    for (vector, key) in rest.chunks_mut(L::BYTES).zip(stream) {
        if vector.len() == L::BYTES {
            lanes.store(lanes.xor(lanes.load(vector), key), vector);
        } else {
            lanes.store_partial(lanes.xor(tail, key), vector);
        }
    }
}

/// Loads the bytes after the last whole vector of `data`. This is done before any vector is stored,
/// since a load that overlaps data just stored has to wait for it.
#[inline(always)]
pub(super) fn load_tail<L: AesLanes>(lanes: L, data: &[u8]) -> L::Vector {
    let tail = data.chunks_exact(L::BYTES).remainder();
    if tail.is_empty() { lanes.zero() } else { lanes.load_partial(tail) }
}

impl<L: AesLanes, const R: usize> Counter128 for Aes<L, R> {
    fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.lanes.enter(EncryptBlock::<R> { keys: &self.keys, block });
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        for block in blocks {
            self.encrypt_block(block);
        }
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        let (lanes, plain) = (self.lanes, &self.keys);
        if data.len() <= SHORT * L::BYTES {
            lanes.enter(XorShort::<R> { keys: plain, counter, data });
        } else if L::BLOCKS == 1 {
            lanes.enter(XorKeystream::<RoundKeys, R> { keys: plain, counter, data });
        } else {
            let keys = self.spread.get_or_init(|| {
                let mut keys = Protected::with(LaneKeys::zero);
                lanes.enter(Spread::<R> { plain, keys: &mut keys });
                keys
            });
            lanes.enter(XorKeystream::<LaneKeys, R> { keys: &**keys, counter, data });
        }
    }
}

counter_mode!(128, [L: AesLanes, const R: usize] Aes<L, R>, |cipher| cipher.lanes.name());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;

    #[test]
    fn keys_are_zeroed() {
        assert!(
            left_after_drop(LaneKeys([7; 64 * (ROUNDS_MAX + 1)])).iter().all(|byte| *byte == 0)
        );
        assert!(
            left_after_drop(Zeroizing::new(RoundKeys([[7; 16]; ROUNDS_MAX + 1])))
                .iter()
                .all(|byte| *byte == 0)
        );
    }
}
