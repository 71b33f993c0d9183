#![deny(unsafe_code)]
//! Block ciphers and authenticated modes over byte slices, chosen by name, at the speed of the CPU
//! at hand.
//!
//! [`cipher()`] and [`ciphers`] look into the table of ciphers, [`modes`] into that of modes with
//! their limits, [`suites`] is that of what seals packets, [`Backend`] the instructions to use, and
//! [`Provider`] who computes: this crate, or a [`module`] of somebody else;
//! [`aead()`] and [`ctr()`] set a key and encrypt, [`Ahead`] does so with key stream made
//! beforehand; [`ff1`] keeps length and alphabet; [`hctr2()`] is for pages that have no room for a
//! tag, and [`cbc_cs1()`] where a module must encrypt them, [`cbc_feistel`] for records under
//! nonces that repeat; [`cbc`] and [`cmac()`] are for old data, all over [`blocks()`]; `hmac` (a
//! feature) is for packets; [`memory`] is where keys are kept; [`speed`] measures; `rustcrypto` (a
//! feature) has the traits of the ecosystem; `testing` (a feature) is the conformance suite.
//!
//! docs/side-channels.md states what an observer of time and memory learns from each cipher.
//!
//! Not here: keys and where they come from (`sealstone-keys`), file formats (`sealstone-seal`).
#![doc = include_str!("../README.md")]
// Where no backend has AES instructions, the kernels written for them wait for one.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]

mod aead;
mod approval;
mod arch;
mod backend;
mod block;
mod blocks;
pub mod cbc;
mod cbc_cs1;
pub mod cbc_feistel;
mod cmac;
mod ctr;
mod declassify;
mod error;
mod facts;
pub mod ff1;
mod hctr2;
#[cfg(feature = "hmac")]
pub mod hmac;
mod key_stream;
mod limits;
mod macs;
pub mod memory;
mod mode;
mod modes;
pub mod module;
mod provider;
#[cfg(any(test, feature = "testing"))]
mod reference;
mod registry;
#[cfg(feature = "rustcrypto")]
pub mod rustcrypto;
pub mod speed;
mod standing;
pub mod suites;
#[cfg(any(test, feature = "testing"))]
mod test_rows;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use aead::{Aead, Context, PARTS_MAX, Part, PartError, Unsealed, aead};
pub use approval::{Approval, NOT_A_MODULE};
pub use backend::{Backend, BackendError};
pub use blocks::{Blocks, blocks};
pub use cbc_cs1::{CbcCs1, cbc_cs1};
pub use cmac::{Cmac, cmac};
pub use ctr::{Ctr, ctr};
pub use error::Error;
pub use facts::{Cipher, Kmip, Standing};
pub use hctr2::{Hctr2, hctr2};
pub use key_stream::Ahead;
pub use limits::Limits;
pub use modes::{Mode, ModeFacts, Nonce, modes};
pub use provider::{Provider, own_in_use};
pub use registry::{DEFAULT_CIPHER, cipher, cipher_by_id, cipher_row, ciphers};
