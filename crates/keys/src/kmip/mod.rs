//! KMIP (OASIS Key Management Interoperability Protocol 1.2 to 2.1) over mutual TLS.
//!
//! - [`ttlv`], [`tag`], [`enumeration`], [`attribute`], [`message`], [`operation`]: the protocol;
//!   bytes in, bytes out
//! - `address`, `client`: which servers, and how they are asked (feature `kmip`, on by default)
//! - `family`: the versions of one key on a server; `check`: a trial of all that is needed there
//!   (feature `kmip`)
//!
//! The codec is always built; the feature `kmip` adds the code that needs the network.
//!
//! Not here: keys as a person or a file uses them (`key_server`), and a server.

pub mod attribute;
pub mod enumeration;
mod error;
pub mod message;
pub mod operation;
pub mod tag;
pub mod ttlv;

#[cfg(feature = "kmip")]
pub(crate) mod address;
#[cfg(feature = "kmip")]
pub(crate) mod check;
#[cfg(feature = "kmip")]
pub mod client;
#[cfg(feature = "kmip")]
pub mod family;
#[cfg(feature = "kmip")]
pub(crate) mod material;
#[cfg(feature = "kmip")]
mod tls;

pub use error::KmipError;
