//! Policies: the sealed columns of tables, their methods, and their keys.

mod read;

use std::iter::once;

use sealstone_cipher::ff1::takes;
use sealstone_cipher::{Cipher, Mode};
use sealstone_message::{SettingName, Unknown};

use crate::error::FieldsError;
use crate::format::{Format, FormatError};
use crate::index::{BITS_MAX, BITS_MIN};
pub use read::PolicyFileError;
pub(crate) use read::{ColumnReader, columns_text, syntax};

/// The default number of bits of an index value.
const INDEX_BITS: u32 = 32;
/// Suffix of the name of an index column if no name is given.
const INDEX_ENDING: &str = "_index";

/// One row of the table of methods.
#[derive(Debug)]
#[non_exhaustive]
pub struct MethodRow {
    /// The name, such as `ff1`.
    pub name: &'static str,
    /// Description of what the method does.
    pub what: &'static str,
    /// Description of what can be seen without the key.
    pub leaks: &'static str,
}

/// Methods by which a value can be sealed.
pub(crate) static METHODS: [MethodRow; 2] = [
    MethodRow {
        name: "ff1",
        what: "format-preserving (SP 800-38G): same length, same alphabet, no room for a tag",
        leaks: "which values of the column are equal (not with tweak row), and what the format \
                leaks; a changed value opens to another one",
    },
    MethodRow {
        name: "aead",
        what: "authenticated: longer, and any change is noticed",
        leaks: "the length",
    },
];

/// Method by which the values of a column are sealed.
#[derive(Clone, Debug)]
pub enum Method {
    /// In their own format.
    Ff1(Format),
    /// As authenticated records.
    Aead,
}

/// Binding of a sealed value, in addition to the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tweak {
    /// Nothing: equal values are equal in every table that is sealed so under this key. For FF1
    /// alone.
    None,
    /// Table and column.
    #[default]
    Column,
    /// Table, column, and what the row has in this column, which stays in the clear.
    Row(String),
}

/// A column with index values of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Length of an index value, in bits.
    pub bits: u32,
}

/// Options of a column in addition to its method.
#[derive(Clone, Debug, Default)]
pub struct ColumnOptions {
    /// Binding of its values.
    pub tweak: Tweak,
    /// A column of index values: its name if it is to have another than the usual one, and their
    /// length in bits.
    pub index: Option<(Option<String>, Option<u32>)>,
    /// True if an empty value stays empty, which shows that it is empty.
    pub keeps_empty: bool,
    /// True if there may be so few possible values that all of them can be tried.
    pub small_domain: bool,
}

/// One sealed column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Method by which its values are sealed.
    pub method: Method,
    /// Binding of its values.
    pub tweak: Tweak,
    /// Destination of their index values, if they have any.
    pub index: Option<Index>,
    /// True if an empty value stays empty.
    pub keeps_empty: bool,
}

/// One table with its sealed columns, at least one.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, to which values are bound.
    pub name: String,
    /// The cipher of all its columns.
    pub cipher: &'static Cipher,
    /// The key source, where the policy names one.
    pub key: Option<String>,
    /// Its sealed columns.
    pub columns: Vec<Column>,
}

/// Tables, and the key of tables that name none.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// All tables.
    pub tables: Vec<Table>,
}

/// Reason why something is not a valid policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A column without a method.
    #[error(
        "{0:?} names no column and method\nwrite it as COLUMN=ff1:FORMAT or COLUMN=aead, such as \
         phone=ff1:phone"
    )]
    NoMethod(String),
    /// A method that is in no row.
    #[error("column {column}: {unknown}")]
    Method {
        /// The column.
        column: String,
        /// The name asked for.
        unknown: Box<Unknown>,
    },
    /// FF1 without a format.
    #[error("column {0}: ff1 needs a format, such as ff1:digits")]
    NoFormat(String),
    /// The method takes no format.
    #[error("column {0}: aead takes values of any form, and no format")]
    NeedlessFormat(String),
    /// A format that is none, or too small.
    #[error("column {column}: {source}")]
    Format {
        /// The column.
        column: String,
        /// Error in the format.
        source: FormatError,
    },
    /// A tweak that is none.
    #[error("column {column}: {unknown}")]
    Tweak {
        /// The column.
        column: String,
        /// The text.
        unknown: Box<Unknown>,
    },
    /// A record without its column.
    #[error("column {0}: tweak none is for ff1; an aead value is always bound to table and column")]
    Unbound(String),
    /// An index of impossible length.
    #[error(
        "column {column}: index values of {found} bits; take a multiple of 4 from {BITS_MIN} to \
         {BITS_MAX}"
    )]
    IndexBits {
        /// The column.
        column: String,
        /// The requested length, in bits.
        found: u32,
    },
    /// No column at all.
    #[error("table {0}: no column to seal")]
    NoColumns(String),
    /// One name for two columns.
    #[error("table {table}: two columns would be called {name}")]
    Twice {
        /// The table.
        table: String,
        /// The name.
        name: String,
    },
    /// A value is bound to something that is sealed itself.
    #[error(
        "column {column} is bound to {row}, which is sealed itself\nbind it to a column that stays \
         in the clear"
    )]
    SealedRow {
        /// The column.
        column: String,
        /// The column of rows.
        row: String,
    },
    /// A cipher that is none.
    #[error(transparent)]
    Cipher(#[from] Unknown),
    /// A method that the cipher cannot do.
    #[error(transparent)]
    Column(#[from] FieldsError),
    /// A table that is in no policy.
    #[error("in the policy: {0}")]
    NoTable(Unknown),
    /// Several tables, and none named.
    #[error(
        "the policy has several tables: {0}\nsay which, with {table}",
        table = SettingName("table NAME")
    )]
    WhichTable(String),
}

impl Column {
    /// Returns the modes in which the cipher `cipher` seals its values and makes its index values.
    pub fn modes(&self, cipher: &Cipher) -> Vec<Mode> {
        let method = match self.method {
            Method::Ff1(_) => Mode::Ff1,
            Method::Aead => cipher.mode,
        };
        once(method).chain(self.index.as_ref().map(|_| Mode::Cmac)).collect()
    }

    /// Reads `spec`, such as `phone=ff1:phone` or `memo=aead`.
    ///
    /// # Errors
    /// As [`Column::new`]; [`PolicyError::NoMethod`].
    pub fn parse(spec: &str, options: &ColumnOptions) -> Result<Self, PolicyError> {
        match spec.split_once('=') {
            Some((name, method)) if !name.is_empty() && !method.is_empty() => {
                Self::new(name, method, options)
            }
            _ => Err(PolicyError::NoMethod(spec.to_owned())),
        }
    }

    /// Returns the column `name`, sealed by `method`: `aead`, or `ff1:` and a format.
    ///
    /// # Errors
    /// Each [`PolicyError`] about a column.
    pub fn new(name: &str, method: &str, options: &ColumnOptions) -> Result<Self, PolicyError> {
        let column = || name.to_owned();
        let (method_name, format) =
            method.split_once(':').map_or((method, None), |(name, rest)| (name, Some(rest)));
        let method = match (method_name, format) {
            ("ff1", Some(format)) => {
                let format = Format::parse(format, options.small_domain);
                Method::Ff1(
                    format.map_err(|source| PolicyError::Format { column: column(), source })?,
                )
            }
            ("ff1", None) => return Err(PolicyError::NoFormat(column())),
            ("aead", None) if options.tweak == Tweak::None => {
                return Err(PolicyError::Unbound(column()));
            }
            ("aead", None) => Method::Aead,
            ("aead", Some(_)) => return Err(PolicyError::NeedlessFormat(column())),
            (other, _) => {
                let known = METHODS.iter().map(|row| row.name);
                let unknown = Unknown::new("method", other, known).into();
                return Err(PolicyError::Method { column: column(), unknown });
            }
        };
        let index = options.index.clone().map(|(index_name, bits)| Index {
            name: index_name.unwrap_or_else(|| format!("{name}{INDEX_ENDING}")),
            bits: bits.unwrap_or(INDEX_BITS),
        });
        if let Some(Index { bits, .. }) = index
            && !((BITS_MIN..=BITS_MAX).contains(&bits) && bits.is_multiple_of(4))
        {
            return Err(PolicyError::IndexBits { column: column(), found: bits });
        }
        Ok(Self {
            name: column(),
            method,
            tweak: options.tweak.clone(),
            index,
            keeps_empty: options.keeps_empty,
        })
    }

    /// Returns the column that names the row, if the values are bound to it.
    #[must_use]
    pub fn row(&self) -> Option<&str> {
        if let Tweak::Row(row) = &self.tweak { Some(row) } else { None }
    }

    /// Returns the method in its written form: `ff1:digits`, `aead`.
    #[must_use]
    pub fn method_text(&self) -> String {
        match &self.method {
            Method::Ff1(format) => format!("ff1:{}", format.text()),
            Method::Aead => "aead".into(),
        }
    }

    /// Returns a description, in words, of what can be seen of the column without the key.
    #[must_use]
    pub fn leaks(&self) -> String {
        let mut leaks = match (&self.method, &self.tweak) {
            (Method::Aead, _) => vec![METHODS[1].leaks.to_owned()],
            (Method::Ff1(format), Tweak::Row(_)) => vec![format.row().leaks.to_owned()],
            (Method::Ff1(format), Tweak::Column) => {
                vec!["which values are equal".to_owned(), format.row().leaks.to_owned()]
            }
            (Method::Ff1(format), Tweak::None) => {
                vec![
                    "which values are equal, here and in other tables".to_owned(),
                    format.row().leaks.to_owned(),
                ]
            }
        };
        if let Some(index) = &self.index {
            leaks.push(format!(
                "by {}, which values are equal, but for one in 2^{}",
                index.name, index.bits
            ));
        }
        if self.keeps_empty {
            leaks.push("which values are empty".to_owned());
        }
        leaks.join("; ")
    }
}

impl std::str::FromStr for Tweak {
    type Err = Unknown;

    /// Reads `none`, `column` or `row:COLUMN`.
    fn from_str(text: &str) -> Result<Self, Unknown> {
        match text.split_once(':') {
            None if text == "none" => Ok(Self::None),
            None if text == "column" => Ok(Self::Column),
            Some(("row", column)) if !column.is_empty() => Ok(Self::Row(column.to_owned())),
            _ => Err(Unknown::new("tweak", text, ["none", "column", "row:COLUMN"])),
        }
    }
}

impl std::fmt::Display for Tweak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Column => f.write_str("column"),
            Self::Row(column) => write!(f, "row:{column}"),
        }
    }
}

impl Table {
    /// Returns the table `name`, whose columns are sealed under `cipher`.
    ///
    /// # Errors
    /// Each [`PolicyError`] about a table.
    pub fn new(
        name: &str,
        cipher: &'static Cipher,
        columns: Vec<Column>,
    ) -> Result<Self, PolicyError> {
        if columns.is_empty() {
            return Err(PolicyError::NoColumns(name.to_owned()));
        }
        let mut names: Vec<&str> = Vec::new();
        let indexes = columns
            .iter()
            .filter_map(|column| column.index.as_ref())
            .map(|index| index.name.as_str());
        for found in columns.iter().map(|column| column.name.as_str()).chain(indexes) {
            if names.contains(&found) {
                return Err(PolicyError::Twice { table: name.to_owned(), name: found.to_owned() });
            }
            names.push(found);
        }
        for column in &columns {
            if let Some(row) = column.row().filter(|row| names.contains(row)) {
                return Err(PolicyError::SealedRow {
                    column: column.name.clone(),
                    row: row.to_owned(),
                });
            }
            let (column, method) = (column.name.clone(), &column.method);
            if matches!(method, Method::Ff1(_)) && !takes(cipher) {
                return Err(FieldsError::NoFf1 { column, cipher: cipher.name }.into());
            }
        }
        Ok(Self { name: name.to_owned(), cipher, key: None, columns })
    }
}

impl Policy {
    /// Returns the table `name`; without a name, the only one.
    ///
    /// # Errors
    /// [`PolicyError::NoTable`], [`PolicyError::WhichTable`].
    pub fn table(&self, name: Option<&str>) -> Result<&Table, PolicyError> {
        let names = || self.tables.iter().map(|table| table.name.as_str());
        let known = || names().collect::<Vec<_>>().join(", ");
        match (name, &self.tables[..]) {
            (None, [only]) => Ok(only),
            (None, _) => Err(PolicyError::WhichTable(known())),
            (Some(name), tables) => {
                let found = tables.iter().find(|table| table.name == name);
                found.ok_or_else(|| PolicyError::NoTable(Unknown::new("table", name, names())))
            }
        }
    }
}
