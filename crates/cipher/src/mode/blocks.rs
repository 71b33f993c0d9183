//! Whole blocks, each by itself or in a chain: the building block of CBC and CMAC.

use std::fmt;

use super::BlockCipher;
use crate::error::Error;
use crate::memory::Protected;

/// A keyed block cipher. One object serves many threads at once; its key is zeroed on drop.
///
/// Hand over as many independent blocks as there are: a call works on many of them at once, and one
/// block alone takes nearly as long as a vector full of them.
pub trait Blocks: Send + Sync {
    /// Returns the block length in bytes: 8 or 16.
    fn block_bytes(&self) -> usize;

    /// Returns the name of the backend that the block cipher uses, such as `avx512`.
    fn backend(&self) -> &'static str;

    /// Encrypts each block of `data` (whole blocks, any number) in place.
    ///
    /// # Errors
    /// `Error::PartialBlock` where `data` is no whole number of blocks; it is untouched then.
    fn encrypt(&self, data: &mut [u8]) -> Result<(), Error>;

    /// Encrypts each block of `data` (whole blocks, any number) in place, with the block before it
    /// added (XOR), the first one with `iv`: what [`crate::cbc`] is made of, and its page says what
    /// an iv must be.
    ///
    /// # Errors
    /// `Error::NonceLength` where `iv` is not one block long, `Error::PartialBlock` where `data` is
    /// no whole number of blocks; it is untouched then.
    fn encrypt_chain(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error>;

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
pub(crate) struct Whole<const N: usize>(pub(crate) Protected<dyn BlockCipher<N>>);

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

    fn encrypt_chain(&self, iv: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let wrong = |_| Error::NonceLength { found: iv.len(), want: N };
        let iv = iv.try_into().map_err(wrong)?;
        self.0.encrypt_chain(iv, whole(data)?);
        Ok(())
    }

    fn decrypt(&self, data: &mut [u8]) -> Result<(), Error> {
        self.0.decrypt_blocks(whole(data)?);
        Ok(())
    }
}

/// Returns `data` as blocks, where nothing is left over.
fn whole<const N: usize>(data: &mut [u8]) -> Result<&mut [[u8; N]], Error> {
    let found = data.len();
    match data.as_chunks_mut() {
        (blocks, []) => Ok(blocks),
        _ => Err(Error::PartialBlock { found, block_bytes: N }),
    }
}

/// XORs `data` with the beginning of `other`.
#[inline(always)]
pub(super) fn xor(data: &mut [u8], other: &[u8]) {
    for (byte, other) in data.iter_mut().zip(other) {
        *byte ^= other;
    }
}
