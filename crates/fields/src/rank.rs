//! Numbers below a bound as numerals of FF1: the smallest radix whose power holds them all, so that
//! few numerals are out of bounds and cycle-walking hardly ever takes a second step.

/// Largest numeral plus one: the largest radix of FF1.
const RADIX_MAX: u128 = 1 << 16;

/// The numbers from 0 to `count` - 1 as `length` numerals of `radix`, most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranks {
    pub(crate) count: u128,
    pub(crate) radix: u32,
    pub(crate) length: usize,
}

impl Ranks {
    /// Longest that `count` may be, in bits.
    pub(crate) const BITS_MAX: u32 = 112;

    /// Makes ranks for numbers below `count`, from 1 to 2^[`Ranks::BITS_MAX`].
    pub(crate) fn below(count: u128) -> Self {
        debug_assert!(count > 0 && count <= 1 << Self::BITS_MAX);
        // FF1 takes two numerals at least
        let length = (2..)
            .find(|&length| RADIX_MAX.pow(length) >= count)
            .expect("seven numerals hold 112 bits");
        let (mut low, mut high) = (2, RADIX_MAX);
        while low < high {
            let middle = (low + high) / 2;
            if middle.pow(length) >= count { high = middle } else { low = middle + 1 }
        }
        Self { count, radix: low as u32, length: length as usize }
    }

    /// Appends the numerals of `rank`, which is below `count`.
    pub(crate) fn write(&self, rank: u128, into: &mut Vec<u16>) {
        let start = into.len();
        into.resize(start + self.length, 0);
        let mut left = rank;
        for numeral in into[start..].iter_mut().rev() {
            *numeral = (left % u128::from(self.radix)) as u16;
            left /= u128::from(self.radix);
        }
    }

    /// Returns the number that `numerals` are; it may be `count` or more.
    pub(crate) fn read(&self, numerals: &[u16]) -> u128 {
        numerals
            .iter()
            .fold(0, |rank, &numeral| rank * u128::from(self.radix) + u128::from(numeral))
    }

    /// Returns whether `numerals` represent a number below `count`.
    pub(crate) fn holds(&self, numerals: &[u16]) -> bool {
        self.read(numerals) < self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numerals_and_back() {
        for count in [
            1,
            2,
            5,
            10,
            99,
            1_000_000,
            47_482,
            29_219_600_000,
            1 << 100,
            (1 << 112) - 17,
            1 << 112,
        ] {
            let ranks = Ranks::below(count);
            let power =
                u128::from(ranks.radix).checked_pow(ranks.length as u32).unwrap_or(u128::MAX);
            assert!(power >= count, "{count}");
            for rank in
                [0, 1, count / 3, count / 2, count - 1].into_iter().filter(|rank| *rank < count)
            {
                let mut numerals = vec![7];
                ranks.write(rank, &mut numerals);
                assert_eq!(numerals.len(), 1 + ranks.length);
                assert_eq!(ranks.read(&numerals[1..]), rank);
                assert!(ranks.holds(&numerals[1..]));
            }
        }
    }

    /// So the expected number of steps of a walk, the power of the radix through the count, is
    /// hardly more than one.
    #[test]
    fn little_is_out_of_bounds() {
        for count in [1_000_000u128, 47_482 * 1000, 29_219_600_000, 262_976_400_000, 1 << 100] {
            let ranks = Ranks::below(count);
            let steps = (ranks.radix as f64).powi(ranks.length as i32) / count as f64;
            assert!((1.0..1.02).contains(&steps), "{count}: {steps}");
        }
    }
}
