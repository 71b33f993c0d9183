//! Reasons why a table cannot be sealed or opened in place, worded for the person reading them. No
//! message holds a value.

use sealstone_keys::KeyError;
use sealstone_message::{SettingName, Unknown};

use super::server::ServerFailure;
use super::shape::Hindrance;
use crate::error::FieldsError;
use crate::manifest_error::ManifestError;
use crate::misfit::Misfit;

/// A value that cannot be sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowMisfit {
    /// The key of its row, such as `id 5`.
    pub row: String,
    /// The column.
    pub column: String,
    /// Reason for the failure.
    pub misfit: Misfit,
}

impl std::fmt::Display for RowMisfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}, column {}: {}", self.row, self.column, self.misfit)
    }
}

/// Reason for the early end of a migration. Everything done until then stays done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// No such table.
    #[error("{place}: {unknown}")]
    NoTable {
        /// The server.
        place: String,
        /// The name asked for.
        unknown: Unknown,
    },
    /// No such column.
    #[error("table {table}: {unknown}")]
    NoColumn {
        /// The table.
        table: String,
        /// The name asked for.
        unknown: Unknown,
    },
    /// Something about a column is in the way.
    #[error("column {column} of table {table}: {}\n{}", hindrance.found, hindrance.step)]
    Column {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Obstacle that was found.
        hindrance: Hindrance,
    },
    /// Something about the table is in the way.
    #[error("table {table}: {}\n{}", hindrance.found, hindrance.step)]
    Table {
        /// The table.
        table: String,
        /// Obstacle that was found.
        hindrance: Hindrance,
    },
    /// A column is too narrow for its values once they are sealed.
    #[error(
        "column {column} of table {table} has room for {room} characters, and its values need \
         {needed} once they are sealed\nnothing was changed; widen it first, for every value that \
         it takes now: {widening}"
    )]
    Narrow {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its room, in characters.
        room: u64,
        /// Room that the longest value needs, in characters.
        needed: u64,
        /// The statement.
        widening: String,
    },
    /// Another process has the table.
    #[error(
        "table {table} on {place} is being migrated by another process: {holder}\nwait until it \
         has ended"
    )]
    Locked {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// The process that holds it.
        holder: String,
    },
    /// It is sealed in another way.
    #[error(
        "table {table} on {place} is sealed already, or in part, and in another way: {columns}, \
         {cipher}, values bound to table {bound}\nname the same columns, cipher and policy as \
         then; to seal it in another way, open it first: {}",
        SettingName("open")
    )]
    OtherPolicy {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// Its columns with their methods.
        columns: String,
        /// The cipher.
        cipher: &'static str,
        /// The name that its values are bound to.
        bound: String,
    },
    /// Its values were sealed by another module than the one at hand.
    #[error(
        "table {table} on {place} was sealed by module {made_by}, and the module at hand is {by}; \
         nothing was changed\n\
         name the same module with {}; or rotate the key first, and reseal: every value is sealed \
         again then",
        SettingName("module")
    )]
    OtherModule {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// Name and version of the module that sealed them.
        made_by: String,
        /// Name of the module at hand.
        by: &'static str,
    },
    /// It is not sealed.
    #[error(
        "table {table} on {place} is not sealed: sealstone_fields has no row for it\n\
         if it was, restore that row from the backup that the table is from"
    )]
    NotSealed {
        /// The server.
        place: String,
        /// The table.
        table: String,
    },
    /// It is none that was sealed, though one of its name was.
    #[error(
        "table {table} on {place} has no column {column}, though sealstone_fields says that it is \
         sealed: it was dropped and recreated, or restored without what sealing added\nif it was \
         restored, take all of it from the same backup; if it was recreated and its values are in \
         the clear, remove the record: sealstone field migrate ADDRESS --table {table} --forget"
    )]
    Remade {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// A column that sealing added.
        column: String,
    },
    /// Parts remain of a sealed table whose record should be removed.
    #[error(
        "table {table} on {place} still has {left}, so its values may be sealed, and only its \
         record says how\n\
         open it instead: {}",
        SettingName("open")
    )]
    Left {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// Description of the remaining part.
        left: String,
    },
    /// It is being opened.
    #[error(
        "table {table} on {place} is being opened\nfinish that first, with the same command and \
         {}",
        SettingName("open")
    )]
    BeingOpened {
        /// The server.
        place: String,
        /// The table.
        table: String,
    },
    /// Its state is unknown to this program.
    #[error(
        "table {table} on {place} is in the state {phase:?}, which this program does not know\n\
         use the sealstone that began with it, or a newer one"
    )]
    Phase {
        /// The server.
        place: String,
        /// The table.
        table: String,
        /// The state.
        phase: String,
    },
    /// A value that does not fit, where that is to end it.
    #[error(
        "table {table}, {first}{}\n{step}: {}",
        and_more(*more), SettingName("on-error report")
    )]
    Misfit {
        /// The table.
        table: String,
        /// The first such value.
        first: Box<RowMisfit>,
        /// Number of further values that do not fit.
        more: u64,
        /// Advice on what to do next.
        step: &'static str,
    },
    /// A mark that no version of a key has.
    #[error(
        "table {table}, row {row}, column {column}: its mark is {mark}, which is no version of a \
         key\n\
         find out who wrote it; what the value is sealed under, nothing else says"
    )]
    Mark {
        /// The table.
        table: String,
        /// The row.
        row: String,
        /// The column.
        column: String,
        /// The mark.
        mark: i32,
    },
    /// Another number of texts than the key has columns.
    #[error(
        "the key of table {table} is {columns}, and {found} values were given\n\
         give one value for each column of it, in this order"
    )]
    KeyColumns {
        /// The table.
        table: String,
        /// The columns of its key.
        columns: String,
        /// Number of values that were given.
        found: usize,
    },
    /// The user requested an end.
    #[error(
        "stopped after {rows} rows, which stay as they are now\nrun the same command again to go on"
    )]
    Stopped {
        /// Number of rows that were changed.
        rows: u64,
    },
    /// The server did not carry out a request.
    #[error("{error}{}", how_on(*rows))]
    Server {
        /// Error that occurred.
        error: Box<dyn std::error::Error + Send + Sync>,
        /// Number of rows that were changed before the error.
        rows: u64,
    },
    /// The manifest is damaged, or of another key.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A key or cipher that cannot be used.
    #[error(transparent)]
    Fields(#[from] FieldsError),
    /// The key could not be obtained.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl From<ServerFailure> for MigrationError {
    fn from(failure: ServerFailure) -> Self {
        Self::Server { error: failure.error, rows: 0 }
    }
}

fn and_more(more: u64) -> String {
    if more > 0 { format!(" (and {more} more values)") } else { String::new() }
}

fn how_on(rows: u64) -> &'static str {
    if rows > 0 {
        "\nwhat was done until then stays; run the same command again to go on"
    } else {
        ""
    }
}
