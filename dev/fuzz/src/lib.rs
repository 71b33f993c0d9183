#![forbid(unsafe_code)]
//! Properties that must hold for any input at all. Each module has one `check`, which panics where
//! its property does not hold; the programs under `fuzz_targets` pass it to libFuzzer (`make
//! fuzz`), and the tests of this crate feed it pseudorandom inputs.
//!
//! Not here: known answers and chosen edges (the conformance suite of `sealstone-cipher`).

pub mod ciphers;
pub mod key_files;
pub mod kmip;
pub mod seals;
