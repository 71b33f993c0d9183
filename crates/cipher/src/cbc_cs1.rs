//! Cipher block chaining with ciphertext stealing by the name of the cipher: for pages that have no
//! room for a tag or a padding, where a module must encrypt them.
//!
//! It protects less than [`crate::hctr2()`], which no module has. Under one key and initialisation
//! vector it shows how long the equal beginning of two messages is. An attacker who changes a block
//! of the ciphertext changes the next block of the plaintext bit by bit and garbles one, unnoticed.
//! Where there is room for a tag, take [`crate::aead`].
//!
//! Of the three variants this is CS1: the blocks stay in their order, and a message of whole blocks
//! is plain CBC. Not here: how it computes (`mode/cbc_cs1.rs`).

use crate::cbc::cbc;
use crate::error::Error;
use crate::facts::Cipher;
pub use crate::mode::cbc_cs1::CbcCs1;
use crate::modes::Mode;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for CBC-CS1 by `provider`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::BlockLength` for a cipher with blocks of 8 bytes; `Error::Lacks` for
/// what a module does not have.
///
/// Source: SP 800-38A, addendum (October 2010).
///
/// ```
/// use sealstone_cipher::{Backend, cbc_cs1, cipher};
///
/// let aria = cbc_cs1(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let mut page = [1; 16354];
/// let iv = aria.iv(b"page 12, at 4711")?;
/// aria.encrypt(&iv, &mut page)?;
/// aria.decrypt(&iv, &mut page)?;
/// assert_eq!(page, [1; 16354]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cbc_cs1(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<CbcCs1, Error> {
    cipher.check_key(key)?;
    if !Mode::CbcCs1.facts().block_bytes.contains(&cipher.block_bytes) {
        return Err(Error::BlockLength { found: cipher.block_bytes, want: 16 });
    }
    Ok(CbcCs1::new(cbc(cipher, key, provider)?))
}
