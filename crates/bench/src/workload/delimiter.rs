//! The character between the fields of a CSV file: its names, and its detection in a file.

use sealstone_message::nearest::{did_you_mean, nearest};
use serde::{Deserialize, Serialize};

/// Records, the header among them, that must agree about a delimiter.
const SAMPLE_RECORDS: usize = 100;

/// The character between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`, as spreadsheets write where the comma separates decimals.
    Semicolon,
    /// A horizontal tab.
    Tab,
    /// `|`
    Pipe,
}

impl Delimiter {
    /// All of them, the usual one first.
    pub const ALL: [Self; 4] = [Self::Comma, Self::Semicolon, Self::Tab, Self::Pipe];

    /// Its name in settings: `comma`, `semicolon`, `tab`, `pipe`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Semicolon => "semicolon",
            Self::Tab => "tab",
            Self::Pipe => "pipe",
        }
    }

    /// Returns the octet itself.
    #[must_use]
    pub fn octet(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
            Self::Pipe => b'|',
        }
    }

    /// Reads a name, or the character itself.
    ///
    /// # Errors
    /// Text that is neither, with the allowed names.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is =
            |one: &Self| text.eq_ignore_ascii_case(one.name()) || text.as_bytes() == [one.octet()];
        Self::ALL.into_iter().find(is).or((text == "\\t").then_some(Self::Tab)).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let hint = did_you_mean(nearest(text, names));
            let gap = if hint.is_empty() { ";" } else { "" };
            format!("unknown delimiter {text:?}{hint}{gap} delimiters: {}", names.join(", "))
        })
    }
}

impl From<Delimiter> for String {
    fn from(delimiter: Delimiter) -> Self {
        delimiter.name().into()
    }
}

impl TryFrom<String> for Delimiter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

/// Returns the delimiter of `text`: the delimiter in its first line or, if there are several, the
/// delimiter by which the records below have as many fields as the header. The comma if there is
/// none, for a single column.
///
/// # Errors
/// The possible delimiters, each with the number of fields of the header.
pub fn detect(text: &str) -> Result<Delimiter, Vec<(Delimiter, usize)>> {
    let found: Vec<(Delimiter, Vec<usize>)> = Delimiter::ALL
        .map(|one| (one, fields(text, one)))
        .into_iter()
        .filter(|(_, fields)| fields[0] > 1)
        .collect();
    match &found[..] {
        [] => Ok(Delimiter::Comma),
        [(only, _)] => Ok(*only),
        several => {
            let mut even =
                several.iter().filter(|(_, fields)| fields.iter().all(|count| *count == fields[0]));
            match (even.next(), even.next()) {
                (Some((one, _)), None) => Ok(*one),
                _ => Err(several.iter().map(|(one, fields)| (*one, fields[0])).collect()),
            }
        }
    }
}

/// Counts the fields of each of the first records of `text`, beginning with the header.
fn fields(text: &str, delimiter: Delimiter) -> Vec<usize> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter.octet())
        .from_reader(text.as_bytes());
    let counts = reader
        .into_byte_records()
        .take(SAMPLE_RECORDS)
        .map_while(Result::ok)
        .map(|record| record.len());
    let counts: Vec<usize> = counts.collect();
    if counts.is_empty() { vec![0] } else { counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_shows_the_delimiter() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", Delimiter::Comma),
            ("a;b\n1;2\n", Delimiter::Semicolon),
            ("a\tb\n1,5\t2\n", Delimiter::Tab),
            ("a|b\n", Delimiter::Pipe),
            ("a\n1;2\n", Delimiter::Comma),
            // quoted, or in a name and not in the records
            ("\"a,b\";c\n1;2\n", Delimiter::Semicolon),
            ("price, EUR;name\n1;Kim\n2;Lee\n", Delimiter::Semicolon),
            // decimals, and the records of all lines
            ("a;b\n1,5;2,5\n", Delimiter::Semicolon),
        ] {
            assert_eq!(detect(text), Ok(delimiter), "{text}");
        }
        assert_eq!(
            detect("a,b;c\n1,2;3\n"),
            Err(vec![(Delimiter::Comma, 2), (Delimiter::Semicolon, 2)])
        );
        assert_eq!(
            detect("a,b;c,d\n1\n"),
            Err(vec![(Delimiter::Comma, 3), (Delimiter::Semicolon, 2)])
        );
    }

    #[test]
    fn a_delimiter_is_named_or_written() {
        for one in Delimiter::ALL {
            assert_eq!(Delimiter::parse(one.name()), Ok(one));
            assert_eq!(Delimiter::parse(&char::from(one.octet()).to_string()), Ok(one));
        }
        assert_eq!(Delimiter::parse("TAB"), Ok(Delimiter::Tab));
        assert_eq!(Delimiter::parse("\\t"), Ok(Delimiter::Tab));
        let error = Delimiter::parse("semi").unwrap_err();
        assert!(
            error.starts_with(
                "unknown delimiter \"semi\"; did you mean semicolon? delimiters: comma, "
            ),
            "{error}"
        );
    }
}
