//! Words of 32 bits, single or as a vector, with the operations of hash functions: each word of a
//! vector belongs to a message of its own.
//!
//! Not here: the hash functions, and the CPU's own instructions for them (`sha_lanes`).

use super::{Kernel, Lanes};

/// The bytes that a hash function takes at a time.
pub(crate) const HASH_BLOCK_BYTES: usize = 64;
/// The most messages that a vector has words of.
pub(crate) const HASH_LANES_MAX: usize = 16;

/// Words and the instructions on them. The value is the proof that the CPU has them.
pub(crate) trait HashWords: Copy + Send + Sync + 'static {
    /// Words in registers, one for each message.
    type Word: Copy;

    /// Number of words, and therefore of messages: 1 to [`HASH_LANES_MAX`].
    const LANES: usize;

    /// Runs `kernel`, compiled for these instructions.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Returns `word` for every message.
    fn splat(self, word: u32) -> Self::Word;
    /// Returns the first `LANES` of `words`, one for each message.
    fn gather_words(self, words: &[u32; HASH_LANES_MAX]) -> Self::Word;
    /// Returns the words in the form that [`Self::gather_words`] takes; zeros follow.
    fn to_words(self, v: Self::Word) -> [u32; HASH_LANES_MAX];
    /// The 16 words of the first `LANES` of `blocks`, one block for each message.
    fn load_blocks<const BIG_ENDIAN: bool>(
        self,
        blocks: &[&[u8; HASH_BLOCK_BYTES]; HASH_LANES_MAX],
    ) -> [Self::Word; 16];

    /// Sums, modulo 2^32.
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns the exclusive or.
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns the exclusive or of three.
    fn xor3(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// Returns the bits of `a` that `mask` has, and the bits of `b` elsewhere.
    fn choose(self, mask: Self::Word, a: Self::Word, b: Self::Word) -> Self::Word;
    /// Returns the bits that two of three have.
    fn majority(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// Returns the exclusive or of `a` and the inclusive or of `b` and all bits that `c` does not
    /// have.
    fn xor_or_not(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// Returns each word rotated left by `N` bits, 1 to 31.
    fn rotate<const N: i32>(self, v: Self::Word) -> Self::Word;
    /// Returns each word shifted right by `N` bits, 1 to 31.
    fn shift_right<const N: i32>(self, v: Self::Word) -> Self::Word;
}

/// A word alone, which every CPU has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

impl HashWords for Scalar {
    type Word = u32;

    const LANES: usize = 1;

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> u32 {
        word
    }
    #[inline(always)]
    fn gather_words(self, words: &[u32; HASH_LANES_MAX]) -> u32 {
        words[0]
    }
    #[inline(always)]
    fn to_words(self, v: u32) -> [u32; HASH_LANES_MAX] {
        let mut words = [0; HASH_LANES_MAX];
        words[0] = v;
        words
    }
    #[inline(always)]
    fn load_blocks<const BIG_ENDIAN: bool>(
        self,
        blocks: &[&[u8; HASH_BLOCK_BYTES]; HASH_LANES_MAX],
    ) -> [u32; 16] {
        let (words, _) = blocks[0].as_chunks::<4>();
        let mut loaded = [0; 16];
        for (loaded, word) in loaded.iter_mut().zip(words) {
            *loaded =
                if BIG_ENDIAN { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
        }
        loaded
    }

    #[inline(always)]
    fn add(self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn xor(self, a: u32, b: u32) -> u32 {
        a ^ b
    }
    #[inline(always)]
    fn xor3(self, a: u32, b: u32, c: u32) -> u32 {
        a ^ b ^ c
    }
    #[inline(always)]
    fn choose(self, mask: u32, a: u32, b: u32) -> u32 {
        b ^ mask & (a ^ b)
    }
    #[inline(always)]
    fn majority(self, a: u32, b: u32, c: u32) -> u32 {
        a & b | c & (a | b)
    }
    #[inline(always)]
    fn xor_or_not(self, a: u32, b: u32, c: u32) -> u32 {
        a ^ (b | !c)
    }
    #[inline(always)]
    fn rotate<const N: i32>(self, v: u32) -> u32 {
        v.rotate_left(N as u32)
    }
    #[inline(always)]
    fn shift_right<const N: i32>(self, v: u32) -> u32 {
        v >> N
    }
}

impl<L: Lanes> HashWords for L {
    type Word = L::Vector;

    const LANES: usize = L::BYTES / 4;

    #[inline(always)]
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        Lanes::enter(self, kernel)
    }

    #[inline(always)]
    fn splat(self, word: u32) -> L::Vector {
        self.splat32(word)
    }
    #[inline(always)]
    fn gather_words(self, words: &[u32; HASH_LANES_MAX]) -> L::Vector {
        let mut bytes = [[0; 4]; HASH_LANES_MAX];
        for (bytes, word) in bytes.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        self.load(bytes.as_flattened())
    }
    #[inline(always)]
    fn to_words(self, v: L::Vector) -> [u32; HASH_LANES_MAX] {
        let mut bytes = [[0; 4]; HASH_LANES_MAX];
        self.store(v, bytes.as_flattened_mut());
        bytes.map(u32::from_le_bytes)
    }
    #[inline(always)]
    fn load_blocks<const BIG_ENDIAN: bool>(
        self,
        blocks: &[&[u8; HASH_BLOCK_BYTES]; HASH_LANES_MAX],
    ) -> [L::Vector; 16] {
        let mut words = [Lanes::splat(self, 0); 16];
        for (quarter, words) in words.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            // group g of vector i is a quarter of message 4 g + i, so that the exchange leaves
            // messages in order
            let mut rows = [words[0]; 4];
            for (i, row) in rows.iter_mut().enumerate() {
                let piece = |group: usize| &blocks[4 * group + i].as_chunks::<16>().0[quarter];
                *row = self.load_groups([piece(0), piece(1), piece(2), piece(3)]);
            }
            *words = self.transpose32(rows);
            if BIG_ENDIAN {
                for word in words {
                    *word = self.swap_bytes32(*word);
                }
            }
        }
        words
    }

    #[inline(always)]
    fn add(self, a: L::Vector, b: L::Vector) -> L::Vector {
        self.add32(a, b)
    }
    #[inline(always)]
    fn xor(self, a: L::Vector, b: L::Vector) -> L::Vector {
        Lanes::xor(self, a, b)
    }
    #[inline(always)]
    fn xor3(self, a: L::Vector, b: L::Vector, c: L::Vector) -> L::Vector {
        Lanes::xor3(self, a, b, c)
    }
    #[inline(always)]
    fn choose(self, mask: L::Vector, a: L::Vector, b: L::Vector) -> L::Vector {
        Lanes::choose(self, mask, a, b)
    }
    #[inline(always)]
    fn majority(self, a: L::Vector, b: L::Vector, c: L::Vector) -> L::Vector {
        Lanes::majority(self, a, b, c)
    }
    #[inline(always)]
    fn xor_or_not(self, a: L::Vector, b: L::Vector, c: L::Vector) -> L::Vector {
        Lanes::xor_or_not(self, a, b, c)
    }
    #[inline(always)]
    fn rotate<const N: i32>(self, v: L::Vector) -> L::Vector {
        self.rotate32::<N>(v)
    }
    #[inline(always)]
    fn shift_right<const N: i32>(self, v: L::Vector) -> L::Vector {
        self.shift_right32::<N>(v)
    }
}
