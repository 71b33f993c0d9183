//! Tables of databases sealed in place while others use them, row by row: what is done in which order, whatever server
//! it is.
//!
//! A value that FF1 sealed looks like any other, so each sealed column gets a *mark* beside it, a column that holds the
//! version of the key, or NULL for a value in the clear. A value and its mark change in one transaction, and only if
//! both are still as they were read, so neither a kill nor another writer can part them. A trigger takes the mark away
//! when somebody who does not know of it changes a value; whoever writes a sealed value says so by a negative mark.
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
pub use server::{Cell, FailureKind, NewCell, Phase, Row, RowChange, ServerFailure, State, TableServer, Wanted};
pub use shape::{ColumnLayout, ColumnShape, Hindrance, Layout, RowShape, Shape, TextRoom};
