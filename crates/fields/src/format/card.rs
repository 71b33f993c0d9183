//! Payment card numbers: the issuer's digits and the last digits stay, and the check digit (Luhn,
//! ISO/IEC 7812-1) stays right.

use crate::misfit::{Misfit, character};
use crate::shape::{Shape, Taken, Word};

/// Digits of a card number (ISO/IEC 7812-1).
const DIGITS: std::ops::RangeInclusive<usize> = 12..=19;

/// `1234 5678 9012 3456`.
#[derive(Debug)]
pub(crate) struct Card {
    /// Digits at the beginning that stay: the issuer's.
    pub(crate) first: usize,
    /// Digits at the end that stay; if none, the check digit is recomputed.
    pub(crate) last: usize,
}

impl Card {
    /// Returns the range of `count` digits that is encrypted.
    fn sealed(&self, count: usize) -> std::ops::Range<usize> {
        self.first..count - self.last.max(1)
    }

    /// Returns the digits of `value` with `numerals` in their place.
    fn replaced(&self, value: &str, numerals: &[u16]) -> Vec<u8> {
        let mut digits: Vec<u8> =
            value.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        let sealed = self.sealed(digits.len());
        for (digit, numeral) in digits[sealed].iter_mut().zip(numerals) {
            *digit = *numeral as u8;
        }
        digits
    }
}

/// Returns the number to add to make the sum of all digits a multiple of ten; the last digit counts
/// once.
fn missing(digits: &[u8]) -> u8 {
    let doubled = |digit: u8| if digit < 5 { 2 * digit } else { 2 * digit - 9 };
    let places = digits.iter().rev().enumerate();
    let sum: u32 = places
        .map(|(at, &digit)| u32::from(if at % 2 == 1 { doubled(digit) } else { digit }))
        .sum();
    ((10 - sum % 10) % 10) as u8
}

impl Shape for Card {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: 10, values: None }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let mut digits = Vec::with_capacity(19);
        let mut last_at = 0;
        for (at, c) in value.chars().enumerate() {
            match c.to_digit(10) {
                Some(digit) => {
                    digits.push(digit as u8);
                    last_at = at + 1;
                }
                None if c == ' ' || c == '-' => {}
                None => return Err(character(at + 1, c, "a digit, a space or '-'")),
            }
        }
        if !DIGITS.contains(&digits.len()) {
            let expected = format!("{} to {}", DIGITS.start(), DIGITS.end()).into();
            return Err(Misfit::Length { found: digits.len(), what: "digits", expected });
        }
        if missing(&digits) != 0 {
            return Err(Misfit::CheckDigit { position: last_at });
        }
        let sealed = self.sealed(digits.len());
        let kept = digits[..sealed.start].iter().chain(&digits[digits.len() - self.last..]);
        into.kept.extend(kept.map(|digit| char::from(b'0' + digit)));
        into.numerals.extend(digits[sealed].iter().map(|&digit| u16::from(digit)));
        Ok(0)
    }

    fn accepts(&self, value: &str, _word: usize, numerals: &[u16]) -> bool {
        self.last == 0 || missing(&self.replaced(value, numerals)) == 0
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let mut digits = self.replaced(value, numerals);
        if self.last == 0
            && let Some(last) = digits.last_mut()
        {
            *last = 0;
            let check = missing(&digits);
            digits.pop();
            digits.push(check);
        }
        let mut next = digits.iter();
        for c in value.chars() {
            match c.is_ascii_digit().then(|| next.next()).flatten() {
                Some(digit) => out.push(char::from(b'0' + digit)),
                None => out.push(c),
            }
        }
    }

    fn choices(&self, _word: usize, length: usize) -> f64 {
        // of ten numbers, one has the check digit that stays
        10f64.powi(length as i32 - i32::from(self.last > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number that ISO/IEC 7812-1 and every text on the formula computes as an example, and
    /// issuers' test numbers.
    #[test]
    fn check_digits_are_those_of_luhn() {
        for good in ["79927398713", "4111111111111111", "378282246310005", "5555555555554444"] {
            let digits: Vec<u8> = good.bytes().map(|digit| digit - b'0').collect();
            assert_eq!(missing(&digits), 0, "{good}");
            for at in 0..digits.len() {
                let mut other = digits.clone();
                other[at] = (other[at] + 1) % 10;
                assert_ne!(missing(&other), 0, "{good}, digit {at}");
            }
        }
    }
}
