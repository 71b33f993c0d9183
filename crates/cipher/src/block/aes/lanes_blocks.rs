//! AES over vectors of blocks, both ways: the rounds of `lanes` and those of the equivalent inverse
//! cipher (FIPS 197, 5.3.5), whose keys only this form of AES holds.

use super::lanes::{FirstBlocks, LaneKeys, Schedule, encrypt};
use super::lanes_value::{CryptValue, STACK_OF_VALUE};
use crate::arch::{AesLanes, Kernel, OneBlock};
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::ff1_value::one_value::OneValue;
use crate::mode::ghash::BATCH;
use crate::mode::wipe_stack::{WipeStack, wipe_spilled};

/// AES of `R` rounds for whole blocks.
pub(super) struct AesBlocks<L, const R: usize> {
    lanes: L,
    forward: LaneKeys,
    back: LaneKeys,
}

impl<L: AesLanes, const R: usize> AesBlocks<L, R> {
    /// Sets `key`, of (R - 6) words, in place, so that no copy stays behind.
    pub(super) fn protected(lanes: L, key: &[u8]) -> Protected<Self> {
        let mut aes = Protected::with(|| Self::zero(lanes));
        aes.expand(key);
        aes
    }

    /// Returns AES without a key, to be set by `expand`.
    pub(super) fn zero(lanes: L) -> Self {
        Self { lanes, forward: LaneKeys::zero(), back: LaneKeys::zero() }
    }

    /// Sets `key`, of (R - 6) words.
    pub(super) fn expand(&mut self, key: &[u8]) {
        let Self { lanes, forward, back } = self;
        lanes.enter(Expand::<R> { key, forward, back });
    }

    /// Returns the instructions that it runs on.
    pub(super) fn lanes(&self) -> L {
        self.lanes
    }

    /// Returns the round keys for encryption.
    pub(super) fn forward(&self) -> &LaneKeys {
        &self.forward
    }
}

impl<L: OneBlock, const R: usize> BlockCipher<16> for AesBlocks<L, R> {
    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(CryptBlocks::<R, true> { keys: &self.forward, blocks });
    }

    fn encrypt_block(&self, block: [u8; 16]) -> [u8; 16] {
        self.lanes.enter(EncryptBlock::<R> { keys: &self.forward, block })
    }

    fn encrypt_chain(&self, iv: &[u8; 16], blocks: &mut [[u8; 16]]) {
        self.lanes.enter(EncryptChain::<R> { keys: &self.forward, iv, blocks });
        wipe_spilled(self.lanes);
    }

    fn crypt_value(&self, value: OneValue<'_, 16>, seal: bool) -> bool {
        let (one, keys) = (self.lanes.one_block(), FirstBlocks::<L>::of(&self.forward));
        match (seal, value.is_long()) {
            (true, false) => one.enter(CryptValue::<L, R, true, false> { keys, value }),
            (false, false) => one.enter(CryptValue::<L, R, false, false> { keys, value }),
            (true, true) => one.enter(CryptValue::<L, R, true, true> { keys, value }),
            (false, true) => one.enter(CryptValue::<L, R, false, true> { keys, value }),
        }
        one.enter(WipeStack::<STACK_OF_VALUE>);
        true
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(CryptBlocks::<R, false> { keys: &self.back, blocks });
    }
}

struct Expand<'a, const R: usize> {
    key: &'a [u8],
    forward: &'a mut LaneKeys,
    back: &'a mut LaneKeys,
}

impl<L: AesLanes, const R: usize> Kernel<L> for Expand<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        self.forward.expand::<L, R>(lanes, self.key);
        self.back.invert::<L, R>(lanes, self.forward);
    }
}

struct EncryptBlock<'a, const R: usize> {
    keys: &'a LaneKeys,
    block: [u8; 16],
}

impl<L: AesLanes, const R: usize> Kernel<L> for EncryptBlock<'_, R> {
    type Output = [u8; 16];

    #[inline(always)]
    fn run(self, lanes: L) -> [u8; 16] {
        let mut v = [lanes.first(&self.block)];
        encrypt::<L, R, 1>(lanes, self.keys, &mut v);
        lanes.to_block(v[0])
    }
}

/// The work of [`BlockCipher::encrypt_chain`].
struct EncryptChain<'a, const R: usize> {
    keys: &'a LaneKeys,
    iv: &'a [u8; 16],
    blocks: &'a mut [[u8; 16]],
}

impl<L: AesLanes, const R: usize> Kernel<L> for EncryptChain<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, iv, blocks } = self;
        let mut v = [lanes.first(iv)];
        for block in blocks {
            v[0] = lanes.xor(v[0], lanes.first(block));
            encrypt::<L, R, 1>(lanes, keys, &mut v);
            *block = lanes.to_block(v[0]);
        }
    }
}

struct CryptBlocks<'a, const R: usize, const ENCRYPT: bool> {
    keys: &'a LaneKeys,
    blocks: &'a mut [[u8; 16]],
}

impl<L: AesLanes, const R: usize, const ENCRYPT: bool> Kernel<L> for CryptBlocks<'_, R, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(BATCH * L::BYTES);
        for batch in &mut batches {
            crypt::<L, R, ENCRYPT, BATCH>(lanes, keys, batch);
        }
        let rest = batches.into_remainder();
        match rest.len().div_ceil(L::BYTES) {
            0 => (),
            1 => crypt::<L, R, ENCRYPT, 1>(lanes, keys, rest),
            2 => crypt::<L, R, ENCRYPT, 2>(lanes, keys, rest),
            3 | 4 => crypt::<L, R, ENCRYPT, 4>(lanes, keys, rest),
            _ => crypt::<L, R, ENCRYPT, BATCH>(lanes, keys, rest),
        }
    }
}

/// Encrypts or decrypts `data`, at most `N` vectors, in place.
#[inline(always)]
fn crypt<L: AesLanes, const R: usize, const ENCRYPT: bool, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    data: &mut [u8],
) {
    let mut v = [lanes.zero(); N];
    for (v, bytes) in v.iter_mut().zip(data.chunks(L::BYTES)) {
        *v = if bytes.len() == L::BYTES { lanes.load(bytes) } else { lanes.load_partial(bytes) };
    }
    if ENCRYPT {
        encrypt::<L, R, N>(lanes, keys, &mut v);
    } else {
        decrypt::<L, R, N>(lanes, keys, &mut v);
    }
    for (v, bytes) in v.iter().zip(data.chunks_mut(L::BYTES)) {
        if bytes.len() == L::BYTES {
            lanes.store(*v, bytes);
        } else {
            lanes.store_partial(*v, bytes);
        }
    }
}

/// Decrypts `N` vectors in place.
#[inline(always)]
fn decrypt<L: AesLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    v: &mut [L::Vector; N],
) {
    let key = keys.get(lanes, 0);
    for v in &mut *v {
        *v = lanes.xor(*v, key);
    }
    for r in 1..R {
        let key = keys.get(lanes, r);
        for v in &mut *v {
            *v = lanes.aes_round_back(*v, key);
        }
    }
    let key = keys.get(lanes, R);
    for v in v {
        *v = lanes.aes_last_round_back(*v, key);
    }
}
