//! PostgreSQL, reached by the crate `postgres`: a server started for a comparison, or the user's
//! own.
//!
//! - [`Postgres`] is the server, [`PostgresStore`] the store that workloads run on.
//! - [`KIND`] is its row in the table of stores.
//! - [`PostgresTable`] is a table whose columns are sealed in place.
//!
//! Not here: the parts shared with other SQL servers (`sql`), starting servers
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
