//! Values in one alphabet, all of which is encrypted.

use crate::alphabet::Alphabet;
use crate::misfit::{Misfit, character};
use crate::shape::{Shape, Taken, Word};

/// Every character is of one alphabet.
#[derive(Debug)]
pub(crate) struct Uniform {
    pub(crate) alphabet: Alphabet,
}

impl Shape for Uniform {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: self.alphabet.radix(), values: None }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        for (at, c) in value.chars().enumerate() {
            let numeral = self.alphabet.numeral(c);
            into.numerals
                .push(numeral.ok_or_else(|| character(at + 1, c, self.alphabet.one().to_owned()))?);
        }
        Ok(0)
    }

    fn put(&self, _value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        out.extend(numerals.iter().map(|&numeral| self.alphabet.character(numeral)));
    }
}
