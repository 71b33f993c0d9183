//! MySQL and MariaDB, reached by the crate `mysql`: a MariaDB started for a comparison, or a server
//! that the user runs.
//!
//! - [`Mysql`] is the server, [`MysqlStore`] the store that workloads run on.
//! - [`KIND`] is its row in the table of stores.
//! - [`MysqlTable`] is a table whose columns are sealed in place.
//!
//! Not here: the parts shared with other SQL servers (`sql`), starting servers
//! (`adapters/servers`).

mod address;
mod at_rest;
mod connection;
mod failure;
mod function;
mod kind;
mod link;
mod rest_arguments;
mod table;
mod table_shape;
mod table_text;
mod timed_connection;
mod trigger_order;
mod watch;

pub(crate) use at_rest::AT_REST;
pub use connection::{Mysql, MysqlOptions, MysqlStore};
pub(crate) use kind::KIND;
pub(crate) use table::MysqlTable;
