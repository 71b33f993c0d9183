//! A separate directory for each test, and a key with the same lifetime.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{SealedEnv, rest};

pub(crate) struct Site {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) keys: Arc<EphemeralKey>,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), keys: Arc::new(EphemeralKey::new().unwrap()) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn env(&self) -> SealedEnv {
        SealedEnv::new(self.keys.clone(), cipher("aes-256").unwrap(), Backend::auto())
    }

    /// Verifies `dir`, by its name in here or its whole path.
    pub(crate) fn verify(&self, dir: impl AsRef<Path>) -> rest::Verification {
        rest::verify(&self.dir.path().join(dir), &*self.keys, Backend::auto(), None, &mut |_| ())
            .unwrap()
    }
}
