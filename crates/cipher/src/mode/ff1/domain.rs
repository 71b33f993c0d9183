//! Rules for values: how many of one length there must be at least, and which numerals they are
//! made of.

use super::error::Ff1Error;
use crate::declassify::revealed;

/// Minimum number of values of one length. A value is hidden only among the values of its length,
/// and with few of them attacks on FF1 itself become practical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// As the standard demands: radix^length of at least [`Domain::STANDARD_VALUES`].
    ///
    /// Source: SP 800-38G Revision 1, second public draft (2025), 4: requirement 3 on radix and
    /// minlen.
    Standard,
    /// Fewer than that: for old data, tests, and unavoidable cases. It meets no standard where it
    /// matters.
    AllowSmall {
        /// Values of one length that there must be at least. Lengths are always at least 2.
        least_values: u64,
    },
}

impl Domain {
    /// The least number of values of one length by the standard.
    pub const STANDARD_VALUES: u64 = 1_000_000;

    /// Returns the shortest length allowed in `radix`, in numerals.
    pub(super) fn length_min(self, radix: u32) -> usize {
        let least = match self {
            Self::Standard => Self::STANDARD_VALUES,
            Self::AllowSmall { least_values } => least_values,
        };
        let powers = std::iter::successors(Some(u64::from(radix)), |power| {
            Some(power.saturating_mul(radix.into()))
        });
        1 + powers.skip(1).take_while(|power| *power < least).count() + 1
    }
}

/// Checks that all of `values`, of `length` numerals each, are numerals of `radix`.
pub(super) fn check_symbols(values: &[u16], length: usize, radix: u32) -> Result<(), Ff1Error> {
    let is_numeral = |symbol: &u16| u32::from(*symbol) < radix;
    // The usual case is decided without a branch for each numeral; which one is wrong is looked for
    // only if one is. That and where is what the caller learns.
    let largest = (radix - 1) as u16;
    let excess = values.iter().fold(0, |excess, symbol| excess | symbol.saturating_sub(largest));
    if revealed(u8::from(excess != 0)) == 0 {
        return Ok(());
    }
    let at = values.iter().position(|symbol| !is_numeral(symbol)).expect("one is wrong");
    Err(Ff1Error::Symbol { value: at / length, position: at % length, found: values[at], radix })
}
