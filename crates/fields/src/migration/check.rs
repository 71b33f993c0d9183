//! The check of a table: its fitting values, its sealed values, and columns without room.

use sealstone_keys::KeyRef;

use super::ciphers::shown;
use super::error::{MigrationError, RowMisfit};
use super::layout::{layout, rooms};
use super::run::{
    Listener, Misfits, Options, Progress, Reading, Step, other_policy, said, shape, there,
};
use super::server::{Phase, Row, TableServer, Wanted};
use super::shape::{Layout, TextRoom};
use super::width::Width;
use crate::misfit::Misfit;
use crate::pass::ColumnCount;
use crate::policy::{Column, Method, Table};

/// Findings of a check of a table.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Rows with values in the clear, or none at all, all of which fit.
    pub rows: u64,
    /// Rows with a value that does not.
    pub rejected: u64,
    /// Rows with sealed values, and none in the clear.
    pub sealed: u64,
    /// For each column.
    pub columns: Vec<CheckedColumn>,
    /// Values that do not fit.
    pub misfits: Misfits,
    /// Key and cipher with which the table is sealed, if it is, or in part.
    pub sealed_as: Option<SealedAs>,
}

/// Findings in a column.
#[derive(Clone, Debug, Default)]
pub struct CheckedColumn {
    /// Values in the clear.
    pub clear: ColumnCount,
    /// Values that are sealed.
    pub sealed: u64,
    /// Details of how the column is too narrow, if it is.
    pub narrow: Option<Narrow>,
}

/// A column that has no room for its values once they are sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// Its room, in characters.
    pub room: u64,
    /// Room that the longest existing value needs, in characters.
    pub needed: u64,
    /// The statement that widens it, for every value that it takes now.
    pub widening: String,
}

/// Key and cipher with which a table is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedAs {
    /// The key, with the version under which values are sealed from now on.
    pub key: KeyRef,
    /// Name of the cipher.
    pub cipher: &'static str,
}

/// Looks how many values of a table fit the columns of `table`; changes nothing, and needs no key.
///
/// - `name`: the table, for messages
/// - `key_id`: the key to seal it under, which determines the length of sealed values; if unknown,
///   they are as long as under any key
///
/// # Errors
/// Each [`MigrationError`] about tables and columns; the server's error.
pub fn check(
    server: &mut dyn TableServer,
    name: &str,
    table: &Table,
    key_id: Option<&str>,
    options: &Options<'_>,
    listener: Listener<'_>,
) -> Result<Checked, MigrationError> {
    let shape = shape(server, name)?;
    let state = server.state()?;
    let known = state.map(|state| said(&*server, name, &state)).transpose()?;
    if let Some((manifest, phase)) = &known {
        if !manifest.is_of(table) {
            return Err(other_policy(server, name, manifest));
        }
        if matches!(phase, Phase::Opening | Phase::Removing) {
            return Err(MigrationError::BeingOpened {
                place: server.place(),
                table: name.to_owned(),
            });
        }
        there(&*server, name, &shape, manifest, *phase)?;
    }
    let layout = layout(&shape, table, known.is_some())?;
    server.check_order(&layout)?;
    let has = |name: &String| shape.columns.iter().any(|column| column.name == *name);
    let marked = layout.columns.iter().all(|column| has(&column.mark) && has(&column.digest));
    let key_id = known.as_ref().map(|(manifest, _)| manifest.key.id.as_str()).or(key_id);
    let sealed_as =
        known.as_ref().filter(|(_, phase)| *phase != Phase::Preparing).map(|(manifest, _)| {
            SealedAs { key: manifest.key.clone(), cipher: manifest.table.cipher.name }
        });
    let columns = vec![CheckedColumn::default(); table.columns.len()];
    let mut checked = Checked {
        rows: 0,
        rejected: 0,
        sealed: 0,
        columns,
        misfits: Misfits::default(),
        sealed_as,
    };
    let rooms = rooms(&shape, &layout);
    let looking =
        Looking { table, layout: &layout, rooms: &rooms, width: Width::new(table.cipher, key_id) };
    let mut reading = Reading::new(Wanted::Every { marked });
    while let Some(rows) = reading.next(server, &layout, options, 0)? {
        for row in &rows {
            looking.look_at(row, &mut checked);
        }
        listener(Progress { step: Step::Looking, rows: reading.rows, expected: shape.rows });
    }
    for (at, column) in checked.columns.iter_mut().enumerate() {
        let Some(narrow) = &mut column.narrow else { continue };
        let wanted = looking.width.wanted(&table.columns[at], rooms[at].as_ref(), narrow.needed);
        narrow.widening = server.widening(&layout.columns[at].name, wanted);
    }
    Ok(checked)
}

/// Context that values are examined with.
struct Looking<'a> {
    table: &'a Table,
    layout: &'a Layout,
    rooms: &'a [Option<TextRoom>],
    width: Width,
}

impl Looking<'_> {
    fn look_at(&self, row: &Row, checked: &mut Checked) {
        let mut misfits = Vec::new();
        let (mut has_clear, mut has_sealed) = (false, false);
        for (at, ((column, cell), found)) in
            self.table.columns.iter().zip(&row.cells).zip(&mut checked.columns).enumerate()
        {
            let Some(value) = cell.value.as_deref() else { continue };
            let outcome = match (cell.mark, cell.is_kept) {
                (Some(_), true) => {
                    found.sealed += 1;
                    has_sealed = true;
                    continue;
                }
                (Some(_), false) => Err(Misfit::WrittenOver),
                (None, _) => fits(column, value, cell.row.as_deref()),
            };
            has_clear = true;
            let count = &mut found.clear;
            count.values += 1;
            let outcome = outcome.and_then(|choices| {
                let width = self.width.of(column, value);
                match self.rooms[at].as_ref().and_then(|room| room.lacks(width)) {
                    None => Ok(choices),
                    Some(room) => {
                        let needed =
                            width.0.max(found.narrow.as_ref().map_or(0, |narrow| narrow.needed));
                        found.narrow = Some(Narrow { room, needed, widening: String::new() });
                        Err(Misfit::Width { found: width.0, room })
                    }
                }
            });
            match outcome {
                Ok(choices) => {
                    count.choices_least = match (count.choices_least, choices) {
                        (Some(one), Some(other)) => Some(one.min(other)),
                        (one, other) => one.or(other),
                    };
                }
                Err(misfit) => {
                    count.misfits += 1;
                    misfits.push(RowMisfit {
                        row: shown(self.layout, row),
                        column: column.name.clone(),
                        misfit,
                    });
                }
            }
        }
        let counted = match (misfits.is_empty(), has_sealed && !has_clear) {
            (false, _) => &mut checked.rejected,
            (true, true) => &mut checked.sealed,
            (true, false) => &mut checked.rows,
        };
        *counted += 1;
        checked.misfits.add(misfits);
    }
}

/// Returns the number of values that `value` hides among, if known.
fn fits(column: &Column, value: &str, row: Option<&str>) -> Result<Option<f64>, Misfit> {
    if value.is_empty() && column.keeps_empty {
        return Ok(None);
    }
    if let Some(name) = column.row().filter(|_| row.is_none_or(str::is_empty)) {
        return Err(Misfit::NoRow { column: name.to_owned() });
    }
    match &column.method {
        Method::Ff1(format) => format.check(value).map(Some),
        Method::Aead => Ok(None),
    }
}
