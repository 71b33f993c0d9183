//! MySQL and MariaDB, reached by the crate `mysql`: a MariaDB started for a comparison, or a server that the user runs.
//!
//! - [`Mysql`] is what connections are made to, [`MysqlStore`] the store that workloads run on.
//! - [`KIND`] is its row in the table of stores.
//!
//! Not here: what it shares with other servers of SQL (`sql`), how servers are started (`adapters/servers`).

mod address;
mod connection;
mod failure;
mod function;
mod kind;
mod link;

pub use connection::{Mysql, MysqlOptions, MysqlStore};
pub use kind::KIND;
