//! Keys from a key server that speaks KMIP (OASIS Key Management Interoperability Protocol 1.2 to 2.1) over mutual TLS.
//!
//! - [`ttlv`], [`tag`], [`enumeration`], [`attribute`], [`message`], [`operation`]: the protocol; bytes in, bytes out
//! - [`address`], [`client`]: which servers, and how they are asked (feature `kmip`, on by default)
//! - [`keyring`]: the keys on a server as a person manages them, which [`family`] finds and [`check`] tries (feature
//!   `kmip`)
//! - [`note`]: one short text on a server, which is no key (feature `kmip`)
//! - [`source`]: one key of a server as a [`crate::KeySource`] (feature `kmip`)
//!
//! Not here: a server.

pub mod attribute;
pub mod enumeration;
mod error;
pub mod message;
pub mod operation;
pub mod tag;
pub mod ttlv;

#[cfg(feature = "kmip")]
pub mod address;
#[cfg(feature = "kmip")]
pub mod check;
#[cfg(feature = "kmip")]
pub mod client;
#[cfg(feature = "kmip")]
pub mod family;
#[cfg(feature = "kmip")]
pub mod keyring;
#[cfg(feature = "kmip")]
mod material;
#[cfg(feature = "kmip")]
pub mod note;
#[cfg(feature = "kmip")]
pub mod source;
#[cfg(feature = "kmip")]
mod tls;

pub use error::KmipError;
#[cfg(feature = "kmip")]
pub use keyring::Keyring;
#[cfg(feature = "kmip")]
pub use note::Note;
#[cfg(feature = "kmip")]
pub use source::KmipSource;
