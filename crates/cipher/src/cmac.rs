//! A MAC from a block cipher (CMAC) by the name of the cipher, for systems that prescribe it.
//!
//! It authenticates and hides nothing. For storage take [`crate::aead`], which does both.
//!
//! Not here: the block cipher ([`crate::blocks`]).

use crate::blocks::blocks;
use crate::error::Error;
use crate::facts::Cipher;
pub use crate::mode::cmac::Cmac;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for CMAC on `backend`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::Lacks` for a module.
///
/// Source: SP 800-38B, 6.1.
///
/// ```
/// use sealstone_cipher::{Backend, cmac, cipher};
///
/// let aria = cmac(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let tag = aria.mac(b"a message");
/// aria.verify(b"a message", &tag)?;
/// assert!(aria.verify(b"another", &tag).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cmac(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Cmac, Error> {
    let backend = provider.into().own_only("cmac")?;
    Cmac::new(blocks(cipher, key, backend)?)
}
