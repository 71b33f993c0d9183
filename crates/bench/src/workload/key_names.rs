//! Names of records by their numbers: as in YCSB, or from a column of a CSV file.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use super::csv_column::Column;
use super::definition::{Keys, Order};
use super::distribution::fnv;
use super::error::Error;
use super::sources::Sources;

/// Most bytes of a key.
const KEY_BYTES_MOST: usize = 1_024;

/// Between a key of the file and how often the file was gone through before.
const AGAIN: u8 = b'#';

/// The names of records.
#[derive(Debug)]
pub(super) enum KeyNames {
    /// `user` and the hash of the number, with at least so many digits.
    Hashed(usize),
    /// `user` and the number, with at least so many digits.
    Ordered(usize),
    /// The values of a column; record numbers beyond its rows get them again, with `#1`, `#2` and
    /// so on.
    Column(Column),
}

impl KeyNames {
    /// Makes the names that `keys` describes.
    ///
    /// # Errors
    /// A file that cannot be used: no such column, empty, too long or duplicate keys.
    /// [`Error::Stopped`].
    pub(super) fn new(keys: &Keys, sources: &Sources) -> Result<Self, Error> {
        let digits = keys.zero_padding.unwrap_or(1) as usize;
        Ok(match (&keys.from, &keys.column, keys.order) {
            (Some(from), Some(column), _) => {
                let values = sources.column(from, column)?;
                check(from, &values)?;
                Self::Column(values)
            }
            (_, _, Order::Hashed) => Self::Hashed(digits),
            (_, _, Order::Ordered) => Self::Ordered(digits),
        })
    }

    /// Puts the name of record `number` into `key`, cleared first.
    pub(super) fn put(&self, number: u64, key: &mut Vec<u8>) {
        key.clear();
        match self {
            // the usual, without the cost of padding
            Self::Hashed(1) => write!(key, "user{}", fnv(number)),
            Self::Hashed(digits) => write!(key, "user{:01$}", fnv(number), *digits),
            Self::Ordered(digits) => write!(key, "user{number:0digits$}", digits = *digits),
            Self::Column(values) => {
                key.extend_from_slice(values.value(number % values.rows()));
                match number / values.rows() {
                    0 => Ok(()),
                    times => write!(key, "{}{times}", char::from(AGAIN)),
                }
            }
        }
        .expect("writing to memory does not fail");
    }
}

/// Checks that every value of a column can be a distinct key. Keys may be personal data, so errors
/// name rows.
fn check(path: &Path, values: &Column) -> Result<(), Error> {
    let refused = |row: u64, what: String| {
        Err(Error::Plan(format!(
            "{}, record {}: {what}\nkeys must differ from each other",
            path.display(),
            row + 1
        )))
    };
    let mut seen: HashMap<&[u8], u64> = HashMap::new();
    for row in 0..values.rows() {
        let key = values.value(row);
        if key.is_empty() || key.len() > KEY_BYTES_MOST {
            return refused(
                row,
                format!("a key of {} bytes, where 1 to {KEY_BYTES_MOST} are allowed", key.len()),
            );
        }
        let digits = key.iter().rev().take_while(|octet| octet.is_ascii_digit()).count();
        if digits > 0 && key.len() > digits && key[key.len() - digits - 1] == AGAIN {
            return refused(
                row,
                "a key that ends with # and a number, as those of new records do".into(),
            );
        }
        if let Some(first) = seen.insert(key, row) {
            return refused(row, format!("the same key as in record {}", first + 1));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_padded_as_in_ycsb() {
        let name = |names: KeyNames, number| {
            let mut key = b"left over".to_vec();
            names.put(number, &mut key);
            String::from_utf8(key).unwrap()
        };
        assert_eq!(name(KeyNames::Ordered(1), 7), "user7");
        assert_eq!(name(KeyNames::Ordered(5), 7), "user00007");
        assert_eq!(name(KeyNames::Ordered(2), 777), "user777");
        assert_eq!(name(KeyNames::Hashed(1), 0), "user6284781860667377211");
        assert_eq!(name(KeyNames::Hashed(22), 0), "user0006284781860667377211");
    }
}
