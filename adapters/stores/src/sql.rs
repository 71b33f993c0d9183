//! Parts that the stores that speak SQL share: names of columns, the statements, the store that
//! runs them, and the engines of comparisons. The folder of each server holds its differences
//! ([`Server`], [`Link`], [`Dialect`]).
//!
//! A record is a row. Its columns are as in YCSB's JDBC binding (`ycsb_key`, `field0` …), so that
//! YCSB, go-ycsb and this program read each other's records; other tables have columns named like
//! their fields, of their kinds.
//!
//! `columns` names the columns, `bound` checks that they return values unchanged, `statements` has
//! the text of every statement in a [`Dialect`]; `store` and `transaction` run them over
//! connections of a `pool`, and `engine` provides comparisons with their own servers or the user's.
//! `table_text`, `table_failure` and `row_transaction` are for tables whose columns are sealed in
//! place.

mod address;
mod bound;
mod columns;
mod engine;
mod error;
mod function;
mod function_key;
mod out_of_order;
mod pool;
mod row_transaction;
mod server;
mod statements;
mod store;
mod suited;
mod table_failure;
mod table_text;
mod transaction;

pub(crate) use address::{AddressForm, shown};
pub(crate) use bound::Param;
pub(crate) use columns::Layout;
pub(crate) use engine::{LabEngine, UserEngine};
pub use error::Error;
pub(crate) use error::Failure;
pub(crate) use function::SqlFunction;
pub(crate) use out_of_order::OutOfOrder;
pub(crate) use row_transaction::RowTransaction;
pub(crate) use server::{EachRow, Link, Server};
pub(crate) use statements::{Dialect, Statement};
pub(crate) use store::SqlStore;
pub(crate) use suited::{SUITED, connections};
pub(crate) use table_failure::{NO_BACKUP, OTHER_TRIGGER, UNKEPT, table_failure};
#[cfg(test)]
pub(crate) use table_text::sample_layout;
pub(crate) use table_text::{
    DIGEST_CHARS, REFUSED_TEXT, STATE, added_texts, bound_text, is_wanted,
};
