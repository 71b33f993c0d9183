//! Errors of a call of FF1: which value, which numeral of it, the value found and the values
//! allowed.
//!
//! No message shows more of a value than the numeral that is not one of the radix.

use crate::mode::ff1_value::bounds::{RADIX_MAX, RADIX_MIN, TWEAK_BYTES_MAX};

/// Error of a call of FF1. Values are untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ff1Error {
    /// There is no FF1 over this cipher.
    #[error(
        "FF1 over {name}: its blocks have 64 bits, and FF1 is defined for 128; take aes-256 or \
         aria-256, or pipo-256 for the experimental construction over 64 bits"
    )]
    Cipher {
        /// Name of the cipher.
        name: &'static str,
    },
    /// The module has no FF1.
    #[error(transparent)]
    Module(crate::error::Error),
    /// The key has the wrong length.
    #[error("key of {found} bytes, want {want}")]
    KeyLength {
        /// Length given, in bytes.
        found: usize,
        /// The required length, in bytes.
        want: usize,
    },
    /// The radix is out of range.
    #[error("radix {found}, must be {RADIX_MIN} to {RADIX_MAX}")]
    Radix {
        /// The radix given.
        found: u32,
    },
    /// A value is so short that there are too few of its length, or longer than any may be.
    #[error("value of {found} numerals in radix {radix}, must have {least} to {most}{}",
        too_few(*found, *least))]
    Length {
        /// Length given, in numerals.
        found: usize,
        /// The shortest length allowed, in numerals: that of a large enough domain.
        least: usize,
        /// The longest length allowed, in numerals:
        /// [`LENGTH_MAX`](crate::mode::ff1_value::bounds::LENGTH_MAX).
        most: usize,
        /// The radix.
        radix: u32,
    },
    /// The buffer holds no whole number of values.
    #[error("{found} numerals are not whole values of {length}")]
    Values {
        /// Numerals given.
        found: usize,
        /// Length of a value, in numerals.
        length: usize,
    },
    /// Something in a value is no numeral of the radix.
    #[error("value {value} has {found} at position {position}, and numerals of radix {radix} are 0 \
             to {}", radix - 1)]
    Symbol {
        /// Index of the value, from 0 on.
        value: usize,
        /// Position in the value, from 0 on.
        position: usize,
        /// Numeral found there.
        found: u16,
        /// The radix.
        radix: u32,
    },
    /// A tweak is too long.
    #[error("tweak of {found} bytes for value {value}, at most {TWEAK_BYTES_MAX}")]
    TweakLength {
        /// Index of the value, from 0 on; 0 where all have the same tweak.
        value: usize,
        /// Length given, in bytes.
        found: usize,
    },
    /// There are not as many tweaks as values.
    #[error("{found} tweaks for {want} values")]
    Tweaks {
        /// Tweaks given.
        found: usize,
        /// Values given.
        want: usize,
    },
    /// The bytes of all tweaks are not as many as all values need.
    #[error(
        "{found} bytes of tweaks for {values} values, each with a tweak of {tweak_bytes} bytes"
    )]
    PackedTweaks {
        /// Bytes given.
        found: usize,
        /// Length of a tweak, in bytes.
        tweak_bytes: usize,
        /// Values given.
        values: usize,
    },
}

/// Explains why a length is too short.
fn too_few(found: usize, least: usize) -> &'static str {
    if found < least { ": shorter ones are too few to hide among" } else { "" }
}
