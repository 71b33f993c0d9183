//! Keys of PKCS #11 tokens: hardware security modules, smart cards, and programs in their place. A
//! key of a token protects a key file, and never leaves the token: the token itself seals and opens
//! the secrets in the file.
//!
//! Each use opens a session of its own, so nothing is lost when a token was away in the meantime,
//! and a forked process starts over.

mod address;
mod error;
mod sealed_secret;
#[cfg(feature = "pkcs11")]
mod session;
#[cfg(not(feature = "pkcs11"))]
#[path = "token/no_session.rs"]
mod session;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_cipher::memory::Protected;

pub use address::TokenAddress;
pub use error::TokenError;
pub(crate) use sealed_secret::SealedByToken;
pub(crate) use session::TokenKey;

/// Longest PIN, in bytes: tokens state their longest in one byte.
const PIN_BYTES_MAX: usize = 255;

/// A key of a token, and the PIN of its user.
///
/// The PIN is in protected memory as long as this is, so that a key file can be read again when
/// another process has changed it.
pub(crate) struct Token {
    address: TokenAddress,
    pin: Protected<[u8; PIN_BYTES_MAX]>,
    pin_bytes: usize,
    /// True once the token did not take the PIN. Held while the PIN is given to the token.
    is_refused: Mutex<bool>,
}

impl Token {
    /// Takes over a copy of the PIN.
    ///
    /// # Errors
    /// [`TokenError::LongPin`].
    pub(crate) fn new(address: TokenAddress, pin: &[u8]) -> Result<Arc<Self>, TokenError> {
        let pin_bytes = pin.len();
        if pin_bytes > PIN_BYTES_MAX {
            return Err(TokenError::LongPin { bytes: pin_bytes, bytes_max: PIN_BYTES_MAX });
        }
        let mut kept = Protected::new([0; PIN_BYTES_MAX]);
        kept[..pin_bytes].copy_from_slice(pin);
        Ok(Arc::new(Self { address, pin: kept, pin_bytes, is_refused: Mutex::new(false) }))
    }

    pub(crate) fn address(&self) -> &TokenAddress {
        &self.address
    }

    /// Opens a session in which the key can be used.
    ///
    /// # Errors
    /// [`TokenError::Forked`], [`TokenError::PinRefused`], and whatever keeps the token or its key
    /// from being used.
    pub(crate) fn key(&self) -> Result<TokenKey<'_>, TokenError> {
        self.with_pin(TokenKey::open)
    }

    /// Makes the key in the token: AES-256, never to leave it.
    ///
    /// # Errors
    /// As [`Token::key`]; [`TokenError::KeyExists`].
    pub(crate) fn make_key(&self) -> Result<(), TokenError> {
        self.with_pin(TokenKey::make)
    }

    /// Gives the PIN to `work`, and never again once the token did not take it: a process reads a
    /// changed key file many times, and a token locks itself after a few wrong PINs.
    fn with_pin<'a, T>(
        &'a self,
        work: impl FnOnce(&'a TokenAddress, &[u8]) -> Result<T, TokenError>,
    ) -> Result<T, TokenError> {
        self.pin.check()?;
        let mut is_refused = self.is_refused.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_refused {
            return Err(TokenError::PinRefused { token: self.address.token_name() });
        }
        let done = work(&self.address, &self.pin[..self.pin_bytes]);
        *is_refused = matches!(done, Err(TokenError::Pin { .. }));
        done
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.address)
    }
}
