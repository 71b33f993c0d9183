//! Formats: the form of a column's values, so that sealed values have the same form. The table of
//! formats is here; the guide's table (docs/guide/fields.md) is checked against it.

mod card;
mod date;
mod email;
mod pattern;
mod phone;
mod resident;
#[cfg(test)]
mod toy;
mod word;

use std::sync::Arc;

use sealstone_message::{SettingName, Unknown, suggestion};

use crate::alphabet::Alphabet;
use crate::misfit::Misfit;
use crate::shape::{Shape, Taken, Word};

/// Fewest values a word may have (SP 800-38G Rev. 1, second draft, section 5: radix^minlen).
pub(crate) const VALUES_MIN: f64 = 1_000_000.0;

/// Makes a format of the text after the colon; otherwise returns the error in it.
type Make = fn(Option<&str>) -> Result<Box<dyn Shape>, String>;

/// One row of the table of formats.
#[derive(Debug)]
#[non_exhaustive]
pub struct FormatRow {
    /// The name, such as `digits`.
    pub name: &'static str,
    /// Parameter that may or must follow it after a colon.
    pub parameter: Option<&'static str>,
    /// Description of a value.
    pub what: &'static str,
    /// Number of values it can be, given everything that stays in the clear.
    pub values: &'static str,
    /// Information that can be seen without the key, besides which values are equal.
    pub leaks: &'static str,
    /// A column's text that names it.
    pub example: &'static str,
    make: Make,
}

/// Returns all formats, in the order in which to show them.
#[must_use]
pub fn formats() -> &'static [FormatRow] {
    FORMATS
}

static FORMATS: &[FormatRow] = &[
    FormatRow {
        name: "digits",
        parameter: None,
        what: "digits only",
        values: "10^n, so at least 6 digits",
        leaks: "the length",
        example: "digits",
        make: |parameter| uniform("digits", parameter),
    },
    FormatRow {
        name: "letters",
        parameter: None,
        what: "letters from A to Z, upper and lower case",
        values: "52^n, so at least 4 letters",
        leaks: "the length",
        example: "letters",
        make: |parameter| uniform("letters", parameter),
    },
    FormatRow {
        name: "alphanumerics",
        parameter: None,
        what: "digits and letters from A to Z",
        values: "62^n, so at least 4 characters",
        leaks: "the length",
        example: "alphanumerics",
        make: |parameter| uniform("alphanumerics", parameter),
    },
    FormatRow {
        name: "hangul",
        parameter: None,
        what: "Hangul syllables, such as names",
        values: "11,172^n, so at least 2 syllables",
        leaks: "the length",
        example: "hangul",
        make: |parameter| uniform("hangul", parameter),
    },
    FormatRow {
        name: "alphabet",
        parameter: Some("CHARACTERS"),
        what: "characters of an alphabet of your own, with ranges",
        values: "r^n for r characters, a million at least",
        leaks: "the length",
        example: "alphabet:0-9A-F",
        make: |parameter| {
            let text = parameter.ok_or("it needs its characters, such as alphabet:0-9A-F")?;
            let alphabet = Alphabet::parse(text).map_err(|error| error.to_string())?;
            Ok(Box::new(word::Uniform { alphabet }))
        },
    },
    FormatRow {
        name: "pattern",
        parameter: Some("PATTERN"),
        what: "a fixed form, of which parts stay in the clear",
        values: "the product of what its encrypted places can be",
        leaks: "all but the encrypted places",
        example: "pattern:######-#******",
        make: |parameter| {
            let text = parameter.ok_or("it needs a pattern, such as pattern:######-#******")?;
            Ok(Box::new(pattern::Pattern::parse(text).map_err(|error| error.to_string())?))
        },
    },
    FormatRow {
        name: "card",
        parameter: Some("FIRST-LAST"),
        what: "payment card numbers with a valid Luhn digit; the first 6 and last 4 digits stay, \
               or as many as named",
        values: "10^5 of 16 digits, 10^9 with card:6-0",
        leaks: "the digits that stay, the length",
        example: "card",
        make: card,
    },
    FormatRow {
        name: "rrn",
        parameter: Some("keep-birth"),
        what: "Korean resident numbers: another valid birth date, a check digit that is right if \
               it was; keep-birth leaves birth date and sex",
        values: "29,219,600,000; with keep-birth 100,000",
        leaks: "whether the check digit is right; with keep-birth, birth date and sex",
        example: "rrn",
        make: |parameter| match parameter {
            None => Ok(Box::new(resident::Resident::new(false))),
            Some("keep-birth") => Ok(Box::new(resident::Resident::new(true))),
            Some(other) => Err(format!("{other:?} is not known{}", suggestion("rrn:keep-birth"))),
        },
    },
    FormatRow {
        name: "phone",
        parameter: Some("KEEP"),
        what: "telephone numbers; what is no digit stays, and the first 3 digits or as many as \
               named",
        values: "10^n for n further digits, so at least 6",
        leaks: "the digits that stay, the length",
        example: "phone",
        make: |parameter| {
            let keep = parameter.unwrap_or("3");
            let keep = keep.parse().ok().filter(|keep| *keep <= 12);
            Ok(Box::new(phone::Phone {
                keep: keep.ok_or("write how many digits stay, 0 to 12, such as phone:3")?,
            }))
        },
    },
    FormatRow {
        name: "email",
        parameter: None,
        what: "e-mail addresses; letters and digits before the @ are encrypted",
        values: "62^n for n letters and digits, so at least 4",
        leaks: "the domain, the length, dots and other signs",
        example: "email",
        make: |parameter| match parameter {
            None => Ok(Box::new(email::Email::new())),
            Some(_) => Err("it takes no parameter".into()),
        },
    },
    FormatRow {
        name: "date",
        parameter: Some("FIRST..LAST"),
        what: "dates as 1987-06-05, 1987/06/05, 1987.06.05 or 19870605, sealed as another date of \
               the range",
        values: "the days of the range: too few, unless small domains are allowed",
        leaks: "how the date is written",
        example: "date:1900-01-01..2029-12-31",
        make: |parameter| {
            let range = parameter.ok_or("it needs a range, such as date:1900-01-01..2029-12-31")?;
            Ok(Box::new(date::Date::parse(range)?))
        },
    },
];

/// Reason why a text names no format, or a format that must not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// A name that is in no row.
    #[error(transparent)]
    Unknown(Box<Unknown>),
    /// Text after the colon that the format does not accept.
    #[error("format {format:?}: {found}")]
    Parameter {
        /// The format as it was given.
        format: String,
        /// Description of the error.
        found: String,
    },
    /// So few values that all can be tried.
    #[error(
        "format {format:?} has {values} values, fewer than a million, so that all can be tried or \
         counted\n\
         encrypt more of it, use aead, or allow it for this column by {}",
        SettingName("small-domain COLUMN")
    )]
    SmallDomain {
        /// The format as it was given.
        format: String,
        /// Number of values it has.
        values: u64,
    },
}

/// Makes the format of the alphabet called `name`, which takes no parameter.
fn uniform(name: &str, parameter: Option<&str>) -> Result<Box<dyn Shape>, String> {
    match parameter {
        None => {
            Ok(Box::new(word::Uniform { alphabet: Alphabet::named(name).expect("in the table") }))
        }
        Some(_) => Err("it takes no parameter".into()),
    }
}

fn card(parameter: Option<&str>) -> Result<Box<dyn Shape>, String> {
    let (first, last) = parameter.unwrap_or("6-4").split_once('-').unwrap_or_default();
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= 8 && last <= 4 && first + last <= 10 => {
            Ok(Box::new(card::Card { first, last }))
        }
        _ => Err(
            "write how many digits stay, such as card:6-4: at most the first 8 and the last 4, \
             and 10 in all"
                .into(),
        ),
    }
}

/// A format, ready to use. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Format {
    text: String,
    allows_small: bool,
    shape: Arc<dyn Shape>,
    /// Each word, and how many numerals of it there must be.
    words: Arc<[(Word, usize)]>,
}

impl Format {
    /// Reads `text`: the name of a row, and the part after a colon. A text with `*` or `{` and
    /// without the name of a row is a pattern.
    ///
    /// - `allows_small`: whether values may be so few that all can be tried, the override of the
    ///   rule of SP 800-38G
    ///
    /// # Errors
    /// Each [`FormatError`].
    pub fn parse(text: &str, allows_small: bool) -> Result<Self, FormatError> {
        let (name, parameter) =
            text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let (row, parameter) = match row_of(name) {
            Some(row) => (row, parameter),
            None if text.contains(['*', '{']) => {
                (row_of("pattern").expect("in the table"), Some(text))
            }
            None => {
                let unknown = Unknown::new("format", name, formats().iter().map(|row| row.name));
                return Err(FormatError::Unknown(Box::new(unknown)));
            }
        };
        let text = parameter
            .map_or_else(|| row.name.to_owned(), |parameter| format!("{}:{parameter}", row.name));
        let shape = (row.make)(parameter)
            .map_err(|found| FormatError::Parameter { format: text.clone(), found })?;
        let words: Vec<(Word, usize)> = shape
            .words()
            .into_iter()
            .map(|word| (word, numerals_needed(word, allows_small)))
            .collect();
        let fewest = words.iter().filter_map(|(word, _)| word.values).fold(f64::INFINITY, f64::min);
        if fewest < VALUES_MIN && !allows_small {
            return Err(FormatError::SmallDomain { format: text, values: fewest as u64 });
        }
        Ok(Self { text, allows_small, shape: shape.into(), words: words.into() })
    }

    /// Returns the full name of the format: `pattern:***-***` where `***-***` was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the row of the table.
    ///
    /// # Panics
    /// Never: a format comes from a row.
    #[must_use]
    pub fn row(&self) -> &'static FormatRow {
        let name = self.text.split(':').next().unwrap_or_default();
        row_of(name).expect("a format comes from a row")
    }

    /// Returns whether values may be so few that all can be tried.
    #[must_use]
    pub(crate) fn allows_small(&self) -> bool {
        self.allows_small
    }

    /// Checks whether `value` fits. Returns how many values it could be, given everything that
    /// stays in the clear.
    ///
    /// # Errors
    /// The reason why it does not fit.
    pub fn check(&self, value: &str) -> Result<f64, Misfit> {
        let mut taken = Taken::default();
        let word = self.take(value, &mut taken)?;
        Ok(self.shape.choices(word, taken.numerals.len()))
    }

    /// Returns the number of values that a numeral of each word has.
    pub(crate) fn radices(&self) -> impl Iterator<Item = u32> {
        self.words.iter().map(|(word, _)| word.radix)
    }

    pub(crate) fn shape(&self) -> &dyn Shape {
        &*self.shape
    }

    /// Takes `value` apart into `into`; returns the number of its word.
    pub(crate) fn take(&self, value: &str, into: &mut Taken) -> Result<usize, Misfit> {
        into.clear();
        if value.is_empty() {
            return Err(Misfit::Empty);
        }
        let word = self.shape.take(value, into)?;
        let (found, needed) = (into.numerals.len(), self.words[word].1);
        if found < needed {
            return Err(Misfit::SmallDomain { found, needed });
        }
        Ok(word)
    }
}

/// Returns the row called `name`.
fn row_of(name: &str) -> Option<&'static FormatRow> {
    let rows = formats().iter();
    #[cfg(test)]
    let rows = rows.chain([&toy::ROW]);
    rows.into_iter().find(|row| row.name == name)
}

/// Returns the number of numerals of `word` that make a million values; at least two, as FF1 needs
/// (SP 800-38G, 5.1).
fn numerals_needed(word: Word, allows_small: bool) -> usize {
    let radix = f64::from(word.radix);
    let needed =
        if allows_small { None } else { (2..21).find(|length| radix.powi(*length) >= VALUES_MIN) };
    needed.unwrap_or(2) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_makes_a_format_of_its_example() {
        for row in formats() {
            let format = Format::parse(row.example, true)
                .unwrap_or_else(|error| panic!("{}: {error}", row.name));
            assert_eq!(format.row().name, row.name);
            assert_eq!(format.text(), row.example);
        }
        assert_eq!(Format::parse("***-***", false).unwrap().text(), "pattern:***-***");
    }

    /// The guide has the same table: name, what, values, leaks.
    #[test]
    fn the_guide_has_the_table() {
        let guide = include_str!("../../../docs/guide/fields.md");
        for row in formats() {
            let parameter =
                row.parameter.map_or(String::new(), |parameter| format!(":{parameter}"));
            let line = format!(
                "| `{}{parameter}` | {} | {} | {} |",
                row.name, row.what, row.values, row.leaks
            );
            assert!(guide.contains(&line), "docs/guide/fields.md lacks:\n{line}");
        }
        let lines = guide.lines().skip_while(|line| !line.starts_with("| format |")).skip(2);
        assert_eq!(lines.take_while(|line| line.starts_with('|')).count(), formats().len());
    }

    #[test]
    fn unknown_formats_get_the_nearest() {
        let error = |text| Format::parse(text, false).unwrap_err().to_string();
        assert!(error("digit").starts_with(
            "unknown format \"digit\"; did you mean digits?\nknown formats: digits, letters,"
        ));
        assert!(error("rnn").contains("did you mean rrn?"));
        assert_eq!(
            error("rrn:keep"),
            "format \"rrn:keep\": \"keep\" is not known; did you mean rrn:keep-birth?"
        );
        assert!(error("card:8-4").starts_with("format \"card:8-4\": write how many digits stay"));
        assert!(error("alphabet:aa").contains("'a' is in the alphabet twice"));
        assert!(
            error("date:1900-01-01..2029-12-31").contains("has 47482 values, fewer than a million")
        );
        assert!(error("***").contains("has 1000 values"));
        assert!(
            error("date:2029-12-31..1900-01-01").contains("the last day is not after the first")
        );
        assert!(
            error("date:1900-02-30..2029-12-31")
                .contains("1900-02-30: characters 1 to 10 are not the date of a day")
        );
    }

    #[test]
    fn few_values_need_the_override() {
        let digits = Format::parse("digits", false).unwrap();
        assert_eq!(digits.check("12345").unwrap_err(), Misfit::SmallDomain { found: 5, needed: 6 });
        assert_eq!(digits.check("123456"), Ok(1e6));
        assert_eq!(digits.check(""), Err(Misfit::Empty));
        let allowed = Format::parse("digits", true).unwrap();
        assert_eq!(allowed.check("12"), Ok(100.0));
        assert_eq!(allowed.check("1").unwrap_err(), Misfit::SmallDomain { found: 1, needed: 2 });
        assert_eq!(Format::parse("hangul", false).unwrap().check("홍길"), Ok(124_813_584.0));
        assert_eq!(Format::parse("card", false).unwrap().check("4111 1111 1111 1111"), Ok(1e5));
        // 5 + 7 + 8 = 20, 20 mod 11 = 9, 11 - 9 = 2
        let (right, other) = ("000101-1000002", "000101-1000003");
        let rrn = |text, value| Format::parse(text, false).unwrap().check(value).unwrap();
        assert_eq!((rrn("rrn", right), rrn("rrn", other)), (29_219_600_000.0, 262_976_400_000.0));
        assert_eq!((rrn("rrn:keep-birth", right), rrn("rrn:keep-birth", other)), (1e5, 9e5));
    }
}
