//! The wire: a tunnel of sealed packets between two machines, links of a chosen speed, block devices over a network.
//!
//! [`path::Path`] carries packets between a [`tun::Tun`] and a socket for UDP, sealed by the
//! [`associations::Associations`] that it shares with the [`tunnel::Tunnel`] that agrees on keys by a [`handshake`].
//!
//! [`iscsi`](crate::iscsi) (feature `iscsi`) is a block device over a network.
//!
//! Not here: how a packet is sealed (`sealstone-seal`, module `esp`), where keys come from (`sealstone-keys`).
#![deny(unsafe_code)]

pub mod associations;
pub mod carrier;
pub mod charon;
mod checksum;
pub mod coalesce;
pub mod config;
pub mod counters;
pub mod error;
#[allow(unsafe_code)]
mod ffi;
pub mod given;
pub mod guard;
pub mod guards;
pub mod handshake;
mod ip;
#[cfg(feature = "iscsi")]
pub mod iscsi;
mod kernel;
pub mod key_use;
pub mod links;
pub mod manual;
pub mod mtu;
pub mod net;
pub mod path;
mod private_dir;
mod program;
pub mod runtime;
pub mod segment;
pub mod service;
pub mod sources;
pub mod status;
pub mod strongswan;
pub mod tun;
pub mod tunnel;
pub mod vnet;
pub mod xfrm;
