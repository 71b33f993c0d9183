//! Keys that rotate in memory: every version stays, and each is the same in every run. Not for data
//! to keep.

use std::sync::atomic::{AtomicU32, Ordering};

use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};

/// One key of many versions.
#[derive(Debug)]
pub struct Keys(AtomicU32);

const ID: &str = "simulated";

impl Keys {
    /// Makes a key with version 1.
    pub fn new() -> Self {
        Self(AtomicU32::new(1))
    }

    /// Makes the next version the current one.
    pub fn rotate(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn secret(version: u32) -> Secret {
        let mut bytes = [0x5a; 32];
        bytes[..4].copy_from_slice(&version.to_le_bytes());
        Secret::from_bytes(&bytes)
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

impl KeySource for Keys {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let version = self.0.load(Ordering::Relaxed);
        Ok((KeyRef { id: ID.into(), version }, Self::secret(version)))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        let current = self.0.load(Ordering::Relaxed);
        if key.id != ID {
            return Err(KeyError::OtherKey {
                wanted: key.clone(),
                place: self.describe(),
                id: ID.into(),
            });
        }
        if !(1..=current).contains(&key.version) {
            let available = (1..=current).collect();
            return Err(KeyError::MissingVersion {
                wanted: key.clone(),
                place: self.describe(),
                available,
            });
        }
        Ok(Self::secret(key.version))
    }

    fn describe(&self) -> String {
        "the keys of the simulator".into()
    }
}
