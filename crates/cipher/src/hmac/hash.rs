//! Common parts of MD5, SHA-1 and SHA-256, as HMAC uses them: blocks of 64 bytes are worked into a
//! state of words.

use crate::arch::{HashWords, ShaLanes};

/// Words of the longest state.
pub(super) const STATE_WORDS_MAX: usize = 8;

/// A state; words beyond [`Hash::WORDS`] are not used.
pub(super) type State<T> = [T; STATE_WORDS_MAX];

/// A hash function.
pub(super) trait Hash: Send + Sync + 'static {
    /// Words of the state.
    const WORDS: usize;
    /// True if words of blocks, of the length and of the result are big-endian.
    const BIG_ENDIAN: bool;
    /// The state before the first block.
    const INITIAL: State<u32>;
    /// Works one block into each of `M` sets of states; the words of the blocks are overwritten.
    fn work_in<W: HashWords, const M: usize>(
        words: W,
        states: &mut [State<W::Word>; M],
        blocks: &mut [[W::Word; 16]; M],
    );

    /// Adds `worked`, what the rounds made of `states`, to them.
    #[inline(always)]
    fn add<W: HashWords, const M: usize>(
        words: W,
        states: &mut [State<W::Word>; M],
        worked: &[State<W::Word>; M],
    ) {
        for (state, worked) in states.iter_mut().zip(worked) {
            for (word, worked) in state.iter_mut().zip(worked).take(Self::WORDS) {
                *word = words.add(*word, *worked);
            }
        }
    }
}

/// A hash function for which CPUs have instructions.
pub(super) trait ShaHash: Hash {
    /// From how many messages on vectors with words of sixteen should take no longer than these
    /// instructions, reckoned from the throughput of both on Zen 4. Narrower vectors always take
    /// longer.
    const WIDE_VECTORS_FROM: usize;

    /// Returns the state as these instructions have it.
    fn to_vectors<S: ShaLanes>(sha: S, state: &State<u32>) -> [S::Vector; 2];
    /// Reverses [`ShaHash::to_vectors`].
    fn to_words<S: ShaLanes>(sha: S, state: [S::Vector; 2]) -> State<u32>;
    /// Works one block into each of `M` states.
    fn work_in_by_instructions<S: ShaLanes, const M: usize>(
        sha: S,
        states: &mut [[S::Vector; 2]; M],
        blocks: [&[u8; 64]; M],
    );
}
