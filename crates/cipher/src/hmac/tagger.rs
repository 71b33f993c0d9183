//! Setting a key, and the split of waiting messages between vectors, single words and the CPU's
//! instructions.
//!
//! Source: RFC 2104.

use std::cmp::Reverse;
use std::marker::PhantomData;

use zeroize::Zeroize;

use super::hash::{Hash, ShaHash, State};
use super::message::Message;
use super::queue::{Keyed, Queue, Tags};
use super::{message_lanes, sha_instructions};
use crate::arch::{
    HASH_BLOCK_BYTES, HASH_LANES_MAX, HashWords, Scalar, ShaLanes, with_every, with_sha,
};
use crate::backend::Backend;
use crate::memory::Protected;

/// Messages that are sorted at a time.
const MESSAGES: usize = 512;

/// Value added to each byte of the key for the inner and for the outer hash.
const INNER: u8 = 0x36;
const OUTER: u8 = 0x5c;

/// Sets `key`, of any length.
fn set<H: Hash>(keyed: &mut Keyed, key: &[u8]) {
    let mut block = [0; HASH_BLOCK_BYTES];
    if key.len() > HASH_BLOCK_BYTES {
        let mut state = H::INITIAL;
        let message = Message { data: key, tail: &[] };
        for at in 0..message.blocks() {
            match message.whole().get(at) {
                Some(whole) => block = *whole,
                None => message.write_end(at, 0, H::BIG_ENDIAN, &mut block),
            }
            work_in::<H>(&mut state, &block);
        }
        block.fill(0);
        for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(&state[..H::WORDS]) {
            *bytes = if H::BIG_ENDIAN { word.to_be_bytes() } else { word.to_le_bytes() };
        }
        state.zeroize();
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    for (state, pad) in [(&mut keyed.inner, INNER), (&mut keyed.outer, INNER ^ OUTER)] {
        block.iter_mut().for_each(|byte| *byte ^= pad);
        *state = H::INITIAL;
        work_in::<H>(state, &block);
    }
    block.zeroize();
}

/// Works one block into `state`.
fn work_in<H: Hash>(state: &mut State<u32>, block: &[u8; HASH_BLOCK_BYTES]) {
    let loaded = if H::BIG_ENDIAN {
        Scalar.load_blocks::<true>(&[block; HASH_LANES_MAX])
    } else {
        Scalar.load_blocks::<false>(&[block; HASH_LANES_MAX])
    };
    let (mut states, mut blocks) = ([*state], [loaded]);
    H::work_in(Scalar, &mut states, &mut blocks);
    *state = states[0];
    states.as_flattened_mut().zeroize();
    blocks.as_flattened_mut().zeroize();
}

/// A keyed hash function.
pub(super) trait Tagging: Send + Sync {
    /// Returns the name of the backend.
    fn backend(&self) -> &'static str;

    /// Writes the first bytes of its output over each of `messages`.
    fn tags(&self, messages: &[Message<'_>], tags: &mut Tags);
}

/// Computes the tags of few messages, for which vectors are too wide.
trait Few<H: Hash>: Copy + Send + Sync + 'static {
    /// Returns the number of messages from which vectors with words of `lanes` messages take no
    /// longer.
    fn vectors_from(self, lanes: usize) -> usize;

    /// Takes messages from the beginning of `queue`, and writes their tags. Returns the others.
    fn take<'a>(self, keyed: &Keyed, queue: Queue<'a>, tags: &mut Tags) -> Queue<'a>;
}

impl<H: Hash> Few<H> for Scalar {
    fn vectors_from(self, _lanes: usize) -> usize {
        2
    }

    fn take<'a>(self, keyed: &Keyed, queue: Queue<'a>, tags: &mut Tags) -> Queue<'a> {
        message_lanes::take::<Self, H, 1>(self, keyed, queue, tags)
    }
}

/// The CPU's instructions for SHA.
#[derive(Clone, Copy)]
struct Instructions<S>(S);

impl<S: ShaLanes, H: ShaHash> Few<H> for Instructions<S> {
    fn vectors_from(self, lanes: usize) -> usize {
        if lanes == HASH_LANES_MAX { H::WIDE_VECTORS_FROM } else { usize::MAX }
    }

    fn take<'a>(self, keyed: &Keyed, queue: Queue<'a>, tags: &mut Tags) -> Queue<'a> {
        sha_instructions::take::<S, H>(self.0, keyed, queue, tags)
    }
}

struct Tagger<W, F, H, const SETS: usize> {
    words: W,
    few: F,
    /// The name of the backend.
    backend: &'static str,
    keyed: Keyed,
    hash: PhantomData<H>,
}

impl<W: HashWords, F: Few<H>, H: Hash, const SETS: usize> Tagging for Tagger<W, F, H, SETS> {
    fn backend(&self) -> &'static str {
        self.backend
    }

    fn tags(&self, messages: &[Message<'_>], tags: &mut Tags) {
        let vectors_from = self.few.vectors_from(W::LANES);
        for (messages, tags) in messages.chunks(MESSAGES).zip(tags.chunks_mut(MESSAGES)) {
            let mut places: [u16; MESSAGES] = std::array::from_fn(|place| place as u16);
            let places = &mut places[..messages.len()];
            places.sort_unstable_by_key(|place| Reverse(messages[usize::from(*place)].blocks()));
            let mut queue = Queue::new(messages, places);
            while queue.len() > 0 {
                queue = if queue.len() >= vectors_from {
                    message_lanes::take::<W, H, SETS>(self.words, &self.keyed, queue, tags)
                } else {
                    self.few.take(&self.keyed, queue, tags)
                };
            }
        }
    }
}

fn tagger<W: HashWords, F: Few<H>, H: Hash, const SETS: usize>(
    words: W,
    few: F,
    backend: Backend,
    key: &[u8],
) -> Protected<dyn Tagging> {
    let mut tagger = Protected::with(|| {
        let keyed = Keyed::zero();
        Tagger::<W, F, H, SETS> { words, few, backend: backend.name(), keyed, hash: PhantomData }
    });
    set::<H>(&mut tagger.keyed, key);
    tagger.unsize(|tagger| tagger)
}

/// Sets `key`, of any length, where there are no instructions for the hash function. Up to `SETS`
/// vectors of messages go together.
pub(super) fn set_key<H: Hash, const SETS: usize>(
    key: &[u8],
    backend: Backend,
) -> Protected<dyn Tagging> {
    with_every!(backend, |words| tagger::<_, _, H, SETS>(words, Scalar, backend, key))
}

/// Sets `key`, of any length, where there may be instructions for the hash function.
pub(super) fn set_sha_key<H: ShaHash>(key: &[u8], backend: Backend) -> Protected<dyn Tagging> {
    with_sha!(
        backend,
        |words, sha| tagger::<_, _, H, 1>(words, Instructions(sha), backend, key),
        |words| tagger::<_, _, H, 1>(words, Scalar, backend, key)
    )
}
