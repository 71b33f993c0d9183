//! Lengths of scans and fields: a number from a range, or from a column of real values.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::csv_column::Column;
use super::definition::Spread;
use super::distribution::{THETA, Zipfian, stream};

/// Source of lengths.
#[derive(Clone, Debug)]
pub(super) enum Lengths {
    Constant(u64),
    Uniform {
        least: u64,
        most: u64,
    },
    Zipfian {
        least: u64,
        most: u64,
        above: Zipfian,
    },
    /// Lengths of the values of a column.
    Values {
        lengths: Vec<u32>,
        most: u64,
    },
}

impl Lengths {
    /// Makes lengths from `least` to `most`, drawn with `spread`.
    pub(super) fn new(spread: Spread, least: u64, most: u64) -> Self {
        match spread {
            Spread::Constant | Spread::Column => Self::Constant(most),
            Spread::Uniform => Self::Uniform { least, most },
            Spread::Zipfian => {
                Self::Zipfian { least, most, above: Zipfian::new(most - least + 1, THETA) }
            }
        }
    }

    /// Takes the lengths of the values of `column`, each as often as there.
    pub(super) fn of(column: &Column) -> Self {
        let lengths: Vec<u32> =
            (0..column.rows()).map(|row| column.value(row).len() as u32).collect();
        let most = lengths.iter().copied().max().unwrap_or_default().into();
        Self::Values { lengths, most }
    }

    /// Draws one; a constant takes no random number.
    #[inline]
    pub(super) fn draw(&self, random: &mut SmallRng) -> u64 {
        match self {
            Self::Constant(length) => *length,
            Self::Uniform { least, most } => random.random_range(*least..=*most),
            Self::Zipfian { least, above, .. } => least + above.rank(random.random()),
            Self::Values { lengths, .. } => lengths[random.random_range(0..lengths.len())].into(),
        }
    }

    /// Returns the longest there can be.
    pub(super) fn most(&self) -> u64 {
        match self {
            Self::Constant(most)
            | Self::Uniform { most, .. }
            | Self::Zipfian { most, .. }
            | Self::Values { most, .. } => *most,
        }
    }

    /// Returns the mean; of a zipfian that of many draws.
    pub(super) fn mean(&self) -> f64 {
        const DRAWS: u32 = 10_000;
        match self {
            Self::Constant(length) => *length as f64,
            Self::Uniform { least, most } => (*least + *most) as f64 / 2.0,
            Self::Values { lengths, .. } => {
                lengths.iter().map(|&length| f64::from(length)).sum::<f64>()
                    / lengths.len().max(1) as f64
            }
            Self::Zipfian { .. } => {
                let mut random = stream(0, "mean", &[]);
                (0..DRAWS).map(|_| self.draw(&mut random) as f64).sum::<f64>() / f64::from(DRAWS)
            }
        }
    }
}
