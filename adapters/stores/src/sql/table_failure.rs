//! Failures of servers on a table whose columns are sealed in place, and the next steps that these
//! have in common. Not here: something that changes rows after our triggers (`out_of_order`).

use sealstone_fields::migration::{FailureKind, ServerFailure};

use super::error::Failure;
use crate::server_error::Place;

/// Advice on what to do about rows that others hold.
const HELD: &str =
    "another transaction holds rows of the table: end it, and run the same command again";
/// Advice on what to do about a trigger of ours that somebody removed or switched off.
pub(crate) const UNKEPT: &str = "values that were changed since cannot be told from sealed ones: \
                                 restore the table, or compare it with a backup";
/// Advice on what to do about marks that are missing.
pub(crate) const NO_BACKUP: &str =
    "restore the table from a backup: which values are sealed, nothing else says";
/// Advice on what to do about a trigger that changes what is written.
pub(crate) const OTHER_TRIGGER: &str =
    "find the trigger of the table that changes what is written, and remove it for now";

/// Returns the failure of `attempt`, such as `look at`, on `table` of the server at `place`, which
/// ended in `found`.
pub(crate) fn table_failure(
    place: &Place,
    table: &str,
    attempt: &str,
    found: Failure,
) -> ServerFailure {
    let kind = if found.is_conflict { FailureKind::Conflict } else { FailureKind::Lasting };
    let step = if found.is_conflict { HELD } else { found.step };
    let attempt = format!("{attempt} table {table} on");
    ServerFailure { kind, error: Box::new(place.failure(&attempt, Failure { step, ..found })) }
}
