//! The manifest beside a sealed file: its key and policy, and proof that it is still the same file.
//! FF1 leaves no room for either in a value. docs/formats.md has its keys and the scope of its
//! MACs.
//!
//! It is a file of its own rather than a column, because it also records the method of each column,
//! and because a MAC over the whole file has no place in a row.

use std::path::Path;

use sealstone_cipher::module::title;
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::{HmacSha256, KeyRef, check_key_id};
use toml::{Table as Toml, Value};

use crate::error::FieldsError;
use crate::policy::{ColumnReader, PolicyFileError, Table, columns_text, syntax};
use crate::table_key::Keyed;
use sealstone_csv::{Encoding, Layout};

/// Suffix that the name of a manifest adds to that of its file.
pub const ENDING: &str = ".sealed.toml";
/// Version of the format for CSV files.
const VERSION: i64 = 1;
/// Version for files of other kinds, which have a `layout` instead of delimiter and encoding.
const VERSION_LAYOUT: i64 = 2;
/// The `layout` of a Parquet file.
const PARQUET: &str = "parquet";
/// Key of the module that sealed the file, or the values of a table.
pub(crate) const MODULE: &str = "module";
/// Length of a file's id, in bytes.
const ID_BYTES: usize = 16;
/// Length of a MAC, in bytes.
const MAC_BYTES: usize = 32;
/// Text at its beginning.
const HEAD: &str = "# Which key and policy the sealed file beside this one needs, and how to tell \
                    that it is the same\n\
                    # file. It holds no secret and nothing of the file. Without it the file cannot \
                    be opened.\n";

/// Reason why a manifest does not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It cannot be read as one.
    #[error(transparent)]
    File(Box<PolicyFileError>),
    /// A newer program wrote it.
    #[error(
        "format version {0}, this program knows versions up to {VERSION_LAYOUT}\n\
         use the sealstone that wrote it, or a newer one"
    )]
    Version(i64),
    /// A value that it cannot have.
    #[error("{0} is not what a manifest has there\nrestore it from a backup")]
    Damaged(&'static str),
    /// Its MAC does not fit.
    #[error(
        "key {key} from {place} does not fit the manifest: another key bears the same name, or the \
         manifest was changed\n\
         give the key source under which the file was sealed; if it is the right one, restore the \
         manifest from a backup"
    )]
    WrongKey {
        /// The key that it names.
        key: KeyRef,
        /// Place that the key came from.
        place: String,
    },
    /// No key.
    #[error(transparent)]
    Fields(#[from] FieldsError),
}

impl From<PolicyFileError> for ManifestError {
    fn from(error: PolicyFileError) -> Self {
        Self::File(Box::new(error))
    }
}

/// Kind of file that is sealed, and the format in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayout {
    /// CSV.
    Csv(Layout),
    /// Parquet, which describes its own form.
    Parquet,
}

impl FileLayout {
    /// Returns the word for the place of a row in messages: `line` or `row`.
    #[must_use]
    pub fn place(self) -> &'static str {
        match self {
            Self::Csv(_) => "line",
            Self::Parquet => "row",
        }
    }

    fn version(self) -> i64 {
        match self {
            Self::Csv(_) => VERSION,
            Self::Parquet => VERSION_LAYOUT,
        }
    }

    /// Keys and values of a manifest.
    fn texts(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Csv(layout) => vec![
                ("delimiter", char::from(layout.delimiter).to_string()),
                ("encoding", layout.encoding.name().to_owned()),
            ],
            Self::Parquet => vec![("layout", PARQUET.to_owned())],
        }
    }
}

/// Content of a manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Drawn for each sealed file.
    id: [u8; ID_BYTES],
    /// Table and columns, and how they are sealed.
    pub table: Table,
    /// The key.
    pub key: KeyRef,
    /// Format in which the file is written.
    pub layout: FileLayout,
    /// Number of rows it has.
    pub rows: u64,
    /// Name and version of the cryptographic module that sealed the file, if one did.
    pub module: Option<String>,
    file_mac: [u8; MAC_BYTES],
}

/// A MAC over the bytes of a sealed file as they are written or read.
#[derive(Debug)]
pub struct FileMac(HmacSha256);

impl FileMac {
    /// Adds the next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

impl Manifest {
    /// Returns a manifest for a file that is about to be sealed.
    ///
    /// # Errors
    /// [`FieldsError::Key`] where there is no randomness.
    pub fn new(table: &Table, keyed: &Keyed, layout: FileLayout) -> Result<Self, FieldsError> {
        let mut id = [0; ID_BYTES];
        keyed.fill_random(&mut id)?;
        let key = keyed.key().clone();
        let module = keyed.provider(Backend::auto()).module().map(title);
        let table = table.clone();
        Ok(Self { id, table, key, layout, rows: 0, module, file_mac: [0; MAC_BYTES] })
    }

    /// Returns the text of a manifest by which values open that are kept elsewhere than in a file:
    /// of a CSV file as the command line reads one, with no row yet.
    ///
    /// # Errors
    /// As [`Manifest::new`] and [`Manifest::finish`].
    pub fn without_rows(table: &Table, keyed: &Keyed) -> Result<String, FieldsError> {
        let layout = FileLayout::Csv(Layout { delimiter: b',', encoding: Encoding::Utf8 });
        let manifest = Self::new(table, keyed, layout)?;
        let mac = manifest.file_mac(keyed)?;
        manifest.finish(mac, 0, keyed)
    }

    /// Returns the MAC that takes the bytes of the file.
    ///
    /// # Errors
    /// [`FieldsError::Key`] in a forked process.
    pub fn file_mac(&self, keyed: &Keyed) -> Result<FileMac, FieldsError> {
        Ok(FileMac(keyed.hmac("field file", &[&self.id])?))
    }

    /// Returns the text of the manifest of the file whose bytes `mac` took, with `rows` rows.
    ///
    /// # Errors
    /// As [`Manifest::file_mac`].
    pub fn finish(mut self, mac: FileMac, rows: u64, keyed: &Keyed) -> Result<String, FieldsError> {
        self.rows = rows;
        self.file_mac = mac.0.finish()?;
        let tag = self.mac(keyed)?.finish()?;
        let text = |text: &str| Value::String(text.to_owned());
        let layout =
            self.layout.texts().into_iter().map(|(key, value)| (key, Value::String(value)));
        let top: Toml = [
            ("version", Value::Integer(self.layout.version())),
            ("id", text(&hex(&self.id))),
            ("table", text(&self.table.name)),
            ("cipher", text(self.table.cipher.name)),
            ("key", text(&self.key.id)),
            ("key-version", Value::Integer(self.key.version.into())),
            ("rows", Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX))),
            ("file-mac", text(&hex(&self.file_mac))),
            ("mac", text(&hex(&tag))),
            ("columns", Value::Table(columns_text(&self.table.columns))),
        ]
        .into_iter()
        .chain(self.module.as_deref().map(|module| (MODULE, text(module))))
        .chain(layout)
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        Ok(format!("{HEAD}{top}"))
    }

    /// Reads a manifest, without any key and so without knowing that it is genuine; `path` is named
    /// in errors only.
    ///
    /// # Errors
    /// [`ManifestError::File`], [`ManifestError::Version`], [`ManifestError::Damaged`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ManifestError> {
        let reader = ColumnReader { path };
        let place = "the manifest";
        let wrong =
            |error| PolicyFileError::Syntax { path: path.to_owned(), found: syntax(text, &error) };
        let toml: Toml = text.parse().map_err(wrong)?;
        let number = |key: &'static str| {
            toml.get(key)
                .and_then(Value::as_integer)
                .ok_or_else(|| reader.wrong(place, key, "a number"))
        };
        let found = number("version")?;
        const KEYS: [&str; 10] = [
            "version",
            "id",
            "table",
            "cipher",
            "key",
            "key-version",
            "rows",
            "file-mac",
            "mac",
            "columns",
        ];
        let of_version: &[&str] = match found {
            VERSION => &["delimiter", "encoding"],
            VERSION_LAYOUT => &["layout"],
            _ => return Err(ManifestError::Version(found)),
        };
        reader.check_keys(&toml, place, &[&KEYS[..], &[MODULE], of_version].concat())?;
        let text = |key: &'static str| {
            Ok(reader.text(&toml, place, key)?.ok_or_else(|| reader.missing(place, key))?)
        };
        let text = |key| -> Result<String, ManifestError> { text(key) };
        let id = bytes(&text("id")?).ok_or(ManifestError::Damaged("id"))?;
        let cipher = cipher(&text("cipher")?).map_err(|error| reader.policy(error.into()))?;
        let columns = reader.columns(&toml, place)?;
        let table =
            Table::new(&text("table")?, cipher, columns).map_err(|error| reader.policy(error))?;
        let version = u32::try_from(number("key-version")?)
            .map_err(|_| ManifestError::Damaged("key-version"))?;
        let key = KeyRef { id: text("key")?, version };
        check_key_id(&key.id).map_err(|_| ManifestError::Damaged("key"))?;
        let layout = if found == VERSION {
            let &[delimiter] = text("delimiter")?.as_bytes() else {
                return Err(ManifestError::Damaged("delimiter"));
            };
            let encoding = Encoding::by_name(&text("encoding")?)
                .map_err(|_| ManifestError::Damaged("encoding"))?;
            FileLayout::Csv(Layout { delimiter, encoding })
        } else if text("layout")? == PARQUET {
            FileLayout::Parquet
        } else {
            return Err(ManifestError::Damaged("layout"));
        };
        let rows = u64::try_from(number("rows")?).map_err(|_| ManifestError::Damaged("rows"))?;
        let file_mac = bytes(&text("file-mac")?).ok_or(ManifestError::Damaged("file-mac"))?;
        let module = reader.text(&toml, place, MODULE)?;
        Ok(Self { id, table, key, layout, rows, module, file_mac })
    }

    /// Checks that `text`, which [`Manifest::parse`] read, is genuine and `keyed` the key of its
    /// file.
    ///
    /// # Errors
    /// [`ManifestError::WrongKey`], [`ManifestError::Damaged`].
    pub fn check(&self, text: &str, keyed: &Keyed) -> Result<(), ManifestError> {
        let toml: Toml = text.parse().map_err(|_| ManifestError::Damaged("mac"))?;
        let tag: Option<[u8; MAC_BYTES]> = toml.get("mac").and_then(Value::as_str).and_then(bytes);
        let tag = tag.ok_or(ManifestError::Damaged("mac"))?;
        if self.mac(keyed)?.is(&tag).map_err(FieldsError::from)? {
            Ok(())
        } else {
            Err(ManifestError::WrongKey { key: self.key.clone(), place: keyed.place() })
        }
    }

    /// Returns whether the file whose bytes `mac` took, with `rows` rows, is the file that was
    /// sealed.
    ///
    /// # Errors
    /// That of a module that failed.
    pub fn is_of(&self, mac: FileMac, rows: u64) -> Result<bool, FieldsError> {
        Ok(mac.0.is(&self.file_mac)? && rows == self.rows)
    }

    /// Returns the MAC of the manifest.
    fn mac(&self, keyed: &Keyed) -> Result<HmacSha256, FieldsError> {
        let mut mac = keyed.hmac("field manifest", &[&self.id])?;
        mac.update(&self.covered());
        Ok(mac)
    }

    /// Returns the data that the MAC of the manifest covers: the whole content, each part preceded
    /// by its length.
    fn covered(&self) -> Vec<u8> {
        let mut covered = Vec::new();
        let mut part = |bytes: &[u8]| {
            covered.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            covered.extend_from_slice(bytes);
        };
        part(&self.layout.version().to_be_bytes());
        part(&self.id);
        part(self.table.name.as_bytes());
        part(&self.table.cipher.id.to_be_bytes());
        part(self.key.id.as_bytes());
        part(&self.key.version.to_be_bytes());
        self.layout.texts().iter().for_each(|(_, value)| part(value.as_bytes()));
        part(&self.rows.to_be_bytes());
        part(&self.file_mac);
        let mut columns: Vec<_> = self.table.columns.iter().collect();
        columns.sort_by(|one, other| one.name.cmp(&other.name));
        for column in columns {
            part(column.name.as_bytes());
            part(column.method_text().as_bytes());
            part(column.tweak.to_string().as_bytes());
            let index = column.index.as_ref();
            part(index.map_or("", |index| &index.name).as_bytes());
            part(&index.map_or(0, |index| index.bits).to_be_bytes());
            let small = matches!(&column.method,
                crate::policy::Method::Ff1(format) if format.allows_small());
            part(&[u8::from(column.keeps_empty), u8::from(small)]);
        }
        if let Some(module) = &self.module {
            part(module.as_bytes());
        }
        covered
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes that `text`, hexadecimal digits, stands for.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * N)?;
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (pair[0] * 16 + pair[1]) as u8;
    }
    Some(bytes)
}
