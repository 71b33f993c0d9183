//! Sessions with a token in a build without the feature `pkcs11`: there are none.

use super::address::TokenAddress;
use super::error::TokenError;
use super::sealed_secret::{SECRET_BYTES, SealedByToken};

/// A key of a token, which nobody has.
pub(crate) struct TokenKey<'a> {
    nobody: &'a std::convert::Infallible,
}

impl<'a> TokenKey<'a> {
    pub(super) fn open(address: &'a TokenAddress, _: &[u8]) -> Result<Self, TokenError> {
        Err(TokenError::NotBuilt { token: address.token_name() })
    }

    pub(super) fn make(address: &TokenAddress, _: &[u8]) -> Result<(), TokenError> {
        Err(TokenError::NotBuilt { token: address.token_name() })
    }

    pub(crate) fn seal(
        &self,
        _: &[u8; SECRET_BYTES],
        _: &[u8],
    ) -> Result<SealedByToken, TokenError> {
        match *self.nobody {}
    }

    pub(crate) fn open_sealed(
        &self,
        _: &SealedByToken,
        _: &[u8],
        _: &mut [u8; SECRET_BYTES],
    ) -> Result<(), TokenError> {
        match *self.nobody {}
    }
}
