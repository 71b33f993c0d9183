//! Sources that the workloads of one comparison share: the settings, the source of records, and for
//! each kind of data set a single instance that all of its workloads use.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_csv::Delimiter;

use super::csv_column::Column;
use super::data::Data;
use super::error::Error;
use super::records::Records;
use crate::words::count::counted;

/// The caller that waits while workloads are made.
pub struct Watch<'a> {
    /// Ends the work soon after it is set.
    pub stop: &'a AtomicBool,
    /// Receives notes for the user about the data, in one line.
    pub note: &'a dyn Fn(&str),
}

impl Watch<'_> {
    /// Returns a caller that waits however long it takes, and takes no notes.
    pub(crate) fn nobody() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self { stop: &NEVER, note: &|_| () }
    }
}

/// Values that were made, each by its type and the stores that it belongs to.
type Made = HashMap<(TypeId, &'static str), Arc<dyn Any + Send + Sync>>;

/// Sources that the workloads of one comparison share, made when first needed.
pub(super) struct Sources<'a> {
    pub(super) data: &'a Data,
    watch: &'a Watch<'a>,
    made: RefCell<Made>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(data: &'a Data, watch: &'a Watch<'a>) -> Self {
        Self { data, watch, made: RefCell::default() }
    }

    /// Ends what takes long.
    pub(super) fn stop(&self) -> &AtomicBool {
        self.watch.stop
    }

    /// Returns the single `T` of the stores called `place` in this comparison, made by `make` the
    /// first time.
    pub(super) fn shared<T: Any + Send + Sync>(
        &self,
        place: &'static str,
        make: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let made = self.made.borrow().get(&(TypeId::of::<T>(), place)).cloned();
        let value = match made {
            Some(value) => value,
            None => {
                let value: Arc<dyn Any + Send + Sync> = Arc::new(make(self)?);
                self.made.borrow_mut().insert((TypeId::of::<T>(), place), Arc::clone(&value));
                value
            }
        };
        Ok(value.downcast().expect("values are kept under their own type"))
    }

    /// Reads column `column` of the CSV file `path`.
    pub(super) fn column(&self, path: &Path, column: &str) -> Result<Column, Error> {
        Column::read(path, column, self.stop())
    }

    /// Returns the requested source of records.
    pub(super) fn records(&self) -> Result<Arc<Records>, Error> {
        // the same records, whatever store they go to
        self.shared("", |sources| {
            Ok(match &sources.data.records_from {
                Some(path) => {
                    let records = Records::from_csv(path, sources.data.delimiter, sources.stop())?;
                    let columns = records.fields().len();
                    // the usual needs no word
                    if let Some(delimiter) =
                        records.delimiter().filter(|one| *one != Delimiter::Comma || columns == 1)
                    {
                        let (path, columns) = (path.display(), counted(columns, "column"));
                        (sources.watch.note)(&format!(
                            "{path}: {columns}, separated by {}",
                            delimiter.name()
                        ));
                    }
                    records
                }
                None => Records::ycsb(sources.data.seed),
            })
        })
    }
}
