//! The key under which a table is sealed: its source, its version, and a separate subkey for each
//! use.

use std::fmt;
use std::sync::Arc;

use sealstone_cipher::{Backend, Provider};
use sealstone_keys::{
    HmacSha256, InModule, KeyError, KeyRef, KeySource, Secret, fill_random, subkey,
};
use zeroize::Zeroizing;

/// One version of a key, and the source that has the others.
pub struct Keyed {
    source: Arc<dyn KeySource>,
    key: KeyRef,
    secret: Secret,
}

/// Returns the name of the version `version` of the key that `known` is a version of, by the
/// numbers of `source`.
///
/// # Errors
/// [`KeyError::OtherNumber`] if `source` counts versions otherwise, as where it names one version
/// of a key server alone: a number would stand for another key. As [`KeySource::version`].
pub fn numbered(source: &dyn KeySource, known: &KeyRef, version: u32) -> Result<KeyRef, KeyError> {
    if source.version(known.version).ok().as_ref() != Some(known) {
        return Err(KeyError::OtherNumber { key: known.clone(), place: source.describe() });
    }
    source.version(version)
}

impl Keyed {
    /// Returns the newest version of the key of `source`, to seal under.
    ///
    /// # Errors
    /// As [`KeySource::current`].
    pub fn current(source: Arc<dyn KeySource>) -> Result<Self, KeyError> {
        let (key, secret) = source.current()?;
        Ok(Self { source, key, secret })
    }

    /// Returns the version `key`, to open data sealed under it.
    ///
    /// # Errors
    /// As [`KeySource::get`].
    pub fn of(source: Arc<dyn KeySource>, key: KeyRef) -> Result<Self, KeyError> {
        let secret = source.get(&key)?;
        Ok(Self { source, key, secret })
    }

    /// Returns the same key, used by `provider`.
    ///
    /// # Errors
    /// [`KeyError::Forked`] in a forked process.
    pub fn used_by(&self, provider: Provider) -> Result<Self, KeyError> {
        let source = InModule::used_by(self.source.clone(), provider);
        Ok(Self { source, key: self.key.clone(), secret: self.secret.duplicate()? })
    }

    /// Returns the reference of the key.
    #[must_use]
    pub fn key(&self) -> &KeyRef {
        &self.key
    }

    /// Returns the place it came from, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        self.source.describe()
    }

    pub(crate) fn source(&self) -> Arc<dyn KeySource> {
        self.source.clone()
    }

    pub(crate) fn secret(&self) -> Result<Secret, KeyError> {
        self.secret.duplicate()
    }

    /// Fills `out` with the subkey for `purpose` and `context`; the key's id and version are bound,
    /// too.
    pub(crate) fn subkey(
        &self,
        purpose: &str,
        context: &[&[u8]],
        out: &mut [u8],
    ) -> Result<(), KeyError> {
        self.secret.check()?;
        let version = self.key.version.to_be_bytes();
        let context = [context, &[self.key.id.as_bytes(), &version]].concat();
        let provider = self.provider(Backend::auto());
        Ok(subkey(provider, self.secret.as_bytes(), purpose, &context, out)?)
    }

    /// Returns who computes with the key: its module, or else this project on `backend`.
    pub(crate) fn provider(&self, backend: Backend) -> Provider {
        self.source.provider(backend)
    }

    /// Begins an HMAC under the subkey for `purpose` and `context`.
    pub(crate) fn hmac(&self, purpose: &str, context: &[&[u8]]) -> Result<HmacSha256, KeyError> {
        let mut key = Zeroizing::new([0; 32]);
        self.subkey(purpose, context, &mut *key)?;
        Ok(HmacSha256::new(self.provider(Backend::auto()), &*key)?)
    }

    /// Fills `bytes` from the generator of who computes with the key.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) -> Result<(), KeyError> {
        fill_random(self.provider(Backend::auto()), bytes)
    }
}

impl fmt::Debug for Keyed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("key", &self.key)
            .field("source", &self.source.describe())
            .finish_non_exhaustive()
    }
}
