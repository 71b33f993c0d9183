//! Rows of a sealed table read back: the values of their sealed columns in the clear, for one row
//! or for one after the other. Changes nothing, and takes no lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_keys::KeySource;

use super::ciphers::{Ciphers, shown};
use super::error::{MigrationError, RowMisfit};
use super::goal::Goal;
use super::layout::{in_order, layout};
use super::run::{Options, Reading, known, shape, there};
use super::server::{Phase, Row, TableServer, Wanted};
use super::shape::Layout;
use crate::misfit::Misfit;

/// A row that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadRow {
    /// All of its sealed values opened.
    Opened(OpenedRow),
    /// At least one did not, and none is handed out.
    Failed(Vec<RowMisfit>),
}

/// A row in the clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedRow {
    /// Its key, a text for each column of it.
    pub key: Vec<String>,
    /// For each sealed column its value; none for NULL.
    pub values: Vec<Option<String>>,
    /// Number of these values that were in the clear in the table.
    pub clear: usize,
}

/// A sealed table whose rows are read.
pub struct Reader<'a> {
    server: &'a mut dyn TableServer,
    name: String,
    layout: Layout,
    ciphers: Ciphers,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Prepares to read the table, which must be sealed, or in part, under a key of `keys`.
    ///
    /// - `name`: the table, for messages
    ///
    /// # Errors
    /// [`MigrationError::NoTable`], [`MigrationError::NotSealed`], [`MigrationError::Manifest`] for
    /// another key, errors of a table or column, the server's error.
    pub fn new(
        server: &'a mut dyn TableServer,
        name: &str,
        keys: Arc<dyn KeySource>,
    ) -> Result<Self, MigrationError> {
        let shape = shape(server, name)?;
        let not_sealed = |server: &dyn TableServer| MigrationError::NotSealed {
            place: server.place(),
            table: name.to_owned(),
        };
        let Some(state) = server.state()? else { return Err(not_sealed(server)) };
        let (manifest, phase) = known(server, name, &state, &keys)?;
        match phase {
            // marks may be missing, and no value is sealed
            Phase::Preparing | Phase::Removing => return Err(not_sealed(server)),
            Phase::Sealing | Phase::Sealed | Phase::Opening => {}
        }
        there(&*server, name, &shape, &manifest, phase)?;
        let table = in_order(&manifest.table, &shape);
        let layout = layout(&shape, &table, true)?;
        let rooms = vec![None; layout.columns.len()];
        let ciphers = Ciphers::new(&table, &layout, rooms, &manifest.key, keys);
        Ok(Self { server, name: name.to_owned(), layout, ciphers })
    }

    /// Returns the names of the columns of the key, then of the sealed columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let sealed = self.layout.columns.iter().map(|column| column.name.as_str());
        self.layout.key.iter().map(String::as_str).chain(sealed)
    }

    /// Reads the row with the key `key`; none if there is none.
    ///
    /// - `key`: a text for each column of the key
    ///
    /// # Errors
    /// [`MigrationError::KeyColumns`] for another number of texts; the server's error.
    pub fn get(&mut self, key: &[String]) -> Result<Option<ReadRow>, MigrationError> {
        if key.len() != self.layout.key.len() {
            return Err(MigrationError::KeyColumns {
                table: self.name.clone(),
                columns: self.layout.key.join(", "),
                found: key.len(),
            });
        }
        let found = self.server.find(&self.layout, key)?;
        let rows: Vec<Row> = found.into_iter().collect();
        Ok(self.opened(rows)?.pop())
    }

    /// Reads all rows in the order of their keys.
    ///
    /// - `limit`: rows at most
    /// - `on_rows`: gets them, some at a time; what it fails with ends the reading
    ///
    /// # Errors
    /// [`MigrationError::Stopped`]; the server's error; whatever `on_rows` fails with.
    pub fn scan<E: From<MigrationError>>(
        &mut self,
        limit: Option<u64>,
        options: &Options<'_>,
        on_rows: &mut dyn FnMut(Vec<ReadRow>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut reading = Reading::new(Wanted::Every { marked: true });
        let mut left = limit.unwrap_or(u64::MAX);
        while left > 0 {
            let batch = options.batch.min(usize::try_from(left).unwrap_or(usize::MAX));
            let options = Options { batch, ..*options };
            let Some(rows) = reading.next(self.server, &self.layout, &options, 0)? else { break };
            left = left.saturating_sub(rows.len() as u64);
            let opened = self.opened(rows)?;
            on_rows(opened)?;
        }
        Ok(())
    }

    /// Opens `rows`; one that does not open keeps no other from it.
    fn opened(&mut self, rows: Vec<Row>) -> Result<Vec<ReadRow>, MigrationError> {
        let mut failed: BTreeMap<String, Vec<RowMisfit>> = BTreeMap::new();
        let mut fail =
            |misfit: RowMisfit| failed.entry(misfit.row.clone()).or_default().push(misfit);
        let mut usable = Vec::new();
        for row in &rows {
            let misfits = self.unusable_marks(row)?;
            if misfits.is_empty() {
                usable.push(row.clone());
            }
            misfits.into_iter().for_each(&mut fail);
        }
        let worked = self.ciphers.work(Goal::Open, &usable)?;
        worked.misfits.into_iter().for_each(&mut fail);
        let mut changes = worked.changes.into_iter().peekable();
        let mut read = Vec::with_capacity(rows.len());
        for row in rows {
            let change = changes.next_if(|change| change.old.key == row.key);
            let new = change.map(|change| change.new).unwrap_or_default();
            if let Some(misfits) = failed.get(&shown(&self.layout, &row)) {
                read.push(ReadRow::Failed(misfits.clone()));
                continue;
            }
            let clear = row.cells.iter().filter(|cell| cell.value.is_some() && cell.mark.is_none());
            let clear = clear.count();
            let mut new = new.into_iter();
            let values = row.cells.into_iter().map(|cell| match new.next().flatten() {
                Some(new) => new.value,
                None => cell.value,
            });
            read.push(ReadRow::Opened(OpenedRow { key: row.key, values: values.collect(), clear }));
        }
        Ok(read)
    }

    /// Returns a misfit for each value of `row` whose mark names a version that cannot be had.
    fn unusable_marks(&mut self, row: &Row) -> Result<Vec<RowMisfit>, MigrationError> {
        let mut misfits = Vec::new();
        for (at, cell) in row.cells.iter().enumerate() {
            let Some(mark) = cell.mark.filter(|_| cell.value.is_some()) else { continue };
            let Some(why) = self.ciphers.lacks(mark)? else { continue };
            misfits.push(RowMisfit {
                row: shown(&self.layout, row),
                column: self.layout.columns[at].name.clone(),
                misfit: Misfit::Record(why.into()),
            });
        }
        Ok(misfits)
    }
}
