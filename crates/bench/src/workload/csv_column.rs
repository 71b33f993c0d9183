//! One column of a CSV file. Not here: reading a CSV file (`csv_records`).

use std::path::Path;
use std::sync::atomic::AtomicBool;

use sealstone_message::not_among_header_names;

use super::csv_records::CsvRecords;
use super::error::Error;

/// The values of one column.
#[derive(Debug)]
pub(super) struct Column {
    csv: CsvRecords,
    field: usize,
}

impl Column {
    /// Reads column `column` of `path`, whose delimiter is what the file shows.
    ///
    /// # Errors
    /// A file that is no CSV file with a header, or has no such column; names the nearest.
    /// [`Error::Stopped`].
    pub(super) fn read(path: &Path, column: &str, stop: &AtomicBool) -> Result<Self, Error> {
        let csv = CsvRecords::read(path, None, stop)?;
        let fields = csv.fields();
        let Some(field) = fields.iter().position(|field| field.name == column) else {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            return Err(Error::Plan(format!(
                "{} has no column {column:?}{}",
                path.display(),
                not_among_header_names(column, [], &names)
            )));
        };
        Ok(Self { csv, field })
    }

    /// Returns the number of values, at least one.
    pub(super) fn rows(&self) -> u64 {
        self.csv.rows()
    }

    /// Returns the value of record `row`.
    pub(super) fn value(&self, row: u64) -> &[u8] {
        self.csv.value(row, self.field)
    }
}
