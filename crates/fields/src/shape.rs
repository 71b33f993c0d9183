//! Operations of a format on a value: it takes out the encrypted part as numerals, and puts other
//! numerals in their place.

use std::fmt;

use crate::misfit::Misfit;

/// Parts taken out of a value. Reused from value to value.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The encrypted part, as numerals.
    pub(crate) numerals: Vec<u16>,
    /// Part that stays in the clear and belongs to the value: the tweak, so that each has its own
    /// permutation.
    pub(crate) kept: String,
}

impl Taken {
    pub(crate) fn clear(&mut self) {
        self.numerals.clear();
        self.kept.clear();
    }
}

/// A set of numerals that FF1 permutes: each value of a format belongs to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Word {
    /// Number of values that a numeral can have: 2 to 65,536.
    pub(crate) radix: u32,
    /// Number of possible values in all, where that does not depend on the length of the value.
    pub(crate) values: Option<f64>,
}

/// One format, ready to use.
pub(crate) trait Shape: fmt::Debug + Send + Sync {
    /// Returns the words of this format, at least one.
    fn words(&self) -> Vec<Word>;

    /// Takes `value` apart into `into`, which is empty; returns the number of its word.
    ///
    /// # Errors
    /// A value that does not fit.
    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit>;

    /// Returns whether `numerals` stand for a value of this format, together with what `value`
    /// keeps: FF1 is repeated until they do (cycle-walking). `word` is what `take` returned for
    /// `value`.
    fn accepts(&self, _value: &str, _word: usize, _numerals: &[u16]) -> bool {
        true
    }

    /// Appends `value`, which was taken apart, with `numerals` in place of its own.
    fn put(&self, value: &str, word: usize, numerals: &[u16], out: &mut String);

    /// Computes the number of possible values for a value of `word` with `length` numerals, if
    /// everything that is kept is equal.
    fn choices(&self, word: usize, length: usize) -> f64 {
        let word = self.words()[word];
        word.values.unwrap_or_else(|| f64::from(word.radix).powi(length as i32))
    }
}
