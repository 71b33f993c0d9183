//! PostgreSQL, reached by the crate `postgres`: a server started for a comparison, or one that the
//! user runs.
//!
//! - [`Postgres`] is what connections are made to, [`PostgresStore`] the store that workloads run
//!   on.
//! - [`KIND`] is its row in the table of stores.
//! - [`PostgresTable`] is a table whose columns are sealed in place.
//!
//! Not here: what it shares with other servers of SQL (`sql`), how servers are started
//! (`adapters/servers`).

mod address;
mod connection;
mod failure;
mod function;
mod guard;
mod kind;
mod link;
mod numeric;
mod table;
mod table_shape;
mod table_text;
mod tls;
mod trigger_order;
mod value;

pub use connection::{Postgres, PostgresOptions, PostgresStore};
pub(crate) use kind::KIND;
pub(crate) use table::PostgresTable;
