//! The rows of a CSV file, read once and kept compactly, with the kind of each column. Only reading: how often and
//! under which keys a row is stored is the workload's business.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::store::{Field, Kind};

/// Longest record in bytes. A longer one is more likely a quote that was never closed.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// Why a CSV file cannot serve as source of records.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("cannot read records from {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Neither UTF-8 nor CP949.
    #[error("{}, line {line}: not {encoding}\nsave the whole file as UTF-8 or as CP949", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// First line with such bytes, from 1.
        line: u64,
        /// The encoding that most lines are in.
        encoding: &'static str,
    },
    /// Nothing in it.
    #[error("{} is empty\nwrite a header line with the column names, then one record a line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A header and nothing else.
    #[error("{} has a header line and no records\nwrite one record a line below it", path.display())]
    HeaderOnly {
        /// The file.
        path: PathBuf,
    },
    /// The first line holds numbers only.
    #[error("{}, line 1: only numbers, where the column names should be\nwrite a header line above the records", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// A column without a name.
    #[error("{}, line 1: column {column} has no name\nname it in the header line, or remove the column", path.display())]
    Unnamed {
        /// The file.
        path: PathBuf,
        /// Column, from 1.
        column: usize,
    },
    /// Two columns of one name.
    #[error("{}, line 1: columns {first} and {second} are both called `{name}`\nrename one of them", path.display())]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// Column, from 1.
        first: usize,
        /// Column, from 1.
        second: usize,
    },
    /// A record with too few or too many fields.
    #[error(
        "{}, line {line}: {found} field{}, the header has {wanted}\nadd or remove fields there, or quote a field that holds a comma",
        path.display(), if *found == 1 { "" } else { "s" }
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
    },
    /// A record of more than a mebibyte.
    #[error("{}, line {line}: a record of more than 1 MiB begins here\nis a quote left open, or is this no CSV file?", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Line the record begins on, from 1.
        line: u64,
    },
}

/// All records of a file, values back to back.
#[derive(Debug)]
pub(super) struct CsvRecords {
    fields: Vec<Field>,
    bytes: Vec<u8>,
    /// Where each record begins in `bytes`, and where the last ends.
    starts: Vec<u64>,
    /// Where each value ends, counted from the beginning of its record.
    ends: Vec<u32>,
}

impl CsvRecords {
    /// Reads `path`.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let raw = std::fs::read(path).map_err(|source| Error::Unreadable { path: path.into(), source })?;
        Self::parse(path, &decode(path, raw)?)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Err(Error::Empty { path: path.into() });
        }
        // the header is checked like any record, and raggedness is reported in our words
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let mut record = csv::ByteRecord::new();
        next(path, &mut reader, &mut record)?;
        let names = header(path, &record)?;

        let mut kinds = vec![None; names.len()];
        let mut csv = Self { fields: Vec::new(), bytes: Vec::new(), starts: vec![0], ends: Vec::new() };
        while next(path, &mut reader, &mut record)? {
            if record.len() != names.len() {
                let line = line_of(&record);
                return Err(Error::Ragged { path: path.into(), line, found: record.len(), wanted: names.len() });
            }
            let start = csv.bytes.len();
            for (value, kind) in record.iter().zip(&mut kinds) {
                *kind = widest(*kind, kind_of(value));
                csv.bytes.extend_from_slice(value);
                csv.ends.push((csv.bytes.len() - start) as u32);
            }
            csv.starts.push(csv.bytes.len() as u64);
        }
        if csv.rows() == 0 {
            return Err(Error::HeaderOnly { path: path.into() });
        }
        let field = |(name, kind): (String, Option<Kind>)| Field { name, kind: kind.unwrap_or(Kind::Text) };
        csv.fields = names.into_iter().zip(kinds).map(field).collect();
        csv.bytes.shrink_to_fit();
        csv.ends.shrink_to_fit();
        Ok(csv)
    }

    /// Name and kind of each column.
    pub(super) fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    /// Number of records, at least one.
    pub(super) fn rows(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The value of column `field` in record `row`.
    pub(super) fn value(&self, row: u64, field: usize) -> &[u8] {
        let ends = &self.ends[row as usize * self.fields.len()..][..self.fields.len()];
        let start = if field == 0 { 0 } else { ends[field - 1] as usize };
        &self.bytes[self.starts[row as usize] as usize..][start..ends[field] as usize]
    }

    /// Mean bytes of the values of a record.
    pub(super) fn mean_bytes(&self) -> f64 {
        self.bytes.len() as f64 / self.rows() as f64
    }
}

/// The text of a file: UTF-8 with or without a byte order mark, else CP949, as Korean public data comes.
fn decode(path: &Path, raw: Vec<u8>) -> Result<String, Error> {
    let raw = match String::from_utf8(raw) {
        Ok(text) if text.starts_with('\u{feff}') => return Ok(text['\u{feff}'.len_utf8()..].to_owned()),
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let cp949 = encoding_rs::EUC_KR;
    if let Some(text) = cp949.decode_without_bom_handling_and_without_replacement(&raw) {
        return Ok(text.into_owned());
    }
    // A line feed is never part of a longer character in either encoding, so lines can be judged one by one. The file
    // was meant to be in the encoding that fewer of its lines violate; the first of those is the one to look at.
    let violations = |violates: &dyn Fn(&[u8]) -> bool| {
        let mut lines = raw.split(|&octet| octet == b'\n').zip(1..).filter(|(line, _)| violates(line));
        let first = lines.next().map_or(1, |(_, line)| line);
        (1 + lines.count(), first)
    };
    let (utf8_lines, utf8_first) = violations(&|line| std::str::from_utf8(line).is_err());
    let (cp949_lines, cp949_first) =
        violations(&|line| cp949.decode_without_bom_handling_and_without_replacement(line).is_none());
    let (encoding, line) = if utf8_lines <= cp949_lines { ("UTF-8", utf8_first) } else { ("CP949", cp949_first) };
    Err(Error::Encoding { path: path.into(), line, encoding })
}

/// The next record into `record`; whether there was one.
fn next(path: &Path, reader: &mut csv::Reader<&[u8]>, record: &mut csv::ByteRecord) -> Result<bool, Error> {
    let found = reader
        .read_byte_record(record)
        .map_err(|error| Error::Unreadable { path: path.into(), source: std::io::Error::other(error) })?;
    if found && record.as_slice().len() > RECORD_BYTES_MAX {
        return Err(Error::TooLong { path: path.into(), line: line_of(record) });
    }
    Ok(found)
}

/// Line on which `record` begins, from 1.
fn line_of(record: &csv::ByteRecord) -> u64 {
    record.position().map_or(1, csv::Position::line)
}

/// The column names in `record`.
fn header(path: &Path, record: &csv::ByteRecord) -> Result<Vec<String>, Error> {
    let path = || path.to_owned();
    let numeric = |name| matches!(kind_of(name), Some(Kind::Integer | Kind::Decimal));
    if record.iter().all(|name| name.is_empty() || numeric(name)) && record.iter().any(numeric) {
        return Err(Error::NoHeader { path: path() });
    }
    let mut seen = HashMap::new();
    let mut names = Vec::with_capacity(record.len());
    for (column, name) in (1..).zip(record.iter()) {
        let name = String::from_utf8_lossy(name).trim().to_owned();
        if name.is_empty() {
            return Err(Error::Unnamed { path: path(), column });
        }
        if let Some(first) = seen.insert(name.clone(), column) {
            return Err(Error::Duplicate { path: path(), name, first, second: column });
        }
        names.push(name);
    }
    Ok(names)
}

/// What a single value looks like; `None` if it is empty. A number that would not come back the same from a numeric
/// column (leading zeros, a plus sign, more than 18 digits) is text.
fn kind_of(value: &[u8]) -> Option<Kind> {
    if value.is_empty() {
        return None;
    }
    let unsigned = value.strip_prefix(b"-").unwrap_or(value);
    let mut parts = unsigned.splitn(2, |&octet| octet == b'.');
    let whole = parts.next().unwrap_or_default();
    let fraction = parts.next();
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let exact = whole.len() + fraction.map_or(0, <[u8]>::len) <= 18 && (whole.len() == 1 || !whole.starts_with(b"0"));
    Some(match fraction {
        None if digits(whole) && exact && value != b"-0" => Kind::Integer,
        Some(fraction) if digits(whole) && digits(fraction) && exact => Kind::Decimal,
        _ => Kind::Text,
    })
}

/// The kind that holds what both hold.
fn widest(one: Option<Kind>, other: Option<Kind>) -> Option<Kind> {
    match (one, other) {
        (None, kind) | (kind, None) => kind,
        (Some(one), Some(other)) if one == other => Some(one),
        (Some(Kind::Text), _) | (_, Some(Kind::Text)) => Some(Kind::Text),
        _ => Some(Kind::Decimal),
    }
}
