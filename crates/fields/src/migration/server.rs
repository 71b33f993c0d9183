//! Operations that a server offers on a table that is being sealed.

use std::error::Error;

use super::shape::{ColumnLayout, Layout, Shape};

/// Consequence of a failure for the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Another transaction was in the way, and nothing was changed: the same again may succeed.
    Conflict,
    /// It would happen again, or the connection is gone.
    Lasting,
}

/// Error of a server that did not carry out a request.
#[derive(Debug)]
pub struct ServerFailure {
    /// Consequence of the failure.
    pub kind: FailureKind,
    /// The message: the attempt, its object, the finding, and on a second line the next step.
    pub error: Box<dyn Error + Send + Sync>,
}

/// Progress of a table's migration. Kept on the server, so that a command that was killed continues
/// where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Marks and triggers may be missing; no value is sealed.
    Preparing,
    /// Some values are sealed.
    Sealing,
    /// A pass found nothing more to seal.
    Sealed,
    /// Some values are open again; none can be sealed any more.
    Opening,
    /// All are open; marks and triggers may be missing.
    Removing,
}

impl Phase {
    /// Every one with its name on the server.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("preparing", Self::Preparing),
        ("sealing", Self::Sealing),
        ("sealed", Self::Sealed),
        ("opening", Self::Opening),
        ("removing", Self::Removing),
    ];

    /// Its name on the server.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, phase)| *phase == self).map_or("", |(name, _)| name)
    }
}

/// Record that the server keeps of a table.
#[derive(Clone, Debug)]
pub struct State {
    /// The name of its phase.
    pub phase: String,
    /// Its manifest.
    pub manifest: String,
}

/// Selection of the rows to read: rows with at least one value of this kind in a sealed column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Every row. `marked`: whether there are marks; without, all values count as not marked.
    Every {
        /// True if there are marks.
        marked: bool,
    },
    /// A value without a mark.
    Clear,
    /// A value without this mark.
    NotMarked(i32),
    /// A mark.
    Marked,
    /// This mark, or the claim of it.
    MarkedAs(i32),
}

/// Contents of a sealed column in one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The value; none for NULL.
    pub value: Option<String>,
    /// The version of the key that it is sealed under; none where it is in the clear.
    pub mark: Option<i32>,
    /// True if the mark was set for this value, and not for an earlier value that has been
    /// overwritten since. Means nothing without a mark.
    pub is_kept: bool,
    /// Value of the row in the column that this column is bound to; none for NULL, and where it is
    /// not bound to a column.
    pub row: Option<String>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key, a text for each column of it, as [`TableServer::read`] takes it back.
    pub key: Vec<String>,
    /// For each sealed column.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Returns the row that a server answered with.
    ///
    /// - `values`: the key, a value for each of its `keys` columns; then, for each sealed column,
    ///   the value, the mark, `1` if the mark was set for this value, and what the row has in the
    ///   column that this one is bound to
    #[must_use]
    pub fn answered(values: Vec<Option<String>>, keys: usize) -> Self {
        let mut values = values.into_iter();
        let key = values.by_ref().take(keys).map(Option::unwrap_or_default).collect();
        let mut cells = Vec::new();
        while let (Some(value), Some(mark), Some(kept), Some(row)) =
            (values.next(), values.next(), values.next(), values.next())
        {
            let mark = mark.and_then(|mark| mark.parse().ok());
            cells.push(Cell { value, mark, is_kept: kept.as_deref() == Some("1"), row });
        }
        Self { key, cells }
    }
}

/// Number of values of a column that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Their mark; none where they are in the clear.
    pub mark: Option<i32>,
    /// As in [`Cell`].
    pub is_kept: bool,
    /// Number of them, none of which is NULL.
    pub values: u64,
}

impl Counted {
    /// Returns what a server answered with: the mark, `1` if it was set for these values, and their
    /// number.
    #[must_use]
    pub fn answered(values: &[Option<String>]) -> Self {
        let text = |at: usize| values.get(at).and_then(Option::as_deref);
        Self {
            mark: text(0).and_then(|mark| mark.parse().ok()),
            is_kept: text(1) == Some("1"),
            values: text(2).and_then(|count| count.parse().ok()).unwrap_or(0),
        }
    }
}

/// New contents of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCell {
    /// The value; none for NULL.
    pub value: Option<String>,
    /// The version of the key that it is sealed under; none where it is in the clear.
    pub mark: Option<i32>,
    /// Its index value, if the column has any.
    pub index: Option<String>,
}

impl NewCell {
    /// Describes how what a server stored in `column` differs from this cell, without any value;
    /// `None` if it does not.
    ///
    /// - `value`: the stored value; none for NULL
    /// - `mark`: the stored mark as the server writes a number; none for NULL
    #[must_use]
    pub fn difference(
        &self,
        column: &ColumnLayout,
        value: Option<&str>,
        mark: Option<&str>,
    ) -> Option<String> {
        if value != self.value.as_deref() {
            return Some(format!(
                "column {} came back as something else than was written",
                column.name
            ));
        }
        (mark != self.mark.map(|mark| mark.to_string()).as_deref()).then(|| {
            format!("the mark {} came back as something else than was written", column.mark)
        })
    }
}

/// A row to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The row as it was read.
    pub old: Row,
    /// For each sealed column what it is to have, if that is something else.
    pub new: Vec<Option<NewCell>>,
}

/// The tables of a database that have a saved record of how they are sealed.
#[derive(Clone, Debug, Default)]
pub struct SealedTables {
    /// Names of the tables whose record this user may read, as [`TableServer`]s are made for them.
    pub names: Vec<String>,
    /// Schemas with records that this user may not read. Empty on a server that shows nobody what
    /// is kept from them.
    pub unread_schemas: Vec<String>,
}

/// A connection to a server, to one table of a database.
pub trait TableServer {
    /// Returns the location of the table, for messages: `MariaDB at 127.0.0.1:3306`.
    fn place(&self) -> String;

    /// Locks the table against all other processes that use this lock, until the connection ends.
    /// Returns the holder if another process does not release it within seconds.
    ///
    /// # Errors
    /// The server's error.
    fn lock(&mut self) -> Result<Option<String>, ServerFailure>;

    /// Returns the tables of the database.
    ///
    /// # Errors
    /// The server's error.
    fn tables(&mut self) -> Result<Vec<String>, ServerFailure>;

    /// Returns the shape of the table; none if there is no such table.
    ///
    /// # Errors
    /// The server's error.
    fn shape(&mut self) -> Result<Option<Shape>, ServerFailure>;

    /// Returns the statement that gives `column` room for `chars` characters.
    fn widening(&self, column: &str, chars: u64) -> String;

    /// Returns the state that was saved last; none if nothing was saved.
    ///
    /// # Errors
    /// The server's error.
    fn state(&mut self) -> Result<Option<State>, ServerFailure>;

    /// Saves phase and manifest.
    ///
    /// # Errors
    /// The server's error.
    fn save(&mut self, phase: Phase, manifest: &str) -> Result<(), ServerFailure>;

    /// Sees that nothing changes the sealed columns of a row after our triggers have looked at it,
    /// whose marks would be wrong then: another trigger, a rule. Before our triggers are made, that
    /// nothing would.
    ///
    /// # Errors
    /// The offending trigger's name; the server's error.
    fn check_order(&mut self, layout: &Layout) -> Result<(), ServerFailure>;

    /// Adds marks, index columns and triggers that are missing. The work of a moment, however long
    /// the table is.
    ///
    /// - `may_add`: whether something can be missing; otherwise it is an error that something is
    ///
    /// # Errors
    /// The server's error.
    fn prepare(&mut self, layout: &Layout, may_add: bool) -> Result<(), ServerFailure>;

    /// Has the server refuse sealed values from now on; returns when no transaction can write one
    /// any more.
    ///
    /// # Errors
    /// The server's error.
    fn refuse_sealed(&mut self, layout: &Layout) -> Result<(), ServerFailure>;

    /// Removes marks, index columns, triggers, and the saved record, as far as they exist.
    ///
    /// # Errors
    /// The server's error.
    fn remove(&mut self, layout: &Layout) -> Result<(), ServerFailure>;

    /// Returns the names of the additions of sealing to the table of this name, as far as they
    /// exist; none for a missing table.
    ///
    /// # Errors
    /// The server's error.
    fn left(&mut self, layout: &Layout) -> Result<Vec<String>, ServerFailure>;

    /// Removes the saved record of the table, and nothing else.
    ///
    /// # Errors
    /// The server's error.
    fn forget(&mut self) -> Result<(), ServerFailure>;

    /// Returns the next rows in the order of their keys, at most `limit`; fewer only at the end of
    /// the table.
    ///
    /// - `after`: the key before
    ///
    /// # Errors
    /// The server's error.
    fn read(
        &mut self,
        layout: &Layout,
        wanted: Wanted,
        after: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<Row>, ServerFailure>;

    /// Returns the row with the key `key`; none if there is none.
    ///
    /// - `key`: texts of a user, one for each column of the key
    ///
    /// # Errors
    /// A text that is no value of its column; the server's error.
    fn find(&mut self, layout: &Layout, key: &[String]) -> Result<Option<Row>, ServerFailure>;

    /// Counts the values of the sealed column `at` that are not NULL, by mark.
    ///
    /// - `marked`: whether there are marks; without, all values count as not marked
    ///
    /// # Errors
    /// The server's error.
    fn count(
        &mut self,
        layout: &Layout,
        at: usize,
        marked: bool,
    ) -> Result<Vec<Counted>, ServerFailure>;

    /// Returns the tables of the database that have a saved record.
    ///
    /// # Errors
    /// The server's error.
    fn sealed_tables(&mut self) -> Result<SealedTables, ServerFailure>;

    /// Changes rows in one transaction: each only if all that was read of it is still there.
    /// Returns how many were changed, after it has seen that the server has stored in them what it
    /// was given, and what [`TableServer::check_order`] sees.
    ///
    /// # Errors
    /// The server's error; nothing is changed in that case, unless the connection is gone.
    fn write(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure>;
}
