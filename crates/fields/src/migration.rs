//! Tables of databases sealed in place while others use them, row by row: what is done in which
//! order, whatever server it is.
//!
//! A value that FF1 sealed looks like any other, so each sealed column gets a *mark* beside it, a
//! column that holds the version of the key, or NULL for a value in the clear. A value and its mark
//! change in one transaction, and only if both are still as they were read, so neither a kill nor
//! another writer can part them. A trigger takes the mark away when somebody who does not know of
//! it changes a value; whoever writes a sealed value says so by a negative mark.
//!
//! Nothing is remembered elsewhere, so a kill is harmless. Marks are per column, since a row of
//! which one column was overwritten in the clear is both. Rows are read without locks and changed
//! only if they are still as they were read, so nothing depends on isolation levels, and locks are
//! held for one round trip.
//!
//! A claim is a *negative* mark because a trigger sees only old and new values: somebody who writes
//! a sealed value over a sealed one would leave the mark as it was, and so does somebody who knows
//! of no mark. A trigger sees what came before it and not what comes after, so nothing that changes
//! sealed columns may run after ours. That is checked before anything is changed, in every
//! transaction that changes rows, while it keeps others from making triggers, and at the end. Each
//! mark has the digest of the value that it was set for: what passed the trigger unseen is not
//! taken for a sealed value, which FF1 would not notice. Unique indexes are refused, since a sealed
//! value can meet a clear one on the way.
//!
//! Not here: SQL and drivers, which implement [`TableServer`] (`adapters/stores`).

mod check;
mod ciphers;
mod error;
mod forget;
mod goal;
mod layout;
mod need;
mod run;
mod server;
mod shape;
mod width;

pub use check::{Checked, CheckedColumn, Narrow, SealedAs, check};
pub use error::{MigrationError, RowMisfit};
pub use forget::forget;
pub use layout::MARK_ENDING;
pub use need::{Need, need};
pub use run::{Listener, Misfits, Options, Outcome, Progress, Step, open, reseal, seal};
pub use server::{
    Cell, FailureKind, NewCell, Phase, Row, RowChange, ServerFailure, State, TableServer, Wanted,
};
pub use shape::{ColumnLayout, ColumnShape, Hindrance, Layout, RowShape, Shape, TextRoom};
