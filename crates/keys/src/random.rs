//! Random bytes: from the operating system, or from a module.

use sealstone_cipher::{Provider, own_in_use};

use crate::KeyError;

/// Fills `bytes` from the generator of `provider`: a module's own, else the operating system's.
///
/// # Errors
/// [`KeyError::Random`] when there is no randomness to be had, [`KeyError::Cipher`] when the module
/// fails; nothing weaker is used instead.
pub fn fill_random(provider: impl Into<Provider>, bytes: &mut [u8]) -> Result<(), KeyError> {
    match provider.into() {
        Provider::Own(_) => {
            own_in_use("drawing of random bytes");
            getrandom::fill(bytes).map_err(|source| KeyError::Random(source.to_string()))
        }
        Provider::Module(module) => Ok(module.random(bytes)?),
    }
}
