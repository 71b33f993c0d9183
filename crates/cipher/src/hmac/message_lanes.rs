//! HMAC of many messages at once: each has a word of each vector. Messages of similar length go
//! together, and the state of a message that ends early is kept.

use std::marker::PhantomData;

use zeroize::optimization_barrier;

use super::hash::{Hash, STATE_WORDS_MAX, State};
use super::queue::{Keyed, Queue, TAG_BYTES_MAX, Tags};
use crate::arch::{HASH_BLOCK_BYTES, HASH_LANES_MAX, HashWords, Kernel};

/// Up to `M` vectors full of messages, the longest first.
struct Group<'a, H, const M: usize> {
    keyed: &'a Keyed,
    queue: Queue<'a>,
    tags: &'a mut Tags,
    hash: PhantomData<H>,
}

/// Takes messages from the beginning of `queue`, and writes their tags: `SETS` vectors full, or one
/// where there are no more. Returns the others.
pub(super) fn take<'a, W: HashWords, H: Hash, const SETS: usize>(
    words: W,
    keyed: &Keyed,
    queue: Queue<'a>,
    tags: &mut Tags,
) -> Queue<'a> {
    if queue.len() > W::LANES {
        let (queue, rest) = queue.split_at(SETS * W::LANES);
        words.enter(Group::<H, SETS> { keyed, queue, tags, hash: PhantomData });
        rest
    } else {
        let (queue, rest) = queue.split_at(W::LANES);
        words.enter(Group::<H, 1> { keyed, queue, tags, hash: PhantomData });
        rest
    }
}

impl<W: HashWords, H: Hash, const M: usize> Kernel<W> for Group<'_, H, M> {
    type Output = ();

    #[inline(always)]
    fn run(self, words: W) {
        let Self { keyed, queue, tags, .. } = self;
        let mut states = [splat(words, &keyed.inner); M];
        let mut ends = [[[0; HASH_BLOCK_BYTES]; HASH_LANES_MAX]; M];
        let mut blocks = [[words.splat(0); 16]; M];
        let most = queue.blocks_max();
        // from here on a message has ended, or there is none
        let all = if queue.len() == M * W::LANES { queue.blocks_min() } else { 0 };
        let whole = queue.whole_min();
        // the last round is the outer hash of what the others left
        for at in 0..=most {
            let before = states;
            if at == most {
                to_outer::<W, H, M>(words, keyed, &mut states, &mut blocks);
            } else {
                if at >= whole {
                    write_ends::<W, H, M>(queue, at, &mut ends);
                }
                for (m, blocks) in blocks.iter_mut().enumerate() {
                    *blocks = load::<W, H>(words, queue, m * W::LANES, at, &ends[m]);
                }
            }
            H::work_in(words, &mut states, &mut blocks);
            if at >= all && at < most {
                for (m, (states, before)) in states.iter_mut().zip(before).enumerate() {
                    let goes_on = going_on(words, queue, m * W::LANES, at);
                    for (state, before) in states.iter_mut().zip(before).take(H::WORDS) {
                        *state = words.choose(goes_on, *state, before);
                    }
                }
            }
        }
        for (m, states) in states.iter().enumerate() {
            write_tags::<W, H>(words, states, queue, m * W::LANES, tags);
        }
        for (states, blocks) in states.iter_mut().zip(&mut blocks) {
            states.fill(words.splat(0));
            blocks.fill(words.splat(0));
        }
        ends.as_flattened_mut().as_flattened_mut().fill(0);
        optimization_barrier(&states);
        optimization_barrier(&blocks);
        optimization_barrier(&ends);
    }
}

/// Writes block `at` of the messages where it is not whole in their first part.
fn write_ends<W: HashWords, H: Hash, const M: usize>(
    queue: Queue<'_>,
    at: usize,
    ends: &mut [[[u8; HASH_BLOCK_BYTES]; HASH_LANES_MAX]; M],
) {
    for (end, message) in
        ends.iter_mut().flat_map(|ends| &mut ends[..W::LANES]).zip(queue.messages())
    {
        if at >= message.whole().len() && at < message.blocks() {
            message.write_end(at, HASH_BLOCK_BYTES, H::BIG_ENDIAN, end);
        }
    }
}

/// Loads block `at` of the messages from number `first` on.
#[inline(always)]
fn load<W: HashWords, H: Hash>(
    words: W,
    queue: Queue<'_>,
    first: usize,
    at: usize,
    ends: &[[u8; HASH_BLOCK_BYTES]; HASH_LANES_MAX],
) -> [W::Word; 16] {
    let mut places = ends.each_ref();
    for (place, message) in places[..W::LANES].iter_mut().zip(queue.messages().skip(first)) {
        if let Some(block) = message.whole().get(at) {
            *place = block;
        }
    }
    if H::BIG_ENDIAN {
        words.load_blocks::<true>(&places)
    } else {
        words.load_blocks::<false>(&places)
    }
}

/// Returns all bits for the messages from number `first` on that have a block `at`.
#[inline(always)]
fn going_on<W: HashWords>(words: W, queue: Queue<'_>, first: usize, at: usize) -> W::Word {
    let mut bits = [0; HASH_LANES_MAX];
    for (bits, message) in bits[..W::LANES].iter_mut().zip(queue.messages().skip(first)) {
        *bits = if at < message.blocks() { u32::MAX } else { 0 };
    }
    words.gather_words(&bits)
}

/// Makes of the results in `states` the blocks of the outer hash, and its states.
#[inline(always)]
fn to_outer<W: HashWords, H: Hash, const M: usize>(
    words: W,
    keyed: &Keyed,
    states: &mut [State<W::Word>; M],
    blocks: &mut [[W::Word; 16]; M],
) {
    let (end, bits) = (
        if H::BIG_ENDIAN { 0x8000_0000 } else { 0x80 },
        8 * (HASH_BLOCK_BYTES + 4 * H::WORDS) as u32,
    );
    for (state, block) in states.iter_mut().zip(blocks) {
        block.fill(words.splat(0));
        block[..H::WORDS].copy_from_slice(&state[..H::WORDS]);
        block[H::WORDS] = words.splat(end);
        block[if H::BIG_ENDIAN { 15 } else { 14 }] = words.splat(bits);
        *state = splat(words, &keyed.outer);
    }
}

/// Writes the results in `states` as the tags of the messages from number `first` on.
#[inline(always)]
fn write_tags<W: HashWords, H: Hash>(
    words: W,
    states: &State<W::Word>,
    queue: Queue<'_>,
    first: usize,
    tags: &mut Tags,
) {
    let mut results = [[0; HASH_LANES_MAX]; TAG_BYTES_MAX / 4];
    for (result, state) in results.iter_mut().zip(states) {
        *result = words.to_words(*state);
    }
    for (lane, place) in queue.places().skip(first).take(W::LANES).enumerate() {
        for (bytes, result) in tags[place].as_chunks_mut::<4>().0.iter_mut().zip(&results) {
            *bytes =
                if H::BIG_ENDIAN { result[lane].to_be_bytes() } else { result[lane].to_le_bytes() };
        }
    }
}

#[inline(always)]
fn splat<W: HashWords>(words: W, state: &State<u32>) -> State<W::Word> {
    let mut vectors = [words.splat(0); STATE_WORDS_MAX];
    for (vector, word) in vectors.iter_mut().zip(state) {
        *vector = words.splat(*word);
    }
    vectors
}
