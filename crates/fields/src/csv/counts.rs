//! What a pass over a file found, and what it left out. Not here: the pass (`pass`).

use crate::misfit::Misfit;

/// A value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Line of the row, from 1.
    pub line: u64,
    /// The column.
    pub column: String,
    /// Why.
    pub misfit: Misfit,
}

/// What was found in one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnCount {
    /// Values read.
    pub values: u64,
    /// Values that do not fit.
    pub misfits: u64,
    /// Among how many values one hides, at least; none where nothing is counted.
    pub choices_least: Option<f64>,
}

/// What a pass did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Rows written; of a check, rows that fit.
    pub rows: u64,
    /// Rows left out.
    pub rejected: u64,
    /// For each column of the table.
    pub columns: Vec<ColumnCount>,
}

impl ColumnCount {
    /// Adds what was found in another piece of the file.
    pub(super) fn add(&mut self, found: &Self) {
        self.values += found.values;
        self.misfits += found.misfits;
        self.choices_least = match (self.choices_least, found.choices_least) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}
