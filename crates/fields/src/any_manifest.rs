//! A manifest whose kind is not known beforehand: that of a file, or that of a table of a database.
//! For programs that open values one by one, wherever these are. Not here: the two kinds
//! (`manifest`, `table_manifest`).

use std::path::Path;

use sealstone_keys::KeyRef;

use crate::manifest::Manifest;
use crate::manifest_error::ManifestError;
use crate::policy::Table;
use crate::table_key::Keyed;
use crate::table_manifest::{BEGINNING, TableManifest};

/// A manifest: of a sealed file, or of a table in `sealstone_fields`.
#[derive(Clone, Debug)]
pub struct AnyManifest(Kind);

#[derive(Clone, Debug)]
enum Kind {
    File(Box<Manifest>),
    Table(Box<TableManifest>),
}

impl AnyManifest {
    /// Reads a manifest, without any key and so without knowing that it is genuine; `place` is
    /// named in errors only.
    ///
    /// # Errors
    /// [`ManifestError::File`], [`ManifestError::Version`], [`ManifestError::Damaged`].
    pub fn parse(text: &str, place: &str) -> Result<Self, ManifestError> {
        if text.starts_with(BEGINNING) {
            return Ok(Self(Kind::Table(Box::new(TableManifest::parse(text, place)?))));
        }
        Ok(Self(Kind::File(Box::new(Manifest::parse(text, Path::new(place))?))))
    }

    /// Checks that `text`, which [`AnyManifest::parse`] read, is genuine and `keyed` the key that
    /// it names. Ends of lines at its end count for nothing: clients of databases add one.
    ///
    /// # Errors
    /// [`ManifestError::WrongKey`], [`ManifestError::Damaged`].
    pub fn check(&self, text: &str, keyed: &Keyed) -> Result<(), ManifestError> {
        match &self.0 {
            Kind::File(manifest) => manifest.check(text, keyed),
            Kind::Table(manifest) => {
                manifest.check(&format!("{}\n", text.trim_end_matches(['\r', '\n'])), keyed)
            }
        }
    }

    /// Returns the table with its sealed columns.
    #[must_use]
    pub fn table(&self) -> &Table {
        match &self.0 {
            Kind::File(manifest) => &manifest.table,
            Kind::Table(manifest) => &manifest.table,
        }
    }

    /// Returns the key: that of the file, or that under which values of the table are sealed from
    /// now on.
    #[must_use]
    pub fn key(&self) -> &KeyRef {
        match &self.0 {
            Kind::File(manifest) => &manifest.key,
            Kind::Table(manifest) => &manifest.key,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sealstone_cipher::cipher;
    use sealstone_csv::{Encoding, Layout};
    use sealstone_keys::EphemeralKey;

    use super::*;
    use crate::FileLayout;
    use crate::policy::{Column, ColumnOptions};

    #[test]
    fn both_kinds_are_told_apart_and_checked() {
        let column = Column::new("phone", "ff1:phone", &ColumnOptions::default()).unwrap();
        let table = Table::new("people", cipher("aria-256").unwrap(), vec![column]).unwrap();
        let keyed = Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap();
        let other = Keyed::current(Arc::new(EphemeralKey::new().unwrap())).unwrap();
        let layout = FileLayout::Csv(Layout { delimiter: b',', encoding: Encoding::Utf8 });
        let of_file = Manifest::new(&table, &keyed, layout).unwrap();
        let mac = of_file.file_mac(&keyed).unwrap();
        let of_table = TableManifest::new(&table, &keyed).unwrap();
        for text in [of_file.finish(mac, 0, &keyed).unwrap(), of_table.text(&keyed).unwrap()] {
            let read = AnyManifest::parse(&text, "here").unwrap();
            assert_eq!((read.table().name.as_str(), read.key()), ("people", keyed.key()));
            for text in [&text, &format!("{text}\n"), text.trim_end()] {
                AnyManifest::parse(text, "here").unwrap().check(text, &keyed).unwrap();
            }
            assert!(matches!(read.check(&text, &other), Err(ManifestError::WrongKey { .. })));
            let changed = text.replace("ff1:phone", "ff1:digits").replace("phone", "phones");
            let refused =
                AnyManifest::parse(&changed, "here").and_then(|read| read.check(&changed, &keyed));
            assert!(refused.is_err(), "{changed}");
        }
        assert!(AnyManifest::parse("", "here").is_err());
    }
}
