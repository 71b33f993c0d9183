//! Check of how a table is sealed, and of whether it still needs a version of its key.

use sealstone_keys::KeyRef;

use super::ciphers::shown;
use super::error::MigrationError;
use super::layout::layout;
use super::run::{said, shape, there};
use super::server::{Phase, TableServer, Wanted};
use super::shape::Layout;
use crate::column::named_key;
use crate::policy::{Column, Method, Table};
use crate::table_manifest::TableManifest;

/// Number of rows that are read at once.
const ROWS_AT_ONCE: usize = 1000;

/// Part of a table that needs a version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Values, such as in this row.
    Values(String),
    /// No value; but its manifest is under it, and so would be new values.
    Manifest,
    /// Perhaps a value, such as in this row: which key it names is not known to this version.
    Unknown(String),
}

/// Record of how a table is sealed, or partly sealed.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its columns and the cipher.
    pub table: Table,
    /// The key, and the version under which values are sealed from now on.
    pub key: KeyRef,
    /// Name and version of the cryptographic module that seals the values under that version, if
    /// one does.
    pub module: Option<String>,
    /// Time at which its sealing began (RFC 3339), if that is recorded.
    pub since: Option<String>,
    /// Name and version of the program that began with it, if that is recorded.
    pub program: Option<String>,
}

impl Record {
    pub(super) fn of(manifest: TableManifest) -> Self {
        let TableManifest { table, key, module, since, program, .. } = manifest;
        Self { table, key, module, since, program }
    }
}

/// Returns the record of how a table is sealed; changes nothing, and takes no lock. Needs no key,
/// so it may not be genuine.
///
/// - `name`: the table, for messages
///
/// # Errors
/// As [`need`].
pub fn record(server: &mut dyn TableServer, name: &str) -> Result<Record, MigrationError> {
    shape(server, name)?;
    let Some(state) = server.state()? else {
        return Err(MigrationError::NotSealed { place: server.place(), table: name.to_owned() });
    };
    Ok(Record::of(said(&*server, name, &state)?.0))
}

/// Returns what part of a sealed table needs `key`; changes nothing, and takes no lock. Needs no
/// key, so the table's manifest may not be genuine.
///
/// - `name`: the table, for messages
/// - `names`: every name that a version of this key has: the key's own, or those that a key server
///   gave its versions
///
/// # Errors
/// [`MigrationError::NoTable`], [`MigrationError::NotSealed`], [`MigrationError::Phase`],
/// [`MigrationError::Manifest`], errors of a table or column, the server's error.
pub fn need(
    server: &mut dyn TableServer,
    name: &str,
    key: &KeyRef,
    names: &[String],
) -> Result<Need, MigrationError> {
    let shape = shape(server, name)?;
    let Some(state) = server.state()? else {
        return Err(MigrationError::NotSealed { place: server.place(), table: name.to_owned() });
    };
    let (manifest, phase) = said(&*server, name, &state)?;
    if !names.contains(&manifest.key.id) {
        return Ok(Need::Nothing);
    }
    // a version with a name of its own is that name, whatever number a table gave it
    let is_own = names.len() > 1 && manifest.key.id == key.id;
    // before and after, marks may be missing, and nothing is sealed
    if matches!(phase, Phase::Sealing | Phase::Sealed | Phase::Opening) {
        there(&*server, name, &shape, &manifest, phase)?;
        let layout = layout(&shape, &manifest.table, true)?;
        // a version that no mark can have is none that any value is sealed under
        let number = if is_own { manifest.key.version } else { key.version };
        let marked = Wanted::MarkedAs(i32::try_from(number).unwrap_or(i32::MAX));
        if let Some(row) = server.read(&layout, marked, None, 1)?.first() {
            return Ok(Need::Values(shown(&layout, row)));
        }
        if let Some(need) = named(server, &layout, &manifest.table, (key, names.len() > 1))? {
            return Ok(need);
        }
    }
    Ok(if is_own || manifest.key == *key { Need::Manifest } else { Need::Nothing })
}

/// Returns the need of a value that itself names `key`, whatever its mark states: a program that
/// claims one version may have sealed under another.
///
/// - `by_name`: true if each version has a name of its own
fn named(
    server: &mut dyn TableServer,
    layout: &Layout,
    table: &Table,
    (key, by_name): (&KeyRef, bool),
) -> Result<Option<Need>, MigrationError> {
    let names_key = |column: &Column| matches!(column.method, Method::Aead);
    if !table.columns.iter().any(names_key) {
        return Ok(None);
    }
    let is_it = |named: &KeyRef| named.id == key.id && (by_name || named.version == key.version);
    let mut after: Option<Vec<String>> = None;
    let mut record = Vec::new();
    loop {
        let rows = server.read(layout, Wanted::Marked, after.as_deref(), ROWS_AT_ONCE)?;
        for row in &rows {
            let cells =
                table.columns.iter().zip(&row.cells).filter(|(column, _)| names_key(column));
            for value in cells.filter_map(|(_, cell)| cell.mark.and(cell.value.as_deref())) {
                match named_key(value, &mut record) {
                    Ok(Some(named)) if is_it(&named) => {
                        return Ok(Some(Need::Values(shown(layout, row))));
                    }
                    Ok(_) => {}
                    Err(_) => return Ok(Some(Need::Unknown(shown(layout, row)))),
                }
            }
        }
        match rows.last() {
            Some(last) if rows.len() == ROWS_AT_ONCE => after = Some(last.key.clone()),
            _ => return Ok(None),
        }
    }
}
