//! Policies from TOML, and columns as TOML. Unknown names are reported with the nearest name.

use std::path::{Path, PathBuf};

use sealstone_cipher::{Cipher, DEFAULT_CIPHER, cipher};
use sealstone_message::Unknown;
use sealstone_message::without_addresses;
use toml::{Table as Toml, Value};

use super::{Column, ColumnOptions, Method, Policy, PolicyError, Table, Tweak};

/// Reason why a file is not a valid policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFileError {
    /// It cannot be read.
    #[error("cannot read policy {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error from the system.
        source: std::io::Error,
    },
    /// It is not TOML.
    #[error("policy {}: {found}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Description of the error.
        found: String,
    },
    /// A key that means nothing.
    #[error("policy {}, {place}: {unknown}", path.display())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The table of the file.
        place: String,
        /// The key.
        unknown: Box<Unknown>,
    },
    /// A value of the wrong type.
    #[error("policy {}, {place}: {key} must be {wanted}", path.display())]
    Type {
        /// The file.
        path: PathBuf,
        /// The table of the file.
        place: String,
        /// The key.
        key: String,
        /// Type that the value must have.
        wanted: &'static str,
    },
    /// A key that is missing.
    #[error("policy {}, {place}: {key} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The table of the file.
        place: String,
        /// The key.
        key: &'static str,
    },
    /// Contents that do not make a valid policy.
    #[error("policy {}: {source}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// Error in the policy.
        source: PolicyError,
    },
}

impl Policy {
    /// Reads the policy in the TOML file `path`.
    ///
    /// # Errors
    /// Each [`PolicyFileError`].
    pub fn read(path: &Path) -> Result<Self, PolicyFileError> {
        // it names keys
        let text = sealstone_file::trust::read_to_string(path)
            .map_err(|source| PolicyFileError::Read { path: path.to_owned(), source })?;
        Self::from_toml(&text, path)
    }

    /// Reads a policy from TOML `text`; `path` is named in errors only.
    ///
    /// # Errors
    /// As [`Policy::read`].
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, PolicyFileError> {
        let toml: Toml = text.parse().map_err(|error| PolicyFileError::Syntax {
            path: path.to_owned(),
            found: syntax(text, &error),
        })?;
        let reader = ColumnReader { path };
        reader.check_keys(&toml, "the policy", &["cipher", "key", "tables"])?;
        let usual = Defaults {
            cipher: reader.cipher(&toml, "the policy")?,
            key: reader.text(&toml, "the policy", "key")?,
        };
        let mut tables = Vec::new();
        for (name, table) in reader.table(&toml, "the policy", "tables")?.into_iter().flatten() {
            let place = format!("tables.{name}");
            let table = table.as_table().ok_or_else(|| reader.wrong(&place, name, "a table"))?;
            tables.push(reader.read_table(name, table, &place, &usual)?);
        }
        if tables.is_empty() {
            return Err(reader.missing("the policy", "tables"));
        }
        Ok(Self { tables })
    }
}

/// Describes where `text` is not TOML and why, in words that quote nothing of it: a file that was
/// named by mistake may hold anything.
pub(crate) fn syntax(text: &str, error: &toml::de::Error) -> String {
    let begin = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = 1 + text.as_bytes()[..begin].iter().filter(|byte| **byte == b'\n').count();
    format!(
        "line {line} is not TOML: {}",
        without_addresses(error.message().trim_end()).replace('\n', "; ")
    )
}

/// Settings of tables that do not specify their own.
struct Defaults {
    cipher: Option<&'static Cipher>,
    key: Option<String>,
}

/// Reads columns as policies and manifests have them.
pub(crate) struct ColumnReader<'a> {
    /// For errors.
    pub(crate) path: &'a Path,
}

impl ColumnReader<'_> {
    fn read_table(
        &self,
        name: &str,
        toml: &Toml,
        place: &str,
        usual: &Defaults,
    ) -> Result<Table, PolicyFileError> {
        self.check_keys(toml, place, &["cipher", "key", "columns"])?;
        let cipher = self.cipher(toml, place)?.or(usual.cipher).unwrap_or(DEFAULT_CIPHER);
        let columns = self.columns(toml, place)?;
        let mut table = Table::new(name, cipher, columns).map_err(|source| self.policy(source))?;
        table.key = self.text(toml, place, "key")?.or_else(|| usual.key.clone());
        Ok(table)
    }

    /// Returns the columns below the key `columns` of `toml`.
    pub(crate) fn columns(&self, toml: &Toml, place: &str) -> Result<Vec<Column>, PolicyFileError> {
        let columns =
            self.table(toml, place, "columns")?.ok_or_else(|| self.missing(place, "columns"))?;
        let read = |(name, column): (&String, &Value)| {
            let place = format!("{place}.columns.{name}");
            let column = column.as_table().ok_or_else(|| self.wrong(&place, name, "a table"))?;
            self.column(name, column, &place)
        };
        columns.iter().map(read).collect()
    }

    fn column(&self, name: &str, toml: &Toml, place: &str) -> Result<Column, PolicyFileError> {
        self.check_keys(
            toml,
            place,
            &["method", "format", "tweak", "index", "empty", "small-domain"],
        )?;
        let method =
            self.text(toml, place, "method")?.ok_or_else(|| self.missing(place, "method"))?;
        let format = self.text(toml, place, "format")?;
        let method = format.map_or(method.clone(), |format| format!("{method}:{format}"));
        let tweak = match self.text(toml, place, "tweak")? {
            Some(text) => text.parse().map_err(|unknown| {
                let unknown = Box::new(unknown);
                self.policy(PolicyError::Tweak { column: name.to_owned(), unknown })
            })?,
            None => Tweak::default(),
        };
        let index = match toml.get("index") {
            None => None,
            Some(Value::Boolean(wanted)) => wanted.then_some((None, None)),
            Some(Value::Table(index)) => {
                let place = format!("{place}.index");
                self.check_keys(index, &place, &["name", "bits"])?;
                let bits = match index.get("bits") {
                    None => None,
                    Some(bits) => {
                        let bits = bits.as_integer().and_then(|bits| u32::try_from(bits).ok());
                        Some(bits.ok_or_else(|| self.wrong(&place, "bits", "a number"))?)
                    }
                };
                Some((self.text(index, &place, "name")?, bits))
            }
            Some(_) => {
                return Err(self.wrong(place, "index", "true, or a table with bits and name"));
            }
        };
        let keeps_empty = match self.text(toml, place, "empty")?.as_deref() {
            None | Some("refuse") => false,
            Some("keep") => true,
            Some(_) => return Err(self.wrong(place, "empty", "\"keep\" or \"refuse\"")),
        };
        let small_domain = match toml.get("small-domain") {
            None => false,
            Some(value) => {
                value.as_bool().ok_or_else(|| self.wrong(place, "small-domain", "true or false"))?
            }
        };
        let options = ColumnOptions { tweak, index, keeps_empty, small_domain };
        Column::new(name, &method, &options).map_err(|source| self.policy(source))
    }

    /// Checks that `toml` has no other keys than `known`.
    pub(crate) fn check_keys(
        &self,
        toml: &Toml,
        place: &str,
        known: &[&str],
    ) -> Result<(), PolicyFileError> {
        match toml.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(PolicyFileError::UnknownKey {
                path: self.path.to_owned(),
                place: place.to_owned(),
                unknown: Unknown::new("key", key, known.iter().copied()).into(),
            }),
        }
    }

    /// Returns the text of `key`, if it is there.
    pub(crate) fn text(
        &self,
        toml: &Toml,
        place: &str,
        key: &str,
    ) -> Result<Option<String>, PolicyFileError> {
        let text = |value: &Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| self.wrong(place, key, "text"))
        };
        toml.get(key).map(text).transpose()
    }

    fn table<'t>(
        &self,
        toml: &'t Toml,
        place: &str,
        key: &str,
    ) -> Result<Option<&'t Toml>, PolicyFileError> {
        toml.get(key)
            .map(|value| value.as_table().ok_or_else(|| self.wrong(place, key, "a table")))
            .transpose()
    }

    fn cipher(&self, toml: &Toml, place: &str) -> Result<Option<&'static Cipher>, PolicyFileError> {
        let name = self.text(toml, place, "cipher")?;
        name.map(|name| cipher(&name)).transpose().map_err(|source| self.policy(source.into()))
    }

    pub(crate) fn policy(&self, source: PolicyError) -> PolicyFileError {
        PolicyFileError::Policy { path: self.path.to_owned(), source }
    }

    pub(crate) fn wrong(&self, place: &str, key: &str, wanted: &'static str) -> PolicyFileError {
        PolicyFileError::Type {
            path: self.path.to_owned(),
            place: place.to_owned(),
            key: key.to_owned(),
            wanted,
        }
    }

    pub(crate) fn missing(&self, place: &str, key: &'static str) -> PolicyFileError {
        PolicyFileError::Missing { path: self.path.to_owned(), place: place.to_owned(), key }
    }
}

/// Returns `columns` as [`ColumnReader::columns`] reads them.
pub(crate) fn columns_text(columns: &[Column]) -> Toml {
    let text = |text: &str| Value::String(text.to_owned());
    let one = |column: &Column| {
        let mut toml = Toml::new();
        match &column.method {
            Method::Ff1(format) => {
                toml.insert("method".into(), text("ff1"));
                toml.insert("format".into(), text(format.text()));
                if format.allows_small() {
                    toml.insert("small-domain".into(), Value::Boolean(true));
                }
            }
            Method::Aead => {
                toml.insert("method".into(), text("aead"));
            }
        }
        toml.insert("tweak".into(), text(&column.tweak.to_string()));
        if let Some(index) = &column.index {
            let mut inner = Toml::new();
            inner.insert("name".into(), text(&index.name));
            inner.insert("bits".into(), Value::Integer(index.bits.into()));
            toml.insert("index".into(), Value::Table(inner));
        }
        if column.keeps_empty {
            toml.insert("empty".into(), text("keep"));
        }
        (column.name.clone(), Value::Table(toml))
    };
    columns.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Policy, String> {
        Policy::from_toml(text, Path::new("fields.toml")).map_err(|error| error.to_string())
    }

    const WHOLE: &str = r#"
        cipher = "aria-256"
        key = "people.key"
        [tables.people.columns."주민등록번호"]
        method = "ff1"
        format = "rrn"
        [tables.people.columns.memo]
        method = "aead"
        tweak = "row:id"
        index = { bits = 16 }
        empty = "keep"
        [tables.births]
        cipher = "aes-128"
        [tables.births.columns.born]
        method = "ff1"
        format = "date:1900-01-01..2029-12-31"
        tweak = "none"
        small-domain = true
        index = true
    "#;

    #[test]
    fn a_policy_is_read() {
        let policy = read(WHOLE).unwrap();
        let people = policy.table(Some("people")).unwrap();
        assert_eq!((people.cipher.name, people.key.as_deref()), ("aria-256", Some("people.key")));
        let memo = people.columns.iter().find(|column| column.name == "memo").unwrap();
        assert_eq!(memo.row(), Some("id"));
        assert_eq!(
            memo.index.as_ref().map(|index| (index.name.as_str(), index.bits)),
            Some(("memo_index", 16))
        );
        assert!(memo.keeps_empty);
        let births = policy.table(Some("births")).unwrap();
        assert_eq!((births.cipher.name, &births.columns[0].tweak), ("aes-128", &Tweak::None));
        assert_eq!(policy.table(None).unwrap_err().to_string().lines().count(), 2);
        assert!(
            policy.table(Some("poeple")).unwrap_err().to_string().contains("did you mean people?")
        );
        for table in &policy.tables {
            let again = columns_text(&table.columns);
            let toml: Toml = [("columns".to_owned(), Value::Table(again))].into_iter().collect();
            let columns = ColumnReader { path: Path::new("x") }.columns(&toml, "here").unwrap();
            assert_eq!(format!("{columns:?}"), format!("{:?}", table.columns));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |from: &str, to: &str| {
            assert!(WHOLE.contains(from), "{from}");
            read(&WHOLE.replacen(from, to, 1)).unwrap_err()
        };
        for (from, to, want) in [
            ("empty =", "emty =", "unknown key \"emty\"; did you mean empty?"),
            ("cipher = \"aria-256\"", "cipher = \"aria256\"", "did you mean aria-256?"),
            (
                "\"rrn\"",
                "\"rnn\"",
                "column 주민등록번호: unknown format \"rnn\"; did you mean rrn?",
            ),
            ("method = \"aead\"", "method = \"aed\"", "unknown method \"aed\"; did you mean aead?"),
            ("method = \"aead\"", "method = 1", "tables.people.columns.memo: method must be text"),
            ("method = \"aead\"", "", "tables.people.columns.memo: method is missing"),
            ("\"row:id\"", "\"rows\"", "column memo: unknown tweak \"rows\""),
            ("\"row:id\"", "\"none\"", "column memo: tweak none is for ff1"),
            (
                "\"row:id\"",
                "\"row:주민등록번호\"",
                "column memo is bound to 주민등록번호, which is sealed itself",
            ),
            ("bits = 16", "bits = 6", "index values of 6 bits"),
            ("small-domain = true", "", "fewer than a million"),
            ("\"aes-128\"", "\"hight\"", "column born: hight has blocks of 8 bytes"),
            ("[tables.births]", "[tables.births", "policy fields.toml: line "),
        ] {
            let error = wrong(from, to);
            assert!(error.contains(want), "{error}\nwant: {want}");
        }
        assert!(read("").unwrap_err().contains("tables is missing"));
        assert!(read("[tables.a]").unwrap_err().contains("tables.a: columns is missing"));
        assert!(read("[tables.a.columns]").unwrap_err().contains("table a: no column to seal"));
    }
}
