//! Sums and differences modulo a power of the radix, of a number below it and of the output of a
//! round's function.
//!
//! The reduced number is secret, the modulus is not. Quotients are estimated by a multiplication
//! with the modulus' inverse, never too large and at most five too small, and the rest is
//! subtracted without a branch.

/// A modulus of at most 60 bits.
#[derive(Clone, Copy)]
pub(crate) struct Modulus64 {
    pub(crate) value: u64,
    /// 2^64 or, for [`Estimate::Long`], 2^96 over the modulus, rounded down.
    pub(crate) inverse: u64,
    pub(crate) estimate: Estimate,
}

/// Method of estimating a quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Estimate {
    /// Division of 64 bits by at most 2^32.
    Short,
    /// Division of 96 bits by at most 2^32, in two steps: the remainder of the first 64 bits, and
    /// that of it and the rest.
    Twice,
    /// Division of 96 bits by more than 2^32.
    Long,
}

impl Modulus64 {
    /// Returns `value`, of at most 60 bits, for rounds that take `round_bytes` bytes: 8 or 12.
    pub(crate) fn new(value: u64, round_bytes: usize) -> Self {
        let estimate = match (round_bytes, value <= 1 << 32) {
            (8, _) => Estimate::Short,
            (_, true) => Estimate::Twice,
            _ => Estimate::Long,
        };
        let power = if estimate == Estimate::Long { 96 } else { 64 };
        // 2^64 by 2 and more, and 2^96 by more than 2^32, are below 2^64.
        Self { value, inverse: ((1_u128 << power) / u128::from(value)) as u64, estimate }
    }

    /// Returns `number`, below the modulus, plus (if `SEAL`) or minus what a round takes: of 64
    /// bits (`high`), and in all but [`Estimate::Short`] of the upper 32 bits of `low` as well.
    ///
    /// `estimate` is that of the modulus, as a constant so that loops over many numbers have no
    /// branch.
    #[inline(always)]
    pub(crate) fn turn<const SEAL: bool>(
        &self,
        estimate: Estimate,
        number: u64,
        high: u64,
        low: u64,
    ) -> u64 {
        let remainder = match estimate {
            Estimate::Short => self.remainder_short(high),
            Estimate::Twice => {
                let upper = self.settle(self.remainder_short(high));
                self.remainder_short(upper << 32 | low >> 32)
            }
            Estimate::Long => {
                let quotient = high_product(high, self.inverse);
                (high << 32 | low >> 32).wrapping_sub(quotient.wrapping_mul(self.value))
            }
        };
        // a check for overflow, which debugging builds have, would be a branch on the value
        let added = if SEAL { remainder } else { (6 * self.value).wrapping_sub(remainder) };
        self.settle(number.wrapping_add(added))
    }

    /// Returns a number below six times the modulus, which is at most 2^32, congruent to `number`.
    #[inline(always)]
    fn remainder_short(&self, number: u64) -> u64 {
        number.wrapping_sub(high_product(number, self.inverse).wrapping_mul(self.value))
    }

    /// Returns `number`, below eight times the modulus, modulo it. A difference below 0 wraps and
    /// is larger than any number.
    #[inline(always)]
    fn settle(&self, number: u64) -> u64 {
        let number = number.min(number.wrapping_sub(4 * self.value));
        let number = number.min(number.wrapping_sub(2 * self.value));
        number.min(number.wrapping_sub(self.value))
    }
}

/// Returns the upper 64 bits of a product, or at most three less: products of 32 bits alone, which
/// vectors have.
///
/// A quotient estimated by it with an inverse that was rounded down, and a dividend whose lower
/// bits were cut off, is at most five too small.
#[inline(always)]
fn high_product(a: u64, b: u64) -> u64 {
    let (a_low, a_high) = (a & 0xffff_ffff, a >> 32);
    let (b_low, b_high) = (b & 0xffff_ffff, b >> 32);
    let cross = (a_high.wrapping_mul(b_low) >> 32).wrapping_add(a_low.wrapping_mul(b_high) >> 32);
    a_high.wrapping_mul(b_high).wrapping_add(cross)
}

/// A modulus of at most 96 bits.
#[derive(Clone, Copy)]
pub(crate) struct Modulus128 {
    pub(crate) value: u128,
    /// 2^128 over the modulus, rounded down.
    inverse: u128,
    /// By how much what a round takes is shifted, of 128 bits.
    shift: u32,
}

impl Modulus128 {
    /// Returns `value`, of at most 96 bits, for rounds that take `round_bytes` bytes: 12 or 16.
    pub(crate) fn new(value: u128, round_bytes: usize) -> Self {
        // 2^128 is no multiple of 3, but of 2: the quotient of 2^128 - 1 is one less where the
        // modulus divides 2^128.
        let inverse = u128::MAX / value + u128::from(value.is_power_of_two());
        Self { value, inverse, shift: 128 - 8 * round_bytes as u32 }
    }

    /// Returns `number`, below the modulus, plus (if `SEAL`) or minus what a round takes, the first
    /// bytes of `taken`.
    #[inline(always)]
    pub(crate) fn turn<const SEAL: bool>(&self, number: u128, taken: u128) -> u128 {
        let taken = taken >> self.shift;
        // at most one too small
        let quotient = high_product_128(taken, self.inverse);
        let remainder = taken.wrapping_sub(quotient.wrapping_mul(self.value));
        let added = if SEAL { remainder } else { (2 * self.value).wrapping_sub(remainder) };
        let sum = number.wrapping_add(added);
        let sum = least(sum, sum.wrapping_sub(2 * self.value));
        least(sum, sum.wrapping_sub(self.value))
    }
}

/// Returns `b`, unless it wrapped below 0; then `a`. Comparing 128 bits might become a branch.
#[inline(always)]
fn least(a: u128, b: u128) -> u128 {
    let wrapped = 0_u128.wrapping_sub(b >> 127);
    a & wrapped | b & !wrapped
}

/// Returns the upper 128 bits of a product.
#[inline(always)]
fn high_product_128(a: u128, b: u128) -> u128 {
    let halves = |x: u128| (x & u128::from(u64::MAX), x >> 64);
    let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
    let (low, cross_a, cross_b) =
        (a_low.wrapping_mul(b_low), a_high.wrapping_mul(b_low), a_low.wrapping_mul(b_high));
    let middle = (low >> 64).wrapping_add(halves(cross_a).0).wrapping_add(halves(cross_b).0);
    let upper = (cross_a >> 64).wrapping_add(cross_b >> 64).wrapping_add(middle >> 64);
    a_high.wrapping_mul(b_high).wrapping_add(upper)
}

/// Returns the quotient and remainder of `number`, below 2^97, by `divisor` of more than 2^44, with
/// 2^128 over it, rounded down.
#[inline(always)]
pub(crate) fn divide(number: u128, divisor: u64, inverse: u128) -> (u64, u64) {
    // at most one too small
    let quotient = high_product_128(number, inverse) as u64;
    let remainder = (number as u64).wrapping_sub(quotient.wrapping_mul(divisor));
    // both below 2^61, so that the highest bit of their difference shows which is larger
    let less = remainder.wrapping_sub(divisor);
    let stays = 0_u64.wrapping_sub(less >> 63);
    (quotient.wrapping_add(1).wrapping_add(stays), remainder & stays | less & !stays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::bytes;

    /// Numbers that are likely to need every correction, and others.
    fn taken() -> Vec<u128> {
        let random = bytes("what a round takes", 16 * 3000);
        let random = random.as_chunks().0.iter().map(|bytes| u128::from_be_bytes(*bytes));
        random.chain([0, 1, u128::MAX, u128::MAX << 64, u128::MAX << 32, u128::MAX >> 1]).collect()
    }

    fn moduli(bits: u32) -> impl Iterator<Item = u128> {
        let powers = [2_u128, 3, 7, 10, 26, 36, 62, 255, 256, 11_172, 65_535, 65_536]
            .into_iter()
            .flat_map(move |radix| {
                std::iter::successors(Some(radix), move |power| power.checked_mul(radix))
                    .take_while(move |power| *power <= 1 << bits)
            });
        powers.chain([(1 << bits) - 1, (1 << 32) - 1, (1 << 32) + 1])
    }

    #[test]
    fn sums_and_differences_are_those_of_whole_numbers() {
        let taken = taken();
        for round_bytes in [8, 12, 16] {
            for value in moduli(60).filter(|value| round_bytes > 8 || *value <= 1 << 32) {
                let wide = Modulus128::new(value, round_bytes);
                let narrow = (round_bytes < 16).then(|| Modulus64::new(value as u64, round_bytes));
                for (i, &taken) in taken.iter().enumerate() {
                    let number = [0, value - 1, value / 2, taken.rotate_left(17) % value][i % 4];
                    let remainder = (taken >> (128 - 8 * round_bytes)) % value;
                    let (sum, difference) =
                        ((number + remainder) % value, (number + value - remainder) % value);
                    assert_eq!(
                        wide.turn::<true>(number, taken),
                        sum,
                        "{value}: {number} + {taken}"
                    );
                    assert_eq!(
                        wide.turn::<false>(number, taken),
                        difference,
                        "{value}: {number} - {taken}"
                    );
                    let Some(narrow) = narrow else { continue };
                    let (high, low) = ((taken >> 64) as u64, taken as u64);
                    let turned = narrow.turn::<true>(narrow.estimate, number as u64, high, low);
                    assert_eq!(
                        u128::from(turned),
                        sum,
                        "{value}: {number} + {taken}, {:?}",
                        narrow.estimate
                    );
                    let turned = narrow.turn::<false>(narrow.estimate, number as u64, high, low);
                    assert_eq!(
                        u128::from(turned),
                        difference,
                        "{value}: {number} - {taken}, {:?}",
                        narrow.estimate
                    );
                }
            }
        }
    }

    #[test]
    fn the_largest_moduli_are_right_too() {
        for value in [(1 << 96) - 1, 1 << 96, (1 << 96) - (1 << 40) - 17, 10_u128.pow(28)] {
            let modulus = Modulus128::new(value, 16);
            for (i, &taken) in taken().iter().enumerate() {
                let number = [0, value - 1, value / 2, taken.rotate_left(17) % value][i % 4];
                let (sum, difference) =
                    ((number + taken % value) % value, (number + value - taken % value) % value);
                assert_eq!(modulus.turn::<true>(number, taken), sum, "{value}: {number} + {taken}");
                assert_eq!(
                    modulus.turn::<false>(number, taken),
                    difference,
                    "{value}: {number} - {taken}"
                );
            }
        }
    }
}
