//! A secret of 32 bytes that is never printed and zeroed when dropped.

use std::fmt;

use sealstone_cipher::Provider;
use sealstone_cipher::memory::Protected;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{KeyError, fill_random};

/// A key of 32 bytes. Zeroed on drop; `Debug` prints its length only; has no `Clone`, `Display` or
/// comparison.
///
/// The bytes are in protected memory ([`sealstone_cipher::memory`]): kept out of swap and core
/// dumps as far as the system grants it, and zeroed in a forked child, where [`Secret::check`] is
/// an error. Moving a `Secret` copies a pointer and leaves no key on an old stack frame.
pub struct Secret(Protected<[u8; Secret::BYTES]>);

impl Secret {
    /// Length of every secret, in bytes.
    pub const BYTES: usize = 32;

    /// Takes over a copy of `bytes`. The caller still owns, and zeroes, the original.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut secret = Self::zero();
        secret.0.copy_from_slice(bytes);
        secret
    }

    /// Draws a fresh secret: from the module if `provider` is one, else from the operating system.
    ///
    /// # Errors
    /// [`KeyError::Random`] when there is no randomness to be had; nothing weaker is used instead.
    pub fn random(provider: impl Into<Provider>) -> Result<Self, KeyError> {
        let mut secret = Self::zero();
        fill_random(provider, secret.0.as_mut_slice())?;
        Ok(secret)
    }

    /// Checks that the secret is available, which it is not in a child that was forked since it was
    /// made.
    ///
    /// # Errors
    /// [`KeyError::Forked`] in a child.
    pub fn check(&self) -> Result<(), KeyError> {
        Ok(self.0.check()?)
    }

    /// Returns the same secret a second time.
    ///
    /// # Errors
    /// As [`Secret::check`].
    pub fn duplicate(&self) -> Result<Self, KeyError> {
        self.check()?;
        Ok(Self::from_bytes(self.as_bytes()))
    }

    /// Returns the key bytes. Never log, print or compare them.
    ///
    /// # Panics
    /// In a child that was forked since the secret was made, so that nothing is sealed under zeros;
    /// see [`Secret::check`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Returns the key bytes, to be filled in place by code that derives or unwraps them.
    ///
    /// # Panics
    /// As [`Secret::as_bytes`].
    #[must_use]
    pub fn as_bytes_mut(&mut self) -> &mut [u8; Self::BYTES] {
        &mut self.0
    }

    /// Returns a secret of zero bytes, to be filled with [`Secret::as_bytes_mut`].
    #[must_use]
    pub fn zero() -> Self {
        Self(Protected::new([0; Self::BYTES]))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", Self::BYTES)
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

// protected memory is zeroed when it is freed
impl ZeroizeOnDrop for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_the_length_and_nothing_else() {
        let secret = Secret::from_bytes(&[0xAB; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(32 bytes)");
        assert_eq!(format!("{secret:#?}"), "Secret(32 bytes)");
    }

    #[test]
    fn zeroize_clears_the_bytes() {
        let mut secret = Secret::from_bytes(&[0xAB; 32]);
        secret.zeroize();
        assert_eq!(secret.as_bytes(), &[0; 32]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_forked_child_gets_an_error_and_no_zeros() {
        use sealstone_cipher::testing::fork::{in_children, in_own_process};

        in_own_process(module_path!(), "a_forked_child_gets_an_error_and_no_zeros", || {
            let secret = Secret::from_bytes(&[0xAB; 32]);
            in_children(|| {
                let forked =
                    |outcome: Result<(), KeyError>| matches!(outcome, Err(KeyError::Forked(_)));
                forked(secret.check())
                    && forked(secret.duplicate().map(drop))
                    && std::panic::catch_unwind(|| secret.as_bytes()[0]).is_err()
                    && Secret::random(Provider::own()).is_ok_and(|own| own.check().is_ok())
            });
            assert_eq!(secret.duplicate().unwrap().as_bytes(), &[0xAB; 32]);
        });
    }

    #[test]
    fn two_random_secrets_differ() {
        let [one, other] = [(); 2].map(|()| Secret::random(Provider::own()).unwrap());
        assert_ne!(one.as_bytes(), other.as_bytes());
    }
}
