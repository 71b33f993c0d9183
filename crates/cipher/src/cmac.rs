//! A MAC from a block cipher (CMAC) by the name of the cipher, for systems that prescribe it.
//!
//! It authenticates and hides nothing. For storage take [`crate::aead`], which does both.

use std::fmt;

use zeroize::Zeroizing;

use crate::blocks::blocks;
use crate::declassify::is_tag;
use crate::error::Error;
use crate::facts::Cipher;
use crate::mode::cmac;
use crate::module::KeyedCmac;
use crate::provider::Provider;

/// CMAC keyed with one cipher. One object serves many threads at once; its key is zeroed on drop.
///
/// Each block waits for the one before it, so a message takes one block at a time on every backend.
/// With `3des`, and on `portable` with every cipher whose S-boxes are circuits there (AES, ARIA,
/// SEED), a pass costs the same for one block as for many, so that is slow.
///
/// Under one key at most 2^48 messages with blocks of 16 bytes, 2^21 with blocks of 8 (SP 800-38B,
/// appendix B).
pub struct Cmac(Computed);

/// Implementation that computes: that of this crate, or a module.
enum Computed {
    /// This crate.
    Own(cmac::Cmac),
    /// A module of somebody else.
    Module { name: &'static str, block_bytes: usize, keyed: Box<dyn KeyedCmac> },
}

/// Sets `key` (`cipher.key_bytes` long) for CMAC by `provider`. All choices are made here, once.
///
/// # Errors
/// `Error::KeyLength`; `Error::Lacks` for what a module does not have.
///
/// Source: SP 800-38B, 6.1.
///
/// ```
/// use sealstone_cipher::{Backend, cmac, cipher};
///
/// let aria = cmac(cipher("aria-256")?, &[7; 32], Backend::auto())?;
/// let tag = aria.mac(b"a message")?;
/// aria.verify(b"a message", &tag)?;
/// assert!(aria.verify(b"another", &tag).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cmac(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Cmac, Error> {
    Ok(Cmac(match provider.into() {
        provider @ Provider::Own(_) => {
            Computed::Own(cmac::Cmac::new(blocks(cipher, key, provider)?)?)
        }
        Provider::Module(module) => Computed::Module {
            name: module.name(),
            block_bytes: cipher.block_bytes,
            keyed: module.cmac(cipher, key)?,
        },
    }))
}

impl Cmac {
    /// Returns the length of a tag in bytes, that of a block: 8 or 16.
    pub fn tag_bytes(&self) -> usize {
        match &self.0 {
            Computed::Own(own) => own.tag_bytes(),
            Computed::Module { block_bytes, .. } => *block_bytes,
        }
    }

    /// Returns the name of the backend that the block cipher uses, such as `avx512`, or of the
    /// module that computes.
    pub fn backend(&self) -> &'static str {
        match &self.0 {
            Computed::Own(own) => own.backend(),
            Computed::Module { name, .. } => name,
        }
    }

    /// Returns the tag over `message` (any length): [`Cmac::tag_bytes`] bytes, of which a protocol
    /// may take the first few.
    ///
    /// # Errors
    /// `Error::Module`.
    ///
    /// Source: SP 800-38B, 6.2.
    pub fn mac(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.0 {
            Computed::Own(own) => Ok(own.mac(message)),
            Computed::Module { block_bytes, keyed, .. } => {
                let mut tag = vec![0; *block_bytes];
                keyed.mac(message, &mut tag)?;
                Ok(tag)
            }
        }
    }

    /// Checks in constant time that `tag` is the whole tag over `message`.
    ///
    /// # Errors
    /// `Error::Authentication`, for a tag of another length too; `Error::Module`.
    ///
    /// Source: SP 800-38B, 6.3.
    pub fn verify(&self, message: &[u8], tag: &[u8]) -> Result<(), Error> {
        let wanted = Zeroizing::new(self.mac(message)?);
        if is_tag(&wanted[..], tag) { Ok(()) } else { Err(Error::Authentication) }
    }
}

impl fmt::Debug for Cmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cmac").field("backend", &self.backend()).finish_non_exhaustive()
    }
}
