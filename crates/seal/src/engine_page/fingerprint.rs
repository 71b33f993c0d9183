//! Fingerprint of the key version that sealed an engine page, which reveals nothing about the key's
//! secret. Not here: the header that names it (`header`).

use std::fmt;

use sealstone_cipher::{Error, Provider};
use sealstone_keys::{KeyRef, Secret, subkey};

/// Eight bytes that identify a key version. They are derived from its secret but reveal nothing
/// about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; 8]);

impl Fingerprint {
    /// Returns the fingerprint of `key` with the secret `secret`, derived by `provider`.
    ///
    /// # Errors
    /// Those of a module that lacks HKDF or fails.
    pub fn of(key: &KeyRef, secret: &Secret, provider: Provider) -> Result<Self, Error> {
        let mut fingerprint = [0; 8];
        let context = [key.id.as_bytes()];
        subkey(provider, secret.as_bytes(), "engine page key", &context, &mut fingerprint)?;
        Ok(Self(fingerprint))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}
