//! Korean resident registration numbers, including foreigners': the birth date becomes another
//! valid date or stays, and a right check digit stays right. In numbers issued since October 2020
//! the last digit checks nothing; a wrong digit therefore stays wrong.

use crate::calendar::Day;
use crate::misfit::{Misfit, character};
use crate::rank::Ranks;
use crate::shape::{Shape, Taken, Word};

/// Digits of a number.
const DIGITS: usize = 13;
/// Weights of the first twelve digits in the check digit.
const WEIGHTS: [u32; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];
/// Number of values that the five digits after the seventh can have.
const SERIALS: u128 = 100_000;
/// Sex, and whether a foreigner: seventh digits of one century.
const SEVENTHS: u128 = 4;
/// The word of numbers whose check digit is right.
const CHECKED: usize = 0;
/// The word of numbers with another last digit.
const UNCHECKED: usize = 1;

/// `870605-1234567`, and the same without the hyphen.
#[derive(Debug)]
pub(crate) struct Resident {
    /// True if the first seven digits, birth date and sex, stay in the clear.
    keeps_birth: bool,
    first: Day,
    checked: Ranks,
    unchecked: Ranks,
}

impl Resident {
    pub(crate) fn new(keeps_birth: bool) -> Self {
        let day = |year, month, day| Day::new(year, month, day).expect("a day");
        let (first, last) = (day(1900, 1, 1), day(2099, 12, 31));
        let days = u128::from(last.number() - first.number() + 1);
        let checked = days * SEVENTHS * SERIALS;
        Self {
            keeps_birth,
            first,
            checked: Ranks::below(checked),
            unchecked: Ranks::below(checked * 9),
        }
    }

    fn ranks(&self, word: usize) -> Ranks {
        if word == CHECKED { self.checked } else { self.unchecked }
    }

    /// Returns the number that `numerals` stand for.
    fn number(&self, word: usize, numerals: &[u16]) -> [u8; DIGITS] {
        let mut rank = self.ranks(word).read(numerals);
        let mut next = |count: u128| {
            let part = (rank % count) as u32;
            rank /= count;
            part
        };
        let off_by = if word == CHECKED { 0 } else { next(9) + 1 };
        let (serial, seventh) = (next(SERIALS), next(SEVENTHS));
        let day = Day::of(self.first.number() + rank as u32);
        let after_1999 = u32::from(day.year >= 2000);
        let seventh = 1 + seventh % 2 + 4 * (seventh / 2) + 2 * after_1999;
        let date = day.year % 100 * 10_000 + day.month * 100 + day.day;
        let mut digits = [0; DIGITS];
        let mut put = |from: usize, count: usize, mut number: u32| {
            for digit in digits[from..from + count].iter_mut().rev() {
                *digit = (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 6, date);
        put(6, 1, seventh);
        put(7, 5, serial);
        digits[12] = (check_digit(&digits) + off_by as u8) % 10;
        digits
    }
}

/// Returns the check digit of a number: that of a foreigner is two more.
fn check_digit(digits: &[u8; DIGITS]) -> u8 {
    let sum: u32 =
        digits.iter().zip(WEIGHTS).map(|(&digit, weight)| u32::from(digit) * weight).sum();
    let foreign = if digits[6] >= 5 { 2 } else { 0 };
    ((11 - sum % 11 + foreign) % 10) as u8
}

/// Returns the digits of `value`, and the day of birth.
fn read(value: &str) -> Result<([u8; DIGITS], Day), Misfit> {
    let length = value.chars().count();
    let has_hyphen = length == DIGITS + 1;
    if length != DIGITS && !has_hyphen {
        return Err(Misfit::Length {
            found: length,
            what: "characters",
            expected: "13, or 14 with a hyphen".into(),
        });
    }
    let mut digits = [0; DIGITS];
    let mut next = 0;
    for (at, c) in value.chars().enumerate() {
        if has_hyphen && at == 6 {
            if c != '-' {
                return Err(character(at + 1, c, "'-'"));
            }
            continue;
        }
        digits[next] = c.to_digit(10).ok_or_else(|| character(at + 1, c, "a digit"))? as u8;
        next += 1;
    }
    let century = match digits[6] {
        1 | 2 | 5 | 6 => 1900,
        3 | 4 | 7 | 8 => 2000,
        _ => return Err(character(7 + usize::from(has_hyphen), '0', "a digit from 1 to 8")),
    };
    let two = |at: usize| u32::from(digits[at]) * 10 + u32::from(digits[at + 1]);
    let day =
        Day::new(century + two(0), two(2), two(4)).ok_or(Misfit::NoDate { from: 1, to: 6 })?;
    Ok((digits, day))
}

/// Returns the word of a number.
fn word(digits: &[u8; DIGITS]) -> usize {
    if digits[12] == check_digit(digits) { CHECKED } else { UNCHECKED }
}

impl Shape for Resident {
    fn words(&self) -> Vec<Word> {
        if self.keeps_birth {
            return vec![Word { radix: 10, values: None }; 2];
        }
        [self.checked, self.unchecked]
            .map(|ranks| Word { radix: ranks.radix, values: Some(ranks.count as f64) })
            .to_vec()
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let (digits, day) = read(value)?;
        let word = word(&digits);
        if self.keeps_birth {
            into.kept.extend(digits[..7].iter().map(|digit| char::from(b'0' + digit)));
            into.numerals.extend(digits[7..].iter().map(|&digit| u16::from(digit)));
            return Ok(word);
        }
        let serial = digits[7..12].iter().fold(0, |serial, &digit| serial * 10 + u128::from(digit));
        let of_sex = u128::from((digits[6] - 1) % 2 + 2 * ((digits[6] - 1) / 4));
        let mut rank = u128::from(day.number() - self.first.number()) * SEVENTHS + of_sex;
        rank = rank * SERIALS + serial;
        if word == UNCHECKED {
            let off_by = (digits[12] + 10 - check_digit(&digits)) % 10;
            rank = rank * 9 + u128::from(off_by - 1);
        }
        self.ranks(word).write(rank, &mut into.numerals);
        Ok(word)
    }

    fn accepts(&self, value: &str, word: usize, numerals: &[u16]) -> bool {
        if !self.keeps_birth {
            return self.ranks(word).holds(numerals);
        }
        let mut digits = [0; DIGITS];
        let known = value.bytes().filter(u8::is_ascii_digit).take(7).map(|digit| digit - b'0');
        let drawn = numerals.iter().map(|&numeral| numeral as u8);
        digits.iter_mut().zip(known.chain(drawn)).for_each(|(digit, found)| *digit = found);
        self::word(&digits) == word
    }

    fn put(&self, value: &str, word: usize, numerals: &[u16], out: &mut String) {
        let has_hyphen = value.chars().count() > DIGITS;
        if self.keeps_birth {
            out.extend(value.chars().take(7 + usize::from(has_hyphen)));
            out.extend(numerals.iter().map(|&numeral| char::from(b'0' + numeral as u8)));
            return;
        }
        for (at, digit) in self.number(word, numerals).into_iter().enumerate() {
            if at == 6 && has_hyphen {
                out.push('-');
            }
            out.push(char::from(b'0' + digit));
        }
    }

    fn choices(&self, word: usize, length: usize) -> f64 {
        match (self.keeps_birth, word) {
            (true, CHECKED) => SERIALS as f64,
            (true, _) => 9.0 * SERIALS as f64,
            (false, word) => self.words()[word].values.unwrap_or(length as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_rank_and_is_found_by_it() {
        let whole = Resident::new(false);
        for value in [
            "000101-1000004",
            "870605-1234567",
            "8706051234567",
            "991231-8999999",
            "000229-3000000",
        ] {
            let mut taken = Taken::default();
            let word = whole.take(value, &mut taken).unwrap();
            let mut again = String::new();
            whole.put(value, word, &taken.numerals, &mut again);
            assert_eq!(again, value);
        }
    }

    /// 11 - (7*2 + 8*3 + ...) by hand: for 000000-1000000 the sum is 1 * 8, so 11 - 8 = 3; a
    /// foreigner's is 2 more.
    #[test]
    fn check_digits_by_hand() {
        let mut digits = [0; DIGITS];
        digits[6] = 1;
        assert_eq!(check_digit(&digits), 3);
        digits[6] = 5;
        // 40 mod 11 is 7, 11 - 7 = 4, and 2
        assert_eq!(check_digit(&digits), 6);
        // a sum that 11 divides gives 11, whose last digit is 1
        digits[6] = 0;
        assert_eq!(check_digit(&digits), 1);
    }

    #[test]
    fn what_is_no_number_is_said_by_place() {
        let whole = Resident::new(false);
        let misfit = |value| whole.take(value, &mut Taken::default()).unwrap_err().to_string();
        assert_eq!(misfit("870605"), "it has 6 characters, expected 13, or 14 with a hyphen");
        assert_eq!(misfit("870605 1234567"), "character 7 is a space, expected '-'");
        assert_eq!(
            misfit("87060x-1234567"),
            "character 6 is a lower-case letter, expected a digit"
        );
        assert_eq!(
            misfit("870605-9234567"),
            "character 8 is a digit, expected a digit from 1 to 8"
        );
        assert_eq!(misfit("870230-1234567"), "characters 1 to 6 are not the date of a day");
    }
}
