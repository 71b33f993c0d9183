//! A vendor's library, behind the interface of `include/sealstone_module.h`, as a module. Not here:
//! calls into it (`ffi::interface`).

use std::ffi::CString;
use std::fmt;

use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::{KeyedCbc, KeyedCmac, MessageMac, Module, SHA256_BYTES};
use sealstone_cipher::{Aead, Cipher, Ctr, Error, Mode};
use zeroize::Zeroizing;

use crate::chain::{self, ChainCalls};
use crate::counter::{self, CounterCalls};
use crate::error::ModuleError;
use crate::ffi::interface::{BLOCK_BYTES, Keyed, KeyedBlocks, KeyedMac, Refused, Shim};
use crate::gcm::{Gcm, GcmCalls};
use crate::kept_key::KeptKey;
use crate::name::Stated;
use crate::static_text::lifelong;

/// One library, loaded.
pub(crate) struct Library {
    name: &'static str,
    version: &'static str,
    stated: Stated,
    shim: Shim,
}

impl Library {
    /// Loads the library at `file` and runs its self test.
    pub(crate) fn load(file: &str, mut stated: Stated) -> Result<Self, ModuleError> {
        let shim = Shim::load(file)?;
        let [name, version, own] = shim.texts();
        let required = |text: Option<String>, what: &str| {
            let text = text.filter(|text| !text.is_empty());
            let found = format!("no {what}");
            text.ok_or(ModuleError::Interface { module: file.into(), found })
        };
        let (name, version) = (required(name, "name")?, required(version, "version")?);
        if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            let found = format!("the name {name:?}, which is not printable ASCII without a space");
            return Err(ModuleError::Interface { module: file.into(), found });
        }
        shim.self_test().map_err(|refused| ModuleError::SelfTest {
            module: file.into(),
            found: match refused {
                Refused::Unsupported => "it has none".into(),
                Refused::Tag | Refused::Failed => "it reported a failure".into(),
            },
        })?;
        stated.certificate = stated.certificate.or_else(|| own.map(|own| lifelong(&own)));
        Ok(Self { name: lifelong(&name), version: lifelong(&version), stated, shim })
    }

    /// Sets `key` of `cipher` for the mode `what`.
    fn blocks(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
        what: &'static str,
    ) -> Result<SetBlocks, Error> {
        cipher.check_key(key)?;
        if cipher.block_bytes != BLOCK_BYTES {
            return Err(Error::Lacks { module: self.name, what, cipher: cipher.name });
        }
        let set = self.shim.blocks(cipher.name, key);
        let keyed = set.map_err(|refused| self.error(refused, what, cipher.name, "setting a key"));
        Ok(SetBlocks { module: self.name, keyed: keyed? })
    }

    /// Returns the error for a function `what` that refused `cipher`.
    fn error(
        &self,
        refused: Refused,
        what: &'static str,
        cipher: &'static str,
        doing: &'static str,
    ) -> Error {
        match refused {
            Refused::Unsupported => Error::Lacks { module: self.name, what, cipher },
            Refused::Tag | Refused::Failed => Error::Module { module: self.name, doing },
        }
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({} {})", self.name, self.version)
    }
}

impl Module for Library {
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
        let what = cipher.mode.word();
        if cipher.mode != Mode::Gcm {
            return Err(Error::Lacks { module: self.name, what, cipher: cipher.name });
        }
        let keyed = self
            .shim
            .aead(cipher.name, key)
            .map_err(|refused| self.error(refused, what, cipher.name, "setting a key"))?;
        Ok(Gcm::protected(cipher.limits, Set { module: self.name, keyed }))
    }

    fn ctr(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Protected<dyn Ctr>, Error> {
        let what = Mode::Ctr.word();
        let blocks = self.blocks(cipher, key, what)?;
        if !self.shim.has_ctr() {
            return Err(Error::Lacks { module: self.name, what, cipher: cipher.name });
        }
        Ok(counter::protected(blocks))
    }

    fn cbc(&'static self, cipher: &'static Cipher, key: &[u8]) -> Result<Box<dyn KeyedCbc>, Error> {
        Ok(chain::boxed(self.blocks(cipher, key, Mode::Cbc.word())?))
    }

    fn cmac(
        &'static self,
        cipher: &'static Cipher,
        key: &[u8],
    ) -> Result<Box<dyn KeyedCmac>, Error> {
        cipher.check_key(key)?;
        let what = Mode::Cmac.word();
        let lacks = Error::Lacks { module: self.name, what, cipher: cipher.name };
        let name = CString::new(cipher.name).map_err(|_| lacks)?;
        if cipher.block_bytes != BLOCK_BYTES {
            return Err(lacks);
        }
        let cmac = Cmac { library: self, cipher: cipher.name, name, key: KeptKey::protected(key) };
        // a module that has no such cipher reports that now
        cmac.mac(b"", &mut [0; BLOCK_BYTES])?;
        Ok(Box::new(cmac))
    }

    fn hmac_sha256(&'static self, key: &[u8]) -> Result<Box<dyn MessageMac>, Error> {
        let begun = self.shim.hmac_sha256(key);
        let mac = begun.map_err(|refused| self.error(refused, "HMAC-SHA-256", "", MAC))?;
        Ok(Box::new(Mac { module: self.name, mac }))
    }

    fn hkdf_sha256(&self, secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
        self.shim.hkdf_sha256(secret, &info.concat(), out).map_err(|refused| {
            out.fill(0);
            self.error(refused, "HKDF-SHA-256", "", "deriving with HKDF-SHA-256")
        })
    }

    fn random(&self, out: &mut [u8]) -> Result<(), Error> {
        self.shim.random(out).map_err(|refused| {
            out.fill(0);
            self.error(refused, "generator of random bytes", "", "drawing random bytes")
        })
    }
}

/// A key for CMAC, which the library gets with each message.
struct Cmac {
    library: &'static Library,
    cipher: &'static str,
    name: CString,
    key: Protected<KeptKey>,
}

impl KeyedCmac for Cmac {
    fn mac(&self, message: &[u8], tag: &mut [u8]) -> Result<(), Error> {
        tag.fill(0);
        let mut made = [0; BLOCK_BYTES];
        let key = self.key.bytes();
        self.library.shim.cmac(&self.name, key, message, &mut made).map_err(|refused| {
            self.library.error(refused, Mode::Cmac.word(), self.cipher, "computing CMAC")
        })?;
        tag.copy_from_slice(&made);
        Ok(())
    }
}

/// A key in a library, for CBC and counter mode.
struct SetBlocks {
    module: &'static str,
    keyed: KeyedBlocks,
}

impl ChainCalls for SetBlocks {
    fn encrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        let failed = Error::Module { module: self.module, doing: "encrypting" };
        self.keyed.encrypt(iv, data).map_err(|_| failed)
    }

    fn decrypt(&self, iv: &[u8; 16], data: &mut [u8]) -> Result<(), Error> {
        let failed = Error::Module { module: self.module, doing: "decrypting" };
        self.keyed.decrypt(iv, data).map_err(|_| failed)
    }
}

impl CounterCalls for SetBlocks {
    fn module(&self) -> &'static str {
        self.module
    }

    fn stream(&self, counter: [u8; 16], skip: usize, data: &mut [u8]) -> Result<(), Error> {
        let failed = Error::Module { module: self.module, doing: "encrypting" };
        if skip == 0 {
            return self.keyed.count(&counter, data).map_err(|_| failed);
        }
        // the library begins with a whole block
        let mut whole = Zeroizing::new(vec![0; skip + data.len()]);
        whole[skip..].copy_from_slice(data);
        self.keyed.count(&counter, &mut whole).map_err(|_| failed)?;
        data.copy_from_slice(&whole[skip..]);
        Ok(())
    }
}

/// Work of a library on a MAC, in messages.
const MAC: &str = "computing HMAC-SHA-256";

/// HMAC in a library.
struct Mac {
    module: &'static str,
    mac: KeyedMac,
}

impl MessageMac for Mac {
    fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        let failed = Error::Module { module: self.module, doing: MAC };
        self.mac.update(piece).map_err(|_| failed)
    }

    fn finish(mut self: Box<Self>, tag: &mut [u8; SHA256_BYTES]) -> Result<(), Error> {
        self.mac.finish(tag).map_err(|_| {
            tag.fill(0);
            Error::Module { module: self.module, doing: MAC }
        })
    }
}

/// A key in a library.
struct Set {
    module: &'static str,
    keyed: Keyed,
}

impl GcmCalls for Set {
    fn module(&self) -> &'static str {
        self.module
    }

    fn seal(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
    ) -> Result<[u8; 16], Error> {
        let failed = Error::Module { module: self.module, doing: "encrypting" };
        self.keyed.seal(nonce, associated, data).map_err(|_| failed)
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        self.keyed.open(nonce, associated, data, tag).map_err(|refused| match refused {
            Refused::Tag => Error::Authentication,
            Refused::Unsupported | Refused::Failed => {
                Error::Module { module: self.module, doing: "decrypting" }
            }
        })
    }
}
