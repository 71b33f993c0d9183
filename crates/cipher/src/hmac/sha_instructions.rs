//! HMAC by the CPU's instructions for SHA, alternating between two messages.

use std::marker::PhantomData;

use zeroize::optimization_barrier;

use super::hash::{STATE_WORDS_MAX, ShaHash, State};
use super::queue::{Keyed, Queue, Tags};
use crate::arch::{HASH_BLOCK_BYTES, Kernel, ShaLanes};

/// Number of messages that alternate: as many as the registers hold.
const STREAMS: usize = 2;

/// Up to [`STREAMS`] messages, the longest first.
struct Streams<'a, H> {
    keyed: &'a Keyed,
    queue: Queue<'a>,
    tags: &'a mut Tags,
    hash: PhantomData<H>,
}

/// Takes messages from the beginning of `queue`, and writes their tags. Returns the others.
pub(super) fn take<'a, S: ShaLanes, H: ShaHash>(
    sha: S,
    keyed: &Keyed,
    queue: Queue<'a>,
    tags: &mut Tags,
) -> Queue<'a> {
    let (queue, rest) = queue.split_at(STREAMS);
    sha.enter(Streams::<H> { keyed, queue, tags, hash: PhantomData });
    rest
}

impl<S: ShaLanes, H: ShaHash> Kernel<S> for Streams<'_, H> {
    type Output = ();

    #[inline(always)]
    fn run(self, sha: S) {
        let Self { keyed, queue, tags, .. } = self;
        let mut states = [H::to_vectors(sha, &keyed.inner); STREAMS];
        let mut ends = [[0; HASH_BLOCK_BYTES]; STREAMS];
        let most = queue.blocks_max();
        let all = if queue.len() == STREAMS { queue.blocks_min() } else { 0 };
        let whole = queue.whole_min();
        // the last round is the outer hash of what the others left
        for at in 0..=most {
            let before = states;
            let mut blocks = ends.each_ref();
            if at < whole {
                for (block, message) in blocks.iter_mut().zip(queue.messages()) {
                    *block = &message.whole()[at];
                }
            } else {
                for ((end, message), state) in
                    ends.iter_mut().zip(queue.messages()).zip(&mut states)
                {
                    if at == most {
                        write_outer::<H>(&H::to_words(sha, *state), end);
                        *state = H::to_vectors(sha, &keyed.outer);
                    } else if let Some(whole) = message.whole().get(at) {
                        *end = *whole;
                    } else if at < message.blocks() {
                        message.write_end(at, HASH_BLOCK_BYTES, true, end);
                    }
                }
                blocks = ends.each_ref();
            }
            H::work_in_by_instructions(sha, &mut states, blocks);
            if at >= all && at < most {
                for ((state, before), message) in
                    states.iter_mut().zip(before).zip(queue.messages())
                {
                    if at >= message.blocks() {
                        *state = before;
                    }
                }
            }
        }
        for (state, place) in states.iter().zip(queue.places()) {
            let result = H::to_words(sha, *state);
            for (bytes, word) in tags[place].as_chunks_mut::<4>().0.iter_mut().zip(&result) {
                *bytes = word.to_be_bytes();
            }
        }
        states = [H::to_vectors(sha, &[0; STATE_WORDS_MAX]); STREAMS];
        optimization_barrier(&states);
        ends.as_flattened_mut().fill(0);
        optimization_barrier(&ends);
    }
}

/// Writes the block that the outer hash takes: a result of the inner one, and the end of a message.
#[inline(always)]
fn write_outer<H: ShaHash>(result: &State<u32>, block: &mut [u8; HASH_BLOCK_BYTES]) {
    let (words, _) = block.as_chunks_mut::<4>();
    words.fill([0; 4]);
    for (bytes, word) in words.iter_mut().zip(&result[..H::WORDS]) {
        *bytes = word.to_be_bytes();
    }
    words[H::WORDS] = 0x8000_0000_u32.to_be_bytes();
    words[15] = (8 * (HASH_BLOCK_BYTES + 4 * H::WORDS) as u32).to_be_bytes();
}
