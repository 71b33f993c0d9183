//! A workload as a TOML file, both ways.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sealstone_message::Unknown;
use toml::de::{DeTable, DeValue};

use super::csv_column::Column;
use super::definition::{Definition, Keys, Requests, Scans, ThinkTime};
use super::file_error::FileError;
use super::setting::Setting;

impl Definition {
    /// Reads the workload in the TOML file `path`, and checks it. Paths in it are relative to its
    /// directory.
    ///
    /// # Errors
    /// [`FileError`]: a file that cannot be read or is not TOML, an unknown key, a value that makes
    /// no sense, a CSV file that cannot be used; with the line where there is one.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = sealstone_file::input::read_to_string(path)
            .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        let mut definition = Self::from_toml(&text, path)?;
        if definition.name.is_empty() {
            definition.name = stem(path);
        }
        definition.check().map_err(|fault| {
            let place = match line_of(&text, &fault.key) {
                Some(line) => format!("{}:{line}", path.display()),
                None => path.display().to_string(),
            };
            FileError::Value { place, fault }
        })?;
        let dir = path.parent().unwrap_or(Path::new(""));
        for from in [&mut definition.fields.from, &mut definition.keys.from].into_iter().flatten() {
            *from = dir.join(&from);
        }
        definition.check_columns(path)?;
        Ok(definition)
    }

    /// As TOML, every key that has a value included.
    ///
    /// # Panics
    /// Never: every value has a form in TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a definition is tables of plain values")
    }

    fn from_toml(text: &str, path: &Path) -> Result<Self, FileError> {
        let syntax = |error: toml::de::Error| FileError::Syntax {
            path: path.to_owned(),
            line: line(text, error.span().map_or(0, |span| span.start)),
            message: error.message().trim_end().replace('\n', "; "),
        };
        let table = DeTable::parse(text).map_err(syntax)?;
        check_keys(text, path, "", table.get_ref(), &full())?;
        toml::from_str(text).map_err(syntax)
    }

    /// Checks that the columns named by the definition exist.
    fn check_columns(&self, path: &Path) -> Result<(), FileError> {
        let columns =
            [(&self.fields.from, &self.fields.column), (&self.keys.from, &self.keys.column)];
        for (from, column) in columns {
            if let (Some(from), Some(column)) = (from, column) {
                Column::read(from, column, &AtomicBool::new(false)).map_err(|source| {
                    FileError::Csv { path: path.to_owned(), source: Box::new(source) }
                })?;
            }
        }
        Ok(())
    }
}

/// Returns the name of a workload whose file contains none: the file's name.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns a definition that has every key.
fn full() -> toml::Table {
    let (some, path) = (Some(1.0), Some(PathBuf::new()));
    let column = Some(String::new());
    let mut full = Definition {
        description: "x".into(),
        setting: Setting::Cold,
        records: Some(1),
        operations: Some(1),
        threads: Some(1),
        target: some,
        requests: Requests {
            first_record: Some(1),
            records: Some(1),
            theta: some,
            hot_records: some,
            hot_requests: some,
            newest_records: some,
            newest_requests: some,
            ..Requests::default()
        },
        scans: Scans { records_min: Some(1), ..Scans::default() },
        keys: Keys {
            zero_padding: Some(1),
            from: path.clone(),
            column: column.clone(),
            ..Keys::default()
        },
        think_time: ThinkTime { mean_us: some, ..ThinkTime::default() },
        ..Definition::default()
    };
    full.fields.bytes_min = Some(1);
    full.fields.bytes_max = Some(1);
    full.fields.from = path;
    full.fields.column = column;
    toml::Table::try_from(full).expect("a definition is tables of plain values")
}

/// Checks that `table`, called `name`, has only keys that are in `known`.
fn check_keys(
    text: &str,
    path: &Path,
    name: &str,
    table: &DeTable<'_>,
    known: &toml::Table,
) -> Result<(), FileError> {
    for (key, value) in table {
        let word: &str = key.get_ref();
        let at = line(text, key.span().start);
        let Some(place) = known.get(word) else {
            return Err(FileError::UnknownKey {
                path: path.to_owned(),
                line: at,
                place: if name.is_empty() { "".into() } else { format!(", [{name}]").into() },
                unknown: Unknown::new("key", word, known.keys().map(String::as_str)).into(),
            });
        };
        match (value.get_ref(), place) {
            (DeValue::Table(inner), toml::Value::Table(known)) => {
                check_keys(text, path, word, inner, known)?
            }
            (_, toml::Value::Table(known)) => {
                let keys = known.keys().cloned().collect::<Vec<_>>().join(", ");
                let message =
                    format!("{word} is a table: write [{word}], and below it some of {keys}");
                return Err(FileError::Syntax { path: path.to_owned(), line: at, message });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the line of `text` on which the octet at `offset` is, from 1.
fn line(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&octet| octet == b'\n').count() + 1
}

/// Returns the line of the key `key`, with its table before it, if the text has it.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let find = |table: &DeTable<'_>, word: &str| {
        table.iter().find(|(key, _)| key.get_ref() == word).map(|(key, _)| key.span().start)
    };
    let offset = match key.split_once('.') {
        None => find(table.get_ref(), key)?,
        Some((name, word)) => {
            let (_, inner) = table.get_ref().iter().find(|(key, _)| key.get_ref() == name)?;
            match inner.get_ref() {
                DeValue::Table(inner) => find(inner, word)?,
                _ => return None,
            }
        }
    };
    Some(line(text, offset))
}

#[cfg(test)]
mod tests;
