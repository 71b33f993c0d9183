//! Treatment of the values of columns in a pass over a file, and the reports that the pass makes:
//! the same for each kind of file. Not here: reading and writing files (`csv`, and the crate
//! `sealstone-parquet`).

use sealstone_keys::KeyRef;

use crate::column::{ColumnCipher, named_key};
use crate::error::FieldsError;
use crate::misfit::Misfit;
use crate::policy::{Method, Table};
use crate::texts::{Texts, Values};

/// Work to do on the columns of a table; each list has a cipher for each column of the table, in
/// the same order.
#[derive(Debug)]
pub enum Work {
    /// Only look how many values fit.
    Check,
    /// Only look for authenticated values that need this version of a key, and report each as a
    /// misfit: [`Misfit::Under`]. Other values do not name a version, and unsealed values need
    /// none.
    Find(KeyRef),
    /// Seal.
    Seal(Vec<ColumnCipher>),
    /// Open.
    Open(Vec<ColumnCipher>),
    /// Open with the first, seal with the second.
    Reseal(Vec<ColumnCipher>, Vec<ColumnCipher>),
}

impl Work {
    /// Returns whether a file is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Check | Self::Find(_))
    }
}

/// Plan of the work on a file.
#[derive(Debug)]
pub struct Plan {
    /// The table that the file holds.
    pub table: Table,
    /// Work to do on its columns.
    pub work: Work,
}

/// Results for some values of a column: as many as there were values, with an empty result where a
/// value did not fit.
#[derive(Debug, Default)]
pub struct Worked {
    /// The values to be written; none after a check.
    pub values: Option<Texts>,
    /// Their index values, where the column gets any; empty otherwise.
    pub index: Texts,
}

/// Reaction to a row that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMisfit {
    /// The pass ends with an error that names it.
    Fail,
    /// It is reported and left out of the output.
    Report,
}

/// Progress of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read and done.
    pub bytes: u64,
    /// Rows done.
    pub rows: u64,
}

/// Receiver of a pass's reports while it runs, on the thread that called it.
pub struct Listener<'a> {
    /// Each value that does not fit, in the order of the file.
    pub on_reject: &'a mut dyn FnMut(&Reject) -> std::io::Result<()>,
    /// After each piece.
    pub on_progress: &'a mut dyn FnMut(Progress),
}

/// A value that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Position of the value, from 1: the line of its row in a CSV file, the number of the row in a
    /// Parquet file.
    pub place: u64,
    /// The column.
    pub column: String,
    /// Reason why the value does not fit.
    pub misfit: Misfit,
}

/// Findings in one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnCount {
    /// Values read.
    pub values: u64,
    /// Values that do not fit.
    pub misfits: u64,
    /// Among how many values one hides, at least; none where nothing is counted.
    pub choices_least: Option<f64>,
}

/// Result of a pass.
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
    /// Adds the findings in another piece of the file.
    pub fn add(&mut self, found: &Self) {
        self.values += found.values;
        self.misfits += found.misfits;
        self.choices_least = match (self.choices_least, found.choices_least) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl Plan {
    /// Does the work on `values` of the column `at` of the table, counted from 0, and counts them
    /// in `count`. Where one does not fit, `misfits` gets its number and the reason, in ascending
    /// order.
    ///
    /// - `rows`: for a column that is bound to the row, the name of each value's row, as many as
    ///   `values`
    ///
    /// # Errors
    /// As [`ColumnCipher::seal`] and [`ColumnCipher::open`].
    ///
    /// # Panics
    /// If `rows` are needed and not given, or not as many.
    pub fn work_on<V: Values + ?Sized>(
        &self,
        at: usize,
        values: &V,
        rows: Option<&Texts>,
        count: &mut ColumnCount,
        misfits: &mut Vec<(usize, Misfit)>,
    ) -> Result<Worked, FieldsError> {
        count.values += values.len() as u64;
        let mut out = Texts::new();
        let index = match &self.work {
            Work::Check => {
                self.check(at, values, count, misfits);
                return Ok(Worked::default());
            }
            Work::Find(key) => {
                self.find(at, values, key, misfits);
                return Ok(Worked::default());
            }
            Work::Seal(ciphers) => {
                ciphers[at].seal(values, rows, &mut out, misfits)?;
                indexes(&ciphers[at], values)?
            }
            Work::Open(ciphers) => {
                ciphers[at].open(values, rows, &mut out, misfits)?;
                Texts::new()
            }
            Work::Reseal(from, to) => {
                let mut clear = Texts::new();
                from[at].open(values, rows, &mut clear, misfits)?;
                to[at].seal(&clear, rows, &mut out, misfits)?;
                // an unopened value is empty, and may be a misfit again: the first reason counts
                misfits.sort_by_key(|(number, _)| *number);
                misfits.dedup_by_key(|(number, _)| *number);
                indexes(&to[at], &clear)?
            }
        };
        Ok(Worked { values: Some(out), index })
    }

    /// Checks whether values fit, and how few possible values they hide among.
    fn check<V: Values + ?Sized>(
        &self,
        at: usize,
        values: &V,
        count: &mut ColumnCount,
        misfits: &mut Vec<(usize, Misfit)>,
    ) {
        let column = &self.table.columns[at];
        let Method::Ff1(format) = &column.method else { return };
        for number in 0..values.len() {
            let value = values.get(number);
            if value.is_empty() && column.keeps_empty {
                continue;
            }
            match format.check(value) {
                Ok(choices) => {
                    count.choices_least =
                        Some(count.choices_least.map_or(choices, |least| least.min(choices)));
                }
                Err(misfit) => misfits.push((number, misfit)),
            }
        }
    }

    /// Finds the values that are sealed under `key`, and the values for which this cannot be
    /// determined.
    fn find<V: Values + ?Sized>(
        &self,
        at: usize,
        values: &V,
        key: &KeyRef,
        misfits: &mut Vec<(usize, Misfit)>,
    ) {
        if !matches!(self.table.columns[at].method, Method::Aead) {
            return;
        }
        let mut record = Vec::new();
        for number in 0..values.len() {
            match named_key(values.get(number), &mut record) {
                Ok(Some(found)) if found == *key => misfits.push((number, Misfit::Under(found))),
                Ok(_) => {}
                Err(error) => misfits.push((number, Misfit::Record(error.to_string().into()))),
            }
        }
    }
}

fn indexes<V: Values + ?Sized>(cipher: &ColumnCipher, values: &V) -> Result<Texts, FieldsError> {
    let mut indexes = Texts::new();
    for number in 0..values.len() {
        let mut done = Ok(());
        indexes.push_with(|text| done = cipher.index(values.get(number), text));
        done?;
    }
    Ok(indexes)
}
