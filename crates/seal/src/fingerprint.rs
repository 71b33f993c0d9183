//! Fingerprint of a version of a key, which reveals nothing about the key's secret.

use std::fmt;
use std::str::FromStr;

use sealstone_cipher::{Error, Provider};
use sealstone_keys::{KeyRef, Secret, subkey};

/// Length of a fingerprint, in bytes.
const BYTES: usize = 8;

/// Eight bytes that identify a key version. They are derived from its secret but reveal nothing
/// about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub [u8; BYTES]);

impl Fingerprint {
    /// Returns the fingerprint of `key` with the secret `secret` in engine pages, derived by
    /// `provider`.
    ///
    /// # Errors
    /// Those of a module that lacks HKDF or fails.
    pub fn of(key: &KeyRef, secret: &Secret, provider: Provider) -> Result<Self, Error> {
        Self::derive("engine page key", &[key.id.as_bytes()], secret, provider)
    }

    /// Returns the fingerprint of a key with the secret `secret` in tablespaces, derived by
    /// `provider`. The key's name is not in it, since a key may be renamed there.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_tablespaces(secret: &Secret, provider: Provider) -> Result<Self, Error> {
        Self::derive("tablespace fingerprint", &[], secret, provider)
    }

    fn derive(
        purpose: &str,
        context: &[&[u8]],
        secret: &Secret,
        provider: Provider,
    ) -> Result<Self, Error> {
        let mut fingerprint = [0; BYTES];
        subkey(provider, secret.as_bytes(), purpose, context, &mut fingerprint)?;
        Ok(Self(fingerprint))
    }
}

/// Reason why a text is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a fingerprint: it has 16 hexadecimal digits")]
pub struct NoFingerprint;

impl FromStr for Fingerprint {
    type Err = NoFingerprint;

    fn from_str(text: &str) -> Result<Self, NoFingerprint> {
        let is_plain = text.len() == 2 * BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_plain);
        number.map(|number| Self(number.to_be_bytes())).ok_or(NoFingerprint)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_fingerprint_again() {
        for text in ["000102030405feff", "8000000000000000"] {
            assert_eq!(text.parse::<Fingerprint>().unwrap().to_string(), text);
        }
        for text in
            ["", "000102030405fef", "000102030405feff0", "+00102030405feff", "é0102030405fef"]
        {
            assert_eq!(text.parse::<Fingerprint>(), Err(NoFingerprint), "{text}");
        }
    }
}
