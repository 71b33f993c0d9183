#![deny(unsafe_code)]
//! Cryptographic modules of others, validated or not, in place of our own ciphers: the same seals,
//! computed by what the law requires.
//!
//! [`load()`] takes a module by the name that users give it and lets it test itself:
//! `openssl:fips` is a provider of OpenSSL 3, `/path/lib.so` a library with the interface of
//! `include/sealstone_module.h`, and `aws-lc-fips` the FIPS module of AWS-LC, if this build has it
//! (feature `aws-lc-fips`). What it returns goes wherever keys are opened
//! (`sealstone_keys::source::open`), and from then on everything that these keys protect is
//! computed in the module: ciphers, MACs, derivations and random bytes. What a module lacks is an
//! error that names it; nothing falls back to our own code.
//!
//! We claim nothing about a module: name, version and certificate are reported as it, or its user,
//! states them.
//!
//! Not here: what a module is ([`sealstone_cipher::module`]), and key-encryption keys that stay in
//! a token.
#![doc = include_str!("../README.md")]

#[cfg(feature = "aws-lc-fips")]
mod aws_lc;
mod chain;
mod counter;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod gcm;
mod kept_key;
mod library;
mod load;
mod name;
mod openssl;
mod static_text;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::ModuleError;
pub use load::load;
pub use name::{absolute_name, is_relative_name, plain_name};
