//! Tables of databases sealed in place while others use them, row by row: the steps and their
//! order, for any server.
//!
//! A value that FF1 sealed looks like any other, so each sealed column gets a *mark* beside it, a
//! column that holds the version of the key, or NULL for a value in the clear. A value and its mark
//! change in one transaction, and only if both are still as they were read, so neither a kill nor
//! another writer can separate them. A trigger removes the mark when a client unaware of it changes
//! a value; a client that writes a sealed value declares that by a negative mark.
//!
//! There is no other state, so a kill is harmless. Marks are per column, since a row with one
//! column overwritten in the clear is both. Rows are read without locks and changed only if they
//! are still as they were read, so nothing depends on isolation levels, and locks are held for one
//! round trip.
//!
//! A claim is a *negative* mark because a trigger sees only old and new values: a client that
//! writes a sealed value over a sealed value would leave the mark unchanged, and so does a client
//! unaware of marks. A trigger sees earlier changes but not later ones, so nothing that changes
//! sealed columns may run after ours. That is checked before anything is changed, in every
//! transaction that changes rows, while it keeps others from making triggers, and at the end. Each
//! mark has the digest of the value that it was set for: a value that bypassed the trigger is not
//! taken for a sealed value, which FF1 would not notice. Unique indexes are refused, since a sealed
//! value can collide with a clear value during the migration.
//!
//! Not here: SQL and drivers, which implement [`TableServer`] (`adapters/stores`).

mod check;
mod ciphers;
mod error;
mod forget;
mod goal;
mod layout;
mod need;
mod read;
mod run;
mod server;
mod shape;
mod status;
mod width;

pub use check::{Checked, CheckedColumn, Narrow, SealedAs, check};
pub use error::{MigrationError, RowMisfit};
pub use forget::forget;
pub use layout::MARK_ENDING;
pub use need::{Need, Record, need, record};
pub use read::{OpenedRow, ReadRow, Reader};
pub use run::{Listener, Misfits, Options, Outcome, Progress, Step, open, reseal, seal};
pub use server::{
    Cell, Counted, FailureKind, NewCell, Phase, Row, RowChange, SealedTables, ServerFailure, State,
    TableServer, Wanted,
};
pub use shape::{ColumnLayout, ColumnShape, Hindrance, Layout, RowShape, Shape, TextRoom};
pub use status::{ColumnStatus, Status, status};
