//! Instruction sets and the memory that keys are kept in: the only place with CPU intrinsics and
//! calls of the system and, with them, `unsafe`.
//!
//! An instruction set is a token type ([`Portable`] and, on x86-64, `Aesni`, `Avx2`, `Vaes`,
//! `Avx512`). A token is made only after the CPU was queried, so code that holds a token may call
//! its instructions; every `unsafe` block below relies on that. Algorithms are written elsewhere,
//! once, over the traits of this module:
//!
//! - [`AesLanes`]: vectors of 128-bit blocks with AES rounds and carry-less products;
//! - [`Products`]: lanes with products of 52 bits as well;
//! - [`Lanes`]: vectors of bytes and 32-bit words with logic, additions and rotations;
//! - [`ByteLanes`]: lanes with affine maps and inversion in GF(2^8) as well;
//! - [`TableLanes`]: lanes with look-ups in tables of 256 bytes;
//! - [`HashWords`]: words of 32 bits, single or as a vector, for hash functions over many messages;
//! - [`ShaLanes`]: the CPU's own instructions for SHA-1 and SHA-256;
//! - [`Words`]: the 128-bit words of plain logic that bitsliced ciphers are made of;
//! - [`Planes`]: words as wide as the registers, each bit a lane of its own, for ciphers computed
//!   as circuits.
//!
//! A cipher sets its key up through [`with_every`], [`with_aes`], [`with_bytes`], [`with_tables`]
//! or [`with_sha`]: each takes an expression and evaluates it with the token of the backend, whose
//! type the expression may be generic over.
//!
//! A new instruction set is one file that implements the traits, one line in [`lines`], one in the
//! `Isa` table and one in `with_token`; no cipher file names an instruction set. `memory` is
//! independent of all this.
#![allow(unsafe_code)]

mod aes_lanes;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod allocations;
pub(crate) mod byte_lanes;
#[cfg(all(any(test, feature = "testing"), target_os = "linux", not(miri)))]
pub mod fork;
#[cfg(feature = "hmac")]
mod hash_words;
mod isa;
mod kernel;
mod lanes;
#[cfg(any(test, feature = "testing"))]
pub mod memcheck;
pub(crate) mod memory;
#[cfg(all(test, target_arch = "x86_64", not(miri)))]
pub(crate) mod own_stack;
#[cfg(all(any(test, feature = "testing"), unix, not(miri)))]
pub(crate) mod page_end;
mod planes;
mod portable;
mod products;
mod set_up;
#[cfg(feature = "hmac")]
mod sha_lanes;
pub(crate) mod table_lanes;
pub(crate) mod tsc;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use aes_lanes::AesLanes;
pub(crate) use byte_lanes::ByteLanes;
#[cfg(feature = "hmac")]
pub(crate) use hash_words::{HASH_BLOCK_BYTES, HASH_LANES_MAX, HashWords, Scalar};
pub(crate) use isa::{Isa, cpu_features, lines};
pub(crate) use kernel::Kernel;
pub(crate) use lanes::Lanes;
#[cfg(test)]
pub(crate) use planes::Arrays;
pub(crate) use planes::Planes;
pub(crate) use portable::Portable;
pub(crate) use products::{OneBlock, Products};
#[cfg(feature = "hmac")]
pub(crate) use set_up::with_sha;
pub(crate) use set_up::{with_aes, with_bytes, with_every, with_tables, with_token};
#[cfg(feature = "hmac")]
pub(crate) use sha_lanes::ShaLanes;
pub(crate) use table_lanes::TableLanes;
pub(crate) use words::{Logic, Words};
#[cfg(all(feature = "hmac", target_arch = "x86_64"))]
pub(crate) use x86_64::Sha;

/// Returns the bytes that `value` leaves in its memory when dropped. For types without padding,
/// whose drop frees nothing.
#[cfg(test)]
pub(crate) fn left_after_drop<T>(value: T) -> Vec<u8> {
    let mut place = std::mem::ManuallyDrop::new(value);
    let start: *mut T = &mut *place;
    // SAFETY: the value is dropped here and nowhere else. Its memory stays, and the caller promises
    // that all of it is initialised and owns nothing.
    unsafe {
        std::ptr::drop_in_place(start);
        std::slice::from_raw_parts(start.cast::<u8>(), size_of::<T>()).to_vec()
    }
}
