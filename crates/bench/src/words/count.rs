//! Counts: in words, and as people write them in settings: `5000`, `1_000_000`, `100k`, `2.5M`. Not
//! here: sizes in bytes (`size`).

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

const UNITS: &[(&str, u64)] =
    &[("k", 1000), ("m", 1000 * 1000), ("g", 1000 * 1000 * 1000), ("", 1)];

/// Formats a whole number with thin groups of three: `100 000`.
pub fn count(value: u64) -> String {
    let text = value.to_string();
    let mut grouped = String::with_capacity(text.len() * 4 / 3);
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with what it counts: `1 round`, `3 rounds`.
pub fn counted(value: usize, one: &str) -> String {
    format!("{} {one}{}", count(value as u64), if value == 1 { "" } else { "s" })
}

/// Reads a count; `k`, `M` and `G` stand for thousands, millions and thousand millions.
///
/// # Errors
/// One line that describes the accepted values.
pub fn parse_count(text: &str) -> Result<u64, String> {
    number(text).ok_or_else(|| format!("expected {EXPECTED}"))
}

/// Expected form of a count.
const EXPECTED: &str = "a whole number below 2^64 such as 5000, 1_000_000, 100k or 5M";

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits =
        text.find(|c: char| !c.is_ascii_digit() && c != '_' && c != '.').unwrap_or(text.len());
    let (figure, unit) = text.split_at(digits);
    let factor = UNITS.iter().find(|(name, _)| unit.trim().eq_ignore_ascii_case(name))?.1;
    let figure = figure.replace('_', "");
    match figure.split_once('.') {
        None => figure.parse::<u64>().ok()?.checked_mul(factor),
        Some((whole, part)) if !whole.is_empty() && (1..=9).contains(&part.len()) => {
            let scale = 10u64.pow(part.len() as u32);
            let rest = part.parse::<u64>().ok()?.checked_mul(factor)?;
            // a fraction of a record is a slip of the pen
            if rest % scale != 0 {
                return None;
            }
            whole.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(rest / scale)
        }
        Some(_) => None,
    }
}

/// A count in a plan: a number, or text as [`parse_count`] reads it.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct NumberOrText;

        impl Visitor<'_> for NumberOrText {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Count, E> {
                Ok(Count(value))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Count, E> {
                u64::try_from(value)
                    .map(Count)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Count, E> {
                number(value)
                    .map(Count)
                    .ok_or_else(|| E::invalid_value(Unexpected::Str(value), &self))
            }
        }

        from.deserialize_any(NumberOrText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_written() {
        for (text, want) in [
            ("0", 0),
            ("5000", 5000),
            ("1_000_000", 1_000_000),
            ("100k", 100_000),
            ("2.5M", 2_500_000),
        ] {
            assert_eq!(parse_count(text), Ok(want), "{text}");
        }
        for text in
            ["", "k", "-1", "1.5", "1.", ".5k", "2GB", "many", "99999999999G", "0x10", "1e6"]
        {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }
}
