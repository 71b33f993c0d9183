//! Text that the manifests of files and of tables have in common: id, table, key and module,
//! written and read; and the check of a MAC over it. Not here: the rest of each (`manifest`,
//! `table_manifest`).

use std::path::Path;

use sealstone_cipher::cipher;
use sealstone_keys::{HmacSha256, KeyRef, check_key_id};
use toml::{Table as Toml, Value};

use crate::error::FieldsError;
use crate::manifest_error::ManifestError;
use crate::policy::{ColumnReader, PolicyFileError, Table, columns_text, syntax};
use crate::table_key::Keyed;

/// Length of the id of a file or a table, in bytes.
pub(crate) const ID_BYTES: usize = 16;
/// Length of a MAC, in bytes.
pub(crate) const MAC_BYTES: usize = 32;
/// Key of the module that sealed the file, or the values of a table.
pub(crate) const MODULE: &str = "module";
/// First keys of every manifest.
const KEYS: [&str; 6] = ["version", "id", "table", "cipher", "key", "key-version"];
/// Place where keys are found, for errors.
const PLACE: &str = "the manifest";

/// Text of a manifest that is being read.
pub(crate) struct ManifestText<'a> {
    reader: ColumnReader<'a>,
    toml: Toml,
}

impl<'a> ManifestText<'a> {
    /// Takes `text` apart; `path` is named in errors only.
    ///
    /// # Errors
    /// [`ManifestError::File`] where it is not TOML.
    pub(crate) fn parse(text: &str, path: &'a Path) -> Result<Self, ManifestError> {
        let wrong =
            |error| PolicyFileError::Syntax { path: path.to_owned(), found: syntax(text, &error) };
        let toml: Toml = text.parse().map_err(wrong)?;
        Ok(Self { reader: ColumnReader { path }, toml })
    }

    /// Checks that it has no keys but those of every manifest and `others`.
    ///
    /// # Errors
    /// [`ManifestError::File`] for another key.
    pub(crate) fn check_keys(&self, others: &[&str]) -> Result<(), ManifestError> {
        Ok(self.reader.check_keys(&self.toml, PLACE, &[&KEYS[..], others].concat())?)
    }

    /// Returns the number of `key`.
    ///
    /// # Errors
    /// [`ManifestError::File`] where there is none.
    pub(crate) fn number(&self, key: &str) -> Result<i64, ManifestError> {
        let number = self.toml.get(key).and_then(Value::as_integer);
        Ok(number.ok_or_else(|| self.reader.wrong(PLACE, key, "a number"))?)
    }

    /// Returns the text of `key`, if it is there.
    ///
    /// # Errors
    /// [`ManifestError::File`] for something else than text.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<String>, ManifestError> {
        Ok(self.reader.text(&self.toml, PLACE, key)?)
    }

    /// Returns the text of `key`.
    ///
    /// # Errors
    /// [`ManifestError::File`] where there is none.
    pub(crate) fn text(&self, key: &'static str) -> Result<String, ManifestError> {
        Ok(self.optional(key)?.ok_or_else(|| self.reader.missing(PLACE, key))?)
    }

    /// Returns the id, the table with its columns, and the key.
    ///
    /// # Errors
    /// [`ManifestError::File`], [`ManifestError::Damaged`].
    pub(crate) fn head(&self) -> Result<([u8; ID_BYTES], Table, KeyRef), ManifestError> {
        let Self { reader, toml } = self;
        let id = bytes(&self.text("id")?).ok_or(ManifestError::Damaged("id"))?;
        let cipher = cipher(&self.text("cipher")?).map_err(|error| reader.policy(error.into()))?;
        let columns = reader.columns(toml, PLACE)?;
        let table = Table::new(&self.text("table")?, cipher, columns)
            .map_err(|error| reader.policy(error))?;
        let version = u32::try_from(self.number("key-version")?)
            .map_err(|_| ManifestError::Damaged("key-version"))?;
        let key = KeyRef { id: self.text("key")?, version };
        check_key_id(&key.id).map_err(|_| ManifestError::Damaged("key"))?;
        Ok((id, table, key))
    }
}

/// Returns the entries that every manifest has, with `module` if there is one.
///
/// - `version`: that of its format
pub(crate) fn entries(
    version: i64,
    id: &[u8; ID_BYTES],
    table: &Table,
    key: &KeyRef,
    module: Option<&str>,
) -> impl Iterator<Item = (&'static str, Value)> {
    [
        ("version", Value::Integer(version)),
        ("id", text(&hex(id))),
        ("table", text(&table.name)),
        ("cipher", text(table.cipher.name)),
        ("key", text(&key.id)),
        ("key-version", Value::Integer(key.version.into())),
        ("columns", Value::Table(columns_text(&table.columns))),
    ]
    .into_iter()
    .chain(module.map(|module| (MODULE, text(module))))
}

/// Checks that `mac`, which took the text of a manifest under `key`, gives `tag`.
///
/// # Errors
/// [`ManifestError::WrongKey`]; that of a module that failed.
pub(crate) fn check(
    mac: HmacSha256,
    tag: &[u8; MAC_BYTES],
    key: &KeyRef,
    keyed: &Keyed,
) -> Result<(), ManifestError> {
    if mac.is(tag).map_err(FieldsError::from)? {
        Ok(())
    } else {
        Err(ManifestError::WrongKey { key: key.clone(), place: keyed.place() })
    }
}

/// Returns `text` as a value of TOML.
pub(crate) fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

/// Returns `bytes` as hexadecimal digits.
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
