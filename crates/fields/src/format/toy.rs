//! A toy: a format written like all others, so that a test can follow one from its row to a sealed
//! column. It is in no table but that of this crate's own tests: a plate is three digits, a
//! syllable that stays, and four digits, such as `123가4567`.

use super::FormatRow;
use crate::misfit::{Misfit, character};
use crate::shape::{Shape, Taken, Word};

/// The row of the toy.
pub(super) static ROW: FormatRow = FormatRow {
    name: "toy",
    parameter: None,
    what: "plates: three digits, a syllable, four digits",
    values: "10^7",
    leaks: "the syllable",
    example: "toy",
    make: |parameter| match parameter {
        None => Ok(Box::new(Plate)),
        Some(_) => Err("it takes no parameter".into()),
    },
};

/// Digits and their place from 0 on.
const DIGITS: usize = 7;
/// Place of the syllable among the characters.
const SYLLABLE: usize = 3;

/// `123가4567`.
#[derive(Debug)]
struct Plate;

impl Shape for Plate {
    fn words(&self) -> Vec<Word> {
        vec![Word { radix: 10, values: Some(1e7) }]
    }

    fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        for (at, c) in value.chars().enumerate() {
            match c.to_digit(10) {
                Some(digit) if at != SYLLABLE => into.numerals.push(digit as u16),
                None if at == SYLLABLE && ('가'..='힣').contains(&c) => into.kept.push(c),
                _ if at == SYLLABLE => return Err(character(at + 1, c, "a syllable")),
                _ => return Err(character(at + 1, c, "a digit")),
            }
        }
        match value.chars().count() {
            found if found == DIGITS + 1 => Ok(0),
            found => Err(Misfit::Length { found, what: "characters", expected: "8".into() }),
        }
    }

    fn put(&self, value: &str, _word: usize, numerals: &[u16], out: &mut String) {
        let mut next = numerals.iter();
        for (at, c) in value.chars().enumerate() {
            match (at, next.as_slice().first()) {
                (at, Some(&numeral)) if at != SYLLABLE => {
                    out.extend(char::from_digit(u32::from(numeral), 10));
                    next.next();
                }
                _ => out.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sealstone_cipher::{Backend, cipher};
    use sealstone_keys::{EphemeralKey, KeySource};

    use crate::policy::{Column, ColumnOptions, Table};
    use crate::{ColumnCipher, Keyed, Misfit, Texts};

    #[test]
    fn a_toy_format_is_a_file_and_a_row() {
        let column = Column::parse("plate=ff1:toy", &ColumnOptions::default()).unwrap();
        let table = Table::new("cars", cipher("aria-256").unwrap(), vec![column]).unwrap();
        let key: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().unwrap());
        let keyed = Keyed::current(key).unwrap();
        let cipher = ColumnCipher::new(&table, &table.columns[0], &keyed, Backend::auto()).unwrap();

        let values: Texts = (0..200).map(|n| format!("{:03}가{:04}", n, n * 37)).collect();
        let (mut sealed, mut opened, mut misfits) = (Texts::new(), Texts::new(), Vec::new());
        cipher.seal(&values, None, &mut sealed, &mut misfits).unwrap();
        cipher.open(&sealed, None, &mut opened, &mut misfits).unwrap();
        assert_eq!((&opened, misfits.as_slice()), (&values, &[][..]));
        let is_plate = |value: &str| value.chars().nth(3) == Some('가') && value.len() == 10;
        assert!(sealed.iter().all(is_plate));
        let same = values.iter().zip(sealed.iter()).filter(|(value, sealed)| value == sealed);
        assert!(same.count() <= 1);

        // what does not fit is reported, as with any format
        let wrong: Texts = ["12가3456", "123x4567", "123가456"].into_iter().collect();
        let mut out = Texts::new();
        cipher.seal(&wrong, None, &mut out, &mut misfits).unwrap();
        let why: Vec<&Misfit> = misfits.iter().map(|(_, why)| why).collect();
        assert!(
            matches!(
                why[..],
                [Misfit::Character { .. }, Misfit::Character { .. }, Misfit::Length { .. }]
            ),
            "{why:?}"
        );
        assert!(out.iter().all(str::is_empty));
    }
}
