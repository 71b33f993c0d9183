//! The wire: a tunnel of sealed packets between two machines, links of a chosen speed, block
//! devices over a network.
//!
//! - [`path`] carries sealed packets: a [`path::Path`] between a [`path::Tun`] and a socket for
//!   UDP, sealed by its [`path::Associations`].
//! - [`tunnel`] agrees on keys with the other end, and runs one end of a tunnel.
//! - [`links`] makes two machines on one, joined by a link of a chosen speed.
//! - `iscsi` (a feature) is a block device over a network.
//!
//! Devices and links take root, or `unshare -Urn`. Settings are checked, and links chosen, by
//! anybody:
//!
//! ```
//! use sealstone_wire::links::link;
//! use sealstone_wire::tunnel::{Config, ConfigError};
//!
//! let (key, address) = (Some("wire.key".into()), vec!["10.9.0.1/24".into()]);
//! let config = Config { key, address, ..Config::default() };
//! let plan = config.plan()?;
//! assert_eq!(plan.name, "sealstone0");
//! assert_eq!(plan.addresses[0].to_string(), "10.9.0.1/24");
//!
//! assert_eq!(link("100").map(|link| link.about), Some("fast Ethernet"));
//! # Ok::<(), ConfigError>(())
//! ```
//!
//! Not here: how a packet is sealed (`sealstone-seal`, module `esp`), where keys come from
//! (`sealstone-keys`).
#![deny(unsafe_code)]

mod error;
#[allow(unsafe_code)]
mod ffi;
#[cfg(feature = "iscsi")]
pub mod iscsi;
pub mod links;
mod net;
pub mod path;
mod program;
pub mod tunnel;

pub use error::WireError;
pub use net::Net;
