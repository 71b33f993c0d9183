//! Ciphers of four 32-bit words, over vectors of words: vector i holds word i of as many blocks as
//! it has words.
//!
//! Here are counter mode and whole blocks for all of them; a cipher adds its rounds
//! ([`WordCipher`]). Several sets of vectors go through the rounds together where there is enough
//! work, so that one computes while another waits.

use crate::arch::{Kernel, Lanes};
use crate::mode::BlockCipher;
use crate::mode::{Counter128, counter_mode};

/// A keyed cipher of four words, which zeroes its round keys on drop.
pub(super) trait WordCipher<L: Lanes>: Send + Sync {
    /// True if the words of a block are big-endian.
    const BIG_ENDIAN: bool;
    /// Sets of blocks in flight where there is enough to do: 2 or 8.
    const SETS: usize = 2;

    /// Encrypts `M` sets of blocks, each as its four words.
    fn encrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]);
    /// Decrypts `M` sets of blocks, each as its four words.
    fn decrypt<const M: usize>(&self, lanes: L, blocks: &mut [[L::Vector; 4]; M]);
}

/// A cipher with the instructions to run it.
pub(super) struct WordSliced<L, C> {
    pub(super) lanes: L,
    pub(super) cipher: C,
}

/// Returns the block numbers in the order of a set's words: word j of group g is that of block j *
/// groups + g.
const fn block_numbers(groups: usize) -> [u8; 64] {
    let mut numbers = [0; 64];
    let mut word = 0;
    while word < 4 * groups {
        numbers[4 * word] = (word % 4 * groups + word / 4) as u8;
        word += 1;
    }
    numbers
}

impl<L: Lanes, C: WordCipher<L>> Counter128 for WordSliced<L, C> {
    fn encrypt_block(&self, block: &mut [u8; 16]) {
        Counter128::encrypt_blocks(self, std::slice::from_mut(block));
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(CryptBlocks::<C, true> { cipher: &self.cipher, blocks });
    }

    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]) {
        let cipher = &self.cipher;
        self.lanes.enter(XorKeystream::<C, false> { cipher, first: counter, data });
    }
}

counter_mode!(128, [L: Lanes, C: WordCipher<L>] WordSliced<L, C>, |cipher| cipher.lanes.name());

impl<L: Lanes, C: WordCipher<L>> BlockCipher<16> for WordSliced<L, C> {
    fn backend(&self) -> &'static str {
        self.lanes.name()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(CryptBlocks::<C, true> { cipher: &self.cipher, blocks });
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 16]]) {
        self.lanes.enter(CryptBlocks::<C, false> { cipher: &self.cipher, blocks });
    }

    fn xor_xctr(&self, first: &[u8; 16], data: &mut [u8]) {
        self.lanes.enter(XorKeystream::<C, true> { cipher: &self.cipher, first, data });
    }
}

/// XORs `data` with the key stream of the blocks from `first` on, by the numbers of [`Numbered`].
struct XorKeystream<'a, C, const XCTR: bool> {
    cipher: &'a C,
    first: &'a [u8; 16],
    data: &'a mut [u8],
}

impl<L: Lanes, C: WordCipher<L>, const XCTR: bool> Kernel<L> for XorKeystream<'_, C, XCTR> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        match C::SETS {
            8 => self.run_sets::<L, 8>(lanes),
            _ => self.run_sets::<L, 2>(lanes),
        }
    }
}

impl<C, const XCTR: bool> XorKeystream<'_, C, XCTR> {
    /// Runs with `M` sets of blocks in flight.
    #[inline(always)]
    fn run_sets<L: Lanes, const M: usize>(self, lanes: L)
    where
        C: WordCipher<L>,
    {
        let Self { cipher, first, data } = self;
        let mut numbered = Numbered::<L, XCTR>::new::<C>(lanes, first);
        let mut batches = data.chunks_exact_mut(4 * L::BYTES * M);
        for batch in &mut batches {
            xor(lanes, &numbered.keystream::<C, M>(lanes, cipher), batch);
        }
        let rest = batches.into_remainder();
        match rest.len().div_ceil(4 * L::BYTES) {
            0 => (),
            1 => xor_rest(lanes, &numbered.keystream::<C, 1>(lanes, cipher), rest),
            2 if M > 2 => xor_rest(lanes, &numbered.keystream::<C, 2>(lanes, cipher), rest),
            3 | 4 if M > 4 => xor_rest(lanes, &numbered.keystream::<C, 4>(lanes, cipher), rest),
            _ => xor_rest(lanes, &numbered.keystream::<C, M>(lanes, cipher), rest),
        }
    }
}

/// Blocks still to come: the last word of the first one counts, big-endian; or (`XCTR`) a number
/// from 1 on, little-endian, is XORed to its first word.
struct Numbered<L: Lanes, const XCTR: bool> {
    /// The words of the first block, in every word of a vector.
    first: [L::Vector; 4],
    /// The number of the first block of the next set.
    next: u32,
}

impl<L: Lanes, const XCTR: bool> Numbered<L, XCTR> {
    #[inline(always)]
    fn new<C: WordCipher<L>>(lanes: L, first: &[u8; 16]) -> Self {
        let (words, _) = first.as_chunks::<4>();
        let word = |i: usize| {
            lanes.splat32(if C::BIG_ENDIAN {
                u32::from_be_bytes(words[i])
            } else {
                u32::from_le_bytes(words[i])
            })
        };
        let next = if XCTR { 1 } else { u32::from_be_bytes(words[3]) };
        Self { first: [word(0), word(1), word(2), word(3)], next }
    }

    /// Returns the next set of blocks.
    #[inline(always)]
    fn take<C: WordCipher<L>>(&mut self, lanes: L) -> [L::Vector; 4] {
        let order = lanes.load(const { &block_numbers(L::GROUPS) });
        let number = lanes.add32(order, lanes.splat32(self.next));
        self.next = self.next.wrapping_add(L::BYTES as u32 / 4);
        let [a, b, c, d] = self.first;
        // the words of a set are as the cipher reads them
        let word = if C::BIG_ENDIAN == XCTR { lanes.swap_bytes32(number) } else { number };
        if XCTR { [lanes.xor(a, word), b, c, d] } else { [a, b, c, word] }
    }

    /// Returns the key stream of the next `M` sets, in the order of memory.
    #[inline(always)]
    fn keystream<C: WordCipher<L>, const M: usize>(
        &mut self,
        lanes: L,
        cipher: &C,
    ) -> [[L::Vector; 4]; M] {
        let mut blocks = [self.first; M];
        for set in &mut blocks {
            *set = self.take::<C>(lanes);
        }
        cipher.encrypt(lanes, &mut blocks);
        for set in &mut blocks {
            *set = lanes.transpose32(ordered::<L, C>(lanes, *set));
        }
        blocks
    }
}

/// XORs `batch`, as long as `stream`, with it.
#[inline(always)]
fn xor<L: Lanes, const M: usize>(lanes: L, stream: &[[L::Vector; 4]; M], batch: &mut [u8]) {
    for (vector, stream) in batch.chunks_exact_mut(L::BYTES).zip(stream.as_flattened()) {
        lanes.store(lanes.xor(lanes.load(vector), *stream), vector);
    }
}

/// XORs `rest`, at most as long as `stream`, with the beginning of it.
#[inline(always)]
fn xor_rest<L: Lanes, const M: usize>(lanes: L, stream: &[[L::Vector; 4]; M], rest: &mut [u8]) {
    for (vector, stream) in rest.chunks_mut(L::BYTES).zip(stream.as_flattened()) {
        if vector.len() == L::BYTES {
            lanes.store(lanes.xor(lanes.load(vector), *stream), vector);
        } else {
            lanes.xor_partial(*stream, vector);
        }
    }
}

struct CryptBlocks<'a, C, const ENCRYPT: bool> {
    cipher: &'a C,
    blocks: &'a mut [[u8; 16]],
}

impl<L: Lanes, C: WordCipher<L>, const ENCRYPT: bool> Kernel<L> for CryptBlocks<'_, C, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        match C::SETS {
            8 => self.run_sets::<L, 8>(lanes),
            _ => self.run_sets::<L, 2>(lanes),
        }
    }
}

impl<C, const ENCRYPT: bool> CryptBlocks<'_, C, ENCRYPT> {
    /// Runs with `M` sets of blocks in flight.
    #[inline(always)]
    fn run_sets<L: Lanes, const M: usize>(self, lanes: L)
    where
        C: WordCipher<L>,
    {
        let Self { cipher, blocks } = self;
        let mut batches = blocks.as_flattened_mut().chunks_exact_mut(4 * L::BYTES * M);
        for batch in &mut batches {
            crypt::<L, C, ENCRYPT, M>(lanes, cipher, batch);
        }
        let mut rest = batches.into_remainder();
        if M > 4 && rest.len() >= 16 * L::BYTES {
            let (batch, after) = rest.split_at_mut(16 * L::BYTES);
            crypt::<L, C, ENCRYPT, 4>(lanes, cipher, batch);
            rest = after;
        }
        let mut batches = rest.chunks_exact_mut(4 * L::BYTES);
        for batch in &mut batches {
            crypt::<L, C, ENCRYPT, 1>(lanes, cipher, batch);
        }
        let rest = batches.into_remainder();
        if !rest.is_empty() {
            // room left over repeats a block: a block of zeros, encrypted, is the key of a hash
            let mut batch = [0; 256];
            batch.as_chunks_mut().0.fill(*rest.first_chunk::<16>().expect("a whole block"));
            batch[..rest.len()].copy_from_slice(rest);
            crypt::<L, C, ENCRYPT, 1>(lanes, cipher, &mut batch[..4 * L::BYTES]);
            rest.copy_from_slice(&batch[..rest.len()]);
            batch.fill(0);
            zeroize::optimization_barrier(&batch);
        }
    }
}

/// Encrypts or decrypts `batch`, which holds `M` sets of blocks.
#[inline(always)]
fn crypt<L: Lanes, C: WordCipher<L>, const ENCRYPT: bool, const M: usize>(
    lanes: L,
    cipher: &C,
    batch: &mut [u8],
) {
    let zero = lanes.splat(0);
    let mut blocks = [[zero; 4]; M];
    for (set, bytes) in blocks.iter_mut().zip(batch.chunks_exact(4 * L::BYTES)) {
        for (vector, bytes) in set.iter_mut().zip(bytes.chunks_exact(L::BYTES)) {
            *vector = lanes.load(bytes);
        }
        *set = ordered::<L, C>(lanes, lanes.transpose32(*set));
    }
    if ENCRYPT {
        cipher.encrypt(lanes, &mut blocks);
    } else {
        cipher.decrypt(lanes, &mut blocks);
    }
    for (set, bytes) in blocks.iter().zip(batch.chunks_exact_mut(4 * L::BYTES)) {
        let set = lanes.transpose32(ordered::<L, C>(lanes, *set));
        for (vector, bytes) in set.iter().zip(bytes.chunks_exact_mut(L::BYTES)) {
            lanes.store(*vector, bytes);
        }
    }
}

/// Words of a block between the order of the cipher and that of memory, little-endian.
#[inline(always)]
fn ordered<L: Lanes, C: WordCipher<L>>(lanes: L, set: [L::Vector; 4]) -> [L::Vector; 4] {
    if C::BIG_ENDIAN {
        let [a, b, c, d] = set;
        [lanes.swap_bytes32(a), lanes.swap_bytes32(b), lanes.swap_bytes32(c), lanes.swap_bytes32(d)]
    } else {
        set
    }
}
