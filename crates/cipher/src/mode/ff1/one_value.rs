//! One value from numerals to numerals in registers: ten rounds, each of which waits for the one before, so what counts
//! is the way from one block to the next.
//!
//! Not here: what encrypts a block (`block`), and many values side by side (`narrow`).

use super::bounds::ROUNDS;
use super::fraction::{Fractions, to_numerals};
use super::half::Half;
use super::shape::Shape;

/// What encrypts the last block of the round function, whose beginning is the same in all rounds.
pub(crate) trait LastBlock {
    /// The first and the last 8 bytes of the encrypted block, as big-endian numbers. `end` is added to all of the
    /// block, `number` to its last 8 bytes; `end` is not waited for.
    fn encrypt(&self, end: u128, number: u64) -> [u64; 2];
}

/// One value to seal or open, its halves being words of 64 bits, with blocks of `N` bytes.
pub(crate) struct OneValue<'a, const N: usize> {
    /// What the last block is added to: the state of the round function after all before it.
    pub(crate) state: &'a [u8; N],
    /// What of the tweak stands at the beginning of the last block.
    pub(crate) tail: &'a [u8],
    pub(super) shape: &'a Shape,
    /// Of the left and of the right half.
    pub(super) fractions: &'a [Fractions; 2],
    pub(super) value: &'a mut [u16],
}

impl OneValue<'_, 16> {
    /// Whether a round takes more than 8 bytes of its block.
    pub(crate) fn is_long(&self) -> bool {
        self.fractions[0].long
    }

    /// Seals or opens it, `LONG` being [`OneValue::is_long`]; `block` begins with state and tail.
    #[inline(always)]
    pub(crate) fn crypt<const SEAL: bool, const LONG: bool>(self, block: &impl LastBlock) {
        let Self { shape, fractions: [of_left, of_right], value, .. } = self;
        let (left_numerals, right_numerals) = value.split_at_mut(shape.left);
        let mut left = Number::of::<SEAL>(u64::of_numerals(left_numerals, &shape.radix), of_left);
        let mut right = Number::of::<SEAL>(u64::of_numerals(right_numerals, &shape.radix), of_right);
        // the number of the round, before that of a half
        let one = 1_u128 << (8 * shape.number_bytes);
        let mut end = if SEAL { 0 } else { one.wrapping_mul(u128::from(ROUNDS - 1)) };
        for _ in 0..ROUNDS / 2 {
            if SEAL {
                left.turn::<SEAL, LONG>(of_left, block.encrypt(end, right.value));
                right.turn::<SEAL, LONG>(of_right, block.encrypt(end.wrapping_add(one), left.value));
                end = end.wrapping_add(one << 1);
            } else {
                right.turn::<SEAL, LONG>(of_right, block.encrypt(end, left.value));
                left.turn::<SEAL, LONG>(of_left, block.encrypt(end.wrapping_sub(one), right.value));
                end = end.wrapping_sub(one << 1);
            }
        }
        to_numerals(left.turned, &shape.radix, left_numerals);
        to_numerals(right.turned, &shape.radix, right_numerals);
    }
}

/// Half a value.
struct Number {
    value: u64,
    /// The fraction to go on from. It is computed ahead, while a block is encrypted, and not when it is waited for.
    fraction: u64,
    /// The fraction that the value was made of.
    turned: u64,
}

impl Number {
    #[inline(always)]
    fn of<const SEAL: bool>(value: u64, fractions: &Fractions) -> Self {
        Self { value, fraction: fractions.fraction::<SEAL>(value), turned: 0 }
    }

    #[inline(always)]
    fn turn<const SEAL: bool, const LONG: bool>(&mut self, fractions: &Fractions, [high, low]: [u64; 2]) {
        let turned = fractions.turn::<SEAL, LONG>(self.fraction, high, low);
        *self = Self { turned, ..Self::of::<SEAL>(fractions.number(turned), fractions) };
    }
}
