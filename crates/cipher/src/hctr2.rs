//! Wide-block encryption by the name of the cipher: for pages that have no room for a tag, and
//! whose tweak may come again.
//!
//! Under one key and tweak it shows that two pages are equal, and nothing else: neither which parts
//! of them are, as a counter mode would, nor how long the equal beginning is, as CBC would. An
//! attacker who changes a bit gets a page in which every bit is as good as random; the change
//! itself is not noticed. Where there is room for a tag, take [`crate::aead`].
//!
//! Not here: how it computes (`mode/hctr2.rs`).

use crate::error::Error;
use crate::facts::Cipher;
use crate::mode::SetKey;
pub use crate::mode::hctr2::Hctr2;
use crate::mode::hctr2::in_turn;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for HCTR2 on `backend`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::BlockLength` for a cipher with blocks of 8 bytes; `Error::Lacks` for
/// a module.
///
/// Source: Crowley, Huckleberry, Biggers: Length-preserving encryption with HCTR2 (2021).
///
/// ```
/// use sealstone_cipher::{Backend, cipher, hctr2};
///
/// let aria = hctr2(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let mut page = [1; 16354];
/// aria.encrypt(b"space 7, page 12", &mut page)?;
/// aria.decrypt(b"space 7, page 12", &mut page)?;
/// assert_eq!(page, [1; 16354]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hctr2(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Hctr2, Error> {
    cipher.check_key(key)?;
    let backend = provider.into().own_only("hctr2")?;
    match cipher.set_key {
        SetKey::Block128 { hctr2: Some(hctr2), .. } => Ok(Hctr2::new(hctr2(key, backend)?)),
        SetKey::Block128 { block, hctr2: None, .. } => {
            Ok(Hctr2::new(in_turn(block(key, backend)?, backend)))
        }
        SetKey::Block64 { .. } => Err(Error::BlockLength { found: cipher.block_bytes, want: 16 }),
    }
}
