//! Redis, and servers that speak its protocol: a single server, a primary with sentinels, a
//! cluster. Connections with TLS and to clusters use the crate `redis`; on others answers are read
//! in place (`resp`).
//!
//! - [`Redis`] is the server, [`RedisStore`] the store that workloads run on.
//! - [`LabEngine`] and [`UserEngine`] provide a comparison with its stores, on its own servers or
//!   the user's.
//!
//! Records are laid out like in YCSB's Redis binding, so that each reads the other's data.
//!
//! Every client thread keeps a connection (`links`), and an operation is tried again while a
//! cluster replaces a node. SSDB is the same code with its own names of commands (`Dialect`).

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
#[cfg(feature = "ssdb")]
pub(crate) use kind::SUITED;
pub use layout::Keys;
pub use store::RedisStore;
