//! Days by number, in the Gregorian calendar: the check of a date, and its number.

use std::fmt;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// Days before each month of a year that is no leap year.
const BEFORE: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

impl Day {
    /// Returns the day, if there is one of this date; years 1 to 9999.
    pub(crate) fn new(year: u32, month: u32, day: u32) -> Option<Self> {
        let known = (1..=9999).contains(&year) && (1..=12).contains(&month);
        (known && day >= 1 && day <= days_of(year, month)).then_some(Self { year, month, day })
    }

    /// Its number, counted from 0001-01-01, which is 0.
    pub(crate) fn number(self) -> u32 {
        let Self { year, month, day } = self;
        let after_february = u32::from(month > 2 && is_leap(year));
        before_year(year) + BEFORE[month as usize - 1] + after_february + day - 1
    }

    /// Returns the day of this number, at most that of 9999-12-31.
    pub(crate) fn of(number: u32) -> Self {
        // an estimate that is never too late, and at most one year too early
        let mut year = number / 366 + 1;
        year += (number - before_year(year)) / 366;
        while before_year(year + 1) <= number {
            year += 1;
        }
        let mut day = number - before_year(year) + 1;
        let mut month = 1;
        while day > days_of(year, month) {
            day -= days_of(year, month);
            month += 1;
        }
        Self { year, month, day }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn days_of(year: u32, month: u32) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 0001-01-01 to the first of January of `year`.
fn before_year(year: u32) -> u32 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_number_and_is_found_by_it() {
        let mut number = 0;
        for year in 1..=2200 {
            for month in 1..=12 {
                for day in 1..=31 {
                    let Some(found) = Day::new(year, month, day) else { continue };
                    assert_eq!(found.number(), number, "{found}");
                    assert_eq!(Day::of(number), found);
                    number += 1;
                }
            }
        }
        assert_eq!(Day::of(Day::new(9999, 12, 31).unwrap().number()).to_string(), "9999-12-31");
        // 1970-01-01 is day 719,163 in the proleptic Gregorian calendar, counted from 1 (Rata Die)
        assert_eq!(Day::new(1970, 1, 1).unwrap().number() + 1, 719_163);
    }

    #[test]
    fn what_is_no_day_is_none() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2000, 13, 1),
            (2000, 0, 1),
            (2000, 4, 31),
            (2000, 1, 0),
            (0, 1, 1),
        ] {
            assert_eq!(Day::new(year, month, day), None);
        }
        assert!(Day::new(2000, 2, 29).is_some() && Day::new(2024, 2, 29).is_some());
    }
}
