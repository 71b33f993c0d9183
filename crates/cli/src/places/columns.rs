//! Files with sealed columns among places.

use std::path::Path;
use std::sync::Arc;

use sealstone_audit::facts::{Kind, Maker, Place, Share, Unit};
use sealstone_cipher::Cipher;
use sealstone_fields::pass::Reject;
use sealstone_fields::policy::{Column, Table};
use sealstone_files::{FileError, SealedFile};
use sealstone_keys::{KeyRef, KeySource};

use super::findings::{checked, share, unread};
use super::keys::Given;
use crate::standing::approval;

/// Looks at the file `path`, which has a manifest beside it.
pub(super) fn look(path: &Path, given: &[Given], verify: bool) -> Place {
    let mut place = Place::new(path.display().to_string(), Kind::Columns, "file");
    let sealed = match SealedFile::read(path, None, None) {
        Ok(sealed) => sealed,
        Err(error) => return unread(place, &error.into()),
    };
    let manifest = &sealed.manifest;
    place.sealed = shares(&manifest.table, &manifest.key, manifest.rows);
    for share in &mut place.sealed {
        share.maker = Maker::of(manifest.module.clone());
    }
    place.verified = checked(&place, given, verify, |keys| opened(&sealed, keys));
    place
}

/// Returns what each column of a table is sealed with.
fn shares(table: &Table, key: &KeyRef, rows: u64) -> Vec<Share> {
    table.columns.iter().map(|column| column_share(column, table.cipher, key, rows)).collect()
}

/// Returns what `rows` values of a column are sealed with.
pub(super) fn column_share(
    column: &Column,
    cipher: &'static Cipher,
    key: &KeyRef,
    rows: u64,
) -> Share {
    let approval = approval(column, cipher);
    Share {
        key_id: Some(key.id.clone()),
        mode: column.method_text(),
        count: rows,
        unit: Unit::Rows,
        column: Some(column.name.clone()),
        leaks: Some(column.leaks()),
        fips: approval.fips,
        kcmvp: approval.kcmvp,
        ..share(cipher, None, key.version)
    }
}

/// Opens every value of the file and returns what does not open.
fn opened(sealed: &SealedFile, keys: Arc<dyn KeySource>) -> anyhow::Result<(Vec<String>, u64)> {
    let found = sealed.keyed(keys).and_then(|keyed| sealed.verify(&keyed));
    match found {
        Ok(found) => {
            let word = sealed.manifest.layout.place();
            let of = |Reject { place, column, misfit }: &Reject| {
                format!("{word} {place}, {column}: {misfit}")
            };
            Ok((found.iter().map(of).collect(), found.len() as u64))
        }
        // the file or its manifest is another one
        Err(error @ (FileError::NotTheFile { .. } | FileError::Manifest { .. })) => {
            Ok((vec![error.to_string().lines().next().unwrap_or_default().to_owned()], 1))
        }
        Err(error) => Err(error.into()),
    }
}
