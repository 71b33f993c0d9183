//! Loading rows that come in key order: bypassing the write path if the store can, one by one if it
//! cannot.

use sealstone_store::{Row, Store, StoreError, Table};

/// Rows written between two reports of progress.
const REPORT_ROWS: u64 = 256;

/// Writes `rows`, in strictly ascending key order, and reports to `progress` how many since its
/// last call.
///
/// # Errors
/// The store's error.
pub(super) fn load_sorted(
    store: &dyn Store,
    table: &Table,
    rows: impl Iterator<Item = Row>,
    progress: &dyn Fn(u64),
) -> Result<(), StoreError> {
    let mut unreported = 0;
    let mut rows = rows.inspect(|_| {
        unreported += 1;
        if unreported == REPORT_ROWS {
            progress(std::mem::take(&mut unreported));
        }
    });
    match store.bulk() {
        Some(bulk) => drop(bulk.bulk_load(table, &mut rows)?),
        None => rows.try_for_each(|(key, record)| store.insert(table, &key, &record))?,
    }
    drop(rows);
    progress(unreported);
    Ok(())
}
