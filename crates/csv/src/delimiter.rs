//! The character between the fields of a CSV file: its names, and its detection in a file.

use std::error::Error;
use std::fmt;

use sealstone_message::Unknown;
use serde::{Deserialize, Serialize};

use crate::record::record;

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
    /// Text that is neither.
    pub fn parse(text: &str) -> Result<Self, Unknown> {
        let is =
            |one: &Self| text.eq_ignore_ascii_case(one.name()) || text.as_bytes() == [one.octet()];
        let found = Self::ALL.into_iter().find(is).or((text == "\\t").then_some(Self::Tab));
        found.ok_or_else(|| Unknown::new("delimiter", text, Self::ALL.map(Self::name)))
    }
}

impl From<Delimiter> for String {
    fn from(delimiter: Delimiter) -> Self {
        delimiter.name().into()
    }
}

impl TryFrom<String> for Delimiter {
    type Error = Unknown;

    fn try_from(text: String) -> Result<Self, Unknown> {
        Self::parse(&text)
    }
}

/// Error of a text in which several characters could separate the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ambiguous {
    /// Possible delimiters, each with the number of fields into which it separates the header; at
    /// least two.
    pub choices: Vec<(Delimiter, usize)>,
}

impl fmt::Display for Ambiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not clear what separates the fields: ")?;
        for (at, (one, fields)) in self.choices.iter().enumerate() {
            let gap = if at > 0 { ", " } else { "" };
            write!(f, "{gap}by {} there are {fields}", one.name())?;
        }
        Ok(())
    }
}

impl Error for Ambiguous {}

/// Returns the delimiter of `text`: the one in its first line or, if several are, the one by which
/// the records below have as many fields as the header. The comma if there is none, for a single
/// column.
///
/// # Errors
/// [`Ambiguous`]: several could be it.
pub fn detect(text: &str) -> Result<Delimiter, Ambiguous> {
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
                _ => {
                    let choices = several.iter().map(|(one, fields)| (*one, fields[0]));
                    Err(Ambiguous { choices: choices.collect() })
                }
            }
        }
    }
}

/// Counts the fields of each of the first records of `text`, beginning with the header.
fn fields(text: &str, delimiter: Delimiter) -> Vec<usize> {
    let (data, mut at, mut found) = (text.as_bytes(), 0, Vec::new());
    let mut counts = Vec::new();
    while at < data.len() && counts.len() < SAMPLE_RECORDS {
        let start = at;
        let Ok(record) = record(data, at, delimiter.octet(), &mut found) else { break };
        at = record.end;
        if record.text_end > start {
            counts.push(found.len());
        }
    }
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
        for (text, commas) in [("a,b;c\n1,2;3\n", 2), ("a,b;c,d\n1\n", 3)] {
            let choices = vec![(Delimiter::Comma, commas), (Delimiter::Semicolon, 2)];
            assert_eq!(detect(text), Err(Ambiguous { choices }));
        }
    }

    #[test]
    fn a_delimiter_is_named_or_written() {
        for one in Delimiter::ALL {
            assert_eq!(Delimiter::parse(one.name()), Ok(one));
            assert_eq!(Delimiter::parse(&char::from(one.octet()).to_string()), Ok(one));
        }
        assert_eq!(Delimiter::parse("TAB"), Ok(Delimiter::Tab));
        assert_eq!(Delimiter::parse("\\t"), Ok(Delimiter::Tab));
        let error = Delimiter::parse("semi").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "unknown delimiter \"semi\"; did you mean semicolon?\nknown delimiters: comma, "
            ),
            "{error}"
        );
    }
}
