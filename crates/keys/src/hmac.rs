//! HMAC-SHA-256 of a message that comes in pieces, computed by this program or by a module.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sealstone_cipher::module::{MessageMac, SHA256_BYTES};
use sealstone_cipher::{Error, Provider, own_in_use};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// An HMAC-SHA-256 (RFC 2104) that is being computed.
pub struct HmacSha256(Computing);

enum Computing {
    Own(Box<Hmac<Sha256>>),
    Module(Box<dyn MessageMac>),
    /// The module failed, which the end reports.
    Failed(Error),
}

impl HmacSha256 {
    /// Begins one under `key`, of any length, computed by `provider`.
    ///
    /// # Errors
    /// Those of a module that lacks it or fails.
    pub fn new(provider: impl Into<Provider>, key: &[u8]) -> Result<Self, Error> {
        Ok(Self(match provider.into() {
            Provider::Own(_) => {
                own_in_use("HMAC");
                let mac = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
                Computing::Own(Box::new(mac))
            }
            Provider::Module(module) => Computing::Module(module.hmac_sha256(key)?),
        }))
    }

    /// Adds the next piece of the message. A failure of a module is reported at the end.
    pub fn update(&mut self, piece: &[u8]) {
        match &mut self.0 {
            Computing::Own(mac) => mac.update(piece),
            Computing::Module(mac) => {
                if let Err(error) = mac.update(piece) {
                    self.0 = Computing::Failed(error);
                }
            }
            Computing::Failed(_) => {}
        }
    }

    /// Returns the tag of all pieces.
    ///
    /// # Errors
    /// That of a module that failed, now or before.
    pub fn finish(self) -> Result<[u8; SHA256_BYTES], Error> {
        match self.0 {
            Computing::Own(mac) => Ok(mac.finalize().into_bytes().into()),
            Computing::Module(mac) => {
                let mut tag = [0; SHA256_BYTES];
                mac.finish(&mut tag)?;
                Ok(tag)
            }
            Computing::Failed(error) => Err(error),
        }
    }

    /// Returns whether `tag` is that of all pieces, in constant time.
    ///
    /// # Errors
    /// As [`HmacSha256::finish`].
    pub fn is(self, tag: &[u8; SHA256_BYTES]) -> Result<bool, Error> {
        Ok(self.finish()?.ct_eq(tag).into())
    }
}

impl fmt::Debug for HmacSha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacSha256(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2, whole and in pieces.
    #[test]
    fn the_mac_is_rfc_4231() {
        let wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        for pieces in
            [&["what do ya want for nothing?"][..], &["what do ya ", "", "want for nothing?"]]
        {
            let computed = || {
                let mut mac = HmacSha256::new(Provider::own(), b"Jefe").unwrap();
                pieces.iter().for_each(|piece| mac.update(piece.as_bytes()));
                mac
            };
            let tag = computed().finish().unwrap();
            assert_eq!(tag.map(|byte| format!("{byte:02x}")).concat(), wanted);
            assert!(computed().is(&tag).unwrap());
            assert!(!computed().is(&[0; 32]).unwrap());
        }
    }
}
