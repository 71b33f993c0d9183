//! Protection of the program against damaged files: the crate `parquet` panics on some of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::ParquetError;

/// Does `work`, which reads the part `what` of a file; if it panics, that part is damaged.
pub(crate) fn guarded<T>(
    what: &str,
    work: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    // values changed by the work are not used any more
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(ParquetError::damaged(what)))
}
