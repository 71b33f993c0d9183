//! The manifest beside a sealed file: its key and policy, and proof that it is still the same file.
//! FF1 leaves no room for either in a value. docs/formats.md has its keys and the scope of its
//! MACs.
//!
//! It is a file of its own rather than a column, because it also records the method of each column,
//! and because a MAC over the whole file has no place in a row.

use std::path::Path;

use sealstone_cipher::Backend;
use sealstone_cipher::module::title;
use sealstone_keys::{HmacSha256, KeyRef};
use toml::{Table as Toml, Value};

use crate::error::FieldsError;
use crate::manifest_error::{ManifestError, VERSION_MAX};
use crate::manifest_text::{
    ID_BYTES, MAC_BYTES, MODULE, ManifestText, bytes, check, entries, hex, text,
};
use crate::policy::Table;
use crate::table_key::Keyed;
use sealstone_csv::{Encoding, Layout};

/// Suffix that the name of a manifest adds to that of its file.
pub const ENDING: &str = ".sealed.toml";
/// Version of the format for CSV files.
const VERSION: i64 = 1;
/// Version for files of other kinds, which have a `layout` instead of delimiter and encoding.
const VERSION_LAYOUT: i64 = 2;
const _: () = assert!(VERSION_LAYOUT <= VERSION_MAX);
/// The `layout` of a Parquet file.
const PARQUET: &str = "parquet";
/// Text at its beginning.
const HEAD: &str = "# Which key and policy the sealed file beside this one needs, and how to tell \
                    that it is the same\n\
                    # file. It holds no secret and nothing of the file. Without it the file cannot \
                    be opened.\n";

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
        let layout =
            self.layout.texts().into_iter().map(|(key, value)| (key, Value::String(value)));
        let top: Toml = entries(
            self.layout.version(),
            &self.id,
            &self.table,
            &self.key,
            self.module.as_deref(),
        )
        .chain([
            ("rows", Value::Integer(i64::try_from(rows).unwrap_or(i64::MAX))),
            ("file-mac", text(&hex(&self.file_mac))),
            ("mac", text(&hex(&tag))),
        ])
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
        let text = ManifestText::parse(text, path)?;
        let found = text.number("version")?;
        let of_version: &[&str] = match found {
            VERSION => &["delimiter", "encoding"],
            VERSION_LAYOUT => &["layout"],
            _ => return Err(ManifestError::Version(found)),
        };
        text.check_keys(&[&["rows", "file-mac", "mac", "columns", MODULE], of_version].concat())?;
        let (id, table, key) = text.head()?;
        let layout = if found == VERSION {
            let &[delimiter] = text.text("delimiter")?.as_bytes() else {
                return Err(ManifestError::Damaged("delimiter"));
            };
            let encoding = Encoding::by_name(&text.text("encoding")?)
                .map_err(|_| ManifestError::Damaged("encoding"))?;
            FileLayout::Csv(Layout { delimiter, encoding })
        } else if text.text("layout")? == PARQUET {
            FileLayout::Parquet
        } else {
            return Err(ManifestError::Damaged("layout"));
        };
        let rows =
            u64::try_from(text.number("rows")?).map_err(|_| ManifestError::Damaged("rows"))?;
        let file_mac = bytes(&text.text("file-mac")?).ok_or(ManifestError::Damaged("file-mac"))?;
        let module = text.optional(MODULE)?;
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
        check(self.mac(keyed)?, &tag, &self.key, keyed)
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
