//! The manifest of a table of a database: the key and policy of its columns. docs/formats.md has
//! its keys and the scope of its MAC.

use std::path::Path;

use sealstone_cipher::Backend;
use sealstone_cipher::module::{name_in, title};
use sealstone_keys::{HmacSha256, KeyRef};
use toml::Table as Toml;

use crate::error::FieldsError;
use crate::manifest_error::ManifestError;
use crate::manifest_text::{
    ID_BYTES, MAC_BYTES, MODULE, ManifestText, bytes, check, entries, hex, text,
};
use crate::policy::{Table, columns_text};
use crate::table_key::Keyed;

/// Version of the format.
const VERSION: i64 = 1;
/// Keys of what is recorded besides, and may be missing: when sealing began, and by which program.
const SINCE: &str = "since";
const BY: &str = "by";
/// This program.
const PROGRAM: &str = concat!("sealstone ", env!("CARGO_PKG_VERSION"));
/// Text at its beginning, which no manifest of a file has.
pub(crate) const BEGINNING: &str = "mac = \"";

/// Contents of a table's manifest.
#[derive(Clone, Debug)]
pub(crate) struct TableManifest {
    /// Drawn for each table that is sealed.
    id: [u8; ID_BYTES],
    /// Table and columns, and how they are sealed.
    pub(crate) table: Table,
    /// The key, with the version under which values are sealed from now on.
    pub(crate) key: KeyRef,
    /// Name and version of the cryptographic module that seals the values under that version, if
    /// one does.
    pub(crate) module: Option<String>,
    /// Time at which sealing began (RFC 3339).
    pub(crate) since: Option<String>,
    /// Name and version of the program that began with it.
    pub(crate) program: Option<String>,
}

impl TableManifest {
    /// Returns a manifest for a table that is about to be sealed under `keyed`.
    ///
    /// # Errors
    /// [`FieldsError::Key`] where there is no randomness.
    pub(crate) fn new(table: &Table, keyed: &Keyed) -> Result<Self, FieldsError> {
        let mut id = [0; ID_BYTES];
        keyed.fill_random(&mut id)?;
        let now = jiff::Timestamp::now();
        Ok(Self {
            id,
            table: table.clone(),
            key: keyed.key().clone(),
            module: module_of(keyed),
            since: Some(now.round(jiff::Unit::Second).unwrap_or(now).to_string()),
            program: Some(PROGRAM.to_owned()),
        })
    }

    /// Returns the same table, sealed under the key of `keyed` from now on, and by its module if
    /// that is another version of the key: every value is sealed again then.
    pub(crate) fn under(&self, keyed: &Keyed) -> Self {
        let key = keyed.key().clone();
        let module = if key == self.key { self.module.clone() } else { module_of(keyed) };
        Self { key, module, ..self.clone() }
    }

    /// Returns the names of the module that sealed the values, and of the one at hand, if that may
    /// not go on: only a module of that name does, so that the record stays true.
    pub(crate) fn other_module(&self, keyed: &Keyed) -> Option<(String, &'static str)> {
        let title = self.module.as_deref()?;
        let by = keyed.provider(Backend::auto()).module().map(|module| module.name());
        let is_other = by != Some(name_in(title));
        is_other.then(|| (title.to_owned(), by.unwrap_or("none")))
    }

    /// Returns whether `table` is sealed in the same way: the same name, cipher and columns, in any
    /// order.
    pub(crate) fn is_of(&self, table: &Table) -> bool {
        let Table { name, cipher, columns, .. } = table;
        self.table.name == *name
            && self.table.cipher.name == cipher.name
            && columns_text(&self.table.columns) == columns_text(columns)
    }

    /// Returns it as stored: a line with the MAC, which is over all that follows, under the key
    /// that it names.
    ///
    /// # Errors
    /// [`FieldsError::Key`] in a forked process.
    pub(crate) fn text(&self, keyed: &Keyed) -> Result<String, FieldsError> {
        let body: Toml = entries(VERSION, &self.id, &self.table, &self.key, self.module.as_deref())
            .chain(self.since.as_deref().map(|since| (SINCE, text(since))))
            .chain(self.program.as_deref().map(|program| (BY, text(program))))
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let body = body.to_string();
        let tag = self.mac(&body, keyed)?.finish()?;
        Ok(format!("{BEGINNING}{}\"\n{body}", hex(&tag)))
    }

    /// Reads a manifest, without any key and so without knowing that it is genuine; `place` is
    /// named in errors only.
    ///
    /// # Errors
    /// [`ManifestError::File`], [`ManifestError::Version`], [`ManifestError::Damaged`].
    pub(crate) fn parse(text: &str, place: &str) -> Result<Self, ManifestError> {
        let (_, body) = split(text)?;
        let text = ManifestText::parse(body, Path::new(place))?;
        let found = text.number("version")?;
        if found != VERSION {
            return Err(ManifestError::Version(found));
        }
        text.check_keys(&["columns", MODULE, SINCE, BY])?;
        let (id, table, key) = text.head()?;
        let module = text.optional(MODULE)?;
        let since = text.optional(SINCE)?;
        let program = text.optional(BY)?;
        Ok(Self { id, table, key, module, since, program })
    }

    /// Checks that `text`, which [`TableManifest::parse`] read, is genuine and `keyed` the key that
    /// it names.
    ///
    /// # Errors
    /// [`ManifestError::WrongKey`], [`ManifestError::Damaged`].
    pub(crate) fn check(&self, text: &str, keyed: &Keyed) -> Result<(), ManifestError> {
        let (tag, body) = split(text)?;
        check(self.mac(body, keyed)?, &tag, &self.key, keyed)
    }

    fn mac(&self, body: &str, keyed: &Keyed) -> Result<HmacSha256, FieldsError> {
        let mut mac = keyed.hmac("field table", &[&self.id])?;
        mac.update(body.as_bytes());
        Ok(mac)
    }
}

/// Returns the title of the module that computes with `keyed`, if one does.
fn module_of(keyed: &Keyed) -> Option<String> {
    keyed.provider(Backend::auto()).module().map(title)
}

/// Returns the MAC on the first line of `text`, and the rest.
fn split(text: &str) -> Result<([u8; MAC_BYTES], &str), ManifestError> {
    let damaged = ManifestError::Damaged("mac");
    let Some((first, body)) = text.split_once('\n') else { return Err(damaged) };
    let tag = first.strip_prefix(BEGINNING).and_then(|rest| rest.strip_suffix('"')).and_then(bytes);
    Ok((tag.ok_or(damaged)?, body))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sealstone_cipher::cipher;
    use sealstone_keys::EphemeralKey;

    use super::*;
    use crate::policy::{Column, ColumnOptions};

    fn table(method: &str) -> Table {
        let options = ColumnOptions { index: Some((None, Some(16))), ..ColumnOptions::default() };
        let columns = vec![Column::new("phone", method, &options).unwrap()];
        Table::new("people", cipher("aria-256").unwrap(), columns).unwrap()
    }

    #[test]
    fn it_comes_back_and_is_bound_to_its_key() {
        let keyed = Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap();
        let manifest = TableManifest::new(&table("ff1:phone"), &keyed).unwrap();
        let text = manifest.text(&keyed).unwrap();
        let read = TableManifest::parse(&text, "here").unwrap();
        read.check(&text, &keyed).unwrap();
        assert!(read.is_of(&table("ff1:phone")) && !read.is_of(&table("ff1:digits")));
        assert_eq!(read.key, *keyed.key());

        let other = Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap();
        assert!(matches!(read.check(&text, &other), Err(ManifestError::WrongKey { .. })));
        for (from, to) in
            [("\"people\"", "\"orders\""), ("bits = 16", "bits = 20"), ("mac = \"", "mac = \"0")]
        {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            let refused = TableManifest::parse(&changed, "here")
                .and_then(|read| read.check(&changed, &keyed));
            assert!(refused.is_err(), "{to}");
        }
    }
}
