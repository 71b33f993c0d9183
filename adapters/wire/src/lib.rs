//! The wire: a tunnel of sealed packets between two machines, links of a chosen speed, block devices over a network.
//!
//! Not here: how a packet is sealed (`sealstone-seal`, module `esp`), where keys come from (`sealstone-keys`).
#![forbid(unsafe_code)]

pub mod handshake;
pub mod tunnel;
