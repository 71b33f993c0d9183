//! One value from numerals to numerals in registers: ten rounds, each of which waits for the one
//! before it, so only the latency from one block to the next counts.

use super::bounds::ROUNDS;
use super::fraction::{Fractions, to_numerals};
use super::fraction52::{self, InVectors};
use super::half::Half;
use super::shape::Shape;
use crate::arch::{AesLanes, Products};

/// Encryption of the last block of the round function, whose beginning is the same in all rounds.
pub(crate) trait LastBlock {
    /// Instructions that compute on blocks.
    type Lanes: Products;

    /// Returns the instructions for these blocks.
    fn lanes(&self) -> Self::Lanes;
    /// Returns the encrypted block. `end` and `number` are added to the block; `end` is not waited
    /// for.
    fn encrypt(&self, end: u128, number: Vector<Self>) -> Vector<Self>;
}

/// A block in registers.
type Vector<B> = <<B as LastBlock>::Lanes as AesLanes>::Vector;

/// One value to seal or open, its halves being words of 64 bits, with blocks of `N` bytes.
pub(crate) struct OneValue<'a, const N: usize> {
    /// State that the last block is added to: that of the round function after everything before
    /// it.
    pub(crate) state: &'a [u8; N],
    /// Part of the tweak at the beginning of the last block.
    pub(crate) tail: &'a [u8],
    pub(crate) shape: &'a Shape,
    /// Fractions of the left and of the right half.
    pub(crate) fractions: &'a [Fractions; 2],
    pub(crate) value: &'a mut [u16],
}

impl OneValue<'_, 16> {
    /// Returns whether a round takes more than 8 bytes of its block.
    pub(crate) fn is_long(&self) -> bool {
        self.fractions[0].short.is_none()
    }

    /// Seals or opens it, `LONG` being [`OneValue::is_long`]; `block` begins with state and tail.
    #[inline(always)]
    pub(crate) fn crypt<const SEAL: bool, const LONG: bool>(self, block: &impl LastBlock) {
        // the place of the number of a round in the last 16 bytes
        let place = 8 * self.shape.number_bytes as u32;
        match self.fractions {
            [Fractions { short: Some(left), .. }, Fractions { short: Some(right), .. }]
                if quick(block) && !LONG =>
            {
                let fractions =
                    [left, right].map(|short| InVectors::new::<SEAL>(block.lanes(), short));
                self.crypt_by::<SEAL, _>(&ByVectors { block, fractions, place });
            }
            fractions => {
                self.crypt_by::<SEAL, _>(&ByNumbers::<_, SEAL, LONG> { block, fractions, place })
            }
        }
    }

    #[inline(always)]
    fn crypt_by<const SEAL: bool, R: Round>(self, round: &R) {
        let Self { shape, value, .. } = self;
        let halves = value.split_at_mut(shape.left);
        let first = if SEAL { 0 } else { ROUNDS - 1 };
        let mut left = round.begin(0, u64::of_numerals(halves.0, &shape.radix), first);
        let mut right = round.begin(1, u64::of_numerals(halves.1, &shape.radix), first);
        for pair in 0..ROUNDS / 2 {
            if SEAL {
                let at = 2 * pair;
                left = round.turn(0, left, right, [at, at + 1]);
                right = round.turn(1, right, left, [at + 1, at + 2]);
            } else {
                let at = ROUNDS - 1 - 2 * pair;
                right = round.turn(1, right, left, [at, at - 1]);
                left = round.turn(0, left, right, [at - 1, at.wrapping_sub(2)]);
            }
        }
        to_numerals(round.fraction(0, left), &shape.radix, halves.0);
        to_numerals(round.fraction(1, right), &shape.radix, halves.1);
    }
}

#[inline(always)]
fn quick<B: LastBlock>(_: &B) -> bool {
    B::Lanes::QUICK
}

/// A round of ten, for the left half (0) and for the right one (1).
trait Round {
    /// Half a value.
    type Number: Copy;

    /// Returns `number` of half `half`, which round `next` takes if it takes it first.
    fn begin(&self, half: usize, number: u64, next: u8) -> Self::Number;
    /// Returns half `half`, which was `number`, after a round that takes `other`; `rounds` are this
    /// round and the next.
    fn turn(
        &self,
        half: usize,
        number: Self::Number,
        other: Self::Number,
        rounds: [u8; 2],
    ) -> Self::Number;
    /// The fraction that `number` was made of.
    fn fraction(&self, half: usize, number: Self::Number) -> u64;
}

/// Rounds on numbers in registers for numbers.
struct ByNumbers<'a, B, const SEAL: bool, const LONG: bool> {
    block: &'a B,
    fractions: &'a [Fractions; 2],
    place: u32,
}

/// Half a value.
#[derive(Clone, Copy)]
struct Number {
    value: u64,
    /// The fraction to go on from. It is computed ahead, while a block is encrypted, and not when
    /// it is waited for.
    fraction: u64,
    /// The fraction that the value was made of.
    turned: u64,
}

impl<B: LastBlock, const SEAL: bool, const LONG: bool> Round for ByNumbers<'_, B, SEAL, LONG> {
    type Number = Number;

    #[inline(always)]
    fn begin(&self, half: usize, value: u64, _: u8) -> Number {
        Number { value, fraction: self.fractions[half].fraction::<SEAL>(value), turned: 0 }
    }

    #[inline(always)]
    fn turn(&self, half: usize, number: Number, other: Number, [round, _]: [u8; 2]) -> Number {
        let (lanes, fractions) = (self.block.lanes(), &self.fractions[half]);
        let added = lanes.reverse_bytes(lanes.number(other.value));
        let block = self.block.encrypt(u128::from(round) << self.place, added);
        let block = u128::from_be_bytes(lanes.to_block(block));
        let turned =
            fractions.turn::<SEAL, LONG>(number.fraction, (block >> 64) as u64, block as u64);
        let value = fractions.number(turned);
        Number { value, fraction: fractions.fraction::<SEAL>(value), turned }
    }

    #[inline(always)]
    fn fraction(&self, _: usize, number: Number) -> u64 {
        number.turned
    }
}

/// Rounds on numbers in the registers of blocks.
struct ByVectors<'a, B: LastBlock> {
    block: &'a B,
    fractions: [InVectors<B::Lanes>; 2],
    place: u32,
}

impl<B: LastBlock> Round for ByVectors<'_, B> {
    type Number = fraction52::Number<Vector<B>>;

    #[inline(always)]
    fn begin(&self, half: usize, number: u64, next: u8) -> Self::Number {
        self.fractions[half].begin(number, u64::from(next) << self.place)
    }

    #[inline(always)]
    fn turn(
        &self,
        half: usize,
        number: Self::Number,
        other: Self::Number,
        [_, next]: [u8; 2],
    ) -> Self::Number {
        let fractions = &self.fractions[half];
        // the number of the round already precedes the other half
        let block = self.block.encrypt(0, fractions.added(other));
        fractions.turn(number, block, u64::from(next) << self.place)
    }

    #[inline(always)]
    fn fraction(&self, half: usize, number: Self::Number) -> u64 {
        self.fractions[half].turned(number)
    }
}
