//! CBC with ciphertext stealing (SP 800-38A, addendum, CBC-CS1), over CBC of whole blocks.

use std::fmt;

use zeroize::Zeroize;

use super::cbc::Cbc;
use crate::error::Error;

/// Bytes of a block: the shortest message.
const BLOCK_BYTES: usize = 16;

/// CBC-CS1 keyed with one cipher. One object serves many threads at once; its key is zeroed on
/// drop.
pub struct CbcCs1(Cbc);

impl CbcCs1 {
    /// Takes CBC of a cipher with blocks of 16 bytes.
    pub(crate) fn new(cbc: Cbc) -> Self {
        Self(cbc)
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`, or of the
    /// module that computes.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        self.0.backend()
    }

    /// Returns the initialisation vector for `nonce`, which is another one for each message: its
    /// encryption under the same key, so that nobody can predict it.
    ///
    /// # Errors
    /// `Error::Module`.
    ///
    /// Source: SP 800-38A, appendix C, the first method.
    pub fn iv(&self, nonce: &[u8; BLOCK_BYTES]) -> Result<[u8; BLOCK_BYTES], Error> {
        let mut iv = *nonce;
        // one block chained to zeros is the cipher itself
        self.0.encrypt(&[0; BLOCK_BYTES], &mut iv)?;
        Ok(iv)
    }

    /// Encrypts `data` (16 bytes and more, in place) from `iv` on.
    ///
    /// # Errors
    /// `Error::MessageTooShort`; `data` is untouched. `Error::Module`; it is zeros then.
    ///
    /// Source: SP 800-38A, addendum, section 2.
    pub fn encrypt(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Error> {
        check_length(data)?;
        self.encrypt_blocks(iv, data).inspect_err(|_| data.fill(0))
    }

    fn encrypt_blocks(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Error> {
        let length = data.len();
        let (whole, rest) = data.split_at_mut(length / BLOCK_BYTES * BLOCK_BYTES);
        self.0.encrypt(iv, whole)?;
        let (false, Some(chained)) = (rest.is_empty(), whole.last_chunk::<BLOCK_BYTES>()) else {
            return Ok(());
        };
        let mut last = [0; BLOCK_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        self.0.encrypt(chained, &mut last).inspect_err(|_| last.zeroize())?;
        // over the end of the block before it, which comes back out of this one
        data[length - BLOCK_BYTES..].copy_from_slice(&last);
        Ok(())
    }

    /// Decrypts `data` (16 bytes and more, in place) from `iv` on. A change is not noticed.
    ///
    /// # Errors
    /// `Error::MessageTooShort`; `data` is untouched. `Error::Module`; it is zeros then.
    ///
    /// Source: SP 800-38A, addendum, section 2.
    pub fn decrypt(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Error> {
        check_length(data)?;
        self.decrypt_blocks(iv, data).inspect_err(|_| data.fill(0))
    }

    fn decrypt_blocks(&self, iv: &[u8; BLOCK_BYTES], data: &mut [u8]) -> Result<(), Error> {
        let part = data.len() % BLOCK_BYTES;
        if part == 0 {
            return self.0.decrypt(iv, data);
        }
        let (before, end) = data.split_at_mut(data.len() - BLOCK_BYTES);
        let mut chained = [0; BLOCK_BYTES];
        chained[..part].copy_from_slice(&before[before.len() - part..]);
        // the last part of the text, and then what was left out of the block before it
        self.0.decrypt(&chained, end)?;
        end.rotate_left(part);
        let whole = data.len() - part;
        self.0.decrypt(iv, &mut data[..whole])
    }
}

fn check_length(data: &[u8]) -> Result<(), Error> {
    let found = data.len();
    let short = Error::MessageTooShort { found, least: BLOCK_BYTES };
    if found < BLOCK_BYTES { Err(short) } else { Ok(()) }
}

impl fmt::Debug for CbcCs1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CbcCs1").field("backend", &self.backend()).finish_non_exhaustive()
    }
}
