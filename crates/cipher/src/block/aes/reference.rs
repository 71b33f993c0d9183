//! AES and AES-GCM as the standards write them, byte by byte: the reference for tests of the fast
//! versions. Not for use.

use crate::mode::ghash;

/// Returns the product in GF(2^8) (FIPS 197, 4.2).
pub(super) fn multiply(a: u8, b: u8) -> u8 {
    let mut product = 0;
    for bit in (0..8).rev() {
        product = (product << 1) ^ ((product >> 7) * 0x1b) ^ (((b >> bit) & 1) * a);
    }
    product
}

/// FIPS 197, 5.1.1: inversion, then an affine map.
pub(super) fn s_box(x: u8) -> u8 {
    let inverse = (0..=255).find(|y| multiply(x, *y) == 1).unwrap_or(0);
    (0..5).fold(0x63, |sum, n| sum ^ inverse.rotate_left(n))
}

/// AES with its S-box and round keys as tables.
pub(crate) struct Aes {
    s_box: Vec<u8>,
    pub(crate) round_keys: Vec<[u8; 16]>,
}

impl Aes {
    pub(crate) fn new(key: &[u8]) -> Self {
        let s_box: Vec<u8> = (0..=255).map(s_box).collect();
        let key_words = key.len() / 4;
        let mut words: Vec<[u8; 4]> = key.chunks(4).map(|word| word.try_into().unwrap()).collect();
        let mut constant = 1;
        for i in key_words..4 * (key_words + 7) {
            let mut word = words[i - 1];
            if i % key_words == 0 {
                word.rotate_left(1);
            }
            if i % key_words == 0 || (key_words > 6 && i % key_words == 4) {
                word = word.map(|byte| s_box[usize::from(byte)]);
            }
            if i % key_words == 0 {
                word[0] ^= constant;
                constant = multiply(constant, 2);
            }
            for (byte, old) in word.iter_mut().zip(words[i - key_words]) {
                *byte ^= old;
            }
            words.push(word);
        }
        let round_keys = words.chunks(4).map(|key| key.concat().try_into().unwrap()).collect();
        Self { s_box, round_keys }
    }

    /// FIPS 197, 5.1, on a block of four columns.
    pub(crate) fn encrypt(&self, block: [u8; 16]) -> [u8; 16] {
        let mut state = xor(block, self.round_keys[0]);
        for (round, key) in self.round_keys.iter().enumerate().skip(1) {
            let shifted: [u8; 16] =
                std::array::from_fn(|i| self.s_box[usize::from(state[(i + 4 * (i % 4)) % 16])]);
            let mixed = std::array::from_fn(|i| {
                let at = |row: usize| shifted[i / 4 * 4 + (i + row) % 4];
                multiply(at(0), 2) ^ multiply(at(1), 3) ^ at(2) ^ at(3)
            });
            state = xor(if round + 1 < self.round_keys.len() { mixed } else { shifted }, *key);
        }
        state
    }

    /// Returns the first `bytes` bytes of key stream from `counter` on, the last 32 bits counting.
    pub(super) fn keystream(&self, counter: [u8; 16], bytes: usize) -> Vec<u8> {
        let first = u32::from_be_bytes(*counter.last_chunk().unwrap());
        let mut stream = Vec::new();
        for i in 0..bytes.div_ceil(16) as u32 {
            let mut block = counter;
            block[12..].copy_from_slice(&first.wrapping_add(i).to_be_bytes());
            stream.extend(self.encrypt(block));
        }
        stream.truncate(bytes);
        stream
    }

    /// SP 800-38D, algorithm 4: ciphertext and tag. `stream` is key stream from the first counter
    /// block on.
    pub(super) fn seal(
        &self,
        stream: &[u8],
        associated: &[u8],
        data: &[u8],
    ) -> (Vec<u8>, [u8; 16]) {
        let ciphertext: Vec<u8> =
            data.iter().zip(&stream[16..]).map(|(byte, key)| byte ^ key).collect();
        let hash = ghash::reference::tag_input(&self.encrypt([0; 16]), associated, &ciphertext);
        (ciphertext, xor(hash, *stream.first_chunk().unwrap()))
    }
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|i| a[i] ^ b[i])
}
