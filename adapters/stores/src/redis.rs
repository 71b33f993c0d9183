//! Redis, and servers that speak its protocol: a single server, a primary that sentinels know, a
//! cluster. Connections with TLS and to clusters are those of the crate `redis`; on others answers
//! are read in place (`resp`).
//!
//! - [`Redis`] is what connections are made to, [`RedisStore`] the store that workloads run on.
//! - [`LabEngine`] and [`UserEngine`] provide a comparison with its stores, on its own servers or
//!   the user's.
//!
//! Records are laid out as YCSB's Redis binding does, so that either reads what the other loaded.
//!
//! Every client thread keeps a connection (`links`), and an operation is tried again while a
//! cluster replaces a node. SSDB is the same code with other commands for what Redis calls
//! otherwise (`Dialect`).
//!
//! Not here: how servers are started (`adapters/servers`).

mod address;
mod connection;
mod engine;
mod error;
mod kind;
mod layout;
mod links;
mod resp;
mod store;
mod transaction;

pub use connection::{Dialect, Redis, RedisOptions, Topology};
#[cfg(feature = "ssdb")]
pub(crate) use engine::UserEngine;
pub use error::Error;
pub(crate) use kind::KIND;
pub use layout::Keys;
pub use store::RedisStore;
