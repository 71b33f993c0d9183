//! Numbers in text: payment cards, Korean resident registration numbers and telephone numbers,
//! told from other digits by their groups, their neighbours and their check digits.
//!
//! Not here: the formats of columns, which also accept numbers that are written otherwise
//! (`sealstone_fields`).

use super::unit::{Units, wide};
use super::window::View;

/// Fewest characters of a number: `02-123-4567`.
const CHARACTERS_MIN: usize = 11;
/// Most digits of a group that matter.
const GROUP_MAX: usize = 20;
/// Fewest hexadecimal digits that are no number but part of a hash or the like.
const HEXADECIMAL_MIN: usize = 24;
/// Most groups that matter: those of a card, and one more.
const GROUPS_MAX: usize = 6;

/// Groups of digits of a card number. One number of 13 to 19 digits without separators is one, too.
const CARD_GROUPS: &[&[usize]] = &[
    &[4, 4, 4, 4],
    &[4, 4, 4, 4, 1],
    &[4, 4, 4, 4, 2],
    &[4, 4, 4, 4, 3],
    &[4, 4, 4, 1],
    &[4, 4, 4, 2],
    &[4, 4, 4, 3],
    &[4, 4, 5],
    &[4, 5, 6],
    &[4, 6, 4],
    &[4, 6, 5],
    &[6, 13],
    &[8, 8],
];

/// A row of groups of digits with one separator between each two, from the beginning of a group.
pub(super) struct Token {
    digits: [u8; GROUP_MAX * GROUPS_MAX],
    /// Digits of each group; 0 after the last.
    groups: [usize; GROUPS_MAX],
    /// The separator behind each group, if a digit follows it.
    separators: [Option<u8>; GROUPS_MAX],
    /// A separator before the first group, and the number of digits before that.
    before: Option<(u8, usize)>,
    follows_plus: bool,
    /// True if the first group is within a row of hexadecimal digits that is longer than a number.
    is_hexadecimal: bool,
}

impl Token {
    /// Reads the groups from `units` on; None if no group begins there.
    pub(super) fn read(units: Units<'_>) -> Option<Self> {
        let digit = |at: isize| units.get(at).filter(u8::is_ascii_digit);
        let separator = |at: isize| units.get(at).filter(|c| matches!(c, b' ' | b'-' | b'.'));
        if digit(0).is_none() || digit(-1).is_some() {
            return None;
        }
        let before =
            separator(-1).map(|sign| (sign, (2..7isize).take_while(|at| digit(-at).is_some())));
        let before = before.map(|(sign, digits)| (sign, digits.count()));
        let mut token = Self {
            digits: [0; GROUP_MAX * GROUPS_MAX],
            groups: [0; GROUPS_MAX],
            separators: [None; GROUPS_MAX],
            before: before.filter(|(_, digits)| *digits > 0),
            follows_plus: units.get(-1) == Some(b'+'),
            is_hexadecimal: false,
        };
        let (mut at, mut count) = (0, 0);
        for group in 0..GROUPS_MAX {
            while token.groups[group] < GROUP_MAX
                && let Some(next) = digit(at)
            {
                token.digits[count] = next - b'0';
                token.groups[group] += 1;
                (at, count) = (at + 1, count + 1);
            }
            token.separators[group] = separator(at).filter(|_| digit(at + 1).is_some());
            if token.separators[group].is_none() {
                break;
            }
            at += 1;
        }
        let length = token.groups[0];
        token.is_hexadecimal = length >= 13 && length + letters(units, length) >= HEXADECIMAL_MIN;
        Some(token)
    }

    /// Returns whether the first group is part of another number: a digit is beyond a decimal
    /// point, or hexadecimal digits go on.
    fn is_part(&self) -> bool {
        self.is_hexadecimal
            || self.before.is_some_and(|(sign, _)| sign == b'.')
            || self.separators[0] == Some(b'.')
    }

    /// Returns whether a card number begins here: 13 to 19 digits, the first from 3 to 6, with the
    /// right check digit.
    pub(super) fn is_card(&self) -> bool {
        let is_right =
            |count: usize| matches!(self.digits[0], 3..=6) && luhn(&self.digits[..count]);
        if (13..=19).contains(&self.groups[0]) && !self.is_part() {
            return is_right(self.groups[0]);
        }
        CARD_GROUPS.iter().any(|groups| self.is_apart(groups) && is_right(groups.iter().sum()))
    }

    /// Returns whether the token begins with `groups`, with one kind of separator, and what is
    /// before and behind does not go on in the same way. A short number may be beside it after a
    /// space.
    fn is_apart(&self, groups: &[usize]) -> bool {
        let last = groups.len() - 1;
        let Some(sign @ (b' ' | b'-')) = self.separators[0] else { return false };
        let goes_on = |other: u8, digits: usize| other == sign && (sign == b'-' || digits >= 4);
        self.groups.starts_with(groups)
            && self.separators[..last].iter().all(|other| *other == Some(sign))
            && !self.before.is_some_and(|(other, digits)| goes_on(other, digits))
            && !self.separators[last].is_some_and(|other| {
                goes_on(other, self.groups.get(last + 1).copied().unwrap_or_default())
            })
    }

    /// Returns whether a resident registration number begins here: birth date, century and sex,
    /// and a right check digit, 13 digits with or without a hyphen.
    pub(super) fn is_resident(&self) -> bool {
        let is_whole = self.groups[0] == 13 && !self.is_part();
        let is_split = self.groups[..2] == [6, 7] && self.separators[0] == Some(b'-');
        let digits = &self.digits[..13];
        (is_whole || is_split) && is_birth(digits) && check_digit(digits) == digits[12]
    }

    /// Returns whether a Korean telephone number begins here: with separators, and with the 0 of
    /// the area code or with +82.
    pub(super) fn is_phone(&self) -> bool {
        let has_code = self.follows_plus && self.groups[0] >= 2 && self.digits[..2] == [8, 2];
        if self.follows_plus && !has_code {
            return false;
        }
        // groups to leave out, digits to leave out, digits of the area code
        let (skipped, digits, area) = match (has_code, self.groups[0]) {
            (true, 2) => (1, 2, self.groups[1]),
            (true, count) => (0, 2, count - 2),
            (false, count) if self.digits[0] == 0 => (0, 1, count - 1),
            _ => return false,
        };
        let last = skipped + 2;
        let Some(sign) = self.separators[skipped] else { return false };
        let stands_beside = |other: u8| other != b' ' || other == sign;
        is_area(&self.digits[digits..digits + area])
            && matches!(self.groups[skipped + 1], 3 | 4)
            && self.separators[skipped + 1] == Some(sign)
            && self.groups[last] == 4
            && !self.separators[last].is_some_and(stands_beside)
            && !self.before.is_some_and(|(other, _)| stands_beside(other))
    }
}

/// Returns the number of hexadecimal digits directly before a group of `length` digits and behind
/// it.
fn letters(units: Units<'_>, length: usize) -> usize {
    let count = |places: &mut dyn Iterator<Item = isize>| {
        let mut of_number = places.take(HEXADECIMAL_MIN).map(|at| units.get(at));
        of_number.position(|c| !c.is_some_and(|c| c.is_ascii_hexdigit())).unwrap_or(HEXADECIMAL_MIN)
    };
    count(&mut (1..).map(|at: isize| -at)) + count(&mut (length as isize..))
}

/// Returns whether `digits` are an area or service code of Korea without its 0: 2, two digits, or
/// three of a personal number (50x).
fn is_area(digits: &[u8]) -> bool {
    matches!(digits, [2] | [1..=9, _] | [5, 0, _])
}

/// Returns whether the last of `digits` is their check digit (ISO/IEC 7812-1, annex B).
fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit < 5 { 2 * digit } else { 2 * digit - 9 };
    let places = digits.iter().rev().enumerate();
    let sum: u32 = places
        .map(|(at, &digit)| u32::from(if at % 2 == 1 { doubled(digit) } else { digit }))
        .sum();
    sum.is_multiple_of(10)
}

/// Returns the check digit of a resident registration number: that of a foreigner is two more.
fn check_digit(digits: &[u8]) -> u8 {
    let weights = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];
    let sum: u32 =
        digits.iter().zip(weights).map(|(&digit, weight)| u32::from(digit) * weight).sum();
    let foreign = if digits[6] >= 5 { 2 } else { 0 };
    ((11 - sum % 11 + foreign) % 10) as u8
}

/// Returns whether the first seven of `digits` are a day and a century.
fn is_birth(digits: &[u8]) -> bool {
    let two = |at: usize| u32::from(digits[at]) * 10 + u32::from(digits[at + 1]);
    let year = match digits[6] {
        1 | 2 | 5 | 6 => 1900 + two(0),
        3 | 4 | 7 | 8 => 2000 + two(0),
        _ => return false,
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match two(2) {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&two(4))
}

/// Calls `see` for every place of the piece at which a number may begin, with the text there, in
/// ASCII and in UTF-16. `read` determines what is there, `see` takes it.
pub(super) fn search<T>(
    view: &View<'_>,
    read: &dyn Fn(Units<'_>) -> Option<T>,
    see: &mut dyn FnMut(T),
) {
    let bytes = view.bytes;
    // Every number from `at` on contains the character 8 further, unless it begins behind it.
    let mut at = view.from;
    while at < view.to {
        if let Some(gap) = gap(|far| bytes.get(at + far).is_none_or(|&byte| is_in_numbers(byte))) {
            at += gap;
        } else {
            if bytes[at].is_ascii_digit()
                && let Some(found) = read(Units::narrow(bytes, at))
            {
                see(found);
            }
            at += 1;
        }
    }
    let mut at = view.from;
    while at < view.to {
        let is_wide = |far: usize| match bytes.get(at + 2 * far..at + 2 * far + 2) {
            Some(&[one, other]) => {
                (one == 0 && is_in_numbers(other)) || (other == 0 && is_in_numbers(one))
            }
            _ => true,
        };
        if let Some(gap) = gap(is_wide) {
            at += 2 * gap - 1;
        } else {
            if bytes[at].is_ascii_digit()
                && let Some(found) = wide(view, at, read)
            {
                see(found);
            }
            at += 1;
        }
    }
}

/// Returns the number of characters to go on by if there cannot be a number: one of the characters
/// that every number to begin before it contains is not of numbers.
fn gap(is_of_numbers: impl Fn(usize) -> bool) -> Option<usize> {
    const FAR: usize = CHARACTERS_MIN - 3;
    [FAR, FAR / 2].into_iter().find(|&far| !is_of_numbers(far)).map(|far| far + 1)
}

/// Returns whether `byte` is a digit or a separator.
fn is_in_numbers(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'.')
}

#[cfg(test)]
mod tests;
