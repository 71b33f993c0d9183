//! Key stream of several messages under one key, made as one list of counter blocks: a few blocks
//! alone take as long as many, so the masks of all tags and the ends of all messages share batches.
//!
//! Not here: the modes that use it (`run`), and AES, which waits for no batch to be full
//! (`block/aes/gcm.rs`).

use zeroize::optimization_barrier;

use super::aead::PARTS_MAX;
use super::counter_block::data_counter;

/// A cipher that encrypts many blocks at a time.
pub(crate) trait EncryptBlocks {
    /// Encrypts each of `blocks` in place.
    fn encrypt_blocks(&self, blocks: &mut [[u8; 16]]);
}

/// Blocks made at once: as many as the widest backend encrypts together.
const STREAM_BLOCKS: usize = 64;

/// Bytes of a message that need key stream.
#[derive(Clone, Copy, Default)]
pub(crate) struct Stretch {
    /// Bytes of the message before it.
    pub(crate) skip: usize,
    /// Its length in bytes.
    pub(crate) bytes: usize,
}

/// The key stream of stretches, in their order; what was made of it is zeroed on drop.
pub(crate) struct KeyStream<'a, C> {
    cipher: &'a C,
    counters: Counters<'a>,
    masks: [[u8; 16]; PARTS_MAX],
    blocks: [[u8; 16]; STREAM_BLOCKS],
    /// Number of blocks that are made, and how many of them are used up.
    made: usize,
    used: usize,
}

impl<C> Drop for KeyStream<'_, C> {
    fn drop(&mut self) {
        self.masks.as_flattened_mut().fill(0);
        self.blocks.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

impl<'a, C: EncryptBlocks> KeyStream<'a, C> {
    /// Makes the masks, and as much more as comes with them. Each message has its first counter
    /// block in `firsts`, at most [`PARTS_MAX`], and its stretch at the same place in `stretches`.
    #[inline]
    pub(crate) fn new(cipher: &'a C, firsts: &'a [[u8; 16]], stretches: &'a [Stretch]) -> Self {
        const { assert!(PARTS_MAX < STREAM_BLOCKS) };
        let mut stream = Self {
            cipher,
            counters: Counters { firsts, stretches, at: 0, done: 0 },
            masks: [[0; 16]; PARTS_MAX],
            blocks: [[0; 16]; STREAM_BLOCKS],
            made: 0,
            used: firsts.len(),
        };
        let (masks, after) = stream.blocks.split_at_mut(firsts.len());
        masks.copy_from_slice(firsts);
        stream.made = firsts.len() + stream.counters.fill(after);
        cipher.encrypt_blocks(&mut stream.blocks[..stream.made]);
        stream.masks[..firsts.len()].copy_from_slice(&stream.blocks[..firsts.len()]);
        stream
    }

    /// Returns the tag of the message at `index`, whose hash is `hash`.
    #[inline]
    pub(crate) fn tag(&self, index: usize, hash: [u8; 16]) -> [u8; 16] {
        (u128::from_ne_bytes(hash) ^ u128::from_ne_bytes(self.masks[index])).to_ne_bytes()
    }

    /// Returns the next key stream of a stretch that begins after `before` bytes of a block: at
    /// most `bytes`, fewer where a batch ends.
    #[inline]
    fn next(&mut self, before: usize, bytes: usize) -> &[u8] {
        if self.used == self.made {
            self.made = self.counters.fill(&mut self.blocks);
            self.cipher.encrypt_blocks(&mut self.blocks[..self.made]);
            self.used = 0;
        }
        let key = &self.blocks[self.used..self.made].as_flattened()[before..];
        let key = &key[..key.len().min(bytes)];
        self.used += (before + key.len()).div_ceil(16);
        key
    }

    /// XORs all of `data`, the next stretch, which begins with its message.
    #[inline]
    pub(crate) fn xor(&mut self, data: &mut [u8]) {
        let mut rest = data;
        while !rest.is_empty() {
            let key = self.next(0, rest.len());
            let (now, later) = rest.split_at_mut(key.len());
            for (byte, key) in now.iter_mut().zip(key) {
                *byte ^= key;
            }
            rest = later;
        }
    }

    /// XORs the next stretch `from`, which begins after `skip` bytes of its message, into `to`, as
    /// long as it.
    #[inline]
    pub(crate) fn xor_into(&mut self, skip: usize, from: &[u8], to: &mut [u8]) {
        let (mut from, mut rest, mut before) = (from, to, skip % 16);
        while !rest.is_empty() {
            let key = self.next(before, rest.len());
            let (now, later) = rest.split_at_mut(key.len());
            for ((to, from), key) in now.iter_mut().zip(from).zip(key) {
                *to = from ^ key;
            }
            (from, rest, before) = (&from[now.len()..], later, 0);
        }
    }
}

/// Counter blocks of the stretches.
struct Counters<'a> {
    firsts: &'a [[u8; 16]],
    stretches: &'a [Stretch],
    /// Place of the stretch that the next block belongs to.
    at: usize,
    /// Number of its blocks that have been given.
    done: usize,
}

impl Counters<'_> {
    /// Writes the next ones into `blocks`; returns their number.
    #[inline]
    fn fill(&mut self, blocks: &mut [[u8; 16]]) -> usize {
        let mut filled = 0;
        while let (Some(stretch), Some(first)) =
            (self.stretches.get(self.at), self.firsts.get(self.at))
        {
            let Stretch { skip, bytes } = *stretch;
            let all = if bytes == 0 { 0 } else { (skip + bytes).div_ceil(16) - skip / 16 };
            let take = (all - self.done).min(blocks.len() - filled);
            let numbers = skip / 16 + self.done..;
            for (block, number) in blocks[filled..][..take].iter_mut().zip(numbers) {
                *block = data_counter(first, number);
            }
            filled += take;
            self.done += take;
            if self.done < all {
                break;
            }
            (self.at, self.done) = (self.at + 1, 0);
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_block_of_a_stretch_comes_once() {
        let stretches = [(4000, 96), (0, 0), (16, 33), (5, 0), (0, 17)]
            .map(|(skip, bytes)| Stretch { skip, bytes });
        let firsts = [[1; 16], [2; 16], [3; 16], [4; 16], [5; 16]];
        let want: Vec<_> = (250..256)
            .map(|block| data_counter(&firsts[0], block))
            .chain((1..4).map(|block| data_counter(&firsts[2], block)))
            .chain((0..2).map(|block| data_counter(&firsts[4], block)))
            .collect();
        for room in 1..=12 {
            let (firsts, stretches) = (&firsts[..], &stretches[..]);
            let mut counters = Counters { firsts, stretches, at: 0, done: 0 };
            let mut found = Vec::new();
            loop {
                let mut blocks = vec![[0; 16]; room];
                let filled = counters.fill(&mut blocks);
                if filled == 0 {
                    break;
                }
                found.extend_from_slice(&blocks[..filled]);
            }
            assert_eq!(found, want, "{room} at a time");
        }
    }
}
