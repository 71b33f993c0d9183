//! ARIA over vectors of bytes for whole blocks, both ways: the rounds of `lanes` under the key
//! schedule of each direction.

use super::key_schedule::{reverse, schedule};
use super::lanes::{
    Encrypt, EncryptBlock, LaneKeys, LanesRounds, ROWS_MAX, encrypt_rows, encrypt_sliced, set_xctr,
    sliced_xctr, xor_rest,
};
use crate::arch::byte_lanes::transpose;
use crate::arch::{ByteLanes, Kernel};
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::wipe_stack::WipeStack;

/// Bytes of stack that a chain may use: its round keys and constants may be taken out of the loop,
/// and there are more of them than registers.
const STACK_OF_CHAIN: usize = 2560;

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

    fn encrypt_block(&self, mut block: [u8; 16]) -> [u8; 16] {
        self.lanes.enter(EncryptBlock::<R> { keys: &self.forward, block: &mut block });
        block
    }

    fn encrypt_chain(&self, iv: &[u8; 16], blocks: &mut [[u8; 16]]) {
        let keys = &self.forward;
        if let [block] = blocks {
            // without a loop, no keys are taken out of it; the wipe takes a tenth of a block's time
            return self.lanes.enter(EncryptFirst::<R> { keys, iv, block });
        }
        self.lanes.enter(EncryptChain::<R> { keys, iv, blocks });
        self.lanes.enter(WipeStack::<STACK_OF_CHAIN>);
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(Encrypt::<R> { keys: &self.back, blocks });
    }

    fn xor_xctr(&self, first: &[u8; 16], data: &mut [u8]) {
        self.lanes.enter(XorXctr::<R> { keys: &self.forward, first, data });
    }
}

/// A chain of one block.
struct EncryptFirst<'a, const R: usize> {
    keys: &'a LaneKeys,
    iv: &'a [u8; 16],
    block: &'a mut [u8; 16],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for EncryptFirst<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, iv, block } = self;
        chained::<L, R>(lanes, keys, lanes.splat_block(iv), block);
    }
}

/// The work of [`BlockCipher::encrypt_chain`].
struct EncryptChain<'a, const R: usize> {
    keys: &'a LaneKeys,
    iv: &'a [u8; 16],
    blocks: &'a mut [[u8; 16]],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for EncryptChain<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, iv, blocks } = self;
        let mut last = lanes.splat_block(iv);
        for block in blocks {
            last = chained::<L, R>(lanes, keys, last, block);
        }
    }
}

/// Encrypts `block` with `last` added, which is in every group; returns what it is then, likewise.
#[inline(always)]
fn chained<L: ByteLanes, const R: usize>(
    lanes: L,
    keys: &LaneKeys,
    last: L::Vector,
    block: &mut [u8; 16],
) -> L::Vector {
    let mut v = [lanes.xor(last, lanes.splat_block(block))];
    encrypt_rows::<L, R, 1>(lanes, keys, &mut v);
    block.fill(0);
    lanes.xor_partial(v[0], block);
    v[0]
}

/// XORs `data` as [`BlockCipher::xor_xctr`].
struct XorXctr<'a, const R: usize> {
    keys: &'a LaneKeys,
    first: &'a [u8; 16],
    data: &'a mut [u8],
}

impl<L: ByteLanes, const R: usize> Kernel<L> for XorXctr<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { keys, first, data } = self;
        let mut number = 1;
        for batch in data.chunks_mut(16 * L::BYTES) {
            match batch.len().div_ceil(L::BYTES) {
                1 => xor_rows::<L, R, 1>(lanes, keys, first, number, batch),
                2 => xor_rows::<L, R, 2>(lanes, keys, first, number, batch),
                3 | ROWS_MAX => xor_rows::<L, R, ROWS_MAX>(lanes, keys, first, number, batch),
                _ => {
                    let x = encrypt_sliced::<L, R>(lanes, keys, sliced_xctr(lanes, first, number));
                    xor_rest(lanes, &transpose(lanes, x), batch);
                }
            }
            number = number.wrapping_add(L::BYTES as u32);
        }
    }
}

/// XORs `data`, at most `N` vectors, with the key stream from `number` on.
#[inline(always)]
fn xor_rows<L: ByteLanes, const R: usize, const N: usize>(
    lanes: L,
    keys: &LaneKeys,
    first: &[u8; 16],
    number: u32,
    data: &mut [u8],
) {
    let mut v = [lanes.splat(0); N];
    set_xctr(lanes, first, number, &mut v);
    encrypt_rows::<L, R, N>(lanes, keys, &mut v);
    xor_rest(lanes, &v, data);
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
