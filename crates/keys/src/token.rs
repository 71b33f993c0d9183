//! Keys of PKCS #11 tokens: hardware security modules, smart cards, and programs in their place. A
//! key of a token protects a key file, and never leaves the token: the token itself seals and opens
//! the secrets in the file.
//!
//! Each use opens a session of its own, so nothing is lost when a token was away in the meantime,
//! and a forked process begins anew. Not here: the data that is sealed (`file`).

mod address;
mod error;
mod sealed;
#[cfg(feature = "pkcs11")]
mod session;
#[cfg(not(feature = "pkcs11"))]
#[path = "token/no_session.rs"]
mod session;

use std::fmt;
use std::sync::Arc;

use sealstone_cipher::memory::Protected;

pub use address::TokenAddress;
pub use error::TokenError;
pub(crate) use sealed::SealedByToken;
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
        Ok(Arc::new(Self { address, pin: kept, pin_bytes }))
    }

    pub(crate) fn address(&self) -> &TokenAddress {
        &self.address
    }

    /// Opens a session in which the key can be used.
    ///
    /// # Errors
    /// [`TokenError::Forked`], and whatever keeps the token or its key from being used.
    pub(crate) fn key(&self) -> Result<TokenKey<'_>, TokenError> {
        TokenKey::open(&self.address, self.pin()?)
    }

    /// Makes the key in the token: AES-256, never to leave it.
    ///
    /// # Errors
    /// As [`Token::key`]; [`TokenError::KeyExists`].
    pub(crate) fn make_key(&self) -> Result<(), TokenError> {
        TokenKey::make(&self.address, self.pin()?)
    }

    fn pin(&self) -> Result<&[u8], TokenError> {
        self.pin.check()?;
        Ok(&self.pin[..self.pin_bytes])
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.address)
    }
}
