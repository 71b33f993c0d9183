//! Blowfish (Schneier, FSE 1993): key-dependent table look-ups, so constant time only where vectors
//! read whole tables (`sliced`). Setting a key costs 521 block encryptions, one after the other.
//!
//! Here are the row of the table and the functions that set a key.

mod pi;
mod plain;
mod sliced;

use super::by_length::ByLength;
use crate::arch::{TableLanes, with_tables};
use crate::backend::Backend;
use crate::error::Error;
use crate::facts::{Cipher, Kmip, Standing};
#[cfg(any(test, feature = "testing"))]
use crate::facts::{Evidence, evidence};
use crate::limits::BLOCK64_LIMITS;
use crate::memory::Protected;
use crate::mode::Counter64;
use crate::mode::{BlockCipher, SetKey};
use crate::modes::Mode;
#[cfg(any(test, feature = "testing"))]
use crate::reference;
use plain::Blowfish;

/// The row of the table of ciphers. The cipher takes 4 to 56 bytes of key: 16 are what its
/// libraries and protocols default to; more would not mend its 64-bit block, and a row is one key
/// length.
pub(crate) const CIPHERS: &[Cipher] = &[Cipher {
    name: "blowfish",
    id: 6,
    block_bytes: 8,
    key_bytes: 16,
    other_key_bits: Some((32, 448)),
    mode: Mode::CtrMac,
    standing: Standing::Legacy,
    source: "Schneier, FSE 1993",
    fips: false,
    kcmvp: false,
    limits: BLOCK64_LIMITS,
    caveat: Some(
        "no standard specifies it; 64-bit blocks (Sweet32); its table look-ups leak through caches",
    ),
    constant_time: false,
    kmip: Some(Kmip { algorithm: 0x10, bits_without_parity: None }),
    set_key: SetKey::Block64 { counter: keyed, block },
    #[cfg(any(test, feature = "testing"))]
    evidence: Evidence {
        repeats_keys: true,
        ..evidence!(
            reference::blowfish,
            "blowfish.txt",
            "blowfish-ctr.txt",
            "blowfish-ctr-mac.txt",
            "blowfish-cbc.txt"
        )
    },
}];

/// Sets a 16-byte `key` for counter mode. All that is derived from it is zeroed on drop.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn keyed(key: &[u8], backend: Backend) -> Result<Protected<dyn Counter64>, Error> {
    check(key)?;
    let short = Blowfish::protected(key);
    Ok(with_tables!(
        backend,
        |lanes| {
            let long = sliced::Planes::protected(lanes, &short);
            let long: Protected<dyn Counter64> = long.unsize(|long| long);
            by_length(lanes, long, short.unsize(|short| short)).unsize(|both| both)
        },
        else short.unsize(|blowfish| blowfish)
    ))
}

/// Sets a 16-byte `key` for whole blocks, both ways.
///
/// # Errors
/// `Error::KeyLength`.
pub(crate) fn block(key: &[u8], backend: Backend) -> Result<Protected<dyn BlockCipher<8>>, Error> {
    check(key)?;
    let short = Blowfish::protected(key);
    Ok(with_tables!(
        backend,
        |lanes| {
            let long = sliced::Planes::protected(lanes, &short);
            let long: Protected<dyn BlockCipher<8>> = long.unsize(|long| long);
            by_length(lanes, long, short.unsize(|short| short)).unsize(|both| both)
        },
        else short.unsize(|blowfish| blowfish)
    ))
}

/// Sets up both forms of one key, where `lanes` look up.
fn by_length<L: TableLanes, T: ?Sized>(
    _lanes: L,
    long: Protected<T>,
    short: Protected<T>,
) -> Protected<ByLength<T>> {
    Protected::with(|| ByLength {
        short,
        long,
        batch_bytes: 8 * L::BYTES,
        worth_bytes: SLICED_BYTES_MIN,
    })
}

/// Number of bytes from which a set of sliced blocks is worthwhile: the plain form takes as long
/// for them.
const SLICED_BYTES_MIN: usize = 128;

fn check(key: &[u8]) -> Result<(), Error> {
    if key.len() == 16 { Ok(()) } else { Err(Error::KeyLength { found: key.len(), want: 16 }) }
}
