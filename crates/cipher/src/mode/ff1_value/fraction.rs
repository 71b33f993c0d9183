//! Sums and differences modulo a power of the radix by fractions of it: a number over the modulus,
//! 64 bits after the point. The part before the point drops out automatically, so nothing is
//! compared or selected; the modulus times a fraction is the number again, and the radix times a
//! fraction its first numeral.
//!
//! For one value at a time, where each step waits for the one before: products of 64 bits with 128
//! are quick alone, and most vectors have none. Not here: fractions for vectors that have them
//! (`fraction52`), many numbers side by side, and numbers of more than 60 bits (`reduction`).

use super::fraction52::Fractions52;
use super::half::Radix;

/// Constants needed to compute with numbers below a modulus.
#[derive(Clone, Copy)]
pub(crate) struct Fractions {
    modulus: u64,
    /// Constants for rounds that take 64 bits rather than 96, for which vectors have products.
    pub(crate) short: Option<Fractions52>,
    /// 1 over the modulus, 128 bits after the point, rounded down; upper half first.
    one: [u64; 2],
    /// The same of what the lowest of the first 64 bits counts that a round takes: 1 or 2^32.
    first: [u64; 2],
}

/// By how much a fraction made of a number may be too small, as if it had been rounded down twice:
/// in units of its last bit, rounded up.
const LOST: u64 = 2;

impl Fractions {
    /// Computes the constants for `modulus`, 2 to 2^60, and rounds that take `round_bytes` bytes: 8
    /// or 12.
    pub(crate) fn new(modulus: u64, round_bytes: usize) -> Self {
        let wide = u128::from(modulus);
        // Where the modulus is a power of two this is one less than exact, which counts as
        // rounding.
        let (one, rest) = (u128::MAX / wide, u128::MAX % wide + 1);
        let long = round_bytes > 8;
        let first = if long { (one << 32).wrapping_add((rest << 32) / wide) } else { one };
        let halves = |number: u128| [(number >> 64) as u64, number as u64];
        let short = (!long).then(|| Fractions52::new(modulus));
        Self { modulus, short, one: halves(one), first: halves(first) }
    }

    /// Returns the fraction of `number` to begin with: what [`Fractions::turn`] adds (if `SEAL`) is
    /// too small by up to twice the loss here; if it subtracts, the difference is too large.
    #[inline(always)]
    pub(crate) fn fraction<const SEAL: bool>(&self, number: u64) -> u64 {
        product(number, self.one).wrapping_add(if SEAL { 3 * LOST } else { LOST })
    }

    /// Returns the fraction of the sum (if `SEAL`) or difference of a number, by its `fraction`,
    /// and what a round takes: of 64 bits, `high`, or (if `LONG`, where there is no `short`) those
    /// 64 and the upper 32 of `low`.
    ///
    /// It is too large by less than seven units of its last bit, so [`Fractions::number`] is right.
    #[inline(always)]
    pub(crate) fn turn<const SEAL: bool, const LONG: bool>(
        &self,
        fraction: u64,
        high: u64,
        low: u64,
    ) -> u64 {
        let mut taken = product(high, self.first);
        if LONG {
            taken = taken.wrapping_add(product(low >> 32, self.one));
        }
        if SEAL { fraction.wrapping_add(taken) } else { fraction.wrapping_sub(taken) }
    }

    /// Returns the number that `fraction` is of; `fraction` may be too large by up to 2^64 over the
    /// modulus, at least 16 units.
    #[inline(always)]
    pub(crate) fn number(&self, fraction: u64) -> u64 {
        upper(fraction, self.modulus)
    }
}

/// Writes the numerals of a number below their radix to the power of their count by way of its
/// `fraction`.
#[inline(always)]
pub(crate) fn to_numerals(fraction: u64, radix: &Radix, numerals: &mut [u16]) {
    let value = u64::from(radix.value);
    let (first, groups) = numerals.split_at_mut(numerals.len() % 4);
    let mut rest = fraction;
    for numeral in first {
        *numeral = upper(rest, value) as u16;
        rest = rest.wrapping_mul(value);
    }
    // groups wait for each other for one product only
    let power = value.wrapping_pow(4);
    for group in groups.as_chunks_mut().0 {
        *group = four(rest, value);
        rest = rest.wrapping_mul(power);
    }
}

/// Returns the first four numerals of `fraction`.
#[inline(always)]
fn four(fraction: u64, radix: u64) -> [u16; 4] {
    let (mut rest, mut numerals) = (fraction, 0);
    for place in 0..4 {
        numerals |= upper(rest, radix) << (16 * place);
        rest = rest.wrapping_mul(radix);
    }
    // one store, which one load of as much can take over
    std::array::from_fn(|place| (numerals >> (16 * place)) as u16)
}

/// Returns `number` times `fraction` after the point, rounded down twice.
#[inline(always)]
fn product(number: u64, fraction: [u64; 2]) -> u64 {
    upper(number, fraction[1]).wrapping_add(number.wrapping_mul(fraction[0]))
}

/// Returns the upper 64 bits of a product.
#[inline(always)]
fn upper(a: u64, b: u64) -> u64 {
    (u128::from(a).wrapping_mul(u128::from(b)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    /// Numbers of 128 bits as a block cipher gives them, and the outermost.
    fn taken() -> Vec<u128> {
        let random = bytes("what a round takes", 16 * 2000);
        let random = random.as_chunks().0.iter().map(|bytes| u128::from_be_bytes(*bytes));
        random.chain([0, 1, u128::MAX, u128::MAX << 64, u128::MAX << 32, u128::MAX >> 1]).collect()
    }

    fn turn<const SEAL: bool>(fractions: &Fractions, number: u64, high: u64, low: u64) -> u64 {
        let fraction = fractions.fraction::<SEAL>(number);
        if fractions.short.is_none() {
            fractions.turn::<SEAL, true>(fraction, high, low)
        } else {
            fractions.turn::<SEAL, false>(fraction, high, low)
        }
    }

    #[test]
    fn sums_and_differences_are_those_of_whole_numbers() {
        let taken = taken();
        for radix in [2_u64, 3, 7, 10, 26, 36, 62, 255, 256, 11_172, 65_535, 65_536] {
            let powers = std::iter::successors(Some(radix), |power| power.checked_mul(radix));
            for (length, modulus) in (1..).zip(powers.take_while(|power| *power <= 1 << 60)) {
                for round_bytes in
                    [8, 12].into_iter().filter(|bytes| *bytes > 8 || modulus <= 1 << 32)
                {
                    let fractions = Fractions::new(modulus, round_bytes);
                    for (i, &taken) in taken.iter().enumerate() {
                        let wide = u128::from(modulus);
                        let remainder = (taken >> (128 - 8 * round_bytes)) % wide;
                        // including values that make a sum of 0 and of the largest number
                        let random = taken.rotate_left(17) % wide;
                        let number = [
                            0,
                            wide - 1,
                            wide / 2,
                            random,
                            (wide - remainder) % wide,
                            wide - 1 - remainder,
                        ][i % 6];
                        let expected =
                            [(number + remainder) % wide, (number + wide - remainder) % wide];
                        let (number, high, low) =
                            (number as u64, (taken >> 64) as u64, taken as u64);
                        let turned = [
                            turn::<true>(&fractions, number, high, low),
                            turn::<false>(&fractions, number, high, low),
                        ];
                        for (turned, expected) in turned.into_iter().zip(expected) {
                            let what = format!(
                                "{number} and {taken:#x} modulo {radix}^{length}, {round_bytes} \
                                 bytes"
                            );
                            assert_eq!(u128::from(fractions.number(turned)), expected, "{what}");
                            let mut numerals = vec![0; length];
                            to_numerals(turned, &Radix::new(radix as u32), &mut numerals);
                            let of_numerals = numerals
                                .iter()
                                .fold(0, |sum, x| sum * u128::from(radix) + u128::from(*x));
                            assert_eq!(of_numerals, expected, "{what}: {numerals:?}");
                        }
                    }
                }
            }
        }
    }
}
