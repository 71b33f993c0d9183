//! GCM in a module, with what every AEAD of ours checks around it.

use sealstone_cipher::memory::Protected;
use sealstone_cipher::module::open_parts_whole;
use sealstone_cipher::{Aead, Error, Limits, Part, PartError};

/// A key in a module, set for GCM. Serves many threads at once.
pub(crate) trait GcmCalls: Send + Sync {
    /// Returns the name of the module.
    fn module(&self) -> &'static str;

    /// Encrypts `data` in place and returns its tag; its content is of no use after an error.
    fn seal(&self, nonce: &[u8; 12], associated: &[u8], data: &mut [u8])
    -> Result<[u8; 16], Error>;

    /// Decrypts `data` in place if the tag is right; its content is of no use after an error.
    fn open(
        &self,
        nonce: &[u8; 12],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error>;
}

/// GCM over the calls of a module.
pub(crate) struct Gcm<C> {
    limits: Limits,
    calls: C,
}

impl<C: GcmCalls + 'static> Gcm<C> {
    /// Returns the key in `calls` as an AEAD within `limits`.
    pub(crate) fn protected(limits: Limits, calls: C) -> Protected<dyn Aead> {
        Protected::new(Self { limits, calls }).unsize(|gcm| gcm)
    }

    fn check(&self, nonce: &[u8], data: &[u8]) -> Result<[u8; 12], Error> {
        let (found, limit) = (data.len() as u64, self.limits.message_bytes);
        let wrong = |_| Error::NonceLength { found: nonce.len(), want: 12 };
        let nonce = nonce.try_into().map_err(wrong)?;
        if found > limit { Err(Error::MessageTooLong { found, limit }) } else { Ok(nonce) }
    }
}

impl<C: GcmCalls + 'static> Aead for Gcm<C> {
    fn nonce_bytes(&self) -> usize {
        12
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn backend(&self) -> &'static str {
        self.calls.module()
    }

    fn seal(&self, nonce: &[u8], associated: &[u8], data: &mut [u8]) -> Result<[u8; 16], Error> {
        let nonce = self.check(nonce, data)?;
        // a module that failed may have left some of it in the clear, and some of it sealed
        self.calls.seal(&nonce, associated, data).inspect_err(|_| data.fill(0))
    }

    fn open(
        &self,
        nonce: &[u8],
        associated: &[u8],
        data: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Error> {
        let opened = self.check(nonce, data);
        let opened = opened.and_then(|nonce| self.calls.open(&nonce, associated, data, tag));
        opened.inspect_err(|_| data.fill(0))
    }

    fn open_parts(&self, parts: &[Part<'_>], out: &mut [u8]) -> Result<(), PartError> {
        open_parts_whole(self, parts, out)
    }
}
