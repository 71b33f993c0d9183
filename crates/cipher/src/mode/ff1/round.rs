//! The round function: CBC-MAC over P and Q, stretched to as many bytes as a round takes (SP 800-38G, algorithm 7, steps
//! 5 and 6.i to 6.iii).
//!
//! Over blocks of 8 bytes P and Q are the same bytes, Q filled up to 16, and the counters that stretch have 8 bytes
//! (`vectors/ff1-pipo.txt`).
//!
//! Not here: what is made of it (`wide`).

use crate::block::BlockCipher;

use super::ROUNDS;
use super::shape::Shape;

/// P: what is bound besides the tweak.
pub(super) fn head(shape: &Shape, tweak_bytes: usize) -> [u8; 16] {
    let mut head = [0; 16];
    head[..3].copy_from_slice(&[1, 2, 1]);
    head[3..6].copy_from_slice(&shape.radix.to_be_bytes()[1..]);
    head[6] = ROUNDS;
    head[7] = shape.left as u8;
    head[8..12].copy_from_slice(&(shape.length as u32).to_be_bytes());
    head[12..].copy_from_slice(&(tweak_bytes as u32).to_be_bytes());
    head
}

/// CBC-MAC in the making: bytes come in any pieces.
pub(super) struct Mac<'a, const N: usize> {
    cipher: &'a dyn BlockCipher<N>,
    state: [u8; N],
    filled: usize,
}

impl<'a, const N: usize> Mac<'a, N> {
    pub(super) fn new(cipher: &'a dyn BlockCipher<N>) -> Self {
        Self { cipher, state: [0; N], filled: 0 }
    }

    pub(super) fn update(&mut self, bytes: impl Iterator<Item = u8>) {
        for byte in bytes {
            self.state[self.filled] ^= byte;
            self.filled += 1;
            if self.filled == N {
                self.cipher.encrypt_blocks(std::slice::from_mut(&mut self.state));
                self.filled = 0;
            }
        }
    }

    /// Goes on with `zeros` bytes of zero.
    pub(super) fn skip(&mut self, zeros: usize) {
        self.update(std::iter::repeat_n(0, zeros));
    }

    /// The MAC, where what came is whole blocks.
    pub(super) fn finish(self) -> [u8; N] {
        debug_assert_eq!(self.filled, 0);
        self.state
    }

    /// As it is now, to go on from more than once.
    pub(super) fn fork(&self) -> Self {
        Self { cipher: self.cipher, state: self.state, filled: self.filled }
    }
}
