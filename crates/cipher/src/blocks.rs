//! Whole blocks, each by itself, by the name of the cipher: a building block for modes, not a mode.
//!
//! Do not encrypt data with it: equal blocks of plaintext give equal blocks of ciphertext (this is
//! ECB), and nothing is protected against change. For storage take [`crate::aead`]; for a mode that
//! another system prescribes, see [`crate::ctr`], [`crate::cbc`] and [`crate::cmac`].
//!
//! Not here: how a cipher computes (`block`).

use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::mode::SetKey;
pub use crate::mode::blocks::Blocks;
use crate::mode::blocks::Whole;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for whole blocks on `backend`, both ways. All choices are
/// made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::Lacks` for a module: no mode over it would be the module's.
///
/// Source: the cipher's own, `cipher.source`.
///
/// ```
/// use sealstone_cipher::{Backend, blocks, cipher};
///
/// // RFC 5794, appendix A.1
/// let key: [u8; 16] = std::array::from_fn(|i| i as u8);
/// let aria = blocks(cipher("aria-128")?, &key, Backend::auto())?;
/// let mut block: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
/// aria.encrypt(&mut block)?;
/// assert_eq!(u128::from_be_bytes(block), 0xd718_fbd6_ab64_4c73_9da9_5f3b_e645_1778);
/// aria.decrypt(&mut block)?;
/// assert_eq!(block[15], 0xff);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn blocks(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Protected<dyn Blocks>, Error> {
    cipher.check_key(key)?;
    let backend = provider.into().own_only("block cipher by itself")?;
    Ok(match cipher.set_key {
        SetKey::Block128 { block, .. } => {
            Protected::new(Whole(block(key, backend)?)).unsize(|whole| whole)
        }
        SetKey::Block64 { block, .. } => {
            Protected::new(Whole(block(key, backend)?)).unsize(|whole| whole)
        }
    })
}
