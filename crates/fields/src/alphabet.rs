//! Alphabets: the characters of values, each with its number.

use std::collections::HashMap;

/// Place of an ASCII character that is not in the alphabet.
const NONE: u32 = u32::MAX;
/// Most characters that an alphabet may have: the largest radix of FF1.
const CHARS_MAX: usize = 1 << 16;

/// One row of the table of alphabets.
#[derive(Debug)]
pub(crate) struct NamedAlphabet {
    /// The name, such as `digits`.
    pub name: &'static str,
    /// One character of it, in words: `a digit`.
    pub one: &'static str,
    /// The characters, as [`Alphabet::parse`] reads them.
    pub characters: &'static str,
}

/// The table of alphabets.
pub(crate) static ALPHABETS: [NamedAlphabet; 6] = [
    NamedAlphabet { name: "digits", one: "a digit", characters: "0-9" },
    NamedAlphabet { name: "lower", one: "a lower-case letter", characters: "a-z" },
    NamedAlphabet { name: "upper", one: "an upper-case letter", characters: "A-Z" },
    NamedAlphabet { name: "letters", one: "a letter from A to Z", characters: "A-Za-z" },
    NamedAlphabet {
        name: "alphanumerics",
        one: "a digit or a letter from A to Z",
        characters: "0-9A-Za-z",
    },
    NamedAlphabet { name: "hangul", one: "a Hangul syllable", characters: "가-힣" },
];

/// Characters in an order: each is a numeral from 0 to the radix minus 1.
#[derive(Clone, Debug)]
pub(crate) struct Alphabet {
    one: String,
    chars: Vec<char>,
    ascii: [u32; 128],
    /// The first character, where all are consecutive and none is ASCII; then `others` is empty.
    run: Option<char>,
    others: HashMap<char, u16>,
}

/// Reason why a text names no alphabet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AlphabetError {
    /// Fewer than two characters.
    #[error("an alphabet of {found} characters, at least 2 are needed")]
    TooFew {
        /// Number of characters found.
        found: usize,
    },
    /// More than 65,536 characters.
    #[error("an alphabet of more than {CHARS_MAX} characters")]
    TooMany,
    /// A character twice.
    #[error("{0:?} is in the alphabet twice")]
    Twice(char),
    /// A range whose end is before its beginning.
    #[error("the range {0}-{1} runs backwards")]
    Backwards(char, char),
}

impl Alphabet {
    /// Returns the alphabet called `name` in [`ALPHABETS`].
    #[must_use]
    pub(crate) fn named(name: &str) -> Option<Self> {
        let row = ALPHABETS.iter().find(|row| row.name == name)?;
        let mut found = Self::parse(row.characters).expect("the table has alphabets");
        found.one = row.one.into();
        Some(found)
    }

    /// Reads `text`: each character is one of the alphabet, `a-f` is all from `a` to `f`; a `-`
    /// that comes first or last is itself. The order counts: it gives the numerals.
    ///
    /// # Errors
    /// Each [`AlphabetError`].
    pub(crate) fn parse(text: &str) -> Result<Self, AlphabetError> {
        let given: Vec<char> = text.chars().collect();
        let mut chars = Vec::new();
        let mut at = 0;
        while at < given.len() {
            let (first, last) = match given.get(at + 1..at + 3) {
                Some(&['-', last]) => (given[at], last),
                _ => (given[at], given[at]),
            };
            at += if given.get(at + 1..at + 3).is_some_and(|next| next[0] == '-') { 3 } else { 1 };
            if last < first {
                return Err(AlphabetError::Backwards(first, last));
            }
            chars.extend(first..=last);
            if chars.len() > CHARS_MAX {
                return Err(AlphabetError::TooMany);
            }
        }
        Self::of(chars)
    }

    fn of(chars: Vec<char>) -> Result<Self, AlphabetError> {
        if chars.len() < 2 {
            return Err(AlphabetError::TooFew { found: chars.len() });
        }
        let is_run = !chars[0].is_ascii()
            && chars.windows(2).all(|pair| pair[1] as u32 == pair[0] as u32 + 1);
        let mut found = Self {
            one: format!("one of the {} characters of the alphabet", chars.len()),
            run: is_run.then_some(chars[0]),
            ascii: [NONE; 128],
            others: HashMap::new(),
            chars,
        };
        if is_run {
            return Ok(found);
        }
        for (numeral, &c) in found.chars.iter().enumerate() {
            let known = match c.is_ascii() {
                true => std::mem::replace(&mut found.ascii[c as usize], numeral as u32) != NONE,
                false => found.others.insert(c, numeral as u16).is_some(),
            };
            if known {
                return Err(AlphabetError::Twice(c));
            }
        }
        Ok(found)
    }

    /// Returns the number of characters it has: 2 to 65,536.
    #[must_use]
    pub(crate) fn radix(&self) -> u32 {
        self.chars.len() as u32
    }

    /// One character of it, in words: `a digit`.
    #[must_use]
    pub(crate) fn one(&self) -> &str {
        &self.one
    }

    /// Returns the numeral of `c`; none if it is not in the alphabet.
    #[must_use]
    pub(crate) fn numeral(&self, c: char) -> Option<u16> {
        if let Some(first) = self.run {
            let numeral = (c as u32).wrapping_sub(first as u32);
            return (numeral < self.radix()).then_some(numeral as u16);
        }
        match self.ascii.get(c as usize) {
            Some(&numeral) => (numeral != NONE).then_some(numeral as u16),
            None => self.others.get(&c).copied(),
        }
    }

    /// Returns the character of `numeral`.
    ///
    /// # Panics
    /// If `numeral` is not below the radix: a bug of the caller.
    #[must_use]
    pub(crate) fn character(&self, numeral: u16) -> char {
        self.chars[usize::from(numeral)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_alphabet_numbers_its_characters() {
        for (name, radix) in [
            ("digits", 10),
            ("lower", 26),
            ("upper", 26),
            ("letters", 52),
            ("alphanumerics", 62),
            ("hangul", 11_172),
        ] {
            let alphabet = Alphabet::named(name).unwrap();
            assert_eq!(alphabet.radix(), radix, "{name}");
            for numeral in 0..radix as u16 {
                assert_eq!(alphabet.numeral(alphabet.character(numeral)), Some(numeral), "{name}");
            }
            for other in ['-', ' ', '\u{ac00}', '\u{d7a4}', 'é', '\u{1F600}', '0'] {
                let known = alphabet.chars.contains(&other);
                assert_eq!(alphabet.numeral(other).is_some(), known, "{name} {other:?}");
            }
        }
        assert!(Alphabet::named("klingon").is_none());
    }

    #[test]
    fn alphabets_are_read_with_ranges() {
        let chars =
            |text: &str| Alphabet::parse(text).unwrap().chars.into_iter().collect::<String>();
        assert_eq!(chars("ACGT"), "ACGT");
        assert_eq!(chars("0-9A-F"), "0123456789ABCDEF");
        assert_eq!(chars("-ab"), "-ab");
        assert_eq!(chars("ab-"), "ab-");
        assert_eq!(chars("가나é"), "가나é");
        assert_eq!(Alphabet::parse("a").unwrap_err(), AlphabetError::TooFew { found: 1 });
        assert_eq!(Alphabet::parse("aba").unwrap_err(), AlphabetError::Twice('a'));
        assert_eq!(Alphabet::parse("가나é가").unwrap_err(), AlphabetError::Twice('가'));
        assert_eq!(Alphabet::parse("z-a").unwrap_err(), AlphabetError::Backwards('z', 'a'));
        assert_eq!(Alphabet::parse("\u{0}-\u{10ffff}").unwrap_err(), AlphabetError::TooMany);
    }
}
