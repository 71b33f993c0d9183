#![deny(unsafe_code)]
//! Block ciphers and authenticated modes over byte slices, chosen by name, at the speed of the CPU at hand.
//!
//! Not here: keys and where they come from (`sealstone-keys`), file formats (`sealstone-seal`).

pub mod aead;
mod arch;
pub mod backend;
mod block;
pub mod ctr;
mod mode;
pub mod registry;
pub mod speed;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
