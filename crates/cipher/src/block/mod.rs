//! Block ciphers: one file each, which also holds the rows of the table.
//!
//! Not here: the traits that they implement, and modes (`mode`), and the table of all ciphers
//! ([`crate::registry`]).

pub(crate) mod aes;
pub(crate) mod aria;
mod bit_sliced;
pub(crate) mod blowfish;
mod by_length;
mod byte_sliced;
pub(crate) mod hight;
mod key_length;
pub(crate) mod lea;
pub(crate) mod pipo;
pub(crate) mod seed;
pub(crate) mod tdes;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod toy;
mod word_sliced;
