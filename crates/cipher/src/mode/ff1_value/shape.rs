//! Values that follow from radix and length alone: the lengths of the halves and of their numbers
//! (SP 800-38G, algorithm 7, steps 1 to 4), and the constants needed to reduce by the powers of the
//! radix. All of it is public.

use super::bounds::LENGTH_MAX;
use super::fraction::Fractions;
use super::half::Radix;
use super::limbs::power_bits;
use super::reduction::{Modulus64, Modulus128};

/// Values that follow from radix and length.
pub(crate) struct Shape {
    /// The radix.
    pub(crate) radix: Radix,
    /// Numerals of a value: n.
    pub(crate) length: usize,
    /// Numerals of the left half: u, the smaller one.
    pub(crate) left: usize,
    /// Bytes of a number of as many numerals as the right half has: b.
    pub(crate) number_bytes: usize,
    /// Bytes that a round takes from its function: d.
    pub(crate) round_bytes: usize,
    /// Representation in which its numbers are computed.
    pub(crate) numbers: Numbers,
}

/// Representation of the numbers of half a value for computing: the moduli of the left and of the
/// right half.
pub(crate) enum Numbers {
    /// As words of 64 bits; also as fractions of the moduli.
    Narrow([Modulus64; 2], [Fractions; 2]),
    /// As words of 128 bits.
    Double([Modulus128; 2]),
    /// As limbs.
    Wide,
}

/// Bits of the largest modulus for words of 64 bits: a multiple of it by eight leaves one bit free.
const NARROW_BITS: usize = 60;
/// Bits of the largest modulus for words of 128 bits: a number and the number of its round fit in a
/// block, and what a round takes does, too.
const DOUBLE_BITS: usize = 96;

impl Shape {
    /// Computes the shape of values of `length` numerals, at least 2 and at most `LENGTH_MAX`, in
    /// `radix`.
    pub(crate) fn new(radix: Radix, length: usize) -> Self {
        let left = length / 2;
        let bits = numeral_bits(&radix, length - left);
        let number_bytes = bits.div_ceil(8);
        let round_bytes = 4 * number_bytes.div_ceil(4) + 4;
        let moduli =
            || [left, length - left].map(|numerals| u128::from(radix.value).pow(numerals as u32));
        let numbers = if bits <= NARROW_BITS {
            let moduli = moduli().map(|modulus| modulus as u64);
            let fractions = moduli.map(|modulus| Fractions::new(modulus, round_bytes));
            Numbers::Narrow(moduli.map(|modulus| Modulus64::new(modulus, round_bytes)), fractions)
        } else if bits <= DOUBLE_BITS {
            Numbers::Double(moduli().map(|modulus| Modulus128::new(modulus, round_bytes)))
        } else {
            Numbers::Wide
        };
        Self { radix, length, left, number_bytes, round_bytes, numbers }
    }
}

/// Returns the shapes of all lengths whose numbers are words: the first is that of length 2.
pub(crate) fn of_words(radix: Radix) -> Box<[Shape]> {
    let all = (2..=LENGTH_MAX).map(|length| Shape::new(radix, length));
    all.take_while(|shape| !matches!(shape.numbers, Numbers::Wide)).collect()
}

/// Bits of the largest number of `numerals` numerals in `radix`. It is computed with whole numbers,
/// since logarithms in floating point are off by one where the power is one of two.
fn numeral_bits(radix: &Radix, numerals: usize) -> usize {
    if radix.value.is_power_of_two() {
        return radix.value.trailing_zeros() as usize * numerals;
    }
    // No power of such a radix is a power of two, so radix^numerals has as many bits as that number
    // less one.
    power_bits(radix, numerals)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 29 numerals of radix 256 are 29 bytes, and not the 30 that a logarithm in floating point may
    /// give.
    #[test]
    fn bytes_of_numbers_are_exact() {
        for (radix, length, left, number_bytes, round_bytes) in [
            (256, 58, 29, 29, 36),
            (256, 57, 28, 29, 36),
            (10, 16, 8, 4, 8),
            (10, 10, 5, 3, 8),
            (36, 19, 9, 7, 12),
            (2, 88, 44, 6, 12),
            (65_536, 2, 1, 2, 8),
            (65_536, 4096, 2048, 4096, 4100),
            (65_535, 4096, 2048, 4096, 4100),
            (11_172, 3, 1, 4, 8),
        ] {
            let shape = Shape::new(Radix::new(radix), length);
            let found = (shape.left, shape.number_bytes, shape.round_bytes);
            assert_eq!(
                found,
                (left, number_bytes, round_bytes),
                "{length} numerals of radix {radix}"
            );
        }
    }

    #[test]
    fn powers_of_two_have_as_many_bytes_as_bits_need() {
        for power in 1..=16 {
            for length in [2, 3, 15, 16, 17, 31, 58, 200, 1001] {
                let shape = Shape::new(Radix::new(1 << power), length);
                assert_eq!(
                    shape.number_bytes,
                    (power * (length - length / 2)).div_ceil(8),
                    "2^{power}, {length}"
                );
            }
        }
    }
}
