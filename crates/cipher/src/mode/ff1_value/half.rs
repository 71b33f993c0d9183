//! Half a value as a word: from its numerals and back.

use super::reduction::{Modulus64, Modulus128};

/// Half a value as a word.
pub(crate) trait Half: Copy + Send + Sync {
    /// Modulus that sums are reduced by.
    type Modulus: Copy + Send + Sync;

    /// No numeral, or zeros only.
    const ZERO: Self;

    /// Returns the number of `numerals`, most significant first.
    fn of_numerals(numerals: &[u16], radix: &Radix) -> Self;
    /// Writes its numerals.
    fn to_numerals(self, numerals: &mut [u16], radix: &Radix);
    /// Its upper and its lower 64 bits.
    fn words(self) -> [u64; 2];
    /// Returns the sum (if `SEAL`) or difference of it and what a round takes: the first bytes of
    /// `high` and `low`.
    fn turn<const SEAL: bool>(self, modulus: &Self::Modulus, high: u64, low: u64) -> Self;
}

/// A radix, and what it takes to divide by it without a division.
#[derive(Clone, Copy)]
pub(crate) struct Radix {
    pub(crate) value: u32,
    /// Bits of the largest numeral.
    pub(crate) bits: usize,
    /// 2^shift over the radix, rounded up.
    inverse: u64,
    shift: u32,
    /// The largest power of the radix up to 2^60, and 2^128 over it, rounded down.
    pub(crate) power: u64,
    pub(crate) power_inverse: u128,
    /// The numerals of a number below that power.
    pub(crate) power_numerals: usize,
    /// 2^piece_shift over the radix, rounded up, for numbers below 2^31.
    piece_inverse: u64,
    piece_shift: u32,
    /// The largest power of the radix up to 2^31, and the numerals of a number below it.
    piece: u64,
    pub(crate) piece_numerals: usize,
    /// 2^by_piece_shift over that power, rounded up.
    by_piece_inverse: u64,
    by_piece_shift: u32,
}

impl Radix {
    pub(crate) fn new(value: u32) -> Self {
        let bits = value.next_power_of_two().trailing_zeros();
        let power_up_to = |most: u64| -> (usize, u64) {
            let powers = std::iter::successors(Some(u64::from(value)), |power| {
                power.checked_mul(value.into())
            });
            (1..)
                .zip(powers)
                .take_while(|(_, power)| *power <= most)
                .last()
                .expect("the radix itself")
        };
        let ((power_numerals, power), (piece_numerals, piece)) =
            (power_up_to(1 << 60), power_up_to(1 << 31));
        let (inverse, shift) = rounded_inverse(value.into(), 61);
        let (piece_inverse, piece_shift) = rounded_inverse(value.into(), 31);
        let (by_piece_inverse, by_piece_shift) = rounded_inverse(piece, 61);
        Self {
            value,
            bits: bits as usize,
            inverse,
            shift,
            power,
            power_inverse: u128::MAX / u128::from(power) + u128::from(power.is_power_of_two()),
            power_numerals,
            piece_inverse,
            piece_shift,
            piece,
            piece_numerals,
            by_piece_inverse,
            by_piece_shift,
        }
    }

    /// Returns the quotient and remainder of `number`, below 2^61.
    #[inline(always)]
    pub(crate) fn divide(&self, number: u64) -> (u64, u16) {
        let quotient =
            (u128::from(number).wrapping_mul(u128::from(self.inverse)) >> self.shift) as u64;
        (quotient, number.wrapping_sub(quotient.wrapping_mul(self.value.into())) as u16)
    }

    /// Returns the quotient and remainder of `number`, below 2^31: with products of 32 bits, which
    /// vectors have.
    #[inline(always)]
    pub(crate) fn divide_piece(&self, number: u64) -> (u64, u64) {
        let quotient = (number & 0xffff_ffff).wrapping_mul(self.piece_inverse & 0xffff_ffff)
            >> self.piece_shift;
        (
            quotient,
            number.wrapping_sub((quotient & 0xffff_ffff).wrapping_mul(u64::from(self.value))),
        )
    }

    /// Returns the quotient and remainder of `number`, below 2^61, by the power of the radix that
    /// is a piece.
    #[inline(always)]
    pub(crate) fn divide_by_piece(&self, number: u64) -> (u64, u64) {
        let quotient = (u128::from(number).wrapping_mul(u128::from(self.by_piece_inverse))
            >> self.by_piece_shift) as u64;
        (quotient, number.wrapping_sub(quotient.wrapping_mul(self.piece)))
    }
}

/// Returns a shift, and 2 to its power over `divisor`, rounded up: the product with a number of
/// `bits` bits, shifted, is the quotient, since the inverse is too large by less than 2^-bits of
/// the quotient's unit (Granlund and Montgomery, PLDI 1994, theorem 4.2).
fn rounded_inverse(divisor: u64, bits: u32) -> (u64, u32) {
    let shift = bits + divisor.next_power_of_two().trailing_zeros();
    (((1_u128 << shift) / u128::from(divisor) + 1) as u64, shift)
}

/// Lower halves of the halves of a word.
const EVEN: u64 = 0x0000_ffff_0000_ffff;
/// Lower half of a word.
const LOW: u64 = 0xffff_ffff;

/// Returns the number of four numerals, the first of which is the lowest quarter of `word`; with
/// the radix and its square.
#[inline(always)]
pub(crate) fn of_four(word: u64, radix: u64, square: u64) -> u64 {
    // two pairs at once, neither of which reaches 2^32
    let pairs = (word & EVEN).wrapping_mul(radix).wrapping_add(word >> 16 & EVEN);
    (pairs & LOW).wrapping_mul(square).wrapping_add(pairs >> 32)
}

impl Half for u64 {
    type Modulus = Modulus64;

    const ZERO: Self = 0;

    #[inline(always)]
    fn of_numerals(numerals: &[u16], radix: &Radix) -> Self {
        // a check for overflow, which debugging builds have, would be a branch on the value
        let value = u64::from(radix.value);
        let (first, groups) = numerals.split_at(numerals.len() % 4);
        let first = first.iter().fold(0, |number: u64, numeral| {
            number.wrapping_mul(value).wrapping_add(u64::from(*numeral))
        });
        let [power_2, power_4] = [value.wrapping_pow(2), value.wrapping_pow(4)];
        groups.as_chunks::<4>().0.iter().fold(first, |number, &[a, b, c, d]| {
            let word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
            number.wrapping_mul(power_4).wrapping_add(of_four(word, value, power_2))
        })
    }

    #[inline(always)]
    fn to_numerals(mut self, numerals: &mut [u16], radix: &Radix) {
        for numeral in numerals.iter_mut().rev() {
            (self, *numeral) = radix.divide(self);
        }
    }

    #[inline(always)]
    fn words(self) -> [u64; 2] {
        [0, self]
    }

    #[inline(always)]
    fn turn<const SEAL: bool>(self, modulus: &Modulus64, high: u64, low: u64) -> Self {
        modulus.turn::<SEAL>(modulus.estimate, self, high, low)
    }
}

impl Half for u128 {
    type Modulus = Modulus128;

    const ZERO: Self = 0;

    #[inline(always)]
    fn of_numerals(numerals: &[u16], radix: &Radix) -> Self {
        let (upper, lower) = numerals.split_at(numerals.len().saturating_sub(radix.power_numerals));
        let (upper, lower) = (u64::of_numerals(upper, radix), u64::of_numerals(lower, radix));
        Self::from(upper).wrapping_mul(Self::from(radix.power)).wrapping_add(Self::from(lower))
    }

    #[inline(always)]
    fn to_numerals(self, numerals: &mut [u16], radix: &Radix) {
        let (upper, lower) = super::reduction::divide(self, radix.power, radix.power_inverse);
        let at = numerals.len().saturating_sub(radix.power_numerals);
        let (upper_numerals, lower_numerals) = numerals.split_at_mut(at);
        upper.to_numerals(upper_numerals, radix);
        lower.to_numerals(lower_numerals, radix);
    }

    #[inline(always)]
    fn words(self) -> [u64; 2] {
        [(self >> 64) as u64, self as u64]
    }

    #[inline(always)]
    fn turn<const SEAL: bool>(self, modulus: &Modulus128, high: u64, low: u64) -> Self {
        modulus.turn::<SEAL>(self, u128::from(high) << 64 | u128::from(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_exact() {
        for value in
            (2..=300).chain([676, 1000, 4095, 4096, 11_172, 32_767, 32_768, 32_769, 65_535, 65_536])
        {
            let radix = Radix::new(value);
            let random = crate::testing::bytes("dividends", 8 * 200);
            let random = random.as_chunks().0.iter().map(|bytes| u64::from_be_bytes(*bytes) >> 3);
            let near = (0..61).flat_map(|bits| {
                let multiple = (1_u64 << bits) / u64::from(value) * u64::from(value);
                [multiple.saturating_sub(1), multiple, multiple + 1]
            });
            for number in random.chain(near).chain([(1 << 61) - 1]) {
                let expected = (number / u64::from(value), (number % u64::from(value)) as u16);
                assert_eq!(radix.divide(number), expected, "{number} by {value}");
                let (quotient, piece) = radix.divide_by_piece(number);
                assert_eq!(
                    (quotient, piece),
                    (number / radix.piece, number % radix.piece),
                    "{number} by {}",
                    radix.piece
                );
                let expected = (piece / u64::from(value), piece % u64::from(value));
                assert_eq!(radix.divide_piece(piece), expected, "{piece} by {value}");
            }
        }
    }

    #[test]
    fn numerals_survive_as_words() {
        for value in [2, 3, 10, 36, 255, 256, 11_172, 65_535, 65_536] {
            let radix = Radix::new(value);
            for length in 1..=(96.0 / f64::from(value).log2()) as usize {
                for seed in 0..20 {
                    let random = crate::testing::bytes(&format!("numerals {seed}"), 2 * length);
                    let numeral =
                        |bytes: &[u8; 2]| (u32::from(u16::from_be_bytes(*bytes)) % value) as u16;
                    let mut numerals: Vec<u16> = random.as_chunks().0.iter().map(numeral).collect();
                    if seed < 2 {
                        numerals.fill([0, (value - 1) as u16][seed]);
                    }
                    let mut found = vec![7; length];
                    u128::of_numerals(&numerals, &radix).to_numerals(&mut found, &radix);
                    assert_eq!(found, numerals, "radix {value}");
                    if length <= radix.power_numerals {
                        found.fill(7);
                        u64::of_numerals(&numerals, &radix).to_numerals(&mut found, &radix);
                        assert_eq!(found, numerals, "radix {value}");
                    }
                }
            }
        }
    }
}
