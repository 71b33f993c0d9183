//! The CPU's own instructions for SHA-1 and SHA-256, on vectors of four 32-bit words. Every
//! operation is of one message; alternating between two messages keeps the CPU busy, as each
//! operation waits for the one before it.

use super::Kernel;

/// The instructions. The value is the proof that the CPU has them.
pub(crate) trait ShaLanes: Copy + Send + Sync + 'static {
    /// Four words in a register.
    type Vector: Copy;

    /// Runs `kernel`, compiled for these instructions.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// From four words, the lowest first.
    fn gather_four(self, words: [u32; 4]) -> Self::Vector;
    /// To four words, the lowest first.
    fn to_four(self, v: Self::Vector) -> [u32; 4];
    /// Four big-endian words, the first one highest.
    fn load_first_highest(self, bytes: &[u8; 16]) -> Self::Vector;
    /// Four big-endian words, the first one lowest.
    fn load_first_lowest(self, bytes: &[u8; 16]) -> Self::Vector;
    /// Sums of words, modulo 2^32.
    fn add_four(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Four rounds of SHA-1 with the function and constant of rounds 20 `F` to 20 `F` + 19: A to D,
    /// A highest, by four words of the message, E being part of the highest.
    fn sha1_rounds<const F: i32>(self, abcd: Self::Vector, message: Self::Vector) -> Self::Vector;
    /// Returns the E that follows from `abcd` of four rounds ago, added to the highest word of
    /// `message`.
    fn sha1_next_e(self, abcd: Self::Vector, message: Self::Vector) -> Self::Vector;
    /// Returns the four words of SHA-1's message schedule that follow these sixteen.
    fn sha1_schedule(self, last: [Self::Vector; 4]) -> Self::Vector;

    /// Four rounds of SHA-256: (A B E F, C D G H), the first highest, by four words with their
    /// constants added.
    fn sha256_rounds(self, state: [Self::Vector; 2], message: Self::Vector) -> [Self::Vector; 2];
    /// Returns the four words of SHA-256's message schedule that follow these sixteen.
    fn sha256_schedule(self, last: [Self::Vector; 4]) -> Self::Vector;
}
