//! Keys that are used in a cryptographic module and nowhere else.

use std::sync::Arc;

use sealstone_cipher::module::Module;
use sealstone_cipher::{Cipher, Provider};

use crate::{KeyError, KeyRef, KeySource, Secret};

/// A key source whose keys are used in a module: whatever is sealed under them is computed there.
pub struct InModule {
    keys: Arc<dyn KeySource>,
    module: &'static dyn Module,
}

impl InModule {
    /// Returns `keys`, to be used in `module`.
    #[must_use]
    pub fn new(keys: Arc<dyn KeySource>, module: &'static dyn Module) -> Self {
        Self { keys, module }
    }

    /// Returns `keys`, to be used by `provider`: in its module if it is one, and else as they are.
    #[must_use]
    pub fn used_by(keys: Arc<dyn KeySource>, provider: Provider) -> Arc<dyn KeySource> {
        match provider {
            Provider::Module(module) => Arc::new(Self::new(keys, module)),
            Provider::Own(_) => keys,
        }
    }
}

impl KeySource for InModule {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        self.keys.current()
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        self.keys.get(key)
    }

    fn all(&self) -> Result<Vec<(KeyRef, Secret)>, KeyError> {
        self.keys.all()
    }

    fn name(&self) -> Result<String, KeyError> {
        self.keys.name()
    }

    fn version(&self, version: u32) -> Result<KeyRef, KeyError> {
        self.keys.version(version)
    }

    fn made_at(&self, key: &KeyRef) -> Option<String> {
        self.keys.made_at(key)
    }

    fn describe(&self) -> String {
        self.keys.describe()
    }

    fn cipher(&self) -> Option<&'static Cipher> {
        self.keys.cipher()
    }

    fn module(&self) -> Option<&'static dyn Module> {
        Some(self.module)
    }
}
