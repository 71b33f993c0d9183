//! The rows of a CSV file, read once and kept compactly, with the kind of each column. Only
//! reading: the number of copies of a row and its keys are the workload's business.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sealstone_csv::{
    Ambiguous, BYTE_ORDER_MARK, Delimiter, Encoding, Flaw, RECORD_BYTES_MAX, Span, detect, line_of,
    record,
};
use sealstone_message::SettingName;
use sealstone_store::{Field, Kind};

use super::stop::{Stopped, go_on};

/// The file is read in pieces of this many bytes, between which reading may be stopped.
const PIECE_BYTES: u64 = 16 << 20;

/// Error of a CSV file that cannot serve as source of records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("cannot read records from {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// Neither UTF-8 nor CP949.
    #[error("{}, line {line}: not {encoding}\nsave the whole file as UTF-8 or as CP949",
        path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// First line with such bytes, from 1.
        line: u64,
        /// The encoding that most lines are in.
        encoding: &'static str,
    },
    /// Nothing in it.
    #[error("{} is empty\nwrite a header line with the column names, then one record per line",
        path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A header and nothing else.
    #[error("{} has a header line and no records\nwrite one record per line below it",
        path.display())]
    HeaderOnly {
        /// The file.
        path: PathBuf,
    },
    /// The first line holds numbers only.
    #[error("{}, line 1: only numbers, where the column names should be\nwrite a header line above \
             the records", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// A column without a name.
    #[error("{}, line 1: column {column} has no name\nname it in the header line, or remove the \
             column", path.display())]
    Unnamed {
        /// The file.
        path: PathBuf,
        /// Column, from 1.
        column: usize,
    },
    /// Two columns of one name.
    #[error("{}, line 1: columns {first} and {second} have the same name\nrename one of them",
        path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// Column, from 1.
        first: usize,
        /// Column, from 1.
        second: usize,
    },
    /// A record with too few or too many fields.
    #[error(
        "{}, line {line}: {found} field{}, the header has {wanted}\nadd or remove fields there, or \
         quote a field that holds a {}",
        path.display(), if *found == 1 { "" } else { "s" }, delimiter.name()
    )]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Line the record begins on, from 1.
        line: u64,
        /// Fields found.
        found: usize,
        /// Fields of the header.
        wanted: usize,
        /// Delimiter that was assumed.
        delimiter: Delimiter,
    },
    /// Several characters could separate the fields.
    #[error("{}, line 1: {found}\nname it, such as: {}",
        path.display(), SettingName(&format!("set delimiter={}", found.choices[0].0.name())))]
    Ambiguous {
        /// The file.
        path: PathBuf,
        /// The possible characters.
        found: Ambiguous,
    },
    /// A quote without its end.
    #[error(
        "{}, line {line}: the quote that opens here is never closed\n\
         close it, or write a quote within a value twice: \"\"",
        path.display()
    )]
    OpenQuote {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// A quote that is closed in the middle of a field.
    #[error(
        "{}, line {line}: something after a closing quote; the quote was opened on line {opened}\n\
         close it there, or write a quote within a value twice: \"\"",
        path.display()
    )]
    InnerQuote {
        /// The file.
        path: PathBuf,
        /// The line of the closing quote, from 1.
        line: u64,
        /// The line of the opening quote.
        opened: u64,
    },
    /// A control character that no text has.
    #[error("{}, line {line}: {what}\nis this a text file? save it as UTF-8 or as CP949",
        path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Description of what is there.
        what: &'static str,
    },
    /// A record of more than a mebibyte.
    #[error("{}, line {line}: a record of more than 1 MiB begins here\n\
             is a quote left open, or is this not a CSV file?", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Line the record begins on, from 1.
        line: u64,
    },
    /// The user requested an end.
    #[error("stopped while reading {}", path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
}

/// All records of a file, values back to back.
#[derive(Debug)]
pub(super) struct CsvRecords {
    fields: Vec<Field>,
    delimiter: Delimiter,
    bytes: Vec<u8>,
    /// Offsets in `bytes` at which each record begins and the last one ends.
    starts: Vec<u64>,
    /// Offsets at which each value ends, counted from the beginning of its record.
    ends: Vec<u32>,
}

impl CsvRecords {
    /// Reads `path`, whose fields are separated by `delimiter`; without it the delimiter is
    /// detected.
    pub(super) fn read(
        path: &Path,
        delimiter: Option<Delimiter>,
        stop: &AtomicBool,
    ) -> Result<Self, Error> {
        let unreadable = |source| Error::Unreadable { path: path.into(), source };
        let mut file = sealstone_file::input::open(path).map_err(unreadable)?;
        let mut raw = Vec::new();
        loop {
            go_on(stop).map_err(|Stopped| Error::Stopped { path: path.into() })?;
            if file.by_ref().take(PIECE_BYTES).read_to_end(&mut raw).map_err(unreadable)? == 0 {
                break;
            }
        }
        Self::parse(path, &decode(path, raw)?, delimiter, stop)
    }

    fn parse(
        path: &Path,
        text: &str,
        delimiter: Option<Delimiter>,
        stop: &AtomicBool,
    ) -> Result<Self, Error> {
        let ambiguous = |found| Error::Ambiguous { path: path.into(), found };
        let delimiter = delimiter.map_or_else(|| detect(text), Ok).map_err(ambiguous)?;
        let mut lines = Lines { path, data: text.as_bytes(), at: 0, delimiter, fields: Vec::new() };
        if lines.next()?.is_none() {
            return Err(Error::Empty { path: path.into() });
        }
        // the header is checked like any record
        let names = header(path, &lines)?;

        let mut kinds = vec![None; names.len()];
        let mut csv = Self {
            fields: Vec::new(),
            delimiter,
            bytes: Vec::new(),
            starts: vec![0],
            ends: Vec::new(),
        };
        while let Some(begins) = lines.next()? {
            go_on(stop).map_err(|Stopped| Error::Stopped { path: path.into() })?;
            if lines.fields.len() != names.len() {
                return Err(Error::Ragged {
                    path: path.into(),
                    line: line_of(lines.data, begins),
                    found: lines.fields.len(),
                    wanted: names.len(),
                    delimiter,
                });
            }
            let start = csv.bytes.len();
            for (value, kind) in lines.values().zip(&mut kinds) {
                *kind = widest(*kind, kind_of(&value));
                csv.bytes.extend_from_slice(&value);
                csv.ends.push((csv.bytes.len() - start) as u32);
            }
            csv.starts.push(csv.bytes.len() as u64);
        }
        if csv.rows() == 0 {
            return Err(Error::HeaderOnly { path: path.into() });
        }
        let field =
            |(name, kind): (String, Option<Kind>)| Field { name, kind: kind.unwrap_or(Kind::Text) };
        csv.fields = names.into_iter().zip(kinds).map(field).collect();
        csv.bytes.shrink_to_fit();
        csv.ends.shrink_to_fit();
        Ok(csv)
    }

    /// Returns the name and kind of each column.
    pub(super) fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    /// Returns the delimiter of the fields in the file.
    pub(super) fn delimiter(&self) -> Delimiter {
        self.delimiter
    }

    /// Returns the number of records, at least one.
    pub(super) fn rows(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Returns the value of column `field` in record `row`.
    pub(super) fn value(&self, row: u64, field: usize) -> &[u8] {
        let ends = &self.ends[row as usize * self.fields.len()..][..self.fields.len()];
        let start = if field == 0 { 0 } else { ends[field - 1] as usize };
        &self.bytes[self.starts[row as usize] as usize..][start..ends[field] as usize]
    }

    /// Returns the mean bytes of the values of a record.
    pub(super) fn mean_bytes(&self) -> f64 {
        self.bytes.len() as f64 / self.rows() as f64
    }
}

/// Returns the text of a file: UTF-8 with or without a byte order mark, otherwise CP949, as Korean
/// public data comes.
fn decode(path: &Path, raw: Vec<u8>) -> Result<String, Error> {
    let raw = match String::from_utf8(raw) {
        Ok(mut text) => {
            if text.as_bytes().starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len());
            }
            return Ok(text);
        }
        Err(error) => error.into_bytes(),
    };
    if let Some(text) = Encoding::Cp949.decode(&raw) {
        return Ok(text.into_owned());
    }
    // A line feed is never part of a longer character in either encoding, so lines can be judged
    // one by one. The file was meant to be in the encoding that fewer of its lines violate; the
    // first of these lines is reported.
    let violations = |violates: &dyn Fn(&[u8]) -> bool| {
        let mut lines =
            raw.split(|&octet| octet == b'\n').zip(1..).filter(|(line, _)| violates(line));
        let first = lines.next().map_or(1, |(_, line)| line);
        (1 + lines.count(), first)
    };
    let [utf8, cp949] =
        Encoding::ALL.map(|one| (violations(&|line| one.decode(line).is_none()), one));
    let ((_, line), encoding) = if utf8.0.0 <= cp949.0.0 { utf8 } else { cp949 };
    Err(Error::Encoding { path: path.into(), line, encoding: encoding.name() })
}

/// The records of a text, one at a time.
struct Lines<'a> {
    path: &'a Path,
    data: &'a [u8],
    /// Offset of the next record.
    at: usize,
    delimiter: Delimiter,
    /// The fields of the record read last.
    fields: Vec<Span>,
}

impl Lines<'_> {
    /// Reads the next record that is no blank line. Returns where it begins; none at the end.
    fn next(&mut self) -> Result<Option<usize>, Error> {
        while self.at < self.data.len() {
            let begins = self.at;
            let found = record(self.data, begins, self.delimiter.octet(), &mut self.fields)
                .map_err(|flaw| self.flawed(flaw))?;
            self.at = found.end;
            if found.text_end - begins > RECORD_BYTES_MAX {
                let line = line_of(self.data, begins);
                return Err(Error::TooLong { path: self.path.into(), line });
            }
            if found.text_end > begins {
                return Ok(Some(begins));
            }
        }
        Ok(None)
    }

    /// The values of the record read last.
    fn values(&self) -> impl Iterator<Item = Cow<'_, [u8]>> {
        self.fields.iter().map(|field| field.value(self.data))
    }

    fn flawed(&self, flaw: Flaw) -> Error {
        let line = |at| line_of(self.data, at);
        let path = self.path.to_owned();
        match flaw {
            Flaw::OpenQuote { at } => Error::OpenQuote { path, line: line(at) },
            Flaw::InnerQuote { at, opened } => {
                Error::InnerQuote { path, line: line(at), opened: line(opened) }
            }
            Flaw::NoText { at, what } => Error::NoText { path, line: line(at), what },
        }
    }
}

/// Returns the column names in the record that `lines` read last.
fn header(path: &Path, lines: &Lines<'_>) -> Result<Vec<String>, Error> {
    let path = || path.to_owned();
    let numeric = |name: &[u8]| matches!(kind_of(name), Some(Kind::Integer | Kind::Decimal));
    if lines.values().all(|name| name.is_empty() || numeric(&name))
        && lines.values().any(|name| numeric(&name))
    {
        return Err(Error::NoHeader { path: path() });
    }
    let mut seen = HashMap::new();
    let mut names = Vec::with_capacity(lines.fields.len());
    for (column, name) in (1..).zip(lines.values()) {
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        if name.is_empty() {
            return Err(Error::Unnamed { path: path(), column });
        }
        if let Some(first) = seen.insert(name.clone(), column) {
            return Err(Error::Duplicate { path: path(), first, second: column });
        }
        names.push(name);
    }
    Ok(names)
}

/// Returns the kind that a single value appears to be; `None` if it is empty. A number that a
/// numeric column would not return unchanged (leading zeros, a plus sign, more than 18 digits) is
/// text.
fn kind_of(value: &[u8]) -> Option<Kind> {
    if value.is_empty() {
        return None;
    }
    let unsigned = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = unsigned.splitn(2, |&octet| octet == b'.');
    let whole = parts.next().unwrap_or_default();
    let fraction = parts.next();
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let exact = whole.len() + fraction.map_or(0, <[u8]>::len) <= 18
        && (whole.len() == 1 || !whole.starts_with(b"0"));
    Some(match fraction {
        None if digits(whole) && exact && value != b"-0" => Kind::Integer,
        Some(fraction) if digits(whole) && digits(fraction) && exact => Kind::Decimal,
        _ => Kind::Text,
    })
}

/// Returns the kind that holds what both hold.
fn widest(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    match (one, other) {
        (None, kind) | (kind, None) => kind,
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(Kind::Text), _) | (_, Some(Kind::Text)) => Some(Kind::Text),
        _ => Some(Kind::Decimal),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::workload::testing::health_checks;

    /// Returns the result for a file that contains `bytes`: the records, or the error with the file
    /// called `FILE`.
    fn read(bytes: &[u8]) -> Result<CsvRecords, String> {
        read_by(None, bytes)
    }

    fn read_by(delimiter: Option<Delimiter>, bytes: &[u8]) -> Result<CsvRecords, String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let path = file.path().display().to_string();
        CsvRecords::read(file.path(), delimiter, &AtomicBool::new(false))
            .map_err(|error| error.to_string().replace(&path, "FILE"))
    }

    fn error(bytes: impl AsRef<[u8]>) -> String {
        read(bytes.as_ref()).unwrap_err()
    }

    fn names(csv: &CsvRecords) -> Vec<&str> {
        csv.fields.iter().map(|field| field.name.as_str()).collect()
    }

    fn value(csv: &CsvRecords, row: u64, field: usize) -> &str {
        std::str::from_utf8(csv.value(row, field)).unwrap()
    }

    #[test]
    fn reads_quotes_line_ends_and_empty_values() {
        let csv = read(
            b"id,name,note\r\n1,\"Kim, A\",\"said \"\"no\"\"\"\r\n2,,\"two\nlines\"\n\n3,Lee,",
        )
        .unwrap();
        assert_eq!(names(&csv), ["id", "name", "note"]);
        assert_eq!(csv.rows(), 3);
        assert_eq!(
            (value(&csv, 0, 0), value(&csv, 0, 1), value(&csv, 0, 2)),
            ("1", "Kim, A", "said \"no\"")
        );
        assert_eq!((value(&csv, 1, 1), value(&csv, 1, 2)), ("", "two\nlines"));
        assert_eq!((value(&csv, 2, 0), value(&csv, 2, 2)), ("3", ""));
        assert!((csv.mean_bytes() - 30.0 / 3.0).abs() < 1e-9, "{}", csv.mean_bytes());
    }

    #[test]
    fn infers_kinds_over_all_rows() {
        let kind = |values: &[&str]| {
            let text = format!(
                "header,b\n{}",
                values.iter().map(|value| format!("{value},x\n")).collect::<String>()
            );
            read(text.as_bytes()).unwrap().fields[0].kind
        };
        assert_eq!(kind(&["1", "-20", "", "0"]), Kind::Integer);
        assert_eq!(kind(&["1", "2.50", "-0.5"]), Kind::Decimal);
        assert_eq!(kind(&["2.5", "1"]), Kind::Decimal);
        assert_eq!(kind(&["1", "2", "three"]), Kind::Text);
        assert_eq!(kind(&["1", "x", "2.5"]), Kind::Text);
        assert_eq!(kind(&["", ""]), Kind::Text);
        // texts that a numeric column would not return unchanged
        for text in [
            "007",
            "+1",
            "-0",
            "-",
            ".5",
            "5.",
            "1e5",
            "1 ",
            "1.2.3",
            "1234567890123456789",
            "00.5",
            "٣",
        ] {
            assert_eq!(kind(&[text]), Kind::Text, "{text}");
        }
        assert_eq!(kind(&["123456789012345678"]), Kind::Integer);
    }

    #[test]
    fn reads_utf8_with_and_without_a_mark_and_cp949() {
        let text = "이름,나이,거주지\n김철수,41,서울\n이영희,28,똠방각하\n";
        let cp949 = Encoding::Cp949.encode(text).unwrap();
        assert!(std::str::from_utf8(&cp949).is_err());
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for bytes in [text.as_bytes(), &marked, &cp949] {
            let csv = read(bytes).unwrap();
            assert_eq!(names(&csv), ["이름", "나이", "거주지"]);
            assert_eq!((value(&csv, 0, 0), value(&csv, 0, 2)), ("김철수", "서울"));
            // 똠 is in CP949 and not in plain EUC-KR
            assert_eq!(value(&csv, 1, 2), "똠방각하");
            assert_eq!(csv.fields[1].kind, Kind::Integer);
        }
    }

    #[test]
    fn says_which_line_is_in_another_encoding() {
        let mixed = [&b"a,b\n1,"[..], "가나\n2,다\n".as_bytes(), b"3,\xb0\xff\n4,x\n"].concat();
        assert_eq!(
            error(mixed),
            "FILE, line 4: not UTF-8\nsave the whole file as UTF-8 or as CP949"
        );
        let korean = Encoding::Cp949.encode("a,b\n1,가나\n2,다\n").unwrap();
        let mixed = [&korean[..], b"3,\xff\xff\n"].concat();
        assert_eq!(
            error(mixed),
            "FILE, line 4: not CP949\nsave the whole file as UTF-8 or as CP949"
        );
        let utf16: Vec<u8> =
            "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(
            error(utf16),
            "FILE, line 1: not UTF-8\nsave the whole file as UTF-8 or as CP949"
        );
    }

    #[test]
    fn refuses_files_without_records() {
        let empty =
            "FILE is empty\nwrite a header line with the column names, then one record per line";
        assert_eq!(error(""), empty);
        assert_eq!(error("\u{feff}"), empty);
        assert_eq!(error("\r\n\n"), empty);
        let header_only =
            "FILE has a header line and no records\nwrite one record per line below it";
        assert_eq!(error("a,b\n"), header_only);
        assert_eq!(error("a,b"), header_only);
    }

    #[test]
    fn refuses_headers_that_name_no_columns() {
        assert_eq!(
            error("1,2.5,-3\n4,5,6\n"),
            "FILE, line 1: only numbers, where the column names should be\nwrite a header line \
             above the records"
        );
        assert_eq!(
            error("a,,c\n1,2,3\n"),
            "FILE, line 1: column 2 has no name\nname it in the header line, or remove the column"
        );
        assert_eq!(
            error("a,b,c, a\n1,2,3,4\n"),
            "FILE, line 1: columns 1 and 4 have the same name\nrename one of them"
        );
    }

    #[test]
    fn refuses_ragged_records_with_their_line() {
        let next = "add or remove fields there, or quote a field that holds a comma";
        assert_eq!(
            error("a,b\n1,2\n3\n"),
            format!("FILE, line 3: 1 field, the header has 2\n{next}")
        );
        assert_eq!(
            error("a,b\n1,2,3\n"),
            format!("FILE, line 2: 3 fields, the header has 2\n{next}")
        );
        // lines are counted through quoted line ends and blank lines
        for end in ["\n", "\r\n"] {
            let text = "a,b\n\"1\n1\",2\n\n3,4,5\n".replace('\n', end);
            assert_eq!(
                error(text),
                format!("FILE, line 5: 3 fields, the header has 2\n{next}"),
                "{end:?}"
            );
        }
    }

    #[test]
    fn other_delimiters_are_found_or_named() {
        for (delimiter, character) in [("semicolon", ";"), ("tab", "\t"), ("pipe", "|")] {
            let text = "id,name,size\n1,\"Kim, A\",\"1,5\"\n2,Lee,2\n".replace(',', character);
            let csv = read(text.as_bytes()).unwrap();
            assert_eq!(
                (csv.delimiter().name(), names(&csv)),
                (delimiter, vec!["id", "name", "size"])
            );
            assert_eq!(value(&csv, 0, 1), format!("Kim{character} A"));
            let next =
                format!("add or remove fields there, or quote a field that holds a {delimiter}");
            let ragged = text.replace("Lee", &format!("L{character}e"));
            assert_eq!(error(ragged), format!("FILE, line 3: 4 fields, the header has 3\n{next}"));
        }
        // decimals with a comma under a header of semicolons
        let csv = read(b"a;b\n1,5;2,5\n").unwrap();
        assert_eq!((csv.delimiter(), value(&csv, 0, 0)), (Delimiter::Semicolon, "1,5"));
        let text = b"a,b;c\n1,2;3\n";
        let unclear = "FILE, line 1: it is not clear what separates the fields: by comma there are \
                       2, by semicolon there are 2\nname it, such as: set delimiter=comma";
        assert_eq!(error(text), unclear);
        assert_eq!(names(&read_by(Some(Delimiter::Semicolon), text).unwrap()), ["a,b", "c"]);
        assert_eq!(names(&read_by(Some(Delimiter::Comma), text).unwrap()), ["a", "b;c"]);
    }

    #[test]
    fn refuses_quotes_that_are_not_closed_where_they_should_be() {
        let next = "close it, or write a quote within a value twice: \"\"";
        let open =
            |line| format!("FILE, line {line}: the quote that opens here is never closed\n{next}");
        assert_eq!(error("a,b\n1,2\n3,\"4\n5,6\n"), open(3));
        assert_eq!(error("a,\"b\n1,2\n"), open(1));
        // however much it would swallow
        assert_eq!(error(format!("a,b\n1,2\n3,\"4\n{}", "5,6\n".repeat(300_000))), open(3));
        let next = "close it there, or write a quote within a value twice: \"\"";
        assert_eq!(
            error("a,b\n\"1,2\n3,4\n\"x\",6\n"),
            format!(
                "FILE, line 4: something after a closing quote; the quote was opened on line 2\n\
                 {next}"
            )
        );
        let long = format!("a,b\n1,2\n3,\"4\n{}\"\n", "5,6\n".repeat(300_000));
        let wanted = "FILE, line 3: a record of more than 1 MiB begins here\nis a quote left open, \
                      or is this not a CSV file?";
        assert_eq!(error(long), wanted);
    }

    #[test]
    fn refuses_what_is_no_text() {
        let next = "is this a text file? save it as UTF-8 or as CP949";
        assert_eq!(error("a,b\n1,\0\n"), format!("FILE, line 2: a zero byte\n{next}"));
        let bare = "a carriage return within a line";
        assert_eq!(error("a,b\n1,2\r3,4\n"), format!("FILE, line 2: {bare}\n{next}"));
        // UTF-16 without a mark
        let utf16: Vec<u8> = "a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(error(utf16), format!("FILE, line 1: a zero byte\n{next}"));
    }

    #[test]
    fn reading_stops_when_asked() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"a,b\n1,2\n").unwrap();
        let stopped = CsvRecords::read(file.path(), None, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(stopped, Error::Stopped { .. }), "{stopped}");
    }

    #[test]
    fn says_why_a_file_cannot_be_read() {
        let error = |path: &str| {
            CsvRecords::read(Path::new(path), None, &AtomicBool::new(false))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error("/no/such.csv"),
            "cannot read records from /no/such.csv: No such file or directory (os error 2)"
        );
        assert_eq!(error("/"), "cannot read records from /: it is a directory, not a file");
    }

    #[test]
    fn reads_health_checks() {
        let path = health_checks();
        let csv = CsvRecords::read(&path, None, &AtomicBool::new(false)).unwrap();
        assert_eq!((csv.rows(), csv.fields.len()), (1_000, 34));
        let kind = |name: &str| csv.fields.iter().find(|field| field.name == name).unwrap().kind;
        assert_eq!(kind("기준년도"), Kind::Integer);
        assert_eq!(kind("시력(좌)"), Kind::Decimal);
        assert_eq!(kind("음주여부"), Kind::Text, "empty throughout");
        assert_eq!(value(&csv, 0, 0), "2016");
        assert_eq!(value(&csv, csv.rows() - 1, 1), "1000000");

        let text = std::fs::read_to_string(&path).unwrap();
        let same = read(&Encoding::Cp949.encode(&text).unwrap()).unwrap();
        assert_eq!((same.fields, same.bytes, same.ends), (csv.fields, csv.bytes, csv.ends));
    }
}
