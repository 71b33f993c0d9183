//! Telephone numbers: the first digits and everything that is no digit stay.

use crate::misfit::{Misfit, character};
use crate::shape::{Shape, Taken, Word};

/// Characters that may appear between the digits.
const BETWEEN: &str = "+-() ./";
/// Most digits of a number (ITU-T E.164), and an international prefix.
const DIGITS_MAX: usize = 20;

/// `010-1234-5678`.
#[derive(Debug)]
pub(crate) struct Phone {
    /// Number of digits that stay in the clear.
    pub(crate) keep: usize,
}

impl Shape for Phone {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: 10, values: None }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let mut digits = 0;
        for (at, c) in value.chars().enumerate() {
            match c.to_digit(10) {
                Some(_) if digits < self.keep => into.kept.push(c),
                Some(digit) => into.numerals.push(digit as u16),
                None if BETWEEN.contains(c) => continue,
                None => {
                    return Err(character(
                        at + 1,
                        c,
                        "a digit, or one of + - ( ) . / and the space",
                    ));
                }
            }
            digits += 1;
        }
        if digits > DIGITS_MAX {
            let expected = format!("at most {DIGITS_MAX}").into();
            return Err(Misfit::Length { found: digits, what: "digits", expected });
        }
        Ok(0)
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let mut next = numerals.iter();
        let mut digits = 0;
        for c in value.chars() {
            let is_digit = c.is_ascii_digit();
            digits += usize::from(is_digit);
            match next.as_slice() {
                [numeral, ..] if is_digit && digits > self.keep => {
                    out.push(char::from(b'0' + *numeral as u8));
                    next.next();
                }
                _ => out.push(c),
            }
        }
    }
}
