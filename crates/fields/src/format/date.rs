//! Dates within a range, each sealed as another date in it. Not here: the calendar (`calendar`).

use crate::calendar::Day;
use crate::misfit::{Misfit, character};
use crate::rank::Ranks;
use crate::shape::{Shape, Taken, Word};

/// Characters that may separate year, month and day.
const BETWEEN: &str = "-/.";

/// `1987-06-05`, `1987/06/05`, `1987.06.05` or `19870605`.
#[derive(Debug)]
pub(crate) struct Date {
    first: Day,
    last: Day,
    ranks: Ranks,
}

impl Date {
    /// Days from `first` to `last`; none if there are fewer than two.
    pub(crate) fn new(first: Day, last: Day) -> Option<Self> {
        let count = last.number().checked_sub(first.number()).filter(|apart| *apart > 0)? + 1;
        Some(Self { first, last, ranks: Ranks::below(u128::from(count)) })
    }

    /// Reads `1900-01-01..2029-12-31`.
    pub(crate) fn parse(range: &str) -> Result<Self, String> {
        let wanted =
            || format!("{range:?} is no range of dates; write it as 1900-01-01..2029-12-31");
        let (first, last) = range.split_once("..").ok_or_else(wanted)?;
        let day = |text: &str| day(text).map_err(|misfit| format!("{text}: {misfit}"));
        Self::new(day(first)?, day(last)?)
            .ok_or_else(|| format!("{range:?}: the last day is not after the first"))
    }

    fn day(&self, numerals: &[u16]) -> Day {
        Day::of(self.first.number() + self.ranks.read(numerals) as u32)
    }
}

/// Returns the day that `value` is the date of.
fn day(value: &str) -> Result<Day, Misfit> {
    let length = value.chars().count();
    if length != 8 && length != 10 {
        return Err(Misfit::Length {
            found: length,
            what: "characters",
            expected: "8 or 10".into(),
        });
    }
    let is_between = |at: usize| length == 10 && (at == 4 || at == 7);
    let mut between = None;
    let mut number = 0;
    for (at, c) in value.chars().enumerate() {
        if is_between(at) {
            if !BETWEEN.contains(c) || between.is_some_and(|first| first != c) {
                return Err(character(
                    at + 1,
                    c,
                    between.map_or("one of - / .".into(), |c| format!("{c:?}")),
                ));
            }
            between = Some(c);
        } else {
            number = number * 10 + c.to_digit(10).ok_or_else(|| character(at + 1, c, "a digit"))?;
        }
    }
    Day::new(number / 10_000, number / 100 % 100, number % 100)
        .ok_or(Misfit::NoDate { from: 1, to: length })
}

impl Shape for Date {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: self.ranks.radix, values: Some(self.ranks.count as f64) }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        let day = day(value)?;
        if day < self.first || day > self.last {
            return Err(Misfit::OtherDate {
                first: self.first.to_string(),
                last: self.last.to_string(),
            });
        }
        self.ranks.write(u128::from(day.number() - self.first.number()), &mut into.numerals);
        Ok(0)
    }

    fn accepts(&self, _value: &str, _word: usize, numerals: &[u16]) -> bool {
        self.ranks.holds(numerals)
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let between = value
            .chars()
            .nth(4)
            .filter(|c| BETWEEN.contains(*c))
            .map_or(String::new(), String::from);
        out.push_str(&self.day(numerals).to_string().replace('-', &between));
    }
}
