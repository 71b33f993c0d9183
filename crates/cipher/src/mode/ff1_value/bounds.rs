//! Bounds of a value and its tweak, and the number of rounds.
//!
//! Not here: how many values there must be at least (`domain`).

/// The smallest radix.
pub const RADIX_MIN: u32 = 2;
/// The largest radix: numerals are of 16 bits.
pub const RADIX_MAX: u32 = 1 << 16;
/// The longest value, in numerals. The standard allows 2^32 - 1, and the time grows with the square
/// of the length: this is the longest whose seal stays within milliseconds for every caller.
pub const LENGTH_MAX: usize = 4096;
/// The longest tweak, in bytes (SP 800-38G, 5.2: its length is a number of 32 bits).
pub const TWEAK_BYTES_MAX: u64 = u32::MAX as u64;

/// Rounds (SP 800-38G, algorithm 7, step 6).
pub(crate) const ROUNDS: u8 = 10;

/// Values that are worked on together where there are so many.
pub(crate) const CHUNK: usize = 256;
