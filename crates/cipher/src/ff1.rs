//! Format-preserving encryption (FF1) by the name of the cipher: numerals of a radix in, the same
//! number of numerals out.
//!
//! It hides a value among all values of its length and radix, and does not protect against changes:
//! anyone who changes a sealed value changes the opened value, unnoticed. Equal values under one
//! tweak give equal values, so bind the context (a row's id, table and column) by the tweak. Where
//! there is room for a tag, take [`crate::aead`].
//!
//! Over 128-bit block ciphers this is the standard's mode. Over PIPO, which has blocks of 64 bits,
//! it is our own construction, which nobody else has reviewed: [`Ff1::standing`] reports that.
//!
//! Not here: how it computes (`mode`), and the meaning of numerals (digits, letters, syllables).

use crate::facts::{Cipher, Standing};
use crate::mode::SetKey;
pub use crate::mode::ff1::{
    Domain, Ff1, Ff1Error, LENGTH_MAX, Outline, RADIX_MAX, RADIX_MIN, TWEAK_BYTES_MAX, Tweaks,
};
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for FF1 on `backend`, over numerals 0 to `radix` - 1, with
/// the smallest domain that `domain` allows. All choices are made here, once.
///
/// # Errors
/// `Ff1Error::Cipher` for a cipher with blocks of 64 bits that is not experimental,
/// `Ff1Error::KeyLength`, `Ff1Error::Radix`, `Ff1Error::Module` for a module.
///
/// Source: SP 800-38G, algorithms 7 and 8; the second draft of its revision 1 (2025) for the
/// smallest domain. Over PIPO: `vectors/pipo-ff1.txt`.
///
/// ```
/// use sealstone_cipher::{Backend, cipher};
/// use sealstone_cipher::ff1::{Domain, ff1};
///
/// // SP 800-38G, FF1 sample 2
/// let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
/// let ff1 = ff1(cipher("aes-128")?, &key, Backend::auto(), 10, Domain::Standard)?;
/// let mut value = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/// ff1.seal(b"9876543210", &mut value)?;
/// assert_eq!(value, [6, 1, 2, 4, 2, 0, 0, 7, 7, 3]);
/// ff1.open(b"9876543210", &mut value)?;
/// assert_eq!(value[9], 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ff1(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
    radix: u32,
    domain: Domain,
) -> Result<Ff1, Ff1Error> {
    if !takes(cipher) {
        return Err(Ff1Error::Cipher { name: cipher.name });
    }
    if !(RADIX_MIN..=RADIX_MAX).contains(&radix) {
        return Err(Ff1Error::Radix { found: radix });
    }
    let backend = provider.into().own_only("ff1").map_err(Ff1Error::Module)?;
    let (found, want) = (key.len(), cipher.key_bytes);
    let length_error = |_| Ff1Error::KeyLength { found, want };
    cipher.check_key(key).map_err(length_error)?;
    Ok(match cipher.set_key {
        SetKey::Block128 { block, .. } => {
            let keyed = block(key, backend).map_err(length_error)?;
            Ff1::over_128_bits(keyed, backend, cipher.standing, radix, domain)
        }
        SetKey::Block64 { block, .. } => {
            let keyed = block(key, backend).map_err(length_error)?;
            Ff1::over_64_bits(keyed, backend, radix, domain)
        }
    })
}

/// Returns whether FF1 is available over `cipher`: it has blocks of 128 bits, or is itself
/// experimental, as FF1 over smaller blocks is, and so is never used unless requested.
pub fn takes(cipher: &Cipher) -> bool {
    cipher.block_bytes == 16 || cipher.standing == Standing::Experimental
}
