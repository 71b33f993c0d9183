//! A provider of OpenSSL 3 as a module. Not here: calls into libcrypto (`ffi::libcrypto`).
//!
//! It has a library context of its own, with the user's configuration and this provider, and every
//! algorithm is fetched with a property query for it: what the program around us does with OpenSSL
//! changes nothing, and another provider never steps in.

use std::ffi::CString;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::{KeyedCbc, KeyedCmac, MessageMac, Module, SHA256_BYTES};
use sealstone_cipher::{Aead, Cipher, Ctr, Error, Mode};
use zeroize::Zeroize;

use crate::chain::{self, ChainCalls};
use crate::counter::{self, CounterCalls};
use crate::error::ModuleError;
use crate::ffi::libcrypto::{Algorithm, Direction, Failed, Keyed, KeyedMac, Provider};
use crate::gcm::{Gcm, GcmCalls};
use crate::kept_key::KeptKey;
use crate::name::Stated;
use crate::static_text::lifelong;

/// Longest key of a cipher, in bytes.
const KEY_BYTES_MAX: usize = 64;
/// Contexts that one key keeps for the next calls, of each kind.
const KEPT_MAX: usize = 64;

/// One provider, loaded.
pub(crate) struct OpenSsl {
    name: &'static str,
    version: &'static str,
    stated: Stated,
    provider: Provider,
}

impl OpenSsl {
    /// Loads the provider `provider` with the user's configuration of OpenSSL, and runs its self
    /// tests.
    pub(crate) fn load(provider: &str, stated: Stated) -> Result<Self, ModuleError> {
        let name = lifelong(&format!("openssl:{provider}"));
        let loaded = Provider::load(provider)?;
        loaded.self_test().map_err(|found| ModuleError::SelfTest { module: name.into(), found })?;
        Ok(Self { name, version: lifelong(&loaded.version()), stated, provider: loaded })
    }

    /// Returns the algorithm of `cipher` in `mode`.
    fn algorithm(&'static self, cipher: &'static Cipher, mode: Mode) -> Result<Algorithm, Error> {
        let what = mode.word();
        let name = format!("{}-{what}", cipher.name).to_uppercase();
        let lacks = Error::Lacks { module: self.name, what, cipher: cipher.name };
        self.provider.cipher(&name).ok_or(lacks)
    }
}

impl fmt::Debug for OpenSsl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenSsl({} {})", self.name, self.version)
    }
}

impl Module for OpenSsl {
    fn name(&self) -> &'static str {
        self.name
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
        if cipher.mode != Mode::Gcm {
            let what = cipher.mode.word();
            return Err(Error::Lacks { module: self.name, what, cipher: cipher.name });
        }
        let algorithm = self.algorithm(cipher, Mode::Gcm)?;
        let contexts = Contexts::protected(self.name, algorithm, key);
        contexts.set_once()?;
        Ok(Gcm::protected(cipher.limits, contexts))
    }

    fn ctr(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Protected<dyn Ctr>, Error> {
        cipher.check_key(key)?;
        let algorithm = self.algorithm(cipher, Mode::Ctr)?;
        let contexts = Contexts::protected(self.name, algorithm, key);
        contexts.set_once()?;
        Ok(counter::protected(contexts))
    }

    fn cbc(&'static self, cipher: &'static Cipher, key: &[u8]) -> Result<Box<dyn KeyedCbc>, Error> {
        cipher.check_key(key)?;
        if cipher.block_bytes != 16 {
            let what = Mode::Cbc.word();
            return Err(Error::Lacks { module: self.name, what, cipher: cipher.name });
        }
        let algorithm = self.algorithm(cipher, Mode::Cbc)?;
        let contexts = Contexts::protected(self.name, algorithm, key);
        contexts.set_once()?;
        Ok(chain::boxed(contexts))
    }

    fn cmac(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Box<dyn KeyedCmac>, Error> {
        cipher.check_key(key)?;
        let what = Mode::Cmac.word();
        let lacks = Error::Lacks { module: self.name, what, cipher: cipher.name };
        let name = format!("{}-CBC", cipher.name).to_uppercase();
        if !self.provider.has_cmac() || self.provider.cipher(&name).is_none() {
            return Err(lacks);
        }
        let name = CString::new(name).map_err(|_| lacks)?;
        let cmac = Cmac { module: self, cipher: name, key: KeptKey::protected(key) };
        // a module that refuses the key does so now
        cmac.begin()?;
        Ok(Box::new(cmac))
    }

    fn hmac_sha256(&'static self, key: &[u8]) -> Result<Box<dyn MessageMac>, Error> {
        let begun = self.provider.hmac_sha256(key);
        let mac = begun.map_err(|_| Error::Module { module: self.name, doing: MAC })?;
        Ok(Box::new(Mac { module: self.name, mac }))
    }

    fn hkdf_sha256(&self, secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
        let info = info.concat();
        let failed = Error::Module { module: self.name, doing: "deriving with HKDF-SHA-256" };
        let result = self.provider.hkdf_sha256(secret, &info, out);
        result.map_err(|_| failed)
    }

    fn random(&self, out: &mut [u8]) -> Result<(), Error> {
        let failed = Error::Module { module: self.name, doing: "drawing random bytes" };
        self.provider.random(out).map_err(|_| failed)
    }
}

/// A key, and contexts of libcrypto that have it set: a context serves one thread at a time.
struct Contexts {
    module: &'static str,
    algorithm: Algorithm,
    key: [u8; KEY_BYTES_MAX],
    key_bytes: usize,
    sealing: Mutex<Vec<Keyed>>,
    opening: Mutex<Vec<Keyed>>,
}

impl Contexts {
    fn protected(module: &'static str, algorithm: Algorithm, key: &[u8]) -> Protected<Self> {
        let mut contexts = Protected::with(|| Self {
            module,
            algorithm,
            key: [0; KEY_BYTES_MAX],
            key_bytes: key.len(),
            sealing: Mutex::default(),
            opening: Mutex::default(),
        });
        contexts.key[..key.len()].copy_from_slice(key);
        contexts
    }

    /// Sets the key once, so that a module that refuses it does so now.
    fn set_once(&self) -> Result<(), Error> {
        self.with(Direction::Encrypt, |_| Ok(()))
    }

    /// Has `job` use a context, which another thread then may have.
    fn with<T>(
        &self,
        direction: Direction,
        job: impl FnOnce(&mut Keyed) -> Result<T, Failed>,
    ) -> Result<T, Error> {
        let pool = match direction {
            Direction::Encrypt => &self.sealing,
            Direction::Decrypt => &self.opening,
        };
        let lock = || pool.lock().unwrap_or_else(PoisonError::into_inner);
        let doing = match direction {
            Direction::Encrypt => "encrypting",
            Direction::Decrypt => "decrypting",
        };
        let failed = Error::Module { module: self.module, doing };
        let kept = lock().pop();
        let mut context = match kept {
            Some(context) => context,
            None => {
                let key = &self.key[..self.key_bytes];
                Keyed::new(&self.algorithm, key, direction).map_err(|_| failed)?
            }
        };
        let done = job(&mut context).map_err(|found| match found {
            Failed::Tag => Error::Authentication,
            Failed::Call => failed,
        })?;
        let mut kept = lock();
        if kept.len() < KEPT_MAX {
            kept.push(context);
        }
        Ok(done)
    }
}

impl Drop for Contexts {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl GcmCalls for Protected<Contexts> {
    fn module(&self) -> &'static str {
        self.module
    }

    fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> Result<[u8; 16], Error> {
        self.with(Direction::Encrypt, |context| context.seal(nonce, associated, data))
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        self.with(Direction::Decrypt, |context| context.open(nonce, associated, data, tag))
    }
}

/// A key for CMAC, and a context for each message, since a context serves one at a time.
struct Cmac {
    module: &'static OpenSsl,
    cipher: CString,
    key: Protected<KeptKey>,
}

impl Cmac {
    fn begin(&self) -> Result<KeyedMac, Error> {
        let begun = self.module.provider.cmac(&self.cipher, self.key.bytes());
        begun.map_err(|_| self.failed())
    }

    fn failed(&self) -> Error {
        Error::Module { module: self.module.name, doing: "computing CMAC" }
    }
}

impl KeyedCmac for Cmac {
    fn mac(&self, message: &[u8], tag: &mut [u8]) -> Result<(), Error> {
        tag.fill(0);
        let mut mac = self.begin()?;
        mac.update(message).and_then(|()| mac.finish(tag)).map_err(|_| self.failed())
    }
}

/// Work of a provider on a MAC, in messages.
const MAC: &str = "computing HMAC-SHA-256";

/// HMAC in a provider.
struct Mac {
    module: &'static str,
    mac: KeyedMac,
}

impl MessageMac for Mac {
    fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.mac.update(piece).map_err(|_| Error::Module { module: self.module, doing: MAC })
    }

    fn finish(mut self: Box<Self>, tag: &mut [u8; SHA256_BYTES]) -> Result<(), Error> {
        self.mac.finish(tag).map_err(|_| Error::Module { module: self.module, doing: MAC })
    }
}

impl ChainCalls for Protected<Contexts> {
    fn encrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        self.with(Direction::Encrypt, |context| context.chain(iv, data))
    }

    fn decrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        self.with(Direction::Decrypt, |context| context.chain(iv, data))
    }
}

impl CounterCalls for Protected<Contexts> {
    fn module(&self) -> &'static str {
        self.module
    }

    fn stream(&self, counter: [u8; 16], skip: usize, data: &mut [u8]) -> Result<(), Error> {
        self.with(Direction::Encrypt, |context| context.stream(&counter, skip, data))
    }
}
