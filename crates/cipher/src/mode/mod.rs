//! Modes of operation, over the block cipher and backend chosen when the key was set.
//!
//! Not here: the table of them (`modes`), and the constructors by the name of a cipher
//! ([`crate::aead`], [`crate::ctr`], [`crate::cbc`]).

pub(crate) mod aead;
pub(crate) mod block_cipher;
pub(crate) mod blocks;
pub(crate) mod cbc;
pub(crate) mod cbc_cs1;
pub(crate) mod cbc_feistel;
pub(crate) mod cmac;
pub(crate) mod counter_block;
pub(crate) mod ctr;
pub(crate) mod ctr_mac;
pub(crate) mod ff1;
pub(crate) mod ff1_value;
pub(crate) mod gcm;
pub(crate) mod ghash;
pub(crate) mod hctr2;
pub(crate) mod key_stream;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod left_on_stack;
#[cfg(all(test, target_os = "linux", target_arch = "x86_64", not(miri)))]
mod memory_traces;
pub(crate) mod run;
pub(crate) mod wide_block;
pub(crate) mod wipe_stack;
pub(crate) mod xctr;

pub(crate) use block_cipher::{BlockCipher, SetKey};
pub(crate) use ctr::{Counter64, Counter128, counter_mode};
