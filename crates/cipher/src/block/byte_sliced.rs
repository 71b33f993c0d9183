//! Ciphers of eight bytes, over vectors of bytes: vector i holds byte i of as many blocks as it has
//! bytes.
//!
//! Here are counter mode and whole blocks for all of them; a cipher adds its rounds
//! ([`ByteCipher`]).

use crate::arch::{Kernel, Lanes};
use crate::mode::BlockCipher;
use crate::mode::{Counter64, counter_mode};

/// A keyed cipher of eight bytes, which zeroes its round keys on drop.
pub(super) trait ByteCipher<L: Lanes>: Send + Sync {
    /// Encrypts `M` sets of blocks, each as its eight bytes in the order of memory.
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]);
    /// Decrypts `M` sets of blocks.
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 8]; M]);
}

/// A cipher with the instructions to run it.
pub(super) struct ByteSliced<L, C> {
    pub(super) lanes: L,
    pub(super) cipher: C,
}

/// Returns the block numbers in the order of a set's bytes, such that [`to_memory`] gives blocks in
/// order.
const fn block_numbers(groups: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut byte = 0;
    while byte < 16 * groups {
        let (group, in_group) = (byte / 16, byte % 16);
        numbers[byte] = (in_group / 2 * 2 * groups + 2 * group + in_group % 2) as u8;
        byte += 1;
    }
    numbers
}

impl<L: Lanes, C: ByteCipher<L>> Counter64 for ByteSliced<L, C> {
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]) {
        self.lanes.enter(XorKeystream { cipher: &self.cipher, counter, data });
    }
}

counter_mode!(64, [L: Lanes, C: ByteCipher<L>] ByteSliced<L, C>, |cipher| cipher.lanes.name());

impl<L: Lanes, C: ByteCipher<L>> BlockCipher<8> for ByteSliced<L, C> {
    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.lanes.enter(CryptBlocks::<C, true> { cipher: &self.cipher, blocks });
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        self.lanes.enter(CryptBlocks::<C, false> { cipher: &self.cipher, blocks });
    }
}

struct XorKeystream<'a, C> {
    cipher: &'a C,
    counter: u64,
    data: &'a mut [u8],
}

impl<L: Lanes, C: ByteCipher<L>> Kernel<L> for XorKeystream<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { cipher, mut counter, data } = self;
        let mut rest = data;
        // Two sets go through the rounds together where registers hold them, so that one works
        // while the other waits.
        if L::BYTES == 64 {
            while rest.len() > 8 * L::BYTES {
                let (batch, after) = rest.split_at_mut(rest.len().min(16 * L::BYTES));
                xor_keystream::<L, C, 2>(lanes, cipher, &mut counter, batch);
                rest = after;
            }
        }
        for batch in rest.chunks_mut(8 * L::BYTES) {
            xor_keystream::<L, C, 1>(lanes, cipher, &mut counter, batch);
        }
    }
}

/// XORs `batch`, at most `M` sets of blocks, with the key stream from `counter` on, which moves on.
#[inline(always)]
fn xor_keystream<L: Lanes, C: ByteCipher<L>, const M: usize>(
    lanes: L,
    cipher: &C,
    counter: &mut u64,
    batch: &mut [u8],
) {
    let mut sets = [[lanes.splat(0); 8]; M];
    for set in &mut sets {
        *set = counters(lanes, *counter);
        *counter = counter.wrapping_add(L::BYTES as u64);
    }
    cipher.encrypt(lanes, &mut sets);
    for (set, bytes) in sets.iter().zip(batch.chunks_mut(8 * L::BYTES)) {
        for (vector, stream) in bytes.chunks_mut(L::BYTES).zip(to_memory(lanes, *set)) {
            if vector.len() == L::BYTES {
                lanes.store(lanes.xor(lanes.load(vector), stream), vector);
            } else {
                lanes.xor_partial(stream, vector);
            }
        }
    }
}

/// As many counter blocks as a vector has bytes, from `counter` on.
#[inline(always)]
fn counters<L: Lanes>(lanes: L, counter: u64) -> [L::Vector; 8] {
    let numbers = lanes.load(const { &block_numbers(L::GROUPS) });
    let [a, b, c, d, e, f, g, low] = counter.to_be_bytes();
    let last = lanes.add8(lanes.splat(low), numbers);
    if usize::from(low) + L::BYTES <= 256 {
        return [
            lanes.splat(a),
            lanes.splat(b),
            lanes.splat(c),
            lanes.splat(d),
            lanes.splat(e),
            lanes.splat(f),
            lanes.splat(g),
            last,
        ];
    }
    // The last byte wraps once at most. From there on the bytes above it belong to the next number.
    let next = (counter | 0xff).wrapping_add(1).to_be_bytes();
    let wraps_at = 0_u8.wrapping_sub(low);
    [
        lanes.choose_below(numbers, wraps_at, a, next[0]),
        lanes.choose_below(numbers, wraps_at, b, next[1]),
        lanes.choose_below(numbers, wraps_at, c, next[2]),
        lanes.choose_below(numbers, wraps_at, d, next[3]),
        lanes.choose_below(numbers, wraps_at, e, next[4]),
        lanes.choose_below(numbers, wraps_at, f, next[5]),
        lanes.choose_below(numbers, wraps_at, g, next[6]),
        last,
    ]
}

struct CryptBlocks<'a, C, const ENCRYPT: bool> {
    cipher: &'a C,
    blocks: &'a mut [[u8; 8]],
}

impl<L: Lanes, C: ByteCipher<L>, const ENCRYPT: bool> Kernel<L> for CryptBlocks<'_, C, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Self { cipher, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(8 * L::BYTES);
        for batch in &mut batches {
            crypt::<L, C, ENCRYPT>(lanes, cipher, batch);
        }
        let rest = batches.into_remainder();
        if !rest.is_empty() {
            let mut batch = [0; 512];
            batch[..rest.len()].copy_from_slice(rest);
            crypt::<L, C, ENCRYPT>(lanes, cipher, &mut batch[..8 * L::BYTES]);
            rest.copy_from_slice(&batch[..rest.len()]);
            batch.fill(0);
            zeroize::optimization_barrier(&batch);
        }
    }
}

/// Encrypts or decrypts `batch`, which holds a set of blocks.
#[inline(always)]
fn crypt<L: Lanes, C: ByteCipher<L>, const ENCRYPT: bool>(lanes: L, cipher: &C, batch: &mut [u8]) {
    let mut blocks = [lanes.splat(0); 8];
    for (vector, bytes) in blocks.iter_mut().zip(batch.chunks_exact(L::BYTES)) {
        *vector = lanes.load(bytes);
    }
    let mut sets = [from_memory(lanes, blocks)];
    if ENCRYPT {
        cipher.encrypt(lanes, &mut sets);
    } else {
        cipher.decrypt(lanes, &mut sets);
    }
    for (vector, bytes) in
        to_memory(lanes, sets[0]).into_iter().zip(batch.chunks_exact_mut(L::BYTES))
    {
        lanes.store(vector, bytes);
    }
}

/// From bytes of blocks to blocks one after the other.
#[inline(always)]
fn to_memory<L: Lanes>(lanes: L, v: [L::Vector; 8]) -> [L::Vector; 8] {
    // A byte has three bits of vector number and four of place in its group, which a step rotates
    // by one: seven steps change nothing. Three bring the number of the byte in its block from the
    // vector number to the lowest of the place.
    interleave(lanes, interleave(lanes, interleave(lanes, v)))
}

/// Converts vectors to the form that [`to_memory`] undoes.
#[inline(always)]
fn from_memory<L: Lanes>(lanes: L, v: [L::Vector; 8]) -> [L::Vector; 8] {
    interleave(lanes, to_memory(lanes, v))
}

/// Returns the bytes of vectors 0 to 3 and 4 to 7 alternately.
#[inline(always)]
fn interleave<L: Lanes>(lanes: L, [a, b, c, d, e, f, g, h]: [L::Vector; 8]) -> [L::Vector; 8] {
    [
        lanes.interleave_low(a, e),
        lanes.interleave_high(a, e),
        lanes.interleave_low(b, f),
        lanes.interleave_high(b, f),
        lanes.interleave_low(c, g),
        lanes.interleave_high(c, g),
        lanes.interleave_low(d, h),
        lanes.interleave_high(d, h),
    ]
}
