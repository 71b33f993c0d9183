//! The round function: CBC-MAC over P and Q, stretched to as many bytes as a round takes (SP
//! 800-38G, algorithm 7, steps 5 and 6.i to 6.iii).
//!
//! Over blocks of 8 bytes P and Q are the same bytes, Q filled up to 16, and the counters that
//! stretch have 8 bytes (`vectors/pipo-ff1.txt`).

use zeroize::optimization_barrier;

use crate::mode::BlockCipher;

use super::tweaks::Tweaks;
use crate::mode::ff1_value::bounds::ROUNDS;
use crate::mode::ff1_value::shape::Shape;

/// Returns P: the data bound besides the tweak.
fn head(shape: &Shape, tweak_bytes: usize) -> [u8; 16] {
    let mut head = [0; 16];
    head[..3].copy_from_slice(&[1, 2, 1]);
    head[3..6].copy_from_slice(&shape.radix.value.to_be_bytes()[1..]);
    head[6] = ROUNDS;
    head[7] = shape.left as u8;
    head[8..12].copy_from_slice(&(shape.length as u32).to_be_bytes());
    head[12..].copy_from_slice(&(tweak_bytes as u32).to_be_bytes());
    head
}

/// Zeros between a tweak and what differs from round to round.
pub(super) fn zeros(number_bytes: usize, tweak_bytes: usize) -> usize {
    let rest = (tweak_bytes % 16 + 1 + number_bytes) % 16;
    (16 - rest) % 16
}

/// CBC-MAC in the making: bytes come in any pieces.
pub(super) struct Mac<'a, const N: usize> {
    cipher: &'a dyn BlockCipher<N>,
    state: [u8; N],
    filled: usize,
}

impl<'a, const N: usize> Mac<'a, N> {
    /// Starts over the common input of all rounds: P, the tweak, and the zeros behind it.
    pub(super) fn of_tweak(cipher: &'a dyn BlockCipher<N>, shape: &Shape, tweak: &[u8]) -> Self {
        let mut mac = Self::before_tweak(cipher, shape, tweak.len());
        mac.add_tweak(shape, tweak);
        mac
    }

    /// Continues from `state`, the state after whole blocks.
    pub(super) fn after(cipher: &'a dyn BlockCipher<N>, state: &[u8; N]) -> Self {
        Self { cipher, state: *state, filled: 0 }
    }

    /// Starts over the input before a tweak of `tweak_bytes` bytes: P.
    pub(super) fn before_tweak(
        cipher: &'a dyn BlockCipher<N>,
        shape: &Shape,
        tweak_bytes: usize,
    ) -> Self {
        let mut mac = Self { cipher, state: [0; N], filled: 0 };
        mac.update(&head(shape, tweak_bytes));
        mac
    }

    /// Goes on with the tweak and the zeros behind it.
    pub(super) fn add_tweak(&mut self, shape: &Shape, tweak: &[u8]) {
        self.update(tweak);
        self.skip(zeros(shape.number_bytes, tweak.len()));
    }

    /// Goes on with `bytes`.
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(N - self.filled));
            for (state, byte) in self.state[self.filled..].iter_mut().zip(now) {
                *state ^= byte;
            }
            self.skip(now.len());
            bytes = rest;
        }
    }

    /// Goes on with `zeros` bytes of zero.
    fn skip(&mut self, mut zeros: usize) {
        while self.filled + zeros >= N {
            zeros -= N - self.filled;
            self.filled = 0;
            self.cipher.encrypt_blocks(std::slice::from_mut(&mut self.state));
        }
        self.filled += zeros;
    }

    /// Writes the value that the next block will be added to, including everything added already,
    /// into `state`. After whole blocks it is the MAC.
    pub(super) fn finish(self, state: &mut [u8; N]) {
        *state = self.state;
    }

    /// Copies the current state, to continue from it more than once.
    pub(super) fn fork(&self) -> Self {
        Self { cipher: self.cipher, state: self.state, filled: self.filled }
    }
}

impl<const N: usize> Drop for Mac<'_, N> {
    fn drop(&mut self) {
        self.state.fill(0);
        optimization_barrier(self);
    }
}

/// Writes the states after the tweaks of the values from `first` on, one for each of `states`: side
/// by side, where all tweaks have the same length.
pub(super) fn states_after<const N: usize>(
    cipher: &dyn BlockCipher<N>,
    shape: &Shape,
    tweaks: &Tweaks<'_>,
    first: usize,
    states: &mut [[u8; N]],
) {
    let tweak_bytes = tweaks.get(first).len();
    if (first..first + states.len()).any(|value| tweaks.get(value).len() != tweak_bytes) {
        for (value, state) in (first..).zip(states) {
            Mac::of_tweak(cipher, shape, tweaks.get(value)).finish(state);
        }
        return;
    }
    let mac = Mac::before_tweak(cipher, shape, tweak_bytes);
    states.fill(mac.state);
    let bytes = tweak_bytes + zeros(shape.number_bytes, tweak_bytes);
    for start in (0..=bytes).step_by(N) {
        for (value, state) in (first..).zip(&mut *states) {
            let rest = tweaks.get(value).get(start..).unwrap_or_default();
            for (state, byte) in state.iter_mut().zip(rest) {
                *state ^= byte;
            }
        }
        if start + N <= bytes {
            cipher.encrypt_blocks(states);
        }
    }
}
