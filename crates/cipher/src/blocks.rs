//! Whole blocks, each by itself, by the name of the cipher: a building block for modes, not a mode.
//!
//! Do not encrypt data with it: equal blocks of plaintext give equal blocks of ciphertext (this is ECB), and nothing is
//! protected against change. For storage take [`crate::aead`]; for a mode that another system prescribes, see
//! [`crate::ctr`], [`crate::cbc`] and [`crate::cmac`].
//!
//! Not here: how a cipher computes (`block`).

use std::fmt;

use crate::backend::Backend;
use crate::block::{BlockCipher, SetKey};
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;

/// Sets `key` (`cipher.key_bytes` long) for whole blocks on `backend`, both ways. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`.
///
/// Source: the cipher's own, `cipher.source`.
///
/// ```
/// use sealstone_cipher::{backend::Backend, blocks::blocks, registry::cipher};
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
pub fn blocks(cipher: &'static Cipher, key: &[u8], backend: Backend) -> Result<Protected<dyn Blocks>, Error> {
    cipher.check_key(key)?;
    Ok(match cipher.set_key {
        SetKey::Block128 { block, .. } => Protected::new(Whole(block(key, backend)?)).unsize(|whole| whole),
        SetKey::Block64 { block, .. } => Protected::new(Whole(block(key, backend)?)).unsize(|whole| whole),
    })
}

/// A keyed block cipher. One object serves many threads at once; its key is zeroed on drop.
///
/// Hand over as many independent blocks as there are: a call works on many of them at once, and one block alone takes
/// nearly as long as a vector full of them.
pub trait Blocks: Send + Sync {
    /// Block length in bytes: 8 or 16.
    fn block_bytes(&self) -> usize;

    /// Name of the backend that the block cipher uses, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// Encrypts each block of `data` (whole blocks, any number) in place.
    ///
    /// # Errors
    /// `Error::PartialBlock` where `data` is no whole number of blocks; it is untouched then.
    fn encrypt(&self, data: &mut [u8]) -> Result<(), Error>;

    /// Decrypts each block of `data` (whole blocks, any number) in place.
    ///
    /// # Errors
    /// `Error::PartialBlock` where `data` is no whole number of blocks; it is untouched then.
    fn decrypt(&self, data: &mut [u8]) -> Result<(), Error>;
}

impl fmt::Debug for dyn Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

/// [`Blocks`] of `N` bytes.
struct Whole<const N: usize>(Protected<dyn BlockCipher<N>>);

impl<const N: usize> Blocks for Whole<N> {
    fn block_bytes(&self) -> usize {
        N
    }

    fn backend(&self) -> &'static str {
        self.0.backend()
    }

    fn encrypt(&self, data: &mut [u8]) -> Result<(), Error> {
        self.0.encrypt_blocks(whole(data)?);
        Ok(())
    }

    fn decrypt(&self, data: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt_blocks(whole(data)?);
        Ok(())
    }
}

/// `data` as blocks, where nothing is left over.
fn whole<const N: usize>(data: &mut [u8]) -> Result<&mut [[u8; N]], Error> {
    let found = data.len();
    match data.as_chunks_mut() {
        (blocks, []) => Ok(blocks),
        _ => Err(Error::PartialBlock { found, block_bytes: N }),
    }
}
