//! SEED with a 128-bit key (RFC 4269, TTAS.KO-12.0004/R1; ISO/IEC 18033-3), as many blocks at a
//! time as a vector has words.
//!
//! Both S-boxes are affine maps around inversion in GF(2^8), so no backend keeps them in tables:
//! vectors of bytes have instructions for it (`lanes`), and without them SEED is bitsliced
//! (`bitsliced`). Both take the same time whatever the key and the data.
//!
//! Here are the row of the table and the functions that set a key.

mod bitsliced;
mod g_function;
mod key_schedule;
mod lanes;

use super::key_length::sized;
use crate::arch::with_bytes;
use crate::backend::Backend;
use crate::error::Error;
#[cfg(any(test, feature = "testing"))]
use crate::facts::evidence;
use crate::facts::{Cipher, Kmip, Standing};
use crate::limits::GCM_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter128;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;

/// The row of the table of ciphers.
pub(crate) const CIPHERS: &[Cipher] = &[Cipher {
    name: "seed-128",
    id: 7,
    block_bytes: 16,
    key_bytes: 16,
    other_key_bits: None,
    mode: Mode::Gcm,
    standing: Standing::National,
    source: "RFC 4269",
    fips: false,
    kcmvp: true,
    limits: GCM_LIMITS,
    caveat: None,
    constant_time: true,
    kmip: Some(Kmip { algorithm: 0x2a, bits_without_parity: None }),
    set_key: SetKey::Block128 {
        counter,
        gcm: None,
        hctr2: None,
        block,
        has_instructions: |_| false,
    },
    #[cfg(any(test, feature = "testing"))]
    evidence: evidence!(
        reference::seed,
        "seed.txt",
        "seed-ctr.txt",
        "seed-gcm.txt",
        "seed-gcm-wycheproof.txt",
        "seed-cbc.txt",
        "seed-hctr2.txt"
    ),
}];

/// Sets up SEED for counter modes under `key` of 16 bytes. The key schedule is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn counter(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter128>, Error> {
    let key = sized(key)?;
    Ok(with_bytes!(backend, |lanes| lanes::keyed(lanes, key).unsize(|seed| seed), |plain| {
        bitsliced::keyed(plain, key).unsize(|seed| seed)
    }))
}

/// Sets up SEED for whole blocks, both ways, under `key` of 16 bytes. The key schedule is zeroed on
/// drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<16>>, Error> {
    let key = sized(key)?;
    Ok(with_bytes!(backend, |lanes| lanes::keyed(lanes, key).unsize(|seed| seed), |plain| {
        bitsliced::keyed(plain, key).unsize(|seed| seed)
    }))
}
