//! The wire: a tunnel of sealed packets between two machines, links of a chosen speed, block devices over a network.
//!
//! [`iscsi`](crate::iscsi) (feature `iscsi`) is a block device over a network.
//!
//! Not here: how a packet is sealed (`sealstone-seal`, module `esp`), where keys come from (`sealstone-keys`).
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod ffi;
#[cfg(feature = "iscsi")]
pub mod iscsi;
