//! State of a sealed table, counted by the server: how many values of each column are sealed, under
//! which versions of the key, and how many are in the clear. Needs no key, and no value leaves the
//! server. Not here: the check of values that are still to be sealed (`check`).

use std::collections::BTreeMap;

use super::error::MigrationError;
use super::layout::{in_order, layout};
use super::need::Record;
use super::run::{said, shape, there};
use super::server::{Counted, Phase, TableServer};
use crate::policy::Column;

/// State of a table.
#[derive(Clone, Debug)]
pub struct Status {
    /// The record of how it is sealed.
    pub record: Record,
    /// Progress of its migration.
    pub phase: Phase,
    /// The sealed columns.
    pub columns: Vec<ColumnStatus>,
}

/// State of a sealed column.
#[derive(Clone, Debug)]
pub struct ColumnStatus {
    /// The column and its method.
    pub column: Column,
    /// Number of values under each version of the key.
    pub sealed: BTreeMap<u32, u64>,
    /// Number of values in the clear.
    pub clear: u64,
    /// Number of values that were written over after they were sealed, past the trigger that keeps
    /// their marks.
    pub written_over: u64,
}

impl ColumnStatus {
    /// Returns the number of sealed values.
    #[must_use]
    pub fn sealed_values(&self) -> u64 {
        self.sealed.values().sum()
    }

    /// Returns the number of values under another version than `newest`.
    #[must_use]
    pub fn older_values(&self, newest: u32) -> u64 {
        self.sealed.iter().filter(|(version, _)| **version != newest).map(|(_, count)| count).sum()
    }
}

/// Returns the state of a sealed table. The record may not be genuine, since no key checks it.
///
/// - `name`: the table, for messages
///
/// # Errors
/// As [`super::need`].
pub fn status(server: &mut dyn TableServer, name: &str) -> Result<Status, MigrationError> {
    let shape = shape(server, name)?;
    let Some(state) = server.state()? else {
        return Err(MigrationError::NotSealed { place: server.place(), table: name.to_owned() });
    };
    let (manifest, phase) = said(&*server, name, &state)?;
    there(&*server, name, &shape, &manifest, phase)?;
    let table = in_order(&manifest.table, &shape);
    let layout = layout(&shape, &table, true)?;
    let has = |name: &String| shape.columns.iter().any(|column| column.name == *name);
    // before and after, marks may be missing, and nothing is sealed
    let marked = layout.columns.iter().all(|column| has(&column.mark) && has(&column.digest));
    let mut columns = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let mut found = ColumnStatus {
            column: column.clone(),
            sealed: BTreeMap::new(),
            clear: 0,
            written_over: 0,
        };
        for Counted { mark, is_kept, values } in server.count(&layout, at, marked)? {
            match mark {
                None => found.clear += values,
                Some(_) if !is_kept => found.written_over += values,
                Some(mark) => *found.sealed.entry(mark.unsigned_abs()).or_default() += values,
            }
        }
        columns.push(found);
    }
    Ok(Status { record: Record::of(manifest), phase, columns })
}
