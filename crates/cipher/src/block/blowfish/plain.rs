//! Blowfish with look-ups in its tables, not constant time: the key schedule, counter mode and
//! whole blocks.
//!
//! Several blocks go through the rounds side by side: a single block would wait for its own
//! look-ups.

use zeroize::optimization_barrier;

use super::pi;
use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::{Counter64, counter_mode};

/// Blocks side by side: more of them would no longer fit the registers.
const AT_ONCE: usize = 4;

pub(super) const ROUNDS: usize = 16;

/// A keyed Blowfish, zeroed on drop.
pub(super) struct Blowfish {
    pub(super) p: [u32; ROUNDS + 2],
    pub(super) s: [[u32; 256]; 4],
}

impl Blowfish {
    /// Expands `key`, 4 to 56 bytes (the table of ciphers offers 16, published vectors have
    /// others), in place, so that no copy stays behind.
    pub(super) fn protected(key: &[u8]) -> Protected<Self> {
        let mut blowfish = Protected::with(|| Self { p: pi::P, s: pi::S });
        let mut bytes = key.iter().cycle();
        for word in &mut blowfish.p {
            let mut key_word = 0;
            for byte in bytes.by_ref().take(4) {
                key_word = key_word << 8 | u32::from(*byte);
            }
            *word ^= key_word;
        }
        // the encryptions of zero, of the result, and so on, each with the tables set so far
        let mut block = [0];
        for i in 0..(ROUNDS + 2) / 2 {
            blowfish.encrypt(&mut block);
            blowfish.p[2 * i] = (block[0] >> 32) as u32;
            blowfish.p[2 * i + 1] = block[0] as u32;
        }
        for i in 0..4 * 128 {
            blowfish.encrypt(&mut block);
            let pair = &mut blowfish.s[i / 128][i % 128 * 2..][..2];
            pair.copy_from_slice(&[(block[0] >> 32) as u32, block[0] as u32]);
        }
        block.fill(0);
        optimization_barrier(&block);
        blowfish
    }

    /// Encrypts blocks, each a big-endian number.
    #[inline(always)]
    fn encrypt<const N: usize>(&self, blocks: &mut [u64; N]) {
        self.run::<N, false>(blocks);
    }

    /// Decrypts blocks: the same with P reversed.
    #[inline(always)]
    fn decrypt<const N: usize>(&self, blocks: &mut [u64; N]) {
        self.run::<N, true>(blocks);
    }

    #[inline(always)]
    fn run<const N: usize, const BACK: bool>(&self, blocks: &mut [u64; N]) {
        let p = |round: usize| self.p[if BACK { ROUNDS + 1 - round } else { round }];
        let mut left = blocks.map(|block| (block >> 32) as u32 ^ p(0));
        let mut right = blocks.map(|block| block as u32);
        for round in (1..=ROUNDS).step_by(2) {
            for (left, right) in left.iter().zip(&mut right) {
                *right ^= self.mix(*left) ^ p(round);
            }
            for (left, right) in left.iter_mut().zip(&right) {
                *left ^= self.mix(*right) ^ p(round + 1);
            }
        }
        for ((block, left), right) in blocks.iter_mut().zip(left).zip(right) {
            // P of the round after the last was added to the left half above; the halves end
            // exchanged
            *block = u64::from(right ^ p(ROUNDS + 1)) << 32 | u64::from(left);
        }
    }

    /// Applies the function F.
    #[inline(always)]
    fn mix(&self, x: u32) -> u32 {
        let [s0, s1, s2, s3] = &self.s;
        let [a, b, c, d] = x.to_be_bytes();
        (s0[usize::from(a)].wrapping_add(s1[usize::from(b)]) ^ s2[usize::from(c)])
            .wrapping_add(s3[usize::from(d)])
    }
}

impl Drop for Blowfish {
    fn drop(&mut self) {
        self.p.fill(0);
        self.s.as_flattened_mut().fill(0);
        optimization_barrier(self);
    }
}

impl Counter64 for Blowfish {
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]) {
        let mut counter = counter;
        let mut batches = data.chunks_exact_mut(8 * AT_ONCE);
        for batch in &mut batches {
            let mut stream: [u64; AT_ONCE] =
                std::array::from_fn(|i| counter.wrapping_add(i as u64));
            counter = counter.wrapping_add(AT_ONCE as u64);
            self.encrypt(&mut stream);
            for (block, stream) in batch.as_chunks_mut::<8>().0.iter_mut().zip(stream) {
                *block = (u64::from_be_bytes(*block) ^ stream).to_be_bytes();
            }
        }
        let rest = batches.into_remainder();
        if rest.is_empty() {
            return;
        }
        let mut stream: [u64; AT_ONCE] = std::array::from_fn(|i| counter.wrapping_add(i as u64));
        if rest.len() <= 8 {
            let mut first = [stream[0]];
            self.encrypt(&mut first);
            stream[0] = first[0];
        } else {
            self.encrypt(&mut stream);
        }
        for (bytes, stream) in rest.chunks_mut(8).zip(&stream) {
            for (byte, key) in bytes.iter_mut().zip(stream.to_be_bytes()) {
                *byte ^= key;
            }
        }
        stream.fill(0);
        optimization_barrier(&stream);
    }
}

counter_mode!(64, [] Blowfish, |_cipher| "portable");

impl BlockCipher<8> for Blowfish {
    fn backend(&self) -> &'static str {
        "portable"
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        each(blocks, |few| self.encrypt(few), |one| self.encrypt(one));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        each(blocks, |few| self.decrypt(few), |one| self.decrypt(one));
    }
}

/// Runs `few` or `one` on all of `blocks`.
#[inline(always)]
fn each(blocks: &mut [[u8; 8]], few: impl Fn(&mut [u64; AT_ONCE]), one: impl Fn(&mut [u64; 1])) {
    let (batches, rest) = blocks.as_chunks_mut::<AT_ONCE>();
    for batch in batches {
        let mut numbers = batch.map(u64::from_be_bytes);
        few(&mut numbers);
        *batch = numbers.map(u64::to_be_bytes);
    }
    for block in rest {
        let mut number = [u64::from_be_bytes(*block)];
        one(&mut number);
        *block = number[0].to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::left_after_drop;
    use crate::block::blowfish::CIPHERS;
    use crate::testing::bytes;
    use crate::testing::vectors::{Case, vectors_of};

    /// All published vectors, whatever their key length.
    #[test]
    fn published_vectors_of_every_key_length() {
        let mut lengths = std::collections::BTreeSet::new();
        for vector in vectors_of(&CIPHERS[0]) {
            let Case::Block { plaintext, ciphertext } = &vector.case else { continue };
            let mut blocks = plaintext.clone();
            let blowfish = Blowfish::protected(&vector.key);
            blowfish.encrypt_blocks(blocks.as_chunks_mut().0);
            assert_eq!(&blocks, ciphertext, "{}", vector.place);
            blowfish.decrypt_blocks(blocks.as_chunks_mut().0);
            assert_eq!(&blocks, plaintext, "{}", vector.place);
            lengths.insert(vector.key.len());
        }
        assert!((4..=24).all(|length| lengths.contains(&length)), "{lengths:?}");
    }

    #[test]
    fn key_stream_equals_that_of_the_blowfish_crate() {
        use cipher::{Array, BlockCipherEncrypt, KeyInit};
        for seed in 0..20_u64 {
            let key = bytes(&format!("blowfish key {seed}"), 16);
            let counter = u64::MAX - 7 * seed;
            let theirs = <blowfish::Blowfish>::new_from_slice(&key).unwrap();
            let mut want = Vec::new();
            for i in 0..20 {
                let mut block = Array(counter.wrapping_add(i).to_be_bytes());
                theirs.encrypt_block(&mut block);
                want.extend_from_slice(&block);
            }
            for length in 0..want.len() {
                let mut found = vec![0; length];
                Blowfish::protected(&key).xor_keystream64(counter, &mut found);
                assert_eq!(found, want[..length], "{length} bytes under key {seed}");
            }
        }
    }

    #[test]
    fn schedules_are_zeroed_on_drop() {
        assert!(
            left_after_drop(Blowfish { p: [7; ROUNDS + 2], s: [[7; 256]; 4] })
                .iter()
                .all(|byte| *byte == 0)
        );
    }
}
