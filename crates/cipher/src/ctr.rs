//! Counter mode by the name of the cipher.
//!
//! It hides data and protects nothing: anyone who changes a bit of the ciphertext changes that bit
//! of the plaintext, unnoticed. For storage take [`crate::aead`].
//!
//! Not here: how it computes (`mode`).

use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::mode::SetKey;
pub use crate::mode::ctr::Ctr;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for counter mode. All choices are made here, once.
///
/// - `provider`: a [`Backend`](crate::Backend), or the module that computes
///
/// # Errors
/// `Error::KeyLength`; of a module `Error::Lacks` and `Error::Module`.
///
/// Source: SP 800-38A, 6.5, with the whole block as counter (appendix B.1).
///
/// ```
/// use sealstone_cipher::{Backend, ctr, cipher};
///
/// let aria = ctr(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let mut data = *b"any length";
/// aria.apply(&[0; 16], 0, &mut data)?;
/// // the last six bytes alone, at their own offset
/// aria.apply(&[0; 16], 4, &mut data[4..])?;
/// assert_eq!(&data[4..], b"length");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ctr(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Protected<dyn Ctr>, Error> {
    cipher.check_key(key)?;
    let provider = provider.into();
    if let Provider::Module(module) = provider {
        return module.ctr(cipher, key);
    }
    let backend = provider.own_only("ctr")?;
    match cipher.set_key {
        SetKey::Block128 { counter, .. } => Ok(counter(key, backend)?.unsize(|keyed| keyed)),
        SetKey::Block64 { counter, .. } => Ok(counter(key, backend)?.unsize(|keyed| keyed)),
    }
}
