//! Cipher block chaining by the name of the cipher, for old data and for systems that prescribe it.
//!
//! It does not protect against changes: anyone who changes a block of the ciphertext changes the
//! next block of the plaintext bit by bit, unnoticed. Anyone who can learn whether a padding is
//! right can decrypt, so check a MAC over iv and ciphertext before decrypting, and never report why
//! data was refused. For storage take [`crate::aead`].

use crate::blocks::blocks;
use crate::error::Error;
use crate::facts::Cipher;
pub use crate::mode::cbc::{Cbc, Message, pad, unpad};
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for CBC by `provider`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::Lacks` for what a module does not have.
///
/// Source: SP 800-38A, 6.2.
///
/// ```
/// use sealstone_cipher::cbc::{cbc, pad, unpad};
/// use sealstone_cipher::{Backend, cipher};
///
/// let aria = cbc(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let iv = [0x3c; 16]; // unpredictable, and another one for every message
/// let mut data = b"any length".to_vec();
/// pad(&mut data, aria.block_bytes());
/// aria.encrypt(&iv, &mut data)?;
/// aria.decrypt(&iv, &mut data)?;
/// unpad(&mut data, aria.block_bytes())?;
/// assert_eq!(data, b"any length");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cbc(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Cbc, Error> {
    Ok(match provider.into() {
        provider @ Provider::Own(_) => Cbc::new(blocks(cipher, key, provider)?),
        Provider::Module(module) => {
            Cbc::in_module(module.name(), cipher.block_bytes, module.cbc(cipher, key)?)
        }
    })
}
