//! Sums and differences modulo a power of the radix by fractions of it, as in `fraction`, but with
//! 52 bits after the point, in the vector registers that the block cipher works in: between two
//! blocks nothing leaves them.
//!
//! For rounds that take 64 bits.

use crate::arch::Products;

/// Constants needed to compute with numbers below a modulus.
#[derive(Clone, Copy)]
pub(crate) struct Fractions52 {
    modulus: u64,
    sum: Counted,
    difference: Counted,
}

/// Weights of the bits that a round takes: fractions rounded down, so that anything made from them
/// is too small.
#[derive(Clone, Copy)]
struct Counted {
    /// The lowest bit: 104 bits after the point, upper half first.
    one: [u64; 2],
    /// The lowest of the upper 16 bits: 52 after the point, enough for so short a factor.
    high: u64,
}

/// By how much a fraction may be too small in all, in units of its last bit, rounded up: as many as
/// `Counted::high` is multiplied by, and three that products lose.
const LOST: u64 = 1 << 17;

impl Fractions52 {
    /// Computes the constants for `modulus`, 2 to 2^32.
    pub(crate) fn new(modulus: u64) -> Self {
        let modulus_wide = u128::from(modulus);
        let below = |bits: u32| (1_u128 << bits) / modulus_wide;
        let above = |bits: u32| (1_u128 << bits).div_ceil(modulus_wide);
        let counted = |one: u128, high: u128| Counted {
            one: [(one >> 52) as u64, one as u64 & LOWER_52],
            high: high as u64 & LOWER_52,
        };
        Self {
            modulus,
            sum: counted(below(104), below(100)),
            // the part missing to one, and so to nothing
            difference: counted((1 << 104) - above(104), (1 << 100) - above(100)),
        }
    }
}

const LOWER_52: u64 = (1 << 52) - 1;

/// [`Fractions52`] in registers, for sums or for differences.
pub(crate) struct InVectors<L: Products> {
    lanes: L,
    modulus: L::Vector,
    lost: L::Vector,
    /// Weights for a number of a value.
    number: [L::Vector; 2],
    /// Weights for the bits that a round takes.
    taken: [L::Vector; 2],
    taken_high: L::Vector,
}

/// Half a value.
#[derive(Clone, Copy)]
pub(crate) struct Number<V> {
    /// The number, and the number of the round that takes it next before it: the end of a block, in
    /// reverse order.
    end: V,
    /// The fraction to go on from.
    fraction: V,
    /// The fraction that the number was made of; only its lower 52 bits count, and it may be too
    /// large by `LOST`.
    turned: V,
}

/// Shuffles of the first 8 bytes of a block, a big-endian number, to its lower 48 bits and its
/// upper 16, as numbers.
const LOWER_48: [u8; 16] =
    [7, 6, 5, 4, 3, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];
const UPPER_16: [u8; 16] =
    [1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80];

impl<L: Products> InVectors<L> {
    #[inline(always)]
    pub(crate) fn new<const SEAL: bool>(lanes: L, fractions: &Fractions52) -> Self {
        let Fractions52 { modulus, sum, difference } = fractions;
        let counted = if SEAL { sum } else { difference };
        Self {
            lanes,
            modulus: lanes.number(*modulus),
            lost: lanes.number(LOST),
            number: [lanes.number(sum.one[0]), lanes.number(sum.one[1])],
            taken: [lanes.number(counted.one[0]), lanes.number(counted.one[1])],
            taken_high: lanes.number(counted.high),
        }
    }

    /// Returns `number` to begin with; `round` is added to it in the block that takes it.
    #[inline(always)]
    pub(crate) fn begin(&self, number: u64, round: u64) -> Number<L::Vector> {
        let lanes = self.lanes;
        let fraction = self.fraction(lanes.number(number));
        Number { end: lanes.number(number | round), fraction, turned: lanes.zero() }
    }

    /// Returns the sum or difference of `number` and the first 8 bytes of `block`; `round` is added
    /// to it in the block that takes it next.
    #[inline(always)]
    pub(crate) fn turn(
        &self,
        number: Number<L::Vector>,
        block: L::Vector,
        round: u64,
    ) -> Number<L::Vector> {
        let (lanes, zero) = (self.lanes, self.lanes.zero());
        let (lower, upper) =
            (lanes.shuffle_bytes(block, &LOWER_48), lanes.shuffle_bytes(block, &UPPER_16));
        // three products at once, and sums of them; the critical path is one product before and one
        // after
        let upper_of_lower = lanes.add_low_product(number.fraction, lower, self.taken[0]);
        let lower_of_lower = lanes.add_high_product(zero, lower, self.taken[1]);
        let upper = lanes.add_low_product(zero, upper, self.taken_high);
        let turned = lanes.add(upper_of_lower, lanes.add(lower_of_lower, upper));
        let end = lanes.add_high_product(lanes.number(round), turned, self.modulus);
        let fraction = self.fraction(lanes.add_high_product(zero, turned, self.modulus));
        Number { end, fraction, turned }
    }

    /// Returns the fraction of `number` to go on from: not smaller, despite the loss, than the
    /// fraction of a sum or difference.
    #[inline(always)]
    fn fraction(&self, number: L::Vector) -> L::Vector {
        let upper = self.lanes.add_low_product(self.lost, number, self.number[0]);
        self.lanes.add_high_product(upper, number, self.number[1])
    }

    /// Returns the part of a block that represents `number`: its last 8 bytes, after zeros.
    #[inline(always)]
    pub(crate) fn added(&self, number: Number<L::Vector>) -> L::Vector {
        self.lanes.reverse_bytes(number.end)
    }

    /// Returns the fraction of `number`, 64 bits after the point, too large by less than it may be.
    #[inline(always)]
    pub(crate) fn turned(&self, number: Number<L::Vector>) -> u64 {
        self.lanes.to_number(number.turned) << 12
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{AesLanes, Kernel, OneBlock, with_aes};
    use crate::backend::Backend;
    use crate::testing::bytes;

    /// All sums and differences of some numbers, and what a round may take.
    struct SumsAndDifferences {
        modulus: u64,
        length: usize,
    }

    impl<L: Products> Kernel<L> for SumsAndDifferences {
        type Output = ();

        fn run(self, lanes: L) {
            let Self { modulus, length } = self;
            let fractions = Fractions52::new(modulus);
            let directions = [
                InVectors::new::<true>(lanes, &fractions),
                InVectors::new::<false>(lanes, &fractions),
            ];
            let random = bytes(&format!("what a round takes {modulus} {length}"), 16 * 500);
            let outermost = [[0; 16], [0xff; 16]].into_iter().chain((0..16).map(|at| {
                let mut block = [0; 16];
                block[at] = 0xff;
                block
            }));
            for (i, block) in
                random.as_chunks::<16>().0.iter().copied().chain(outermost).enumerate()
            {
                let taken = u64::from_be_bytes(*block.first_chunk().unwrap()) % modulus;
                let random = u64::from_be_bytes(*block.last_chunk().unwrap()) % modulus;
                // including values that make a sum of 0 and of the largest number, and differences
                let numbers = [
                    0,
                    modulus - 1,
                    random,
                    (modulus - taken) % modulus,
                    modulus - 1 - taken,
                    taken,
                ];
                let number = numbers[i % numbers.len()];
                let expected = [(number + taken) % modulus, (number + modulus - taken) % modulus];
                for (direction, expected) in directions.iter().zip(expected) {
                    let what =
                        format!("{number} and {block:x?} modulo {modulus} on {}", lanes.name());
                    let begun = direction.begin(number, 3 << 40);
                    let mut added = [0; 16];
                    added[8..].copy_from_slice(&(number | 3 << 40).to_be_bytes());
                    assert_eq!(lanes.to_block(direction.added(begun)), added, "{what}");
                    // two rounds, so that the fraction to go on from counts
                    let turned = direction.turn(begun, lanes.first(&block), 5 << 40);
                    added[8..].copy_from_slice(&(expected | 5 << 40).to_be_bytes());
                    assert_eq!(lanes.to_block(direction.added(turned)), added, "{what}");
                    let again = direction.turn(turned, lanes.first(&[0; 16]), 0);
                    for turned in [turned, again] {
                        let fraction = direction.turned(turned);
                        assert_eq!(
                            ((u128::from(fraction) * u128::from(modulus)) >> 64) as u64,
                            expected,
                            "{what}"
                        );
                        let surplus = fraction.wrapping_sub(
                            ((u128::from(expected) << 64).div_ceil(modulus.into())) as u64,
                        );
                        assert!(surplus <= (LOST + 1) << 12, "{what}: too large by {surplus}");
                    }
                }
            }
        }
    }

    #[test]
    fn sums_and_differences_are_those_of_whole_numbers() {
        let mut ran = 0;
        for backend in Backend::available() {
            for radix in [2_u64, 3, 7, 10, 26, 36, 62, 255, 256, 11_172, 65_535, 65_536] {
                let powers = std::iter::successors(Some(radix), |power| power.checked_mul(radix));
                for (length, modulus) in (1..).zip(powers.take_while(|power| *power <= 1 << 32)) {
                    let sums = SumsAndDifferences { modulus, length };
                    ran += with_aes!(
                        backend,
                        |lanes| {
                            lanes.one_block().enter(sums);
                            1
                        },
                        |_plain| 0
                    );
                }
            }
        }
        let expected =
            Backend::available().iter().filter(|backend| backend.name() != "portable").count();
        assert!(ran >= 20 * expected, "{ran} moduli");
    }
}
