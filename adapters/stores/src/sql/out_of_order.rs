//! Error for a table whose marks cannot be kept because something changes its rows after our
//! triggers have seen them.

/// Something that changes the rows of a table after our triggers.
#[derive(Debug, thiserror::Error)]
#[error(
    "table {table} on {place}: {found}; a value that it writes over a sealed one would be taken \
     for a sealed one\n{step}"
)]
pub(crate) struct OutOfOrder {
    /// The server.
    pub(crate) place: String,
    /// The table, or a part of it.
    pub(crate) table: String,
    /// Description of what changes the rows, by its name.
    pub(crate) found: String,
    /// Advice on what to do about it, with the statement.
    pub(crate) step: String,
}
