//! The tweaks of one value and of many.

use std::ops::Range;

use super::error::Ff1Error;
use crate::mode::ff1_value::bounds::TWEAK_BYTES_MAX;

/// The tweaks of a batch. A tweak is not secret.
#[derive(Clone, Copy, Debug)]
pub enum Tweaks<'a> {
    /// One for all values: equal values give equal values.
    One(&'a [u8]),
    /// One for each value, of any lengths.
    Each(&'a [&'a [u8]]),
    /// One for each value, all as long, one after the other: row ids, for example.
    Packed {
        /// All of them, `tweak_bytes` for each value.
        bytes: &'a [u8],
        /// Length of each, in bytes.
        tweak_bytes: usize,
    },
}

impl<'a> Tweaks<'a> {
    /// Returns the tweak of value `index`.
    ///
    /// # Panics
    /// If there is none; so does [`Tweaks::of`].
    #[must_use]
    pub fn get(&self, index: usize) -> &'a [u8] {
        match *self {
            Self::One(tweak) => tweak,
            Self::Each(tweaks) => tweaks[index],
            Self::Packed { bytes, tweak_bytes } => &bytes[index * tweak_bytes..][..tweak_bytes],
        }
    }

    /// Returns the tweaks of `values` alone.
    #[must_use]
    pub fn of(&self, values: Range<usize>) -> Self {
        match *self {
            Self::One(tweak) => Self::One(tweak),
            Self::Each(tweaks) => Self::Each(&tweaks[values]),
            Self::Packed { bytes, tweak_bytes } => Self::Packed {
                bytes: &bytes[values.start * tweak_bytes..values.end * tweak_bytes],
                tweak_bytes,
            },
        }
    }

    /// Checks that there is a tweak for each of `values` values, none of them too long.
    pub(super) fn check(&self, values: usize) -> Result<(), Ff1Error> {
        match *self {
            Self::One(tweak) => check_tweak(0, tweak.len()),
            Self::Each(tweaks) => {
                if tweaks.len() != values {
                    return Err(Ff1Error::Tweaks { found: tweaks.len(), want: values });
                }
                tweaks
                    .iter()
                    .enumerate()
                    .try_for_each(|(value, tweak)| check_tweak(value, tweak.len()))
            }
            Self::Packed { bytes, tweak_bytes } => {
                check_tweak(0, tweak_bytes)?;
                if values.checked_mul(tweak_bytes) != Some(bytes.len()) {
                    return Err(Ff1Error::PackedTweaks { found: bytes.len(), tweak_bytes, values });
                }
                Ok(())
            }
        }
    }
}

fn check_tweak(value: usize, found: usize) -> Result<(), Ff1Error> {
    if found as u64 > TWEAK_BYTES_MAX {
        Err(Ff1Error::TweakLength { value, found })
    } else {
        Ok(())
    }
}
