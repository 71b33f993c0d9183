//! Reasons why an operation on a store failed.

/// An engine's own error, worded for the person reading it: the attempt, the place, the finding,
/// the next step.
pub type EngineError = Box<dyn std::error::Error + Send + Sync>;

/// Reason why an operation on a store failed. Each operation documents what a failure leaves
/// behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The engine failed, its server, or the operating system below it; or it cannot open what it
    /// was given.
    #[error("{0}")]
    Engine(#[source] EngineError),
    /// The store has no such ability.
    #[error("{caller} needs {ability}, which this store lacks")]
    Lacks {
        /// The caller, such as the name of a workload.
        caller: &'static str,
        /// Ability that was requested, such as `bulk loading`.
        ability: &'static str,
    },
    /// A record or a change that does not fit its table.
    #[error("cannot write to table {table}: {found}")]
    Shape {
        /// Name of the table.
        table: String,
        /// Description of what does not fit.
        found: String,
    },
    /// A stored record that does not belong to its table.
    #[error("a stored record of table {table} {found}")]
    Stored {
        /// Name of the table.
        table: String,
        /// Description of the error in the record.
        found: String,
    },
    /// Rows for bulk loading that do not come in ascending order of their keys.
    #[error(
        "row {row} of a bulk load into table {table} is out of order\nsort the rows by key, each \
         key once"
    )]
    Order {
        /// Name of the table.
        table: String,
        /// Number of the row, from 1.
        row: u64,
    },
    /// Data read that differs from the data written and acknowledged.
    #[error("{0}")]
    Differs(String),
    /// The caller requested the end.
    #[error("stopped")]
    Stopped,
}

impl StoreError {
    /// Returns the error of an engine.
    pub fn engine(error: impl Into<EngineError>) -> Self {
        Self::Engine(error.into())
    }
}
