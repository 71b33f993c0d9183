//! Data of a key for code that computes FF1 elsewhere, for example on a device: the values that
//! follow from radix and length, and the states of the round function after the common input of a
//! value's rounds.

use zeroize::Zeroizing;

use super::error::Ff1Error;
use super::round::{Mac, zeros};
use super::tweaks::Tweaks;
use super::{Ff1, Keyed, Shape};
use crate::mode::ff1_value::shape::Numbers;

/// Values that follow from radix and length (SP 800-38G, algorithm 7, steps 1 to 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Numerals of the left half: u, the smaller one.
    pub left: usize,
    /// Numerals of the right half: v.
    pub right: usize,
    /// Bytes of a half as a number: b.
    pub number_bytes: usize,
    /// Bytes that a round takes from its function: d, at most 16.
    pub round_bytes: usize,
}

impl Outline {
    /// Returns the number of zeros between a tweak of `tweak_bytes` bytes and the number of a
    /// round: they pad both and a half's number to whole blocks of 16 bytes.
    #[must_use]
    pub fn zeros(&self, tweak_bytes: usize) -> usize {
        zeros(self.number_bytes, tweak_bytes)
    }
}

impl Ff1 {
    /// Returns the outline of values of `length` numerals, at least 2; none where half a value has
    /// more than 96 bits.
    #[must_use]
    pub fn outline(&self, length: usize) -> Option<Outline> {
        let shape = self.shapes.get(length.checked_sub(2)?)?;
        let (left, right) = (shape.left, length - shape.left);
        let outline = Outline {
            left,
            right,
            number_bytes: shape.number_bytes,
            round_bytes: shape.round_bytes,
        };
        (!matches!(shape.numbers, Numbers::Wide)).then_some(outline)
    }

    /// Returns the length of the cipher's blocks in bytes: 8 or 16.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        match self.cipher {
            Keyed::Block128(_) => 16,
            Keyed::Block64(_) => 8,
        }
    }

    /// Checks whether [`Ff1::seal_batch`] and [`Ff1::open_batch`] would take `values` and `tweaks`.
    ///
    /// # Errors
    /// Theirs.
    pub fn check_batch(
        &self,
        tweaks: Tweaks<'_>,
        values: &[u16],
        length: usize,
    ) -> Result<(), Ff1Error> {
        self.check(&tweaks, values, length)
    }

    /// Returns the round function's state, a block in the first bytes, after the input before a
    /// tweak of `tweak_bytes` bytes. It is secret.
    ///
    /// # Panics
    /// If there is no outline for `length`; so does [`Ff1::state_after_tweak`].
    #[must_use]
    pub fn state_before_tweak(&self, length: usize, tweak_bytes: usize) -> Zeroizing<[u8; 16]> {
        self.state(length, |shape| match &self.cipher {
            Keyed::Block128(over) => {
                in_first_bytes(Mac::before_tweak(&*over.cipher, shape, tweak_bytes))
            }
            Keyed::Block64(over) => {
                in_first_bytes(Mac::before_tweak(&*over.cipher, shape, tweak_bytes))
            }
        })
    }

    /// Returns the state after `tweak` and the zeros behind it: the numbers of a round and of a
    /// half are added to it.
    #[must_use]
    pub fn state_after_tweak(&self, length: usize, tweak: &[u8]) -> Zeroizing<[u8; 16]> {
        self.state(length, |shape| match &self.cipher {
            Keyed::Block128(over) => in_first_bytes(Mac::of_tweak(&*over.cipher, shape, tweak)),
            Keyed::Block64(over) => in_first_bytes(Mac::of_tweak(&*over.cipher, shape, tweak)),
        })
    }

    fn state(
        &self,
        length: usize,
        of: impl FnOnce(&Shape) -> Zeroizing<[u8; 16]>,
    ) -> Zeroizing<[u8; 16]> {
        of(self.shapes.get(length - 2).expect("a length that has an outline"))
    }
}

fn in_first_bytes<const N: usize>(mac: Mac<'_, N>) -> Zeroizing<[u8; 16]> {
    let (mut state, mut bytes) = (Zeroizing::new([0; N]), Zeroizing::new([0; 16]));
    mac.finish(&mut state);
    bytes[..N].copy_from_slice(&*state);
    bytes
}
