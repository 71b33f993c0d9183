//! The FIPS module of AWS-LC, built from its source with this crate (feature `aws-lc-fips`), as a
//! module.
//!
//! It reports a wrong tag and a failure while opening alike; both are an error that returns no
//! data, and are taken for a wrong tag.

use std::fmt;

use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptionContext, EncryptingKey, EncryptionContext,
    PaddedBlockDecryptingKey, PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::{hmac, rand};
use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::{KeyedCbc, MessageMac, Module, SHA256_BYTES};
use sealstone_cipher::{Aead, Cipher, Ctr, Error, Mode};
use zeroize::Zeroizing;

use crate::chain::{self, ChainCalls};
use crate::counter::{self, CounterCalls};
use crate::error::ModuleError;
use crate::gcm::{Gcm, GcmCalls};
use crate::name::{AWS_LC as NAME, Stated};
use crate::static_text::lifelong;

/// The module, which passed its tests.
pub(crate) struct AwsLc {
    version: &'static str,
    stated: Stated,
}

impl AwsLc {
    /// Runs the module's self tests.
    pub(crate) fn load(stated: Stated) -> Result<Self, ModuleError> {
        let failed =
            |found: &str| ModuleError::SelfTest { module: NAME.into(), found: found.into() };
        aws_lc_rs::try_fips_mode().map_err(failed)?;
        aws_lc_rs::try_fips_self_test().map_err(|_| failed("a known answer is another"))?;
        let library = aws_lc_rs::awslc_version();
        let version = match aws_lc_rs::fips_version() {
            Some(module) => lifelong(&format!("{library}, module {module}")),
            None => library,
        };
        Ok(Self { version, stated })
    }
}

impl fmt::Debug for AwsLc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AwsLc({NAME} {})", self.version)
    }
}

const fn failed(doing: &'static str) -> Error {
    Error::Module { module: NAME, doing }
}

impl Module for AwsLc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> &'static str {
        self.version
    }

    fn certificate(&self) -> Option<&'static str> {
        self.stated.certificate
    }

    fn spec(&self) -> &'static str {
        self.stated.spec
    }

    fn aead(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Protected<dyn Aead>, Error> {
        cipher.check_key(key)?;
        let algorithm = match cipher.name {
            "aes-128" => &AES_128_GCM,
            "aes-192" => &AES_192_GCM,
            "aes-256" => &AES_256_GCM,
            name => {
                let what = cipher.mode.word();
                return Err(Error::Lacks { module: NAME, what, cipher: name });
            }
        };
        let key = UnboundKey::new(algorithm, key).map_err(|_| failed("setting a key"))?;
        Ok(Gcm::protected(cipher.limits, LessSafeKey::new(key)))
    }

    fn ctr(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Protected<dyn Ctr>, Error> {
        let algorithm = block_cipher(cipher, key, Mode::Ctr)?;
        let key = UnboundCipherKey::new(algorithm, key).and_then(EncryptingKey::ctr);
        let key = key.map_err(|_| failed("setting a key"))?;
        Ok(counter::protected(key))
    }

    fn cbc(&'static self, cipher: &'static Cipher, key: &[u8]) -> Result<Box<dyn KeyedCbc>, Error> {
        let algorithm = block_cipher(cipher, key, Mode::Cbc)?;
        let unbound = || UnboundCipherKey::new(algorithm, key);
        let encrypting = unbound().and_then(PaddedBlockEncryptingKey::cbc_pkcs7);
        let decrypting = unbound().and_then(PaddedBlockDecryptingKey::cbc_pkcs7);
        match (encrypting, decrypting) {
            (Ok(encrypting), Ok(decrypting)) => {
                Ok(chain::boxed(Protected::new(Padded { encrypting, decrypting })))
            }
            _ => Err(failed("setting a key")),
        }
    }

    fn hmac_sha256(&'static self, key: &[u8]) -> Result<Box<dyn MessageMac>, Error> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key);
        Ok(Box::new(Mac(hmac::Context::with_key(&key))))
    }

    fn hkdf_sha256(&self, secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
        struct Length(usize);
        impl KeyType for Length {
            fn len(&self) -> usize {
                self.0
            }
        }
        let key = Salt::new(HKDF_SHA256, &[]).extract(secret);
        let derived = key.expand(info, Length(out.len())).and_then(|derived| derived.fill(out));
        derived.map_err(|_| {
            out.fill(0);
            failed("deriving with HKDF-SHA-256")
        })
    }

    fn random(&self, out: &mut [u8]) -> Result<(), Error> {
        rand::fill(out).map_err(|_| {
            out.fill(0);
            failed("drawing random bytes")
        })
    }
}

/// Returns the module's algorithm for `cipher`, if `key` has its length; `mode` is for messages.
fn block_cipher(
    cipher: &'static Cipher,
    key: &[u8],
    mode: Mode,
) -> Result<&'static Algorithm, Error> {
    cipher.check_key(key)?;
    match cipher.name {
        "aes-128" => Ok(&AES_128),
        "aes-192" => Ok(&AES_192),
        "aes-256" => Ok(&AES_256),
        name => Err(Error::Lacks { module: NAME, what: mode.word(), cipher: name }),
    }
}

/// A key for CBC, which the module offers with a padding alone (PKCS #7): the block of padding is
/// cut off from what it encrypts, and one that it made is appended to what it decrypts.
struct Padded {
    encrypting: PaddedBlockEncryptingKey,
    decrypting: PaddedBlockDecryptingKey,
}

impl Padded {
    fn padded(&self, iv: &[u8; 16], data: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut padded = Zeroizing::new(Vec::with_capacity(data.len() + 16));
        padded.extend_from_slice(data);
        let iv = EncryptionContext::Iv128(FixedLength::from(*iv));
        let done = self.encrypting.less_safe_encrypt(&mut *padded, iv);
        done.map_err(|_| failed("encrypting"))?;
        Ok(padded)
    }
}

impl ChainCalls for Protected<Padded> {
    fn encrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        let padded = self.padded(iv, data)?;
        data.copy_from_slice(padded.get(..data.len()).ok_or(failed("encrypting"))?);
        Ok(())
    }

    fn decrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        let padding = self.padded(data.last_chunk().unwrap_or(iv), &[])?;
        let mut padded = Zeroizing::new([&*data, &padding].concat());
        let iv = DecryptionContext::Iv128(FixedLength::from(*iv));
        let opened = self.decrypting.decrypt(&mut padded, iv);
        let opened = opened.map_err(|_| failed("decrypting"))?;
        if opened.len() != data.len() {
            return Err(failed("decrypting"));
        }
        data.copy_from_slice(opened);
        Ok(())
    }
}

impl GcmCalls for LessSafeKey {
    fn module(&self) -> &'static str {
        NAME
    }

    fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> Result<[u8; 16], Error> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let tag = self.seal_in_place_separate_tag(nonce, Aad::from(associated), data);
        let tag = tag.map_err(|_| failed("encrypting"))?;
        tag.as_ref().try_into().map_err(|_| failed("encrypting"))
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.open_in_place_separate_tag(nonce, Aad::from(associated), tag, data);
        opened.map(drop).map_err(|_| Error::Authentication)
    }
}

impl CounterCalls for EncryptingKey {
    fn module(&self) -> &'static str {
        NAME
    }

    fn stream(&self, counter: [u8; 16], skip: usize, data: &mut [u8]) -> Result<(), Error> {
        let counter = EncryptionContext::Iv128(FixedLength::from(counter));
        // the module begins with a whole block
        let mut whole = Zeroizing::new(vec![0; if skip == 0 { 0 } else { skip + data.len() }]);
        let done = if skip == 0 {
            self.less_safe_encrypt(data, counter)
        } else {
            whole[skip..].copy_from_slice(data);
            let done = self.less_safe_encrypt(&mut whole, counter);
            data.copy_from_slice(&whole[skip..]);
            done
        };
        done.map(drop).map_err(|_| failed("encrypting"))
    }
}

/// HMAC in the module.
struct Mac(hmac::Context);

impl MessageMac for Mac {
    fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.0.update(piece);
        Ok(())
    }

    fn finish(self: Box<Self>, tag: &mut [u8; SHA256_BYTES]) -> Result<(), Error> {
        tag.copy_from_slice(self.0.sign().as_ref());
        Ok(())
    }
}
