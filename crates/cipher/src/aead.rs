//! Authenticated encryption with associated data, over byte slices, in place, by the name of the
//! cipher.
//!
//! Not here: how a mode computes (`mode`), and messages whose key stream is made beforehand
//! ([`crate::key_stream`]).

use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::mode::SetKey;
pub use crate::mode::aead::{Aead, Context, PARTS_MAX, Part, PartError, Unsealed};
use crate::mode::ctr_mac::CtrMac;
use crate::mode::gcm::Gcm;
use crate::provider::Provider;

/// Sets `key` (`cipher.key_bytes` long) for the cipher's authenticated mode: GCM for 128-bit
/// blocks, counter mode plus an independent MAC for 64-bit blocks. All choices are made here, once.
///
/// - `provider`: a [`Backend`](crate::Backend), or the module that computes
///
/// # Errors
/// `Error::KeyLength`; of a module `Error::Lacks` and `Error::Module`.
///
/// Source: SP 800-38D for GCM; counter mode plus MAC is our design, see docs/formats.md.
///
/// ```
/// use sealstone_cipher::{aead, Backend, cipher};
///
/// let key = aead(cipher("aes-256")?, &[7; 32], Backend::auto())?;
/// let mut data = *b"a page of some file";
/// let tag = key.seal(&[0; 12], b"file 1, page 0", &mut data)?;
/// key.open(&[0; 12], b"file 1, page 0", &mut data, &tag)?;
/// assert_eq!(&data, b"a page of some file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn aead(
    cipher: &'static Cipher,
    key: &[u8],
    provider: impl Into<Provider>,
) -> Result<Protected<dyn Aead>, Error> {
    cipher.check_key(key)?;
    let provider = provider.into();
    if let Provider::Module(module) = provider {
        return module.aead(cipher, key);
    }
    let backend = provider.own_only("an authenticated mode")?;
    match cipher.set_key {
        SetKey::Block128 { gcm: Some(gcm), .. } => gcm(key, backend),
        SetKey::Block128 { counter, gcm: None, .. } => {
            Ok(Gcm::protected(cipher.limits, counter(key, backend)?, backend))
        }
        SetKey::Block64 { counter, .. } => {
            CtrMac::protected(cipher.name, cipher.limits, key, |subkey| counter(subkey, backend))
        }
    }
}
