//! Keys of a key server that speaks KMIP.
//!
//! - [`keyring`]: the keys on a server as a person manages them
//! - [`note`]: one short text on a server, not a key
//! - [`source`]: one key of a server as a [`crate::KeySource`]
//!
//! `dev/e2e` runs the same cases against two third-party servers: PyKMIP, and one on the Go library
//! kmip-go, for which `dev/e2e/kmip-go/main.go` keeps the objects.
//!
//! Not here: the protocol ([`crate::kmip`]).

mod keyring;
mod note;
mod source;

pub use keyring::{Keyring, NewKey, Origin};
pub use note::{Note, quoted};
pub use source::KmipSource;
